from ktms.domain.ids import NodeName, RequestId, VendorName
from ktms.ports.telemetry import AttemptRecord, CallRecord, Gauge
from sim.fakes.telemetry import JournalTelemetry
from sim.journal.journal import Journal


def told() -> tuple[JournalTelemetry, Journal]:
    journal = Journal(lambda: 0.0)
    return JournalTelemetry("gw1", journal), journal


def test_attempts_stand_in_the_record_in_their_order() -> None:
    telemetry, journal = told()
    attempts = (
        AttemptRecord(VendorName("local"), NodeName("mac-1"), "timeout"),
        AttemptRecord(VendorName("openai"), None, "ok"),
    )
    record = CallRecord(RequestId("request"), "chat", 200, None, 0.5, attempts=attempts)
    telemetry.call_ended(record)
    assert journal.facts[0].text("attempts") == "local/mac-1=timeout|openai/=ok"


def test_a_log_line_holds_all_its_facts_as_text() -> None:
    telemetry, journal = told()
    telemetry.event("warning", "odd", reason="sk-secret", age_s=4.0, vendor=None)
    assert journal.has("log", level="warning", name="odd", text="reason=sk-secret age_s=4.0 vendor=None")


def test_a_gauge_that_stays_is_one_fact() -> None:
    telemetry, journal = told()
    for value in (1, 1, 0, 0, 1):
        telemetry.gauge(Gauge.DEPENDENCY_UP, value, "redis")
    assert [fact.number("value") for fact in journal.of("gauge")] == [1, 0, 1]
