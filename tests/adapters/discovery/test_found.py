"""What was found, as the catalogue takes it."""

from ktms.adapters.discovery.found import EngineFacts, EngineModel, found, merged_models
from ktms.domain.catalogue import Catalogue, EngineKind, TargetSpec
from ktms.domain.catalogue_rules import complaints

LLAMACPP = EngineFacts(EngineKind.LLAMACPP, 4, (EngineModel("/m/qwen3.gguf", 4096),))
OLLAMA = EngineFacts(EngineKind.OLLAMA, 1, (EngineModel("qwen3:latest", 8192), EngineModel("phi:3b")))


def test_a_node_keeps_the_engines_name_and_the_model_gets_a_readable_one() -> None:
    engine = found(LLAMACPP, 8081)
    assert engine is not None
    assert (engine.node.name, engine.node.url) == ("llamacpp-8081", "http://127.0.0.1:8081")
    assert [model.name for model in engine.node.models] == ["/m/qwen3.gguf"]
    assert [model.name for model in engine.models] == ["qwen3"]
    assert engine.models[0].targets == (TargetSpec("local", "/m/qwen3.gguf"),)


def test_an_engine_without_a_model_we_can_name_is_not_found() -> None:
    assert found(EngineFacts(EngineKind.OLLAMA, 1, (EngineModel("한글"),)), 11434) is None


def test_one_model_on_two_engines_is_one_model_with_two_targets() -> None:
    engines = [found(LLAMACPP, 8081), found(OLLAMA, 11434)]
    models = merged_models([engine for engine in engines if engine is not None])
    assert [(model.name, len(model.targets), model.context_window) for model in models] == [
        ("qwen3", 2, 8192),
        ("phi:3b", 1, None),
    ]


def test_what_was_found_keeps_the_rules_of_the_catalogue() -> None:
    engines = [engine for engine in (found(LLAMACPP, 8081), found(OLLAMA, 11434)) if engine is not None]
    catalogue = Catalogue(nodes=tuple(e.node for e in engines), models=merged_models(engines))
    assert complaints(catalogue) == ()
