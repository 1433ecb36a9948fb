"""Azure OpenAI by its v1 API."""

import pytest

from ktms.domain.access.secret import Secret
from ktms.domain.call import Route
from ktms.vendors.azure_openai import AZURE_OPENAI


@pytest.mark.parametrize(
    ("base_path", "path"),
    [
        ("/openai/v1", "/openai/v1/chat/completions"),
        ("", "/openai/v1/chat/completions"),
        ("/proxy/openai/v1", "/proxy/openai/v1/chat/completions"),
    ],
)
def test_a_bare_resource_gets_the_path_of_the_v1_api(base_path: str, path: str) -> None:
    assert AZURE_OPENAI.path(base_path, Route.CHAT) == path


def test_the_credential_has_a_header_of_its_own() -> None:
    assert AZURE_OPENAI.auth_headers(Secret("k")) == (("api-key", "k"),)
