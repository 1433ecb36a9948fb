"""Paths and credentials."""

import pytest

from ktms.domain.access.secret import Secret
from ktms.domain.call import Route
from ktms.vendors.openai import OPENAI
from ktms.vendors.shape import bearer, below_base, below_version
from ktms.vendors.vllm import VLLM


@pytest.mark.parametrize(
    ("base_path", "path"),
    [("/v1", "/v1/chat/completions"), ("", "/chat/completions"), ("/api/v3", "/api/v3/chat/completions")],
)
def test_a_vendors_base_url_names_the_version(base_path: str, path: str) -> None:
    assert below_base(base_path, Route.CHAT) == path


@pytest.mark.parametrize(
    ("base_path", "path"),
    [
        ("", "/v1/embeddings"),
        ("/v1", "/v1/embeddings"),
        ("/gpu/v1", "/gpu/v1/embeddings"),
        ("/gpu", "/gpu/v1/embeddings"),
    ],
)
def test_an_engines_url_is_taken_with_and_without_the_version(base_path: str, path: str) -> None:
    assert below_version(base_path, Route.EMBEDDINGS) == path


def test_a_bearer_token_is_sent_as_it_is() -> None:
    assert bearer(Secret("sk-1")) == (("Authorization", "Bearer sk-1"),)


@pytest.mark.parametrize("base_path", ["", "/v1"])
def test_the_list_of_models_lies_beside_the_routes(base_path: str) -> None:
    assert VLLM.models_path(base_path) == "/v1/models"
    assert OPENAI.models_path("/gpu/v1") == "/gpu/v1/models"
