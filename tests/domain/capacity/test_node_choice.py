"""Order in which nodes are asked for a slot."""

from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.capacity.node_choice import order
from ktms.domain.catalogue import EngineKind
from ktms.domain.ids import NodeName, Region, VendorModel
from ktms.domain.snapshot import Node, Origin, Reach

MODEL = VendorModel("qwen3:4b")


def node(name: str, *, slots: int = 4, window: int | None = None, region: str | None = None) -> Node:
    return Node(
        NodeName(name),
        Origin("http", "10.0.0.7", 8790, "", Reach.NODE),
        EngineKind.OLLAMA,
        None,
        None if region is None else Region(region),
        slots,
        slots,
        {MODEL: window},
        None,
    )


def names(
    *nodes: Node,
    busy: dict[str, int] | None = None,
    need_tokens: int = 0,
    regions: frozenset[Region] | None = None,
    refused: frozenset[NodeName] = frozenset(),
) -> list[str]:
    found = order(
        nodes,
        lambda name: (busy or {}).get(name, 0),
        vendor_model=MODEL,
        need_tokens=need_tokens,
        regions=regions,
        refused=refused,
    )
    return [one.name for one in found]


def test_the_smallest_share_of_busy_slots_comes_first() -> None:
    assert names(node("a", slots=2), node("b", slots=8), busy={"a": 1, "b": 2}) == ["b", "a"]


def test_equals_keep_the_order_of_the_file() -> None:
    assert names(node("c"), node("a"), node("b")) == ["c", "a", "b"]


def test_a_full_node_comes_last_but_is_not_left_out() -> None:
    assert names(node("a", slots=1), node("b", slots=4), busy={"a": 1, "b": 3}) == ["b", "a"]


def test_a_node_whose_window_is_too_small_is_left_out() -> None:
    assert names(node("a", window=4096), node("b", window=8192), node("c"), need_tokens=4097) == ["b", "c"]


def test_a_window_that_just_fits_is_enough() -> None:
    assert names(node("a", window=4096), need_tokens=4096) == ["a"]


def test_a_node_outside_of_the_regions_is_left_out() -> None:
    nodes = (node("a", region="fr"), node("b", region="us"), node("c"))

    assert names(*nodes, regions=frozenset({Region("fr")})) == ["a"]


def test_a_node_that_refused_is_left_out() -> None:
    assert names(node("a"), node("b"), refused=frozenset({NodeName("a")})) == ["b"]


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(0, 8)), max_size=12))
def test_no_node_is_lost_or_doubled_and_shares_never_fall(loads: list[tuple[int, int]]) -> None:
    nodes = [node(str(index), slots=slots) for index, (slots, _) in enumerate(loads)]
    found = names(*nodes, busy={str(index): taken for index, (_, taken) in enumerate(loads)})

    assert sorted(found) == sorted(one.name for one in nodes)
    shares = [loads[int(name)][1] / loads[int(name)][0] for name in found]
    assert shares == sorted(shares)
