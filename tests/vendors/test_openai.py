"""OpenAI and compatible vendors."""

from ktms.domain.access.secret import Secret
from ktms.domain.call import Route
from ktms.vendors.openai import OPENAI


def test_paths_lie_below_the_base_url() -> None:
    assert [OPENAI.path("/v1", route) for route in Route] == [
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/embeddings",
    ]


def test_the_credential_is_a_bearer_token() -> None:
    assert OPENAI.auth_headers(Secret("sk-1")) == (("Authorization", "Bearer sk-1"),)


def test_usage_is_asked_for() -> None:
    assert OPENAI.asks_usage
