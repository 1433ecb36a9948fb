"""The failure matrix: every id, what breaks, what then happens in our own words, and when each proof is due.

One closed table: scenarios and chaos tests may only name ids that stand here. The operator's table of failures is
made from it, so the lines are written for people who run a gateway. Not here: how far the proofs are
(`coverage.py`).
"""

from dataclasses import dataclass

from sim.registry.due import Due


@dataclass(frozen=True, slots=True)
class Failure:
    """One row. `needs_chaos`: a real service or real sockets are involved, so a chaos test must show it too."""

    id: str
    fault: str
    behaviour: str
    scenario_due: Due
    needs_chaos: bool
    chaos_due: Due


def _row(name: str, fault: str, behaviour: str, due: Due, chaos_due: Due = Due.CHAOS) -> Failure:
    return Failure(name, fault, behaviour, due, chaos_due is not Due.NEVER, chaos_due)


_REDIS = (
    _row("FR1", "Redis is down", "no request or token limit is applied; calls are answered", Due.NOW),
    _row("FR2", "Redis is down, dollar limits `open`", "the call passes, its usage event says so", Due.NOW),
    _row("FR3", "Redis is down, dollar limits `closed`", "503 budget_unavailable", Due.NOW),
    _row("FR4", "Redis is down, answers are cached", "no hit, and nothing is kept", Due.NOW),
    _row("FR5", "Redis is down, nodes_first or cloud_first", "nodes are passed over, the cloud answers", Due.NOW),
    _row("FR6", "Redis is down, nodes_only", "503 node_state_unknown, no vendor is asked", Due.NOW),
    _row("FR7", "three network errors of Redis in a row", "Redis is left alone for 2 s, then tried once", Due.NOW),
    _row("FR8", "Redis accepts and never answers", "a call waits once, 100 ms, then does without", Due.NOW),
    _row("FR9", "each reply of Redis is 2 s late", "treated as one that never answers", Due.NOW),
    _row("FR10", "Redis is back", "in use again within 3 s, its counts still right", Due.NOW),
    _row("FR11", "Redis is back and empty", "for one renewal period only running answers get slots", Due.NOW),
    _row("FR12", "Redis fails over", "as a network error; it passes by itself", Due.NOW),
    _row("FR13", "Redis evicts keys or has no scripts", "said plainly at the start", Due.NOW),
    _row("FR14", "readiness without Redis", "200, degraded", Due.NOW),
)

_POSTGRES = (
    _row("FP1", "Postgres is down, the key was verified of late", "the call is answered", Due.NOW),
    _row("FP2", "Postgres is down, the key is not known", "503 auth_unavailable with Retry-After", Due.NOW),
    _row("FP3", "Postgres accepts and never answers", "one look-up per key, at most 3 s, then as down", Due.NOW),
    _row("FP4", "Postgres is down, and with it the catalogue", "the last good snapshot stays in force", Due.NOW),
    _row("FP5", "a repeat cannot be told from a first call", "503 idempotency_unavailable, no work", Due.NOW),
    _row("FP6", "readiness while known keys still count", "200, degraded", Due.NOW),
    _row("FP7", "readiness once they no longer do", "503", Due.NOW),
    _row("FP8", "Postgres is back", "keys verify within 2 s, one look-up for each", Due.NOW),
    _row(
        "FP9",
        "Postgres is down at the start",
        "what was saved is served while keys of it count; else not ready",
        Due.NOW,
    ),
    _row("FP10", "all connections to Postgres are in use", "a short wait, then as down", Due.NOW),
    _row("FP11", "a key is revoked and nobody hears of it", "refused within 10 s all the same", Due.NOW),
    _row("FP12", "Postgres fails over in a change", "all of it is stored or nothing", Due.NOW),
)

_LEDGER = (
    _row("FL1", "the ledger is down", "usage events wait in memory, calls do not", Due.NOW),
    _row("FL2", "no room for more usage events", "they go to disk, or the oldest is dropped and counted", Due.NOW),
    _row("FL3", "the ledger is slow", "as down; one send lasts 5 s at most", Due.NOW),
    _row("FL4", "the ledger is back", "all that waited is sent in order, none twice", Due.NOW),
    _row("FL5", "the ledger confirms and then crashes", "one row for each event", Due.NOW),
    _row("FL6", "a gateway is killed with events in memory", "what was on disk is sent after the start", Due.NOW),
    _row("FL7", "a gateway shuts down with events in memory", "they are sent before it is gone", Due.NOW),
)

_TARGETS = (
    _row("FV1", "a target refuses, resets or fails at once", "the next target is asked", Due.NOW),
    _row("FV2", "a target never answers", "the first-token timer ends it, the next one is asked", Due.NOW),
    _row(
        "FV3", "a stream is cut after visible text", "one error event, no end mark, the part is settled", Due.NOW
    ),
    _row("FV4", "a stream falls silent after visible text", "as one that is cut, when the timer ends it", Due.NOW),
    _row("FV5", "a target fails five times in a row", "its breaker opens: nobody asks it", Due.NOW),
    _row("FV6", "its 30 s are over", "one call goes there on trial, the others do not", Due.NOW),
    _row("FV7", "a vendor is busy and says for how long", "that key or target rests, no other", Due.NOW),
    _row("FV8", "an error inside of a 200", "taken for what it means", Due.NOW),
    _row("FV9", "garbage, or an answer without end", "cut off within bounds; other calls do not notice", Due.NOW),
    _row("FN1", "a node vanishes in a stream", "as one that is cut; its slot comes back", Due.NOW),
    _row("FN2", "a node is full against our count", "the next candidate is asked", Due.NOW),
    _row("FN3", "a node is shut down", "no new call goes there, those under way finish", Due.NOW),
    _row("FN4", "a node has to load the model first", "the call goes elsewhere", Due.NOW),
    _row("FN5", "a node answers with another model", "refused before a byte is sent", Due.NOW),
    _row("FN6", "the address of a node changes", "the next call uses the new one", Due.NOW),
    _row("FN7", "every node is in trouble", "all count as usable, then the cloud", Due.NOW),
)

_GATEWAY = (
    _row("FG1", "SIGTERM", "not ready at once; calls finish or get a last word; exit 0", Due.NOW),
    _row("FG2", "a second SIGTERM", "gone at once", Due.NOW),
    _row("FG3", "a replica is killed", "its slots and reservations come back, nothing is paid twice", Due.NOW),
    _row(
        "FG4",
        "a rolling upgrade under load",
        "old and new work side by side, no call fails",
        Due.RELEASES,
        Due.RELEASES,
    ),
    _row("FG5", "the wall clock jumps", "no timer, window or lease notices", Due.NOW, Due.NEVER),
    _row("FG6", "more calls than it can hold", "refused early; it stays alive", Due.NOW),
    _row("FG7", "the event loop stands still", "measured and shown", Due.NOW),
    _row("FG8", "no file descriptors left", "it accepts again as soon as there are", Due.NOW),
    _row(
        "FG9",
        "encryption keys are rotated",
        "no call fails, no row keeps the old key",
        Due.RELEASES,
        Due.RELEASES,
    ),
    # A lock that Postgres alone keeps: a world could only play its own model of it.
    _row("FG10", "two migrations at once", "one is applied, the other waits", Due.NEVER),
)

FAILURES: dict[str, Failure] = {row.id: row for row in (*_REDIS, *_POSTGRES, *_LEDGER, *_TARGETS, *_GATEWAY)}
"""By id, in the order of the matrix."""
