"""What each engine's pages say, in their own dialects."""

import json

import pytest

from ktms.adapters.discovery.engines import Pages, recognise
from ktms.adapters.discovery.found import EngineFacts, EngineModel
from ktms.domain.catalogue import EngineKind

LLAMACPP = {
    "/props": {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 4, "build_info": "b1"},
    "/v1/models": {"object": "list", "data": [{"id": "/m/a.gguf", "meta": {"n_ctx_train": 32768}}]},
}
OLLAMA = {
    "/api/version": {"version": "0.33.1"},
    "/api/tags": {
        "models": [
            {"name": "qwen3:4b", "model": "qwen3:4b"},
            {"name": "llama3.2:latest"},
            {"name": "big:cloud"},
            {"name": "stub:1b", "remote_host": "https://elsewhere.example"},
        ]
    },
    "/api/ps": {"models": [{"name": "qwen3:4b", "context_length": 8192}]},
}
VLLM = {
    "/version": {"version": "0.32.0"},
    "/v1/models": {"data": [{"id": "Qwen/Qwen3-4B", "owned_by": "vllm", "max_model_len": 2048}]},
    "/metrics": 'x 1\nvllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="1280"} 1.0\n',
}
TGI = {"/info": {"model_id": "org/m", "max_concurrent_requests": 128, "max_total_tokens": 2048, "router": "r"}}


def pages(answers: dict[str, object]) -> Pages:
    return {path: a if isinstance(a, str) or a is None else json.dumps(a) for path, a in answers.items()}


def facts(answers: dict[str, object]) -> EngineFacts:
    engine = recognise(pages(answers))
    assert engine is not None
    return engine.read(pages(answers))


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (LLAMACPP, EngineFacts(EngineKind.LLAMACPP, 4, (EngineModel("/m/a.gguf", 4096),))),
        (
            OLLAMA,
            EngineFacts(EngineKind.OLLAMA, 1, (EngineModel("qwen3:4b", 8192), EngineModel("llama3.2:latest"))),
        ),
        (VLLM, EngineFacts(EngineKind.VLLM, 10, (EngineModel("Qwen/Qwen3-4B", 2048),))),
        (TGI, EngineFacts(EngineKind.TGI, 16, (EngineModel("org/m", 2048),))),
    ],
)
def test_each_engine_is_known_by_its_answers(answers: dict[str, object], expected: EngineFacts) -> None:
    assert facts(answers) == expected


def test_a_window_that_all_slots_share_is_divided() -> None:
    shared = {
        "/props": {"default_generation_settings": {"n_ctx": 32768}, "total_slots": 4},
        "/v1/models": LLAMACPP["/v1/models"],
    }
    assert facts(shared).models[0].window_tokens == 8192


def test_one_slot_has_the_whole_window() -> None:
    alone = {
        "/props": {"default_generation_settings": {"n_ctx": 32768}, "total_slots": 1},
        "/v1/models": LLAMACPP["/v1/models"],
    }
    assert facts(alone).models[0].window_tokens == 32768


def test_a_model_still_loading_has_an_unknown_window() -> None:
    loading = {"/props": {"build_info": "b1"}, "/v1/models": {"data": [{"id": "a", "meta": None}]}}
    assert facts(loading) == EngineFacts(EngineKind.LLAMACPP, 1, (EngineModel("a"),))


def test_vllm_without_metrics_gets_one_slot() -> None:
    assert facts({**VLLM, "/metrics": None}).slots == 1


def test_vllm_is_given_no_more_slots_than_it_serves_well() -> None:
    metrics = 'vllm:cache_config_info{block_size="16",num_gpu_blocks="1000000"} 1.0\n'
    assert facts({**VLLM, "/metrics": metrics}).slots == 64


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"/props": None, "/version": None},
        {"/version": "not json"},
        {"/version": ["version"]},
        {"/info": {"name": "some other service"}},
        {"/version": "[" * 100_000},
    ],
)
def test_anything_else_is_no_engine(answers: dict[str, object]) -> None:
    assert recognise(pages(answers)) is None


@pytest.mark.parametrize("odd", [None, "7", {"data": 7}, {"data": [7, {"id": 7}]}, {"models": {}}])
def test_odd_lists_of_models_are_empty_lists(odd: object) -> None:
    assert facts({**LLAMACPP, "/v1/models": odd}).models == ()
    assert facts({**OLLAMA, "/api/tags": odd}).models == ()
