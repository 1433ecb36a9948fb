import sys

import pytest

from sim.cli.example import example


@pytest.mark.parametrize(
    ("typed", "shown"), [("/a/sim/__main__.py", "python -m sim"), ("/a/.venv/bin/ktms-sim", "ktms-sim")]
)
def test_examples_have_the_command_that_was_typed(typed: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [typed])
    assert example("ktms-sim list > ktms-sim.txt") == f"\b\nExample:\n  {shown} list > ktms-sim.txt"
