"""Postgres: pages FP1 to FP12."""

from sim.registry.runbook.page import Page

_UP = '`ktms_dependency_up{dependency="postgres"}`, asked every 5 s'
_ERRORS = '`ktms_dependency_errors_total{dependency="postgres"}` by `operation` and `kind`'
_READY = "`/readyz`: `postgres_away` alone is the time in which known keys work; `key_window_closed` is its end"
_DOCTOR = "`ktms doctor` in the environment of `ktms serve`, the line postgres: why it does not answer"
_BACK = (
    "Bring Postgres back within `KTMS_KEY_WINDOW_S` (300) of its last answer. `ktms admin` and `ktms top` do not "
    "work until then: admin keys are looked up there. Do not restart replicas that run."
)
_OVER = (
    '`ktms_dependency_up{dependency="postgres"}` is 1 on every replica and `/readyz` no longer names '
    "`postgres_away`"
)

POSTGRES: dict[str, Page] = {
    "FP1": Page(
        sees="`/readyz` is 200 `degraded` with `postgres_away`",
        symptom="None: keys that were verified lately work.",
        itself="Lets each known key work until `KTMS_KEY_WINDOW_S` (300) after its last verification, "
        "without asking and so without waiting.",
        look=(_UP, _ERRORS, _READY, _DOCTOR),
        do=_BACK,
        over=f"{_OVER}.",
    ),
    "FP2": Page(
        sees='`ktms_requests_total{status="503"}`; `code` `auth_unavailable` in the log',
        symptom="Keys that this replica has not seen lately get 503 `auth_unavailable` with `Retry-After`. "
        "Never 401: a client must not throw its key away.",
        itself="Asks Postgres for each such key, at most 3 s, and refuses without a verdict.",
        look=(_UP, _ERRORS, "`auth_unavailable` in the log"),
        do=_BACK,
        over=f"{_OVER}, and no call ends with `auth_unavailable`.",
    ),
    "FP3": Page(
        sees='`ktms_dependency_errors_total{dependency="postgres",operation="find_keys"}` grows',
        symptom="Calls of unknown keys wait for up to 3 s, then as FP2. Those of known keys wait at most "
        "once, then as FP1.",
        itself="Asks once for each key however many calls wait for it, 3 s at most in all; after the first "
        "failure known keys are not asked for beside calls.",
        look=(
            _ERRORS,
            "locks and load of the server, `pg_stat_activity` where the `application_name` is `ktms`",
            _DOCTOR,
        ),
        do="End what blocks the server or the table of keys. Where it hangs for good fail over, or start it "
        "again.",
        over=f"{_OVER}.",
    ),
    "FP4": Page(
        sees="`ktms_snapshot_age_seconds` grows on every replica",
        symptom="None: models, chains, nodes and prices are those of the last good configuration.",
        itself="Keeps the snapshot in force and asks for a newer one about every 5 s. One that does not "
        "compile never replaces it: `snapshot_refused`.",
        look=(
            (
                "`ktms_snapshot_age_seconds`, `ktms_snapshot_version`: replicas with another version have not "
                "followed"
            ),
            '`ktms_dependency_errors_total{operation="load_catalogue"}`',
            "`snapshot_refused` in the log, its `reason`",
        ),
        do="Bring Postgres back. Where the log says `snapshot_refused` mend the configuration: `ktms apply` "
        "with the last file that was good.",
        over="`ktms_snapshot_age_seconds` is below 10 and `ktms_snapshot_version` the same everywhere.",
    ),
    "FP5": Page(
        sees='`ktms_dependency_errors_total{dependency="postgres",operation="begin_call"}` grows',
        symptom="Calls with an `Idempotency-Key` get 503 `idempotency_unavailable`; batches and files get 503 "
        "`store_unavailable` or the same. Calls without are answered.",
        itself="Starts nothing that it might have done before, so nothing is paid twice. One under way is "
        "answered; its answer is kept if Postgres is back within 30 s.",
        look=(_UP, "`idempotency_unavailable` and `store_unavailable` in the log", "`ktms_batch_lines_waiting`"),
        do="Bring Postgres back. Clients may repeat with the same key as often as they like.",
        over=f"{_OVER}; batches go on by themselves: `ktms admin batches list`.",
    ),
    "FP6": Page(
        sees="`/readyz` is 200 `degraded` with `postgres_away`",
        symptom="None by itself: known keys work (FP1).",
        itself="Stays ready while the last answer of Postgres is younger than `KTMS_KEY_WINDOW_S`, by the "
        "monotonic clock of each replica.",
        look=(_READY, _UP),
        do=_BACK,
        over="`/readyz` is `ok`; if it turns 503 see FP7.",
    ),
    "FP7": Page(
        sees="`/readyz` is 503 `unready` with `key_window_closed`",
        symptom="Every call gets 503 `auth_unavailable`; balancers take the replicas out.",
        itself="Refuses all keys, since none was verified for longer than the window: a revoked one would work "
        "for ever. Stays alive (`/healthz` 200), and is ready with the first answer of Postgres.",
        look=(_READY, _UP, _DOCTOR),
        do="Bring Postgres back, or fail over to its standby; nothing else opens the door. Do not restart "
        "replicas.",
        over="`/readyz` is 200.",
    ),
    "FP8": Page(
        sees='`ktms_dependency_up{dependency="postgres"}` is 1 again, `ktms_snapshot_age_seconds` falls',
        symptom="All keys work again within 2 s.",
        itself="Asks once for each key that comes, and for all known keys together every 5 s, at jittered "
        "moments; confirms or refreshes the snapshot.",
        look=(
            _UP,
            "`ktms_snapshot_age_seconds`",
            "connections of the server: at most `KTMS_DATABASE_POOL_MAX` of each replica",
        ),
        do="Nothing. Where a replica stays away while others are back, its own way to Postgres is broken.",
        over="It is the end of FP1 to FP7.",
    ),
    "FP9": Page(
        sees="`started_from_saved_snapshot`, or `saved_snapshot_unusable` and `database_away_at_start`, in "
        "the log",
        symptom="With a usable file a started replica serves the keys that it knew, until their window ends. "
        "Without one it is alive, answers 503 `auth_unavailable`, and waits.",
        itself="Reads `KTMS_SNAPSHOT_FILE` where it is set; asks Postgres every second and never ends for "
        "it: no loop of crashes.",
        look=(
            "`saved_snapshot_unusable`, its `reason`",
            "`/readyz`: `saved_snapshot`, or `no_snapshot`",
            "`ktms_snapshot_saved_timestamp_seconds` of replicas that run, and `ktms_snapshot_saves_total`",
            "`ktms doctor`, the line saved snapshot",
        ),
        do="Bring Postgres back. Start no further replicas meanwhile, and stop none: those that run know "
        "most keys.",
        over="`/readyz` is `ok`.",
    ),
    "FP10": Page(
        sees='`ktms_dependency_errors_total{dependency="postgres",operation="find_keys"}` grows while others '
        "are quiet",
        symptom="As FP1 and FP2: a wait within 3 s, then 503 `auth_unavailable` for keys that are not known.",
        itself="Never opens more than `KTMS_DATABASE_POOL_MAX` (25) connections, that for news among them; what "
        "is given up ends on the server within half a second.",
        look=(
            _ERRORS,
            "`pg_stat_activity` and `pg_locks`: what holds the sessions whose `application_name` is `ktms`",
            "`ktms doctor`, the line postgres: how many connections are left",
        ),
        do="End the long transaction or the lock that holds them. A larger pool only lets more of them wait.",
        over=f"{_OVER}.",
    ),
    "FP11": Page(
        sees='`ktms_dependency_errors_total{dependency="postgres",operation="listen"}` grows',
        symptom="A revoked key works for up to 10 s more on a replica that heard nothing of it; with "
        "Postgres away until its window of `KTMS_KEY_WINDOW_S` ends.",
        itself="Asks for all keys in use together every 5 s, whether it heard something or not, and opens "
        "the lost channel again every second.",
        look=(
            '`operation="listen"` of `ktms_dependency_errors_total`',
            "`KTMS_DATABASE_DIRECT_URL`: a pooler in transaction mode forgets who listens",
            "`ktms admin keys list`: whether it is revoked",
        ),
        do="Bring Postgres back. Where a key must end at once while it is away only stopping the replicas helps, "
        "and that ends the service; without their `KTMS_SNAPSHOT_FILE` they start knowing no key.",
        over="The key gets 401 `invalid_api_key` on every replica.",
    ),
    "FP12": Page(
        sees="`ktms admin` or `ktms apply` ends with an error; "
        '`ktms_dependency_errors_total{dependency="postgres"}` grows',
        symptom="Whoever changed something in that moment is told that it failed, or that it is not known.",
        itself="Stores a change whole or not at all. Calls go on as in FP1 until the new server answers.",
        look=(
            _UP,
            "`ktms apply --dry-run` with the same file: what is missing, if anything",
            "`ktms admin version`",
        ),
        do="Repeat the change: a repeated `ktms apply` that finds nothing to do was stored the first time.",
        over=f"{_OVER}.",
    ),
}
"""By id."""
