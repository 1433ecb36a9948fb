"""JSON Schema of `gateway.yaml`, for editors; made from the classes that read the file.

The shipped `gateway.schema.json` is what `python -m ktms.config` writes; a test holds the two together.
Not here: the fields (`gateway_entries.py`).
"""

import json
from pathlib import Path

import msgspec

from ktms.config.gateway_entries import GatewayDocument

SCHEMA_FILE = Path(__file__).with_name("gateway.schema.json")
"""Shipped inside the package."""

_DRAFT = "https://json-schema.org/draft/2020-12/schema"

_DECIMAL = {"type": "string", "format": "decimal"}


def gateway_schema() -> str:
    """Give the schema as indented JSON text."""
    schema = {"$schema": _DRAFT, "title": "gateway.yaml", **msgspec.json.schema(GatewayDocument)}
    return json.dumps(_with_bare_dollars(schema), indent=2, ensure_ascii=False) + "\n"


def _with_bare_dollars(schema: object) -> object:
    """Let dollars be written without quotes too: our reader keeps a number's digits."""
    if isinstance(schema, list):
        return [_with_bare_dollars(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.items() >= _DECIMAL.items():
        return {**schema, "type": ["string", "number"]}
    return {key: _with_bare_dollars(each) for key, each in schema.items()}
