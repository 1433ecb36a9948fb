"""Our own machines: one API, and what each engine's habits are."""

import pytest

from ktms.domain.access.secret import Secret
from ktms.domain.call import Route
from ktms.vendors.agent import AGENT
from ktms.vendors.demo import DEMO
from ktms.vendors.llamacpp import LLAMACPP
from ktms.vendors.ollama import OLLAMA
from ktms.vendors.openai import OPENAI
from ktms.vendors.shape import Shape
from ktms.vendors.tgi import TGI
from ktms.vendors.vllm import VLLM

ALL = (AGENT, DEMO, LLAMACPP, OLLAMA, TGI, VLLM)


@pytest.mark.parametrize("shape", ALL, ids=lambda shape: shape.name)
def test_an_engine_speaks_openai_under_v1_with_a_bearer_token(shape: Shape) -> None:
    assert shape.path("", Route.COMPLETIONS) == "/v1/completions"
    assert shape.auth_headers(Secret("t")) == (("Authorization", "Bearer t"),)
    assert shape.asks_usage


def test_n27_the_model_in_an_answer_is_believed_only_where_the_engine_looks_at_it() -> None:
    assert {shape for shape in ALL if shape.names_model} == {AGENT, DEMO, OLLAMA, VLLM}


def test_n23_engines_that_may_generate_on_for_nobody_are_known() -> None:
    assert {shape for shape in ALL if not shape.stops_for_leavers} == {LLAMACPP, TGI}


def test_n24_prompts_are_shortened_in_silence_where_ollama_is_or_may_be() -> None:
    assert {shape for shape in ALL if shape.cuts_long_prompts} == {AGENT, OLLAMA}


def test_n26_options_of_an_engine_are_withheld_where_ollama_is_or_may_be() -> None:
    assert {shape for shape in ALL if shape.withholds} == {AGENT, OLLAMA}
    assert OLLAMA.withholds == AGENT.withholds == {"options", "num_ctx", "keep_alive"}


def test_only_an_agent_tells_its_load() -> None:
    assert {shape for shape in ALL if shape.tells_load} == {AGENT}


def test_bare_engines_tell_their_load_as_metrics_at_their_root() -> None:
    found = {shape: shape.metrics_target("") for shape in ALL}
    assert {shape for shape, target in found.items() if target is not None} == {LLAMACPP, TGI, VLLM}
    assert VLLM.metrics_target("") == VLLM.metrics_target("/v1") == "/metrics"
    assert VLLM.metrics_target("/engine-a/v1") == "/engine-a/metrics"
    assert OPENAI.metrics_target("/v1") is None


def test_a_vendor_has_no_habits_of_engines() -> None:
    habits = (OPENAI.names_model, OPENAI.cuts_long_prompts, OPENAI.shares_window, OPENAI.tells_load)
    assert habits == (False, False, False, False)
    assert OPENAI.stops_for_leavers
    assert not OPENAI.withholds


def test_n20_the_windows_of_llama_cpp_may_be_shared() -> None:
    assert {shape for shape in ALL if shape.shares_window} == {LLAMACPP}
