"""How starts are refused before anything was opened: in lines for a person."""

from pathlib import Path

import pytest

from ktms.app.failed import StartFailed
from ktms.app.lifecycle import run_serve, run_up
from ktms.app.options import ServeOptions, UpOptions


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KTMS_DATABASE_URL", "KTMS_ENCRYPTION_KEYS", "KTMS_WORKERS", "KTMS_SHUTDOWN_TIMEOUT_S"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))


async def refusal(options: ServeOptions | UpOptions) -> tuple[str, ...]:
    with pytest.raises(StartFailed) as refused:
        await (run_serve(options) if isinstance(options, ServeOptions) else run_up(options))
    return refused.value.lines


@pytest.mark.parametrize("options", [ServeOptions(), UpOptions()])
async def test_every_wrong_setting_is_a_line(
    options: ServeOptions | UpOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KTMS_SHUTDOWN_TIMEOUT_S", "soon")
    monkeypatch.setenv("KTMS_WORKERS", "many")
    lines = await refusal(options)
    assert [line.split(":")[0].split(" ")[0] for line in sorted(lines)] == [
        "KTMS_SHUTDOWN_TIMEOUT_S",
        "KTMS_WORKERS",
    ]


async def test_several_workers_are_refused() -> None:
    assert "--workers" in (await refusal(ServeOptions(workers=2)))[0]


async def test_a_serving_gateway_needs_a_database() -> None:
    assert "KTMS_DATABASE_URL is not set" in (await refusal(ServeOptions()))[0]


async def test_a_file_that_is_not_there_is_named_before_anything_starts(tmp_path: Path) -> None:
    assert "nowhere.yaml" in (await refusal(UpOptions(config=tmp_path / "nowhere.yaml")))[0]
    assert _names_in(tmp_path) == []


def _names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]
