"""The gateway's own processes: pages FG1 to FG10."""

from sim.registry.runbook.page import Page

GATEWAY: dict[str, Page] = {
    "FG1": Page(
        sees="`/readyz` is 503 `draining` with `shutting_down`",
        symptom="None where a balancer looks at `/readyz`; a stream that outlasts the drain ends in one "
        "error event `draining`.",
        itself="Is not ready at once, listens for `KTMS_DRAIN_DELAY_S` (5) more, gives running calls "
        "`KTMS_SHUTDOWN_TIMEOUT_S` (30), then a last word; gives slots back, sends usage, and ends with 0.",
        look=(
            "`drain_timed_out` in the log: its `calls` were cut",
            "`ledger_not_flushed` in the log (FL7)",
            "`ktms_in_flight`",
        ),
        do="Give the process longer than both times together before it is killed: 60 s with the defaults.",
        over="The process has ended with 0.",
    ),
    "FG2": Page(
        sees="the process is gone before its drain could end",
        symptom="Running calls get their last word at once.",
        itself="Waits for nobody any more. Slots that were not given back end by themselves within 15 s.",
        look=(
            "`ledger_not_flushed` in the log",
            "what sends the second signal: an impatient supervisor, a second Ctrl-C",
        ),
        do="Nothing, unless a supervisor does it always: then FG1.",
        over="`ktms_node_slots_busy` on the other replicas is right within 15 s.",
    ),
    "FG3": Page(
        sees="`ktms_build_info` of the replica is gone, or `process_start_time_seconds` has jumped",
        symptom="Calls that ran there break; all others are answered by the other replicas. Repeats with the "
        "`Idempotency-Key` of one that broke get 409 for 12 minutes: nobody knows what came of it.",
        itself="Its slots are free within 15 s, and what it had reserved of limits is given back after that. Its "
        "events are sent by the next process, with `KTMS_SPOOL_DIR` (FL6). Nothing is billed twice.",
        look=(
            "the supervisor: killed for want of memory, by a probe, or ended by itself",
            "`internal_error` in its log before it went, and where; `process_resident_memory_bytes` as it was",
            "`ktms_loops_failed_total`: a mistake of ours ends one work beside the calls, which is begun again",
            "`ktms_node_slots_busy` on the others",
        ),
        do="Start it again; nothing has to be cleaned up. Use `/healthz` for liveness, never `/readyz`.",
        over="All replicas answer, and `ktms_node_slots_busy` is right.",
    ),
    "FG4": Page(
        sees="`ktms_build_info` with two values of `version`",
        symptom="None, as it is meant.",
        itself="Migrations only add, so replicas of the release before keep working on the new schema.",
        look=("`ktms_build_info` by `version`", "`ktms migrate --check`", "`ktms_requests_total` by `status`"),
        do="Replace replicas one after the other, each after its drain (FG1). Proofs of two releases side by "
        "side come with the first two releases.",
        over="One `version` is left.",
    ),
    "FG5": Page(
        sees="nothing: no metric of ours is a clock",
        symptom="None.",
        itself="Counts timers, rests, windows and breakers by the monotonic clock; leases, rates and budgets "
        "by the clock of Redis.",
        look=("`ktms doctor`, the lines clock of redis and clock of postgres", "the machine's time service"),
        do="Set the clock right. Before a start without Postgres it must be: a saved snapshot is judged by "
        "it (FP9).",
        over="`ktms doctor` says nothing of clocks.",
    ),
    "FG6": Page(
        sees="`ktms_calls_shed_total` grows",
        symptom="Some calls get 503 `overloaded` with `Retry-After: 1`, before anything was done for them.",
        itself="Takes 4,096 calls at once and as many connections as there are files for, and refuses more "
        "at once; `/healthz`, `/readyz` and `/metrics` answer all the same.",
        look=(
            (
                "`ktms_calls_shed_total` by `reason`: `calls` too many at once, `loop` the process is behind "
                "(FG7), `connections` too many of them"
            ),
            "`ktms_in_flight` by replica: a balancer that sends all to one",
            "`process_cpu_seconds_total`",
        ),
        do="Start more replicas. For `connections` raise the limit of open files (FG8), or have clients keep "
        "fewer.",
        over="`ktms_calls_shed_total` no longer grows.",
    ),
    "FG7": Page(
        sees="`ktms_loop_blocked_total` grows; `loop_blocked` in the log",
        symptom="All calls of this replica take that much longer; while it is 0.4 s behind look after look "
        "new ones get 503 `overloaded`.",
        itself="Measures each stall of 100 ms and more. Answers that came meanwhile are taken, not timed out, and "
        "leases that ended meanwhile are taken up again.",
        look=(
            "`ktms_loop_lag_seconds`, `ktms_loop_blocked_total`",
            "`loop_blocked`, its `seconds`",
            (
                "`process_cpu_seconds_total`, and what else the machine does: a frozen or throttled container "
                "looks so"
            ),
        ),
        do="Give it a processor of its own: a limit of CPU below one core stops it in every period. More replicas "
        "where it is work.",
        over="`ktms_loop_blocked_total` no longer grows.",
    ),
    "FG8": Page(
        sees="`process_open_fds` near `process_max_fds`",
        symptom="New connections wait, open ones go on; calls may fail to reach a target.",
        itself="Looks every 0.1 s whether a file is free, without a busy loop, and takes those that waited. "
        "At its start it raises its limit as far as the system lets it, to 65,536 at most.",
        look=(
            "`process_open_fds`, `process_max_fds`",
            '`ktms_calls_shed_total{reason="connections"}`',
            "`ktms doctor`, the line open files",
        ),
        do="Raise the hard limit of the service (`LimitNOFILE`, `ulimit -n`) and start it again; where the number "
        "grows without calls, restart it after a drain and report it.",
        over="`process_open_fds` is well below `process_max_fds`.",
    ),
    "FG9": Page(
        sees="nothing yet",
        symptom="None, as it is meant.",
        itself="Opens each stored secret with the key that it was written under. A gateway whose keyring lacks a "
        "key that is in use does not start, and says which.",
        look=("`ktms doctor`, the line keyring",),
        do="Rotation, which leaves no row under the old key, is not in this release. Keep every key in "
        "`KTMS_ENCRYPTION_KEYS`.",
        over="Not in this release.",
    ),
    "FG10": Page(
        sees="`migration_waits` in the log, its `holder`",
        symptom="None: replicas that run go on; those that start are not ready until it is done.",
        itself="One applies what is missing under a lock; the others wait for up to 300 s and find nothing "
        "to do. If the holder is killed its connection ends, the lock is free, and another goes on from the "
        "first file that is missing.",
        look=(
            "`migration_begins`, `migration_waits`, `migration_repeats` and `migration_done` in the log",
            "`ktms migrate --check`: what is still open",
            "`pg_locks` and `pg_stat_activity`, where the `application_name` begins with `ktms-migrate`",
        ),
        do="Wait. If the lock is held for longer than 300 s a start ends and says so: end the session that "
        "holds it.",
        over="`ktms migrate --check` ends with 0.",
    ),
}
"""By id."""
