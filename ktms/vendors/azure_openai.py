"""Azure OpenAI by its v1 API (`https://<resource>.openai.azure.com/openai/v1`): OpenAI's paths, an own header.

The model is the deployment's name in the body. Not here: the older API with the deployment in the path and a dated
`api-version`, which the v1 API replaces.
"""

from ktms.domain.access.secret import Secret
from ktms.domain.call import Route
from ktms.vendors.shape import Headers, Shape, below_base

V1_PATH = "/openai/v1"


def _path(base_path: str, route: Route) -> str:
    """Path below the base URL; one that is the bare resource gets the v1 API's path."""
    return below_base(base_path or V1_PATH, route)


def _own_header(secret: Secret) -> Headers:
    return (("api-key", secret.reveal()),)


AZURE_OPENAI = Shape(name="azure_openai", path=_path, auth_headers=_own_header)
