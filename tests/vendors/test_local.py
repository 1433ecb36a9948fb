"""Our own machines."""

import pytest

from ktms.domain.access.secret import Secret
from ktms.domain.call import Route
from ktms.vendors.local import AGENT, DEMO, LLAMACPP, OLLAMA, TGI, VLLM
from ktms.vendors.shape import Shape

ALL = [AGENT, DEMO, LLAMACPP, OLLAMA, TGI, VLLM]


@pytest.mark.parametrize("shape", ALL, ids=lambda shape: shape.name)
def test_an_engine_speaks_openai_under_v1_with_a_bearer_token(shape: Shape) -> None:
    assert shape.path("", Route.COMPLETIONS) == "/v1/completions"
    assert shape.auth_headers(Secret("t")) == (("Authorization", "Bearer t"),)
    assert shape.asks_usage
