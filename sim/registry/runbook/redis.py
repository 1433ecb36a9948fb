"""Redis: pages FR1 to FR14."""

from sim.registry.runbook.page import Page

_UP = '`ktms_dependency_up{dependency="redis"}`, looked at every 5 s'
_KINDS = (
    '`ktms_dependency_errors_total{dependency="redis"}` by `kind`: `away` nobody listens or the '
    "connection broke, `timeout` no answer within `KTMS_REDIS_TIMEOUT_MS`, `error` it answered with one, "
    "`silenced` we leave it alone"
)
_DOCTOR = "`ktms doctor` in the environment of `ktms serve`, the lines redis and clock of redis"
_BACK = "Bring Redis back; no replica has to be started again (FR10)."
_OVER = '`ktms_dependency_up{dependency="redis"}` is 1 on every replica and `/readyz` no longer names `redis_away`'

REDIS: dict[str, Page] = {
    "FR1": Page(
        sees='`ktms_dependency_errors_total{dependency="redis",operation="reserve"}` grows',
        symptom="Nobody is told 429 `rate_limit_exceeded` by us; keys may use more than their `rpm`, `tpm` and "
        "`concurrent` allow. No call fails for it.",
        itself="Lets calls of limited keys pass uncounted; their usage events carry `uncounted`. After three "
        "errors in a row Redis is left alone (FR7), so calls do not become slower.",
        look=(_UP, _KINDS, _DOCTOR),
        do=f"{_BACK} What one replica can hold bounds the load meanwhile (FG6).",
        over=f"{_OVER}; rates begin to count with the next call.",
    ),
    "FR2": Page(
        sees="as FR1; usage events carry `uncounted`",
        symptom="None: calls of keys with a limit of dollars pass.",
        itself="Lets them pass, and raises the counters to what the ledger knows once Redis is back.",
        look=(_UP, _KINDS, "`ktms admin usage --by key --from 1d`: what keys spend meanwhile, from the ledger"),
        do=f"{_BACK} Where a key spends too much meanwhile: `ktms admin keys revoke`, or have dollars refused "
        "while they cannot be counted (FR3).",
        over=f"{_OVER}; what was spent is in the counters within two minutes.",
    ),
    "FR3": Page(
        sees='as FR1, and `ktms_requests_total{status="503"}`',
        symptom="Keys whose dollars must be counted get 503 `budget_unavailable` with `Retry-After`; nobody "
        "is asked for them. Other keys are answered.",
        itself="Refuses rather than spends, as `KTMS_DOLLAR_LIMIT_MODE` or `dollar_limit_mode` say, the "
        "strictest of key, team and all. The same where Redis is back empty and the ledger does not tell "
        "what was spent.",
        look=(
            _UP,
            (
                '`ktms_dependency_errors_total{operation="reserve"}`: `dependency` is `redis`, or `ledger` where '
                "it is the ledger that does not tell"
            ),
            "`code` `budget_unavailable` in the log, by `key`",
        ),
        do=f"{_BACK} Where service is worth more than the limit: set `dollar_limit_mode` of key and team to "
        "`open` with `ktms apply`.",
        over=f"{_OVER}, and no call ends with `budget_unavailable`.",
    ),
    "FR4": Page(
        sees='`ktms_dependency_errors_total{dependency="redis",operation="look_up_answer"}` grows',
        symptom="None but time and money: what is asked again is answered anew.",
        itself="Takes every look for a miss, and keeps nothing.",
        look=(_UP, "`ktms_cache_requests_total`: no `hit` any more", _DOCTOR),
        do=_BACK,
        over=f"{_OVER}; hits return as answers are kept again.",
    ),
    "FR5": Page(
        sees="`/readyz` is 200 `degraded` with `redis_away`; attempts of vendor `local` end as `unknown`",
        symptom="Calls are answered, by the cloud: `X-KTMS-Attempts` begins with `local:unknown`. That costs "
        "money.",
        itself="Passes nodes over, since nobody knows how many of their slots are taken. Running answers go on.",
        look=(
            _UP,
            '`ktms_attempts_total{vendor="local",result="unknown"}`',
            "`ktms_cost_micros_total`: what the cloud costs meanwhile",
            _DOCTOR,
        ),
        do=_BACK,
        over=f"{_OVER}, and nodes answer again: `ktms top`.",
    ),
    "FR6": Page(
        sees='as FR5, and `ktms_requests_total{status="503"}`',
        symptom="Calls that may run on nodes alone get 503 `node_state_unknown` with `Retry-After`.",
        itself="Refuses: such a call never reaches a cloud, whatever else is broken.",
        look=(_UP, _KINDS, "`code` `node_state_unknown` in the log, by `model` and `placement`"),
        do=f"{_BACK} Only where these calls may leave the house: another `placement` for the model or the key, by "
        "`ktms apply`. Switching to the cloud for all does not move calls that name `nodes_only` themselves.",
        over=f"{_OVER}, and no call ends with `node_state_unknown`.",
    ),
    "FR7": Page(
        sees='`ktms_dependency_errors_total{dependency="redis",kind="silenced"}` grows',
        symptom="That of FR1 to FR6, without any wait: calls are as fast as without Redis.",
        itself="After three network errors in a row no call asks Redis for 2 s; then one trial decides for all.",
        look=(_UP, _KINDS),
        do="Nothing about the silence itself: it ends with the first trial that is answered. Look why Redis "
        "failed.",
        over="No more `silenced`; Redis is in use again within 3 s of its return (FR10).",
    ),
    "FR8": Page(
        sees='`ktms_dependency_errors_total{dependency="redis",kind="timeout"}` grows, then `silenced`',
        symptom="A few calls take `KTMS_REDIS_TIMEOUT_MS` (100) longer, once each; then as FR1 to FR6.",
        itself="A call that waited once does without Redis for its admission and its place. Three timeouts "
        "in a row lead to FR7.",
        look=(
            _KINDS,
            "`ktms_overhead_seconds` and `ktms_queue_duration_seconds`: the wait for Redis is in one of them",
            _DOCTOR,
        ),
        do="Look at the server: a process that stands still, a full disk under its log, a saturated machine, a "
        "firewall that drops silently. End and start it again where it does not come back.",
        over=f"{_OVER}; `timeout` no longer grows.",
    ),
    "FR9": Page(
        sees="as FR8",
        symptom="As FR8: a Redis that answers too late is one that does not answer.",
        itself="Treats it like one that hangs; what comes late changes nothing and is not mistaken for "
        "another answer.",
        look=(_KINDS, "`ktms_overhead_seconds` and `ktms_queue_duration_seconds`", _DOCTOR),
        do="Find what slows it: a command of somebody else that takes long, swapping, a network with loss. A "
        "Redis in another region needs a larger `KTMS_REDIS_TIMEOUT_MS`, which every call then pays for when "
        "it hangs.",
        over=f"{_OVER}; `timeout` no longer grows.",
    ),
    "FR10": Page(
        sees='`ktms_dependency_up{dependency="redis"}` is 1 again, `/readyz` is `ok`',
        symptom="Nodes answer again, limits count again.",
        itself="Is back within 3 s without a restart. Reservations that were lost are declared again, those "
        "of calls that ended meanwhile are settled late, and dollars are raised to what the ledger knows. "
        "Nothing is counted twice, nothing becomes negative.",
        look=(_UP, "`ktms top`: slots taken are again those of running answers"),
        do="Nothing. Where a replica does not come back while others do, its own way to Redis is broken.",
        over="It is the end of FR1 to FR9.",
    ),
    "FR11": Page(
        sees="`lease_regained` in the log; nodes are passed over for some seconds after Redis is back",
        symptom="For 6 s after an empty start calls go on as if Redis were down (FR5, FR6); then as always.",
        itself="Grants slots to running answers alone until all of these have had time to take theirs up "
        "again. The first call of an account with a limit of dollars has its spending read from the ledger. "
        "Rates begin anew. Scripts are loaded again.",
        look=(
            "`lease_regained` in the log: `over` is True where a node has more calls than slots until some end",
            "`ktms_node_slots_busy`",
            '`ktms_dependency_errors_total{dependency="ledger",operation="reserve"}`',
        ),
        do="Nothing at once. Ask why Redis forgot: leases and limits survive a restart where it writes to disk.",
        over="Slots are granted again and `lease_regained` has stopped.",
    ),
    "FR12": Page(
        sees='`ktms_dependency_errors_total{dependency="redis",kind="error"}` grows',
        symptom="As FR1 to FR6 until the failover is through.",
        itself="Takes it for a network error when Redis is a replica now, has no memory left or names "
        "another server; one that is named is asked instead. What the new server has not heard of is "
        "declared again within one renewal.",
        look=(
            _KINDS,
            "`lease_regained` in the log: slots that the failover forgot",
            _DOCTOR,
        ),
        do="Wait for the failover. Where it stays: `KTMS_REDIS_URL` names a server that is a replica for good, or "
        "one whose memory is full.",
        over=f"{_OVER}; `error` no longer grows.",
    ),
    "FR13": Page(
        sees="`redis_unfit` in the log at the start, level error",
        symptom="None yet; later slots are lost when Redis evicts them, or none is granted where scripts are "
        "refused.",
        itself="Says at the start what is wrong and what to set, and runs all the same.",
        look=("`redis_unfit`, its `reason`", _DOCTOR),
        do="Set what `reason` names: `maxmemory-policy` `noeviction`, or `volatile-ttl` where answers are "
        "kept; the right to run scripts.",
        over="`ktms doctor` has no error about Redis, and a start says nothing of it.",
    ),
    "FR14": Page(
        sees="`/readyz` is 200 `degraded` with `redis_away`",
        symptom="None by itself: balancers keep sending calls, and those that may go to a cloud are answered.",
        itself="Stays in service. It is not taken out, or all replicas would be at once.",
        look=("the body of `/readyz`: `status` and `reasons`", _UP),
        do="Let no balancer and no orchestrator act on `degraded`; alert on `ktms_dependency_up` instead. "
        "Then FR5.",
        over="`/readyz` is `ok`.",
    ),
}
"""By id."""
