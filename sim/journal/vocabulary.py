"""Every kind of fact there is, and the members each must have. A fact of another form is refused when written.

Names in the members: `call` is the client's own number of a call, `exchange` the number of one request at a
target, `request_id` what the gateway calls it. `target` is the name of a vendor or node as the catalogue has it.
"""

KINDS: dict[str, frozenset[str]] = {
    name: frozenset(members.split())
    for name, members in {
        # The run itself.
        "world": "seed scenario level replicas",
        "phase": "name",  # faults, heal, quiet, over
        "setting": "name value",  # knobs a checker needs: slots of a node, key_window_s, call_total_s, …
        "secret": "what value",  # client_key, vendor_key, prompt: must be seen in no log and no record
        "mark": "name",
        "hash": "value",  # one per execution of the same world
        # Faults, and what proves a cell of the coverage table.
        "fault": "fault target on",  # begins (on) or ends
        "fault_active": "id target",
        "behaviour_seen": "id",
        # Hosts.
        "host_up": "",
        "host_crashed": "",
        "host_stopped": "clean",
        "drain_begun": "",
        "drain_over": "",
        "sample": "tasks connections upstream_open buffered_bytes inflight",  # a gateway, now and then
        "quiet": "tasks connections upstream_open upstream_idle inflight leases ready",  # a gateway, at the end
        "left_over": "tasks connections",  # of a gateway that has stopped
        "descriptor_lacked": "what",  # a process asked for one in vain: to accept, to connect, to resolve
        # Clients.
        "call_sent": "call gateway key model route streamed placement",
        "call_begun": "call status request_id",  # the response head has come
        "call_visible": "call",  # the first text has come
        "call_ended": "call outcome status code text events request_id",
        "client_left": "call how",  # fin, rst, vanish
        "client_stalled": "call",  # it reads no more
        "slots_seen": "node busy",  # what the store of leases itself says, now and then; draining ones included
        "waiters_seen": "model waiting",
        "quota_seen": "account running settled reserved",  # of a day, what the store of limits itself says
        "redis_met": "gateway how",  # in vain: refused, unanswered, or kept from before; once for each connection
        # Targets: cloud vendors and nodes of ours, seen from their own side.
        "asked": "exchange target cloud model call gateway",
        "told": "exchange target call how status text visible finished",  # how: whole, cut, silent, left
        "path_seen": "target method path",  # by which it was asked, looks included; each of them once
        "model_gone": "node",  # it is not in memory any more
        "model_loaded": "node",
        # Ports of a gateway.
        "lease_taken": "lease node slots",
        "lease_refused": "nodes slots",  # asked with so many slots each, in the same order
        "lease_released": "lease node drain_s",
        "lease_renewed": "lease node how",  # kept, regained (it had been lost), over (so too, its node being full)
        "leases_drained": "nodes ago_s",  # seen idle: what drained before looks that began then is to be freed
        "leases_unknown": "operation failure",  # away, timeout, silenced, unknown, error, cancelled
        "waiter_joined": "model waiter",
        "waiter_left": "model waiter",
        "node_looked": "node look misses draining cold",  # what a replica has found, for all
        "quota_reserved": "call accounts tokens micros waited_s",  # call: the request id
        "quota_refused": "call accounts tokens micros waited_s account limit wait_ms",
        "quota_unread": "call accounts tokens micros waited_s",  # the store does not know what these have spent
        "quota_settled": "call tokens micros",
        "quota_given_back": "call",  # nothing was used
        "quota_raised": "account day_micros month_micros",  # to at least what the ledger knows
        "quota_unknown": "operation failure",  # away, timeout, silenced, error, cancelled
        "keys_asked": "ids answer",  # found, away, hung
        "answer_lost": "operation took_effect",  # the connection to the database broke under this
        "places_full": "operation in_use",  # no connection to the database was free for it
        "key_made": "key",
        "key_revoked": "key",
        "catalogue_applied": "version valid",
        "announced": "machine node gateway epoch status code",  # what an agent was told
        "snapshot_in_force": "version",
        "snapshot_saved": "version ids",  # on the disk of its machine, with the keys verified by then
        "snapshot_loaded": "version ids",  # version 0: there was none
        "usage": "event_id request_id target node status prompt_tokens completion_tokens estimated",
        "usage_sent": "ids",
        "usage_kept": "sender ids fresh rows",  # one transaction; rows: how many there are then
        "usage_dropped": "ids",
        "usage_lost": "amount",  # so many a gateway counted as dropped; of a real one nobody knows which
        "batch_asked": "name gateway status code",  # a client asked for a batch to be made
        "batch_made": "name batch",
        "batch_examined": "batch claim",  # a replica begins to read its file
        "batch_cancelled": "name batch status code",
        "batch_over": "name batch state total completed failed done errors",  # as its client has it: custom ids
        "line_claimed": "batch line claim",
        "line_stored": "batch line claim end",  # its result, for good
        "batch_moved": "batch state",
        "answer_looked": "question found",  # hit, miss; away, timeout, silenced: nobody can tell
        "answer_offered": "question ttl_s",  # whether it was kept nobody learns
        "repeat_asked": "word request_id answer",  # begun, running, other_body, kept, away
        "repeat_ended": "word request_id answer",  # kept, given_up
        "record": "request_id status code cancelled attempts",
        "line_record": "request_id status code cancelled attempts batch",  # of a line of a batch
        "shelf_record": "request_id status code cancelled",  # of a request about files and batches
        "log": "level name text",
        "gauge": "name label value",
        "counted": "name amount",
        "dependency_failed": "dependency operation failure",
        # What an operator sees.
        "readyz": "status ready reasons",
        "healthz": "status",
    }.items()
}

OUTCOMES = frozenset({"whole", "done", "error", "error_event", "cut", "refused", "left"})
"""How a call ends for its client: a whole answer; a stream with its end mark; an error status; one error event at
the end of a stream; the connection cut in the middle of an answer; no connection or no answer at all; its own
leaving."""
