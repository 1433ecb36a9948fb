"""Names: no rooms for leftovers, the words of the glossary, tests whose names are sentences."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.tidy.source import Source, sources

LEFTOVERS = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager"}
REFUSED = {
    "provider": "vendor",
    "providers": "vendors",
    "supplier": "vendor",
    "suppliers": "vendors",
    "backend": "node",
    "backends": "nodes",
    "box": "node",
    "boxes": "nodes",
    "deployment": "target",
    "deployments": "targets",
    "endpoint": "target",
    "endpoints": "targets",
    "fallback": "chain",
    "fallbacks": "chain",
    "try": "attempt",
    "tries": "attempts",
}
"""Refused word: the glossary's word. Process `workers` are exempt, and so are strings: wire names of others."""

TEST_NAME_WORDS_MIN = 3
"""`test_` and two words may still be a sentence: "drain ends"."""


def leftovers(tree: Iterable[Source]) -> Iterator[str]:
    for source in tree:
        if LEFTOVERS & set(source.path.removesuffix(".py").split("/")):
            yield source.path


def refused_words(tree: Iterable[Source]) -> Iterator[str]:
    for source in tree:
        for name in sorted(_names_given(source.tree)):
            for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])", name):
                if word.lower() in REFUSED:
                    yield f"{source.path}: {name}: say {REFUSED[word.lower()]}"


def _names_given(tree: ast.Module) -> set[str]:
    """Names we chose ourselves: what is defined, assigned or taken as an argument; never what is read."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.alias(asname=str(name)):
                names.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
            case _:
                pass
    return names


def unspoken_tests(tests: Iterable[Source]) -> Iterator[str]:
    for source in tests:
        for function in source.functions():
            words = [word for word in function.name.split("_") if word]
            if words and words[0] == "test" and len(words) < TEST_NAME_WORDS_MIN:
                yield f"{source.path}: {function.name}"


def test_no_module_is_a_room_for_leftovers(root: Path) -> None:
    assert list(leftovers(sources(root, "ktms", "sim", "tests", "chaos", "release"))) == []


def test_names_are_the_words_of_the_glossary(root: Path) -> None:
    assert list(refused_words(sources(root, "ktms", "sim", "chaos", "release"))) == []


def test_the_glossary_lists_every_refused_word(root: Path) -> None:
    text = (root / "GLOSSARY.md").read_text()
    assert [word for word in REFUSED if not re.search(rf"\b{word}\b", text)] == []


def test_names_of_tests_are_sentences(root: Path) -> None:
    assert list(unspoken_tests(sources(root, "tests"))) == []


def test_a_module_named_utils_is_found() -> None:
    assert list(leftovers([Source("ktms/engine/utils.py", ""), Source("ktms/common/clock.py", "")])) == [
        "ktms/engine/utils.py",
        "ktms/common/clock.py",
    ]


def test_a_refused_word_is_found_in_any_spelling() -> None:
    text = "class ProviderList: ...\ndef pick(backend_url): ...\nself.MAX_TRIES = 3\n"
    assert [complaint.split(": ")[1] for complaint in refused_words([Source("ktms/x.py", text)])] == [
        "MAX_TRIES",
        "ProviderList",
        "backend_url",
    ]


def test_words_in_strings_and_in_names_of_others_are_exempt() -> None:
    text = 'kind = batch["endpoint"]\nssl.backend.load(provider="x")\nretry_after_s = 1\n'
    assert list(refused_words([Source("ktms/x.py", text)])) == []


def test_a_test_named_with_one_word_is_found() -> None:
    assert list(unspoken_tests([Source("tests/test_x.py", "def test_ok(): ...")])) == ["tests/test_x.py: test_ok"]
