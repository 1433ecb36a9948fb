import json

import pytest
from jsonschema import Draft202012Validator

from ktms.config.schema import SCHEMA_FILE, gateway_schema
from ktms.config.yaml_tree import read_tree


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = json.loads(gateway_schema())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_the_shipped_schema_is_current() -> None:
    assert SCHEMA_FILE.read_text() == gateway_schema(), (
        "run: python -m ktms.config > ktms/config/gateway.schema.json"
    )


@pytest.mark.parametrize(
    "text",
    [
        "version: 1",
        "version: 1\nprices: [{vendor: a, model: b, input: '0.15', valid_from: 2026-08-01}]",
        "version: 1\nmodels: [{name: a, targets: [{vendor: local, model: b}]}]",
        "version: 1\nclient_keys: [{name: a, secret: {env: A}}]",
    ],
)
def test_the_schema_takes_what_the_reader_takes(validator: Draft202012Validator, text: str) -> None:
    assert list(validator.iter_errors(read_tree(text).value)) == []


def test_the_schema_takes_dollars_without_quotes(validator: Draft202012Validator) -> None:
    document = {"version": 1, "prices": [{"vendor": "a", "model": "b", "input": 0.15}]}
    assert list(validator.iter_errors(document)) == []


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "version: 2",
        "version: 1\nfoo: 1",
        "version: 1\nmodels: {}",
        "version: 1\nnodes: [{name: a, url: b, slots: 0}]",
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(validator: Draft202012Validator, text: str) -> None:
    assert list(validator.iter_errors(read_tree(text).value)) != []
