"""What is read of a gateway's metrics."""

import pytest

from chaos.stand.gateway import metric_in

TEXT = """\
# HELP ktms_requests_total Calls
ktms_requests_total{model="m",status="200",vendor="a"} 3.0
ktms_requests_total{model="m",status="200",vendor="b"} 4.0
ktms_requests_total{model="m",status="503",vendor=""} 1.0
ktms_in_flight 2.0
"""


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        ("ktms_in_flight", {}, 2.0),
        ("ktms_requests_total", {"vendor": "b"}, 4.0),
        ("ktms_requests_total", {"status": "200"}, 7.0),
        ("ktms_requests_total", {}, 8.0),
        ("ktms_requests_total", {"vendor": "c"}, None),
        ("ktms_requests", {}, None),
    ],
)
def test_series_that_have_these_labels_are_summed(name: str, labels: dict[str, str], value: float | None) -> None:
    assert metric_in(TEXT, name, **labels) == value
