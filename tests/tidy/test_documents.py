"""Documents name what is there: rooms, settings, metrics, error codes; their links lead somewhere."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ktms.adapters.telemetry.tally import Tally
from ktms.domain.errors import ErrorCode
from tests.tidy.source import FOREIGN

TOP_LEVEL = {
    "chaos", "docs", "ktms", "migrations", "release", "sim", "tests", ".ci", ".github", ".gitignore",
    "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "GLOSSARY.md", "LICENSE", "Makefile", "README.md",
    "SECURITY.md", "pyproject.toml",
}  # fmt: skip
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|root|Users|home/\w+|tmp/\w+)/")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def documents(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): path.read_text()
        for path in sorted(root.rglob("*.md"))
        if not FOREIGN & set(path.relative_to(root).parts) and not any(p.startswith(".") for p in path.parts[-2:])
    }


def machine_paths(texts: dict[str, str]) -> Iterator[str]:
    for name, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE_PATH.search(line):
                yield f"{name}:{number}"


def dead_links(root: Path, texts: dict[str, str]) -> Iterator[str]:
    for name, text in texts.items():
        for link in LINK.findall(text):
            if not (root / name).parent.joinpath(link).exists():
                yield f"{name}: {link}"


def unnamed(words: Iterable[str], text: str) -> list[str]:
    return [word for word in words if f"`{word}`" not in text]


def test_every_top_level_room_is_named_in_the_architecture(root: Path) -> None:
    rooms = [f"{path.name}/" for path in root.iterdir() if path.is_dir() and path.name in TOP_LEVEL]
    assert unnamed(sorted(rooms), (root / "ARCHITECTURE.md").read_text()) == []


def test_every_room_of_the_product_is_named_in_the_architecture(root: Path) -> None:
    rooms = [f"ktms/{path.parent.name}/" for path in (root / "ktms").glob("*/__init__.py")]
    assert unnamed(sorted(rooms), (root / "ARCHITECTURE.md").read_text()) == []


def test_the_top_level_is_fixed(root: Path) -> None:
    ignored = {line.strip("/") for line in (root / ".gitignore").read_text().split()} | {".git", ".coverage"}
    assert {path.name for path in root.iterdir()} - TOP_LEVEL - ignored == set()


def test_documents_hold_no_path_of_a_machine(root: Path) -> None:
    assert list(machine_paths(documents(root))) == []


def test_links_of_documents_lead_somewhere(root: Path) -> None:
    assert list(dead_links(root, documents(root))) == []


def test_every_setting_is_documented(root: Path) -> None:
    files = ("settings.py", "batch_settings.py", "ledger_settings.py")
    code = "".join((root / "ktms/config" / file).read_text() for file in files)
    read = set(re.findall(r"read\.\w+\(\s*\"([A-Z_]+)\"", code)) | set(
        re.findall(r"^\s+\"([A-Z_]+)\",$", code, re.MULTILINE)
    )
    assert read, "the settings are read in another way now: mend this test"
    assert unnamed(sorted(f"KTMS_{name}" for name in read), (root / "docs/configuration.md").read_text()) == []


def test_every_metric_is_documented(root: Path) -> None:
    tally = Tally()
    names = [family.name for family in tally.counters]
    names += [family.name for family in tally.histograms] + [family.name for family in tally.gauges]
    assert unnamed(names, (root / "docs/operations.md").read_text()) == []


def test_every_error_code_is_documented(root: Path) -> None:
    assert unnamed([code.value for code in ErrorCode], (root / "docs/api.md").read_text()) == []


def test_a_machine_path_is_found() -> None:
    texts = {"a.md": "see /home/anna/ktms/x\nuse `/var/lib/ktms`\nor /work/main/x", "b.md": "GET /v1/work/x"}
    assert list(machine_paths(texts)) == ["a.md:1", "a.md:3"]


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").touch()
    texts = {"a.md": "[x](there.md) [y](gone.md#part) [z](https://example.org) [w](#here)"}
    assert list(dead_links(tmp_path, texts)) == ["a.md: gone.md"]


def test_an_unnamed_word_is_found() -> None:
    assert unnamed(["sim/", "chaos/"], "| `sim/` |") == ["chaos/"]
