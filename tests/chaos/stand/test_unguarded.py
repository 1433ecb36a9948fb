from pathlib import Path

from chaos.stand.process import environment, run, unguarded


async def test_the_product_runs_without_a_guard(tmp_path: Path) -> None:
    done = await run((*unguarded("redis-left-alone"), "version"), environment(tmp_path, {}), Path.cwd())
    assert (done.code, done.out.split()[0]) == (0, "ktms")
