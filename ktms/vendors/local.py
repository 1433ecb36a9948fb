"""Our own machines: an agent, or a bare engine with its OpenAI-compatible API under /v1."""

from ktms.vendors.shape import Shape, bearer, below_version

AGENT = Shape(name="agent", path=below_version, auth_headers=bearer)
OLLAMA = Shape(name="ollama", path=below_version, auth_headers=bearer)
VLLM = Shape(name="vllm", path=below_version, auth_headers=bearer)
TGI = Shape(name="tgi", path=below_version, auth_headers=bearer)
DEMO = Shape(name="demo", path=below_version, auth_headers=bearer)
LLAMACPP = Shape(name="llamacpp", path=below_version, auth_headers=bearer)
