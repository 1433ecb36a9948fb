import pytest

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.app.cli.node_view import COLUMNS, node_facts, node_lines, node_row, node_state

FACTS = admin_pb2.NodeFacts(url="http://10.0.0.7:1", engine="vllm", slots=2)


@pytest.mark.parametrize(
    ("node", "state"),
    [
        (admin_pb2.Node(enabled=False, announced=FACTS), "off"),
        (admin_pb2.Node(enabled=True, announced=admin_pb2.NodeFacts(draining=True), silent=True), "draining"),
        (admin_pb2.Node(enabled=True, announced=FACTS, silent=True), "silent"),
        (admin_pb2.Node(enabled=True, announced=FACTS, declared=FACTS), "joined"),
        (admin_pb2.Node(enabled=True, declared=FACTS), "declared"),
        (admin_pb2.Node(enabled=True, key_id="x"), "awaited"),
    ],
)
def test_one_word_says_how_a_node_stands(node: admin_pb2.Node, state: str) -> None:
    assert node_state(node) == state


def test_a_node_of_which_nothing_is_known_has_all_its_cells() -> None:
    node = admin_pb2.Node(name="mac-1", enabled=True)
    assert node_row(node) == ["mac-1", "awaited", "never", "-", "-", "-", "-"]
    assert len(COLUMNS) == len(node_row(node))
    assert node_facts(node)["heard_at"] is None


def test_a_declared_node_shows_its_declaration_line_by_line() -> None:
    lines = dict(node_lines(admin_pb2.Node(name="mac-1", enabled=True, declared=FACTS)))
    assert (lines["declared url"], lines["declared engine"], lines["declared slots"]) == (FACTS.url, "vllm", "2")
    assert (lines["region"], lines["key"]) == ("unknown", "none")
