"""A model is pulled by Ollama, and what goes wrong there is said."""

import json

import pytest

from ktms.node.install.pull import pull
from ktms.node.install.refused import Refused
from tests.node.install.files import served

BIG, SMALL = {"digest": "sha256:a", "total": 100}, {"digest": "sha256:b", "total": 10}


def lines(*said: dict[str, object]) -> dict[str, bytes]:
    return {"/api/pull": b"".join(json.dumps(one).encode() + b"\n" for one in said)}


def pulled(*said: dict[str, object]) -> list[tuple[int, int | None]]:
    shown: list[tuple[int, int | None]] = []
    with served({}, lines(*said)) as url:
        pull(url, "qwen3:4b", lambda *one: shown.append(one))
    return shown


def test_layers_are_added_up() -> None:
    shown = pulled(
        {"status": "pulling manifest"},
        {"status": "pulling a", **BIG},
        {"status": "pulling a", **BIG, "completed": 60},
        {"status": "pulling b", **SMALL, "completed": 10},
        {"status": "success"},
    )
    assert shown == [(0, 100), (60, 100), (70, 110)]


def test_a_model_that_does_not_exist_is_refused_with_ollamas_words() -> None:
    with pytest.raises(Refused, match="pull model manifest: file does not exist"):
        pulled({"status": "pulling manifest"}, {"error": "pull model manifest: file does not exist"})


def test_an_end_without_success_is_none() -> None:
    with pytest.raises(Refused, match="run this again"):
        pulled({"status": "pulling a", **BIG})


def test_a_status_that_is_an_error_is_said() -> None:
    with served({}) as url, pytest.raises(Refused, match="nothing there"):
        pull(url, "qwen3:4b", lambda *_: None)


def test_an_ollama_that_went_away_is_said() -> None:
    with pytest.raises(Refused, match="went away"):
        pull("http://127.0.0.1:1", "qwen3:4b", lambda *_: None)


def test_what_is_no_json_is_passed_over() -> None:
    with served({}, {"/api/pull": b'oops\n[1]\n{"status": "success"}\n'}) as url:
        pull(url, "qwen3:4b", lambda *_: None)
