"""OpenAI and every vendor whose API is compatible with it: the base URL holds the version."""

from ktms.vendors.shape import Shape, bearer, below_base

OPENAI = Shape(name="openai", path=below_base, auth_headers=bearer)
