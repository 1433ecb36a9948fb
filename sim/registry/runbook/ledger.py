"""The ledger, be it `ktms ledger` or the gateway's own Postgres: pages FL1 to FL7."""

from sim.registry.runbook.page import Page

_UP = '`ktms_dependency_up{dependency="ledger"}`, of the last batch that was sent'
_WAITING = "`ktms_usage_events_waiting`"
_DROPPED = "`ktms_usage_events_dropped_total`"
_ERRORS = (
    '`ktms_dependency_errors_total{dependency="ledger",operation="send"}` by `kind`: `away`, `timeout`, '
    "or `refused`: the ledger answers and does not want them"
)
_DOCTOR = "`ktms doctor` in the environment of `ktms serve`, the line ledger"

LEDGER: dict[str, Page] = {
    "FL1": Page(
        sees='`ktms_dependency_up{dependency="ledger"}` is 0, `ktms_usage_events_waiting` grows',
        symptom="None: no call waits for the ledger, readiness is not touched. `ktms admin usage` shows too "
        "little.",
        itself="Keeps up to 10,000 events in memory, or on disk with `KTMS_SPOOL_DIR`; asks again after "
        "pauses that grow to 5 s.",
        look=(_UP, _WAITING, _ERRORS, _DOCTOR),
        do="Bring `ktms ledger`, or the Postgres under it, back before 10,000 events wait; do not stop "
        "replicas that have no `KTMS_SPOOL_DIR`.",
        over=f"{_WAITING} is near 0 again, and {_DROPPED} has not moved.",
    ),
    "FL2": Page(
        sees="`ktms_usage_events_dropped_total` grows",
        symptom="None for callers. Usage is lost for good: bills are too small, budgets are charged all the same.",
        itself="With `KTMS_SPOOL_DIR` nothing is lost until 1 GiB waits on disk. Without it the oldest event is "
        "dropped for each new one beyond 10,000, and counted.",
        look=(
            _DROPPED,
            _WAITING,
            _ERRORS,
            "`usage_event_set_aside` in the log: an event that the ledger alone refuses, in full",
        ),
        do="Bring the ledger back. Then give each replica a `KTMS_SPOOL_DIR` on a disk that outlives it.",
        over=f"{_DROPPED} no longer moves; what it counted is gone.",
    ),
    "FL3": Page(
        sees='`ktms_dependency_errors_total{dependency="ledger",kind="timeout"}` grows',
        symptom="As FL1.",
        itself="Gives each send 5 s and repeats it; the ledger knows events by their ids and books none twice.",
        look=(_ERRORS, _WAITING, "load and locks of the Postgres under the ledger"),
        do="Find what slows that Postgres. Several `ktms ledger` may run on one database.",
        over=f"`timeout` no longer grows and {_WAITING} falls.",
    ),
    "FL4": Page(
        sees="`ktms_usage_events_waiting` falls",
        symptom="`ktms admin usage` catches up.",
        itself="Sends what waited in its order, 500 at a time, the first within 5 s.",
        look=(_UP, _WAITING, _DROPPED),
        do="Nothing. Where it does not fall while the ledger is up look for `usage_refused` in the ledger's log.",
        over=f"{_WAITING} is near 0.",
    ),
    "FL5": Page(
        sees="nothing but FL1 for a moment",
        symptom="None.",
        itself="Sends a batch again whose confirmation it did not get. The ledger stores an event and its "
        "sums in one step, by the event's id: once.",
        look=(_WAITING, _ERRORS),
        do="Nothing.",
        over=f"{_WAITING} is near 0.",
    ),
    "FL6": Page(
        sees="a replica was killed; `ktms_usage_events_waiting` of the next start begins above 0",
        symptom="None for callers.",
        itself="With `KTMS_SPOOL_DIR` the next process that starts there sends what the dead one left. Without it "
        "what waited in memory is lost and nothing counts it.",
        look=(_WAITING, "folders `0`, `1`, … under `KTMS_SPOOL_DIR`", "`ktms doctor`, the line usage"),
        do="Start a replica with the same `KTMS_SPOOL_DIR`. Without one compare the vendors' bills for that "
        "minute.",
        over=f"{_WAITING} is near 0.",
    ),
    "FL7": Page(
        sees="`ledger_not_flushed` in the log where it did not get done",
        symptom="None.",
        itself="Sends what waits as the last step of its drain, for up to 2 s; what is then left in memory is "
        "counted as dropped, what is on disk stays there for the next start.",
        look=("`ledger_not_flushed`, its `events`", _DROPPED),
        do="Nothing where the ledger is up. Where it is away: stop replicas without `KTMS_SPOOL_DIR` last.",
        over="The process is gone and its log does not say `ledger_not_flushed`.",
    ),
}
"""By id."""
