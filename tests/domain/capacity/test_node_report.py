import pytest

from ktms.domain.capacity.node_report import SAME_LOOK_S, Look, NodeReport, is_known
from ktms.domain.ids import NodeName

TAKEN = NodeReport(NodeName("a"), Look.ANSWERED)
OTHER = NodeReport(NodeName("a"), Look.MISSED)


@pytest.mark.parametrize(
    ("report", "at", "known"),
    [
        (TAKEN, 100.0, True),
        (TAKEN, 100.0 + SAME_LOOK_S, True),
        (TAKEN, 105.0, False),
        (TAKEN, 95.0, True),
        (OTHER, 100.1, False),
        (OTHER, 99.9, False),
        (OTHER, 95.0, True),
    ],
)
def test_a_reading_is_news_where_it_is_later_or_another_of_the_same_time(
    report: NodeReport, at: float, known: bool
) -> None:
    assert is_known(report, at, 100.0, TAKEN) is known
