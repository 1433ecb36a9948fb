"""Which engine a node gets, of those that run, are here, or are named."""

import pytest

from ktms.domain.catalogue import EngineKind
from ktms.node.install.engine_choice import Choice, How, Wish, choose, has_model
from ktms.node.install.engines_here import EngineHere
from ktms.node.install.refused import Refusal

OLLAMA = EngineHere(EngineKind.OLLAMA, "http://127.0.0.1:11434", "0.33.0", ("qwen3:4b",))
VLLM = EngineHere(EngineKind.VLLM, "http://127.0.0.1:8000", "0.32", ("big",))
LLAMA = EngineHere(EngineKind.LLAMACPP, "http://127.0.0.1:8080", "b1", ("small",))


def chosen(
    wish: Wish | None = None,
    *running: EngineHere,
    ollama: str | None = None,
    is_ours: bool = False,
    taken: int = 0,
) -> Choice:
    found = choose(wish or Wish(), running, ollama, is_ours=is_ours, taken={taken})
    assert isinstance(found, Choice), found
    return found


def refused(wish: Wish, *running: EngineHere) -> Refusal:
    found = choose(wish, running, None, is_ours=False, taken=())
    assert isinstance(found, Refusal), found
    return found


def test_what_runs_is_adopted() -> None:
    assert chosen(None, VLLM) == Choice(EngineKind.VLLM, VLLM.url, How.ADOPT, None, ("big",), "0.32")


def test_of_several_the_one_with_all_models_is_taken() -> None:
    assert chosen(Wish(models=("small",)), OLLAMA, VLLM, LLAMA).url == LLAMA.url


def test_of_several_the_one_it_had_is_kept() -> None:
    assert chosen(Wish(kept_url=VLLM.url), OLLAMA, VLLM).url == VLLM.url


def test_of_several_without_a_reason_ollama_is_taken() -> None:
    assert chosen(None, VLLM, OLLAMA).url == OLLAMA.url


def test_the_kind_that_is_named_is_taken() -> None:
    assert chosen(Wish(EngineKind.LLAMACPP), OLLAMA, LLAMA).url == LLAMA.url


def test_the_others_are_remembered() -> None:
    assert chosen(None, VLLM, OLLAMA).others == (VLLM,)


def test_an_ollama_that_this_node_started_stays_its_own() -> None:
    made = chosen(Wish(kept_url=OLLAMA.url), OLLAMA, ollama="/x/ollama", is_ours=True)
    assert (made.how, made.program) == (How.START, "/x/ollama")


def test_an_ollama_that_is_here_is_started() -> None:
    assert chosen(ollama="/usr/bin/ollama").how is How.START


def test_where_there_is_none_it_is_installed() -> None:
    assert chosen().how is How.INSTALL


def test_a_port_that_somebody_has_is_passed_over() -> None:
    assert chosen(taken=11434).url == "http://127.0.0.1:11435"


@pytest.mark.parametrize("kind", [EngineKind.VLLM, EngineKind.LLAMACPP, EngineKind.TGI])
def test_an_engine_that_is_not_ollama_is_never_started(kind: EngineKind) -> None:
    assert "--engine-url" in refused(Wish(kind), OLLAMA).remedy


def test_an_engine_that_is_named_by_its_place_is_taken() -> None:
    assert chosen(Wish(url=VLLM.url), OLLAMA, VLLM).kind is EngineKind.VLLM


def test_an_engine_elsewhere_that_does_not_answer_now_is_believed() -> None:
    made = chosen(Wish(EngineKind.VLLM, "http://10.0.0.9:8000"))
    assert (made.how, made.url) == (How.TRUST, "http://10.0.0.9:8000")


def test_a_place_where_nothing_answers_needs_a_kind() -> None:
    assert "--engine" in refused(Wish(url="http://10.0.0.9:8000")).remedy


def test_a_place_where_another_kind_answers_is_refused() -> None:
    made = refused(Wish(EngineKind.TGI, VLLM.url), VLLM)
    assert "answers as vllm, not as tgi" in made.what


@pytest.mark.parametrize(
    ("listed", "model"),
    [
        ("qwen3:4b", "QWEN3:4B"),
        ("llama3:latest", "llama3"),
        ("llama3", "llama3:latest"),
        ("h:1/a/b:x", "h:1/a/b:x"),
    ],
)
def test_names_of_ollama_are_compared_as_ollama_does(listed: str, model: str) -> None:
    assert has_model(EngineKind.OLLAMA, [listed], model)


def test_names_of_others_are_compared_as_they_stand() -> None:
    assert not has_model(EngineKind.VLLM, ["Big"], "big")


def test_a_host_with_a_port_is_no_tag() -> None:
    assert has_model(EngineKind.OLLAMA, ["h:1/a/b:latest"], "h:1/a/b")
