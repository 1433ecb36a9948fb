import re
import subprocess
from pathlib import Path

import pytest

from sim.commit import commit_of, same_commit


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Give a checkout with one commit and nothing changed."""
    for name in ("sim/a.py", "ktms/b.py", "docs/c.md"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "first")
    return tmp_path


def test_a_clean_tree_is_called_by_twelve_signs_of_its_commit(checkout: Path) -> None:
    assert re.fullmatch("[0-9a-f]{12}", commit_of(checkout / "sim"))


@pytest.mark.parametrize("name", ["sim/a.py", "ktms/b.py", "ktms/new.py"])
def test_a_change_of_the_product_or_the_simulator_is_marked(checkout: Path, name: str) -> None:
    (checkout / name).write_text("x = 1\n")
    assert commit_of(checkout / "sim").endswith("+")


def test_changes_make_no_other_commit() -> None:
    assert [same_commit("abc", each) for each in ("abc+", "abc", "abd+")] == [True, True, False]


def test_a_change_elsewhere_is_not_marked(checkout: Path) -> None:
    (checkout / "docs/c.md").write_text("new\n")
    assert not commit_of(checkout / "sim").endswith("+")


def test_an_environment_inside_of_a_checkout_is_called_by_its_release(checkout: Path) -> None:
    package = checkout / ".venv/lib/sim"
    package.mkdir(parents=True)
    assert re.fullmatch(r"v\d+\.\d+\..+", commit_of(package))


def test_without_a_checkout_the_release_stands_for_the_commit(tmp_path: Path) -> None:
    (tmp_path / "sim").mkdir()
    assert commit_of(tmp_path / "sim").startswith("v")


def test_without_git_the_release_stands_for_the_commit(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert commit_of(checkout / "sim").startswith("v")
