import pytest

from ktms.adapters.redis.reports import decode, encode
from ktms.domain.capacity.node_report import Look, ModelReport, NodeReport
from ktms.domain.ids import NodeName, VendorModel

REPORT = NodeReport(
    NodeName("mac-1"),
    Look.LOADING,
    misses=1,
    draining=True,
    slots=4,
    busy=0,
    models={VendorModel("qwen3:4b"): ModelReport(loaded=False, window=4096)},
)


def test_a_report_comes_back_as_it_was_with_its_age() -> None:
    seen = decode(b"1790000000000 " + encode(REPORT), 1790000001500)
    assert seen is not None
    assert (seen.report, seen.age_s) == (REPORT, 1.5)


def test_a_stamp_from_a_clock_ahead_is_no_negative_age() -> None:
    seen = decode(b"1790000000000 " + encode(REPORT), 1789999999000)
    assert seen is not None
    assert seen.age_s == 0


def test_a_field_of_a_later_release_is_ignored() -> None:
    seen = decode(b'1 {"node":"a","look":"spoke","later":{"x":1}}', 1)
    assert seen is not None
    assert seen.report == NodeReport(NodeName("a"), Look.SPOKE)


@pytest.mark.parametrize(
    "text",
    [b"", b"nonsense", b"1 {", b'1 {"node":"a","look":"of a later release"}', b'x {"node":"a","look":"spoke"}'],
)
def test_what_cannot_be_read_is_no_report(text: bytes) -> None:
    assert decode(text, 1) is None
