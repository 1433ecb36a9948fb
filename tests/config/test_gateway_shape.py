import pytest

from ktms.config.gateway_entries import GatewayDocument
from ktms.config.gateway_shape import Mistake, shape_document
from ktms.config.yaml_tree import read_tree


def mistakes(text: str) -> list[tuple[str, str]]:
    found = shape_document(read_tree("version: 1\n" + text).value)
    assert isinstance(found, tuple), "the text is meant to be wrong"
    return [("/".join(str(step) for step in each.path), each.message) for each in found]


def test_the_least_document_is_its_version() -> None:
    assert shape_document({"version": 1}) == GatewayDocument(version=1)


def test_an_empty_file_says_what_it_needs() -> None:
    assert shape_document(None) == (Mistake((), "the file is empty: the least it needs is `version: 1`"),)


def test_a_field_with_nothing_after_it_counts_as_left_out() -> None:
    assert shape_document({"version": 1, "models": None, "policy": None}) == GatewayDocument(version=1)


@pytest.mark.parametrize("text", ["[1]", "7", "hello"])
def test_a_file_that_is_no_mapping_is_refused(text: str) -> None:
    found = shape_document(read_tree(text).value)
    assert isinstance(found, tuple)
    assert found[0].message.startswith("expected a mapping, got ")


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("vendrs: []", "vendrs", "unknown field (did you mean 'vendors'?)"),
        ("qqqq: []", "qqqq", "unknown field"),
        ("vendors: {}", "vendors", "expected a list, got a mapping"),
        ("vendors: [openai]", "vendors/0", "expected a mapping, got text"),
        ("chains: [{name: a, tiers: [x]}]", "chains/0/tiers", "expected a mapping, got a list"),
        ("chains: [{name: a, tiers: {high: [1]}}]", "chains/0/tiers/high/0",
         'expected text, got a whole number (put it in quotes: "…")'),
        ("chains: [{name: a}]", "chains/0", "field 'tiers' is missing"),
        ("chains: [{name: , tiers: {}}]", "chains/0", "field 'name' is missing"),
        ("nodes: [{name: a, url: b, slots: 0}]", "nodes/0/slots", "expected a whole number >= 1"),
        ("nodes: [{name: a, url: b, slots: 1.5}]", "nodes/0/slots",
         "expected a whole number, got a number with decimals"),
        ("nodes: [{name: a, url: b, slots: true}]", "nodes/0/slots", "expected a whole number, got true or false"),
        ("nodes: [{name: a, url: b, engine: olama}]", "nodes/0/engine",
         "expected one of agent, ollama, vllm, tgi, llamacpp, demo, got 'olama' (did you mean 'ollama'?)"),
        ("nodes: [{name: a, url: b, engine: 7}]", "nodes/0/engine",
         "expected one of agent, ollama, vllm, tgi, llamacpp, demo, got a whole number"),
        ("nodes: [{name: a, url: b, token: hunter2}]", "nodes/0/token",
         "expected {env: NAME}, {file: path} or {value: text}, got text"),
        ("nodes: [{name: '', url: b}]", "nodes/0/name", "expected text of length >= 1"),
        ("tenants: [{name: 1.5}]", "tenants/0/name",
         'expected text, got a number with decimals (put it in quotes: "…")'),
        ("models: [{name: a, aliases: [~]}]", "models/0/aliases/0", "expected text, got nothing"),
        ("prices: [{vendor: a, model: b, input: abc}]", "prices/0/input", 'expected a number, such as "0.15"'),
        ("policy: {placement: nodes-first}", "policy/placement",
         ("expected one of nodes_first, nodes_only, cloud_first, cloud_only, got 'nodes-first' "
          "(did you mean 'nodes_first'?)")),
        ("policy: {band: 0.5}", "policy/band", "expected a number >= 1.0"),
        ("policy: {placement_lock: yes}", "policy/placement_lock", "expected true or false, got text"),
    ],
)  # fmt: skip
def test_a_wrong_shape_is_said_in_words(text: str, path: str, said: str) -> None:
    assert mistakes(text) == [(path, said)]


def test_another_version_is_refused() -> None:
    found = shape_document({"version": 2})
    assert found == (Mistake(("version",), "expected 1, got 2"),)


def test_all_mistakes_are_found_in_one_pass() -> None:
    text = "models: [{name: a, foo: 1, targets: [{vendor: b, wait: 1}]}]\nnodes: 7\npolicy: {retry: []}\n"
    assert len(mistakes(text)) == 5


def test_a_value_that_may_be_a_secret_is_never_shown() -> None:
    assert "hunter2" not in str(mistakes("nodes: [{name: a, url: b, token: hunter2, slots: hunter2}]"))
