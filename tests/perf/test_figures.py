"""The arithmetic of the benchmark: quantiles, slopes, bars, tables."""

from pathlib import Path

import pytest

from tests.perf.bars import Bar, Verdict, bars
from tests.perf.child import Child
from tests.perf.contenders import ALL_ON, DIRECT, GATEWAY, LEASED, NGINX, Contender, LineUp, nginx_configuration
from tests.perf.load_closed import is_complete, quantiles_ms
from tests.perf.machine import look
from tests.perf.measure import BUSY, IDLE, MANY, STREAMS, Figures
from tests.perf.picture import draw
from tests.perf.plan import FULL, QUICK, Plan
from tests.perf.plan import MANY as MANY_PACE
from tests.perf.plan import STREAMS as STREAMS_PACE
from tests.perf.report import BEGIN, END, ratios, shown, table, update_document
from tests.perf.slope import fit
from tests.perf.windows import Samples, quantile


def line_up(*contenders: Contender) -> LineUp:
    return LineUp(None, list(contenders), {"LiteLLM": "not installed"})  # type: ignore[arg-type]  # no load is sent


OWN = Contender(GATEWAY, 1, 1, "k", {"switches": {"key check": "on", "limits in Redis": "off"}})


FULL_ON = Contender(
    ALL_ON,
    2,
    2,
    "k",
    {"switches": {"key check": "on", "limits in Redis": "on"}, "per_request": {"reserve": 1, "settle": 1}},
    tells=Child(None, {}),  # type: ignore[arg-type]  # it is not asked
)


def figures_of(**cpu_us: list[float]) -> Figures:
    figures = Figures()
    for name, values in cpu_us.items():
        for value in values:
            figures.of(BUSY, name).add(cpu_us=value)
            figures.of(STREAMS, name).add(cpu_us=value / 2)
    return figures


@pytest.mark.parametrize(("share", "value"), [(0, 1), (0.25, 2), (0.5, 3), (0.625, 3.5), (1, 5)])
def test_quantiles_are_interpolated(share: float, value: float) -> None:
    assert quantile([5, 1, 4, 2, 3], share) == value


def test_no_samples_have_no_quantile() -> None:
    assert Samples().median("cpu_us") is None


def test_latencies_are_given_in_milliseconds() -> None:
    values = [n * 1_000_000 for n in range(1, 101)]
    assert quantiles_ms(values) == {"p50_ms": 50.0, "p99_ms": 99.0}
    assert quantiles_ms([]) == {"p50_ms": 0.0, "p99_ms": 0.0}


def test_a_leak_has_a_slope() -> None:
    slope = fit([(n * 1000.0, 5e7 + 100.0 * n * 1000) for n in range(20)])
    assert slope.bytes_per_request == pytest.approx(100)
    assert slope.beyond_noise == pytest.approx(100)


def test_a_warm_up_is_no_leak() -> None:
    slope = fit([(n * 1000.0, 5e7 + min(n, 4) * 1e6) for n in range(20)])
    assert slope.beyond_noise == pytest.approx(0, abs=1e-6)


def test_coming_and_going_is_no_leak() -> None:
    slope = fit([(n * 1000.0, 5e7 + (n % 2) * 1e6) for n in range(20)])
    assert slope.beyond_noise == 0


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (None, Verdict.UNKNOWN),
        (90, Verdict.GOAL),
        (91, Verdict.FIRST),
        (250, Verdict.FIRST),
        (251, Verdict.MISSED),
    ],
)
def test_a_bar_is_judged(value: float | None, verdict: Verdict) -> None:
    assert Bar("x", "us", 250, 90, value).verdict is verdict


def test_bars_take_the_lower_quartile_of_the_gateway() -> None:
    rows = bars(figures_of(gateway=[100, 200, 300, 400, 500], nginx=[1]))
    assert (rows[0].value, rows[0].first) == (200, 250)


def test_bars_of_leases_take_the_gateway_with_a_node() -> None:
    figures = figures_of(gateway=[100])
    figures.of(BUSY, LEASED).add(cpu_us=300, beside_us=30)
    assert [row.value for row in bars(figures) if "lease" in row.name] == [300, 30]


def test_bars_of_everything_take_the_gateway_with_all_on_and_its_redis() -> None:
    figures = figures_of(**{GATEWAY: [100.0], ALL_ON: [390.0]})
    figures.of(BUSY, ALL_ON).add(beside_us=45)
    rows = [row for row in bars(figures) if "everything on" in row.name]
    assert [(row.value, row.verdict) for row in rows] == [(390, Verdict.FIRST), (45, Verdict.FIRST)]
    assert next(row.value for row in bars(figures) if "chunk" in row.name) == 195


def test_what_was_not_measured_is_not_judged() -> None:
    assert {bar.verdict for bar in bars(Figures())} == {Verdict.UNKNOWN}


@pytest.mark.parametrize(("direct", "value"), [(0, 3), (1, None)])
def test_stalls_count_only_where_the_bare_upstream_has_none(direct: float, value: float | None) -> None:
    figures = Figures()
    figures.of(MANY, DIRECT).add(stalled=direct)
    figures.of(MANY, ALL_ON).add(stalled=3)
    (row,) = (bar for bar in bars(figures) if "stalled" in bar.name)
    assert row.value == value


def test_ratios_compare_lower_quartiles() -> None:
    contenders = line_up(Contender(DIRECT, 1, None, "", {}), OWN, Contender(NGINX, 1, 1, "", {}))
    assert ratios(contenders, figures_of(gateway=[100, 100], nginx=[40, 40])) == {
        NGINX: {"request": 2.5, "chunk": 2.5}
    }


def test_ratios_of_everything_on_stand_beside_those_without_limits() -> None:
    contenders = line_up(OWN, FULL_ON, Contender(NGINX, 1, 1, "", {}))
    assert ratios(contenders, figures_of(**{GATEWAY: [80.0], ALL_ON: [200.0], NGINX: [40.0]})) == {
        NGINX: {"request": 2, "request, all on": 5, "chunk": 2, "chunk, all on": 5}
    }


def test_the_table_says_what_differs_when_everything_is_on_and_what_was_proved() -> None:
    text = table(line_up(OWN, FULL_ON), Figures(), [], look())
    assert "Gateway with: key check on, limits in Redis off. Gateway, all on with: limits in Redis on." in text
    assert "gateway, all on: 1 reserve + 1 settle" in text


def test_the_table_names_the_interpreter_the_switches_and_who_is_absent() -> None:
    figures = figures_of(gateway=[100])
    figures.of(IDLE, GATEWAY).add(bytes=20_000)
    figures.of(BUSY, ALL_ON).add(cpu_us=390)
    text = table(line_up(OWN), figures, bars(figures), look())
    assert "PGO" in text
    assert "key check on, limits in Redis off" in text
    assert "LiteLLM (not installed)" in text
    assert "20.0 (20.0)" in text
    assert "first bar reached" in text


def test_a_crowded_machine_is_named() -> None:
    quiet, crowded = Figures(), Figures()
    quiet.of(BUSY, GATEWAY).add(waited=0.02)
    crowded.of(BUSY, GATEWAY).add(waited=0.4)
    assert "quiet" not in table(line_up(OWN), quiet, [], look())
    assert "waited up to 40% of its time" in table(line_up(OWN), crowded, [], look())


@pytest.mark.parametrize(("value", "text"), [(None, "-"), (1234.5, "1,234"), (12.34, "12.3"), (1.234, "1.23")])
def test_figures_are_shown_with_three_digits(value: float | None, text: str) -> None:
    assert shown(value) == text


def test_only_what_stands_between_the_markers_is_replaced(tmp_path: Path) -> None:
    document = tmp_path / "performance.md"
    document.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    assert update_document(document, "new")
    assert document.read_text() == f"before\n{BEGIN}\nnew\n{END}\nafter\n"


def test_a_document_without_markers_is_left_alone(tmp_path: Path) -> None:
    document = tmp_path / "performance.md"
    assert not update_document(document, "new")
    document.write_text("text")
    assert not update_document(document, "new")
    assert document.read_text() == "text"


@pytest.mark.parametrize(
    ("answer", "complete"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", False),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nAge: 0\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", True),
    ],
)
def test_a_complete_answer_is_recognised(answer: bytes, complete: bool) -> None:
    assert is_complete(answer) is complete


def test_nginx_keeps_upstream_connections_and_does_not_buffer() -> None:
    text = nginx_configuration(Path("/x"), 1, 2)
    assert "keepalive 256" in text
    assert "proxy_buffering off" in text


def test_the_picture_is_drawn_from_what_there_is(tmp_path: Path) -> None:
    draw(tmp_path / "new" / "bench.png", line_up(OWN), figures_of(gateway=[100, 110]))
    assert (tmp_path / "new" / "bench.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("plan", [QUICK, FULL])
def test_all_streams_are_open_at_once(plan: Plan) -> None:
    for pace, chunks in ((STREAMS_PACE, plan.stream_chunks), (MANY_PACE, plan.many_chunks)):
        assert chunks * pace.every_ms > 1.5 * pace.streams * pace.ramp_ms
