"""The workshop: one entry point for people and machines, no right beyond need, no moving part unpinned."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

TARGETS = {"help", "install", "up", "test", "check", "bench", "bench-sim", "sim", "swarm", "matrix"} | {
    *("chaos", "release", "lock", "proto", "format")
}
NOT_YET = ("release",)
PINNED_ACTION = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d")


def make(root: Path, target: str) -> subprocess.CompletedProcess[str]:
    command = ["env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", target]  # as if no other make were running
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def moving_actions(workflow: str) -> Iterator[str]:
    for line in workflow.splitlines():
        if "uses:" in line and not PINNED_ACTION.search(line):
            yield line.strip()


def test_help_lists_every_target(root: Path) -> None:
    listed = re.findall(r"make ([a-z-]+)", make(root, "help").stdout)
    assert TARGETS - set(listed) == set()


@pytest.mark.parametrize("target", NOT_YET)
def test_a_target_that_is_not_there_yet_says_so_in_one_line(root: Path, target: str) -> None:
    done = make(root, target)
    assert (done.returncode, done.stdout.count("\n")) == (2, 1), done.stdout + done.stderr


def test_ci_calls_the_targets_of_a_person(root: Path) -> None:
    lines = (root / ".ci/run").read_text().splitlines()
    assert [line for line in lines if line.startswith("part ")] == [
        "part check make check",
        "part toxiproxy .ci/install-toxiproxy",
        "part test make test",
        "part chaos experiments",
        'part matrix make matrix ARGS="--chaos $rows"',
        'part swarm make swarm MINUTES=3 ARGS="--start $((16#$(git rev-parse HEAD | cut -c 1-12)))"',
    ]


def test_ci_passes_over_nothing_of_the_chaos_suite_and_gives_it_25_minutes(root: Path) -> None:
    text = (root / ".ci/run").read_text()
    assert text.index("export KTMS_CHAOS=required") < text.index("part check")
    assert re.search(r'timeout .* 25m make chaos ARGS="--again --json \$rows"$', text, re.MULTILINE)


def test_a_part_of_ci_that_fails_does_not_hide_the_others_and_its_last_words_stand_at_the_end(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / ".ci").mkdir()
    for name in ("run", "install-toxiproxy"):
        stand_in = tmp_path / ".ci" / name
        stand_in.write_text((root / ".ci/run").read_text() if name == "run" else "#!/bin/sh\n")
        stand_in.chmod(0o755)
    said = 'echo "$1 says"; [ "$1" != chaos ] || { echo "FAILED redis-down" >&2; exit 1; }'
    (tmp_path / "make").write_text(f"#!/bin/sh\n{said}\n")
    (tmp_path / "git").write_text("#!/bin/sh\necho 0123456789abcdef\n")
    for name in ("make", "git"):
        (tmp_path / name).chmod(0o755)
    first_in_path = ("sh", "-c", 'PATH="$0:$PATH" exec "$1"', tmp_path, tmp_path / ".ci/run")
    done = subprocess.run(first_in_path, capture_output=True, text=True, check=False, timeout=60)
    *_, before, first, second, check, toxiproxy, test, chaos, matrix, swarm = done.stdout.splitlines()
    assert done.returncode == 1, done.stdout + done.stderr
    assert (before, first, second) == ("--- the last lines of chaos", "chaos says", "FAILED redis-down")
    assert [line.split()[-1] for line in (check, toxiproxy, test, chaos, matrix, swarm)] == [
        "ok", "ok", "ok", "FAILED", "ok", "ok"
    ]  # fmt: skip


def test_github_calls_what_ci_calls(root: Path) -> None:
    assert "- run: .ci/run" in (root / ".github/workflows/ci.yml").read_text()


def test_every_action_is_pinned_by_commit(root: Path) -> None:
    workflows = sorted((root / ".github/workflows").glob("*.yml"))
    assert [line for workflow in workflows for line in moving_actions(workflow.read_text())] == []


def test_workflows_have_no_right_by_default(root: Path) -> None:
    workflows = (root / ".github/workflows").glob("*.yml")
    assert [path.name for path in workflows if "\npermissions: {}\n" not in path.read_text()] == []


def test_an_action_pinned_by_tag_is_found() -> None:
    text = "- uses: actions/checkout@v5\n- uses: actions/checkout@" + "0" * 40 + " # v5.0.0\n"
    assert list(moving_actions(text)) == ["- uses: actions/checkout@v5"]
