"""Vendors and own machines: pages FV1 to FV9 and FN1 to FN7."""

from sim.registry.runbook.page import Page

_ATTEMPTS = (
    "`ktms_attempts_total` by `vendor` and `result`, `ktms_node_attempts_total` by `node`: "
    "[what the words mean](routing.md#why-this-node)"
)
_LINE = "`attempts` of the call's line in the log; a client sees the same as `X-KTMS-Attempts`"
_TOP = "`ktms top`: health, slots and speed of every node"
_HEALTH = "`ktms_node_health` and `node_turned` in the log"
_SHOW = "`ktms admin nodes show NAME`"

VENDORS: dict[str, Page] = {
    "FV1": Page(
        sees="`ktms_attempts_total` with a 5xx, `refused`, `closed` or `tls` as `result`",
        symptom="None while another target is left. Where none is: 502 `upstream_error`, or the status of "
        "the last.",
        itself="Asks the next target of the plan, before anything was sent to the client. Vendors have breakers "
        "(FV5), nodes have health (FN1).",
        look=(
            _ATTEMPTS,
            _LINE,
            (
                "`result` `401` or `403`: the target refuses our credential; `vendor_key_refused` in the log "
                "names the key"
            ),
        ),
        do="Look at the vendor's own page of its state. A refused credential is replaced in the file and by "
        "`ktms apply`. A vendor that stays ill: take its targets out of the models with `ktms apply`.",
        over="`result` is `ok` again for this vendor.",
    ),
    "FV2": Page(
        sees="`ktms_attempts_total` with `first_token_timeout` or `connect_timeout` as `result`",
        symptom="Calls take the timer's length longer, then another target answers; 504 `upstream_timeout` "
        "where none is left.",
        itself="Ends the wait with the first-token timer (60 s for a vendor unless its `timeouts` say "
        "otherwise, by size and speed for a node), asks the next target, and that one no more in this call.",
        look=(_ATTEMPTS, "`ktms_time_to_first_token_seconds` by `vendor` and `model`", _LINE),
        do="Shorten `first_token_s` of a vendor that hangs often. For a node see FN1.",
        over="The word is no longer counted.",
    ),
    "FV3": Page(
        sees="`ktms_attempts_total` with `closed` as `result`; `code` `stream_interrupted` in the log",
        symptom="A stream ends in one error event `stream_interrupted`, without `[DONE]`.",
        itself="Never begins again after something visible. What was delivered is booked.",
        look=(_ATTEMPTS, _LINE, _HEALTH),
        do="Where one target breaks more than others look at what lies before it: proxies and balancers that "
        "cut long answers, an engine that dies (its log).",
        over="No call ends with `stream_interrupted`.",
    ),
    "FV4": Page(
        sees="`ktms_attempts_total` with `idle_timeout` as `result`; `code` `stream_interrupted` in the log",
        symptom="A stream stands still for the idle timer (45 s for a vendor, 30 s for a node, unless set "
        "otherwise), then as FV3.",
        itself="Ends it with one error event. Comments keep the client's connection alive meanwhile.",
        look=(_ATTEMPTS, _LINE),
        do="As FV3. `idle_s` of a vendor that thinks in silence for longer must be larger.",
        over="`idle_timeout` is no longer counted.",
    ),
    "FV5": Page(
        sees="`ktms_breaker_state` is 2 for the vendor; `breaker_turned` in the log",
        symptom="Calls go to the next target without asking this one; 503 `no_target_available` where none "
        "is left.",
        itself="After five failures in a row asks it no more for 30 s. Each origin of a vendor has a breaker "
        "of its own, and each replica its own view.",
        look=(
            "`ktms_breaker_state`",
            '`ktms_attempts_total{result="open"}`',
            "`breaker_turned`, its `target` and `state`",
        ),
        do="As FV1. Nobody has to close a breaker.",
        over="`ktms_breaker_state` is 0.",
    ),
    "FV6": Page(
        sees="`ktms_breaker_state` is 1 for the vendor, then 0 or 2",
        symptom="One call in 30 s may fail before it goes on.",
        itself="Lets one call try it while all others pass it by. An answer closes the breaker, a failure "
        "opens it for another 30 s.",
        look=("`ktms_breaker_state`", "`breaker_turned` in the log"),
        do="Nothing.",
        over="`ktms_breaker_state` is 0.",
    ),
    "FV7": Page(
        sees="`ktms_attempts_total` with `429` or `resting` as `result`",
        symptom="None while another key or target is left; else 429 or 503 `no_target_available` with "
        "`Retry-After`.",
        itself="Lets exactly the key, or the target where there is no key, rest for as long as it was told: "
        "5 s where nothing was said, 300 s at most. No breaker counts it.",
        look=(_ATTEMPTS, _LINE),
        do="Ask the vendor for a higher limit, give it several `keys`, or another target beside it.",
        over="Neither word is counted any more.",
    ),
    "FV8": Page(
        sees="`ktms_attempts_total` with the status that was meant as `result`",
        symptom="As if the vendor had sent that status: the next target, a rest, or the client's own mistake.",
        itself="Reads the error object, whatever the status around it; after something visible as FV3.",
        look=(_ATTEMPTS, _LINE),
        do="As the status asks for: FV1 for a 5xx, FV7 for a 429.",
        over="The status is no longer counted.",
    ),
    "FV9": Page(
        sees="`ktms_attempts_total` with `malformed`, `too_large`, `encoded` or `total_timeout` as `result`",
        symptom="The next target; 502 `upstream_error` where none is left; after something visible as FV3. "
        "Other calls do not notice.",
        itself="Reads within bounds of size, depth and time, and ends what goes beyond.",
        look=(_ATTEMPTS, _LINE, "`process_resident_memory_bytes`: it does not follow the size of an answer"),
        do="Look what really listens there: a proxy's error page, another protocol, a compression that "
        "nobody asked for.",
        over="None of these words is counted any more.",
    ),
}
"""By id."""

NODES: dict[str, Page] = {
    "FN1": Page(
        sees="`ktms_node_health` is 1, then 2; `node_turned` in the log",
        symptom="Streams that ran there end as in FV3; new calls go to other nodes or the cloud.",
        itself="Passes its other slots over while sound ones are free, and asks it no more after three "
        "failures or missed looks in a row. Its slots are free again within 15 s. It is asked for one token "
        "5 s later, then at pauses up to a minute; only a token makes it healthy.",
        look=(_TOP, _HEALTH, _SHOW, "`ktms-node doctor` on the machine: it names the one cause"),
        do="Bring the machine or its engine back. For maintenance: `ktms admin nodes disable NAME` first. "
        "Where it is 3 (barred) it refuses our token: `node_token_refused`; mend the token of a declared node "
        "with `ktms apply`, and start the agent of one that joined again: it announces its own.",
        over="`ktms_node_health` is 0.",
    ),
    "FN2": Page(
        sees="`ktms_node_attempts_total` with `busy` as `result`",
        symptom="None: the next node answers. Where all are full the call waits, goes on, or gets 503 "
        "`no_node_available`.",
        itself="Asks the next candidate before the first byte; that was no attempt, and the node is no worse "
        "for it.",
        look=(
            _TOP,
            "`ktms_node_engine_calls` above `ktms_node_slots_busy`: somebody uses the engine past the gateway",
            "`ktms_queue_waiting`, `ktms_queue_duration_seconds`",
        ),
        do="Declare as many `slots` as the engine really runs at once, and keep others off it.",
        over="`busy` with the node's name is no longer counted.",
    ),
    "FN3": Page(
        sees="`draining` in `ktms admin nodes list`; `ktms_node_attempts_total` with `draining` as `result`",
        symptom="None: new calls go elsewhere, running ones end there.",
        itself="Gives a node that says it drains no new call, within seconds on every replica.",
        look=(_TOP, "`ktms admin nodes list`"),
        do="Nothing: its agent says so at SIGTERM, and waits 30 s for what runs. A node without an agent: "
        "`ktms admin nodes disable NAME`, and wait until its slots are free.",
        over="The node is gone, or says that it drains no longer.",
    ),
    "FN4": Page(
        sees="`ktms_node_attempts_total` with `loading` as `result`; `model_loading` in the log",
        symptom="None where others can answer; else a longer wait, or 503 `no_node_available` with `Retry-After`.",
        itself="Sends the call elsewhere and has the model loaded beside it by a request of one token, one "
        "replica at a time.",
        look=(_TOP, "`model_loading`, its `node` and `model`"),
        do="Where a model is loaded again and again its machine has no memory for all it serves: declare "
        "fewer models there, or keep it in memory in the engine's own settings.",
        over="`ktms top` no longer says `(cold)`.",
    ),
    "FN5": Page(
        sees="`ktms_node_attempts_total` with `wrong_model` as `result`; `node_turned` in the log",
        symptom="None: the next target answers.",
        itself="Refuses the answer before its first byte; the node is suspect.",
        look=(_HEALTH, _SHOW, "`node_model_differs` in the log: a llama.cpp does not list what was declared"),
        do="Declare what the engine really serves, by `ktms apply`; or start the engine with the model that "
        "was meant.",
        over="`wrong_model` is no longer counted, and `ktms_node_health` is 0.",
    ),
    "FN6": Page(
        sees="`node_announced` in the log; `ktms_snapshot_version` goes up",
        symptom="Until the announcement as FN1; then the next call uses the new address.",
        itself="Follows what a joined node announces, on every replica within seconds.",
        look=(_SHOW, "`node_announcement_stale` in the log: an agent that was replaced still speaks"),
        do="Nothing where an agent runs: it announces by itself ([nodes](nodes.md)), and `ktms-node doctor` there "
        "says why it does not. The `url` of a declared node is changed with `ktms apply`.",
        over="`ktms_node_health` is 0 and `ktms admin nodes show NAME` has the new address.",
    ),
    "FN7": Page(
        sees="`probe_distrusted` in the log; `ktms_node_health` of most nodes",
        symptom="The cloud answers; calls that may run on nodes alone fail as the nodes do.",
        itself="Where more than half of three or more nodes turn bad within one round it suspects our own "
        "network and keeps the last view; calls find out what is true. Nodes that are all suspect are asked "
        "all the same.",
        look=(
            _TOP,
            _HEALTH,
            "the way from the replicas to the nodes: another replica may see them (`ktms top` there)",
        ),
        do="Mend the network, or the power. Until then `ktms admin policy set --force-cloud on` spares calls the "
        "attempt; those that say `nodes_only` get 503 then. Switch it off again.",
        over="`ktms_node_health` is 0 for the nodes, and `probe_distrusted` has stopped.",
    ),
}
"""By id."""
