import pytest

from ktms.node.filter.own_models import engine_name, is_cloud, own_models
from tests.node.filter.gate import engine_state

ENGINE = engine_state("qwen3:4b", "llama:latest", "gpt-oss:120b-cloud", "kimi:cloud", "/models/x.gguf")


def names(*named: str) -> list[str]:
    return [model.name for model in own_models(ENGINE, named)]


def test_all_of_the_engine_are_served_but_stubs_for_clouds() -> None:
    assert names() == ["qwen3:4b", "llama:latest", "/models/x.gguf"]


def test_where_the_owner_names_some_only_those_are() -> None:
    assert names("llama", "qwen3:4b", "absent") == ["qwen3:4b", "llama:latest"]


def test_a_stub_that_the_owner_names_is_not_served() -> None:
    assert names("gpt-oss:120b-cloud") == []


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("qwen3:4b", "qwen3:4b"),
        ("llama", "llama:latest"),
        ("llama:latest", "llama:latest"),
        ("/models/x.gguf", "/models/x.gguf"),
        ("qwen3", None),
        ("Qwen3:4b", None),
        ("kimi:cloud", None),
        ("", None),
    ],
)
def test_a_missing_tag_is_the_latest_and_all_else_exact(asked: str, served: str | None) -> None:
    assert engine_name(asked, ENGINE, ()) == served


@pytest.mark.parametrize("name", ["x:cloud", "x:CLOUD", "x:120b-cloud", "x-Cloud"])
def test_a_stub_is_known_by_its_name(name: str) -> None:
    assert is_cloud(name)


@pytest.mark.parametrize("name", ["cloud", "cloud:7b", "x:cloudy", "x-cloud:7b"])
def test_a_cloud_elsewhere_in_a_name_is_none(name: str) -> None:
    assert not is_cloud(name)


def test_before_the_first_look_nothing_is_served() -> None:
    assert engine_name("qwen3:4b", engine_state(), ("qwen3:4b",)) is None


def test_a_model_under_two_spellings_of_one_name_is_served_once() -> None:
    twice = engine_state("llama", "llama:latest", "qwen3:4b")
    assert [model.name for model in own_models(twice, ())] == ["llama", "qwen3:4b"]
