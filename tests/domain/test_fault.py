"""An unforeseen error is told by its kind and lines of code, and never by its words."""

import json

import pytest

from ktms.domain.fault import fault_of
from ktms.domain.routing.compile import compile_snapshot


def raised_by_ours() -> Exception:
    with pytest.raises(AttributeError) as raised:
        compile_snapshot(None, version=1)  # type: ignore[arg-type]  # a mistake of ours
    return raised.value


def raised_elsewhere() -> Exception:
    with pytest.raises(ValueError, match="Expecting value") as raised:
        json.loads("a secret")
    return raised.value


def test_a_mistake_of_ours_is_told_by_our_line() -> None:
    fault = fault_of(raised_by_ours())
    assert fault["kind"] == "AttributeError"
    assert fault["where"].startswith("domain/catalogue_entries.py:")


def test_a_mistake_in_a_library_is_told_by_its_line_and_never_by_its_message() -> None:
    fault = fault_of(raised_elsewhere())
    assert fault["kind"] == "JSONDecodeError"
    assert "json/decoder.py:" in fault["where"]
    assert "secret" not in fault["where"]


def test_of_a_group_the_first_is_told() -> None:
    group = ExceptionGroup("works", [ExceptionGroup("refresh", [raised_by_ours(), KeyError("other")])])
    assert fault_of(group) == fault_of(group.exceptions[0])
    assert fault_of(group)["kind"] == "AttributeError"


def test_what_was_never_raised_has_no_place() -> None:
    assert fault_of(KeyError("a secret")) == {"kind": "KeyError", "where": "unknown"}
    assert fault_of(None) == {"kind": "unknown", "where": "unknown"}
