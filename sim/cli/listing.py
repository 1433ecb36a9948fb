"""`ktms-sim list`: which scenarios there are, which faults, which planted bugs."""

import click

from sim.cli.example import example
from sim.cli.screen import put_json, put_table
from sim.faults.plan import KINDS
from sim.planted.bugs import PLANTED
from sim.scenarios.catalogue import ALL_SCENARIOS

Rows = list[dict[str, str]]


@click.command("list", epilog=example("ktms-sim list", "ktms-sim list --faults", "ktms-sim list --bugs --json"))
@click.option("--faults", is_flag=True, help="The kinds of faults and what their amount means.")
@click.option("--bugs", is_flag=True, help="The bugs that can be planted, each of which worlds must find.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def listing(*, faults: bool, bugs: bool, as_json: bool) -> None:
    """List scenarios with what they prove; with an option, something else."""
    if faults and bugs:
        raise click.UsageError("--faults or --bugs: one list at a time")
    rows = _faults() if faults else _bugs() if bugs else _scenarios()
    if as_json:
        put_json(rows)
    else:
        put_table(tuple(rows[0]) if rows else (), (tuple(row.values()) for row in rows))


def _scenarios() -> Rows:
    return [
        {"scenario": name, "title": scenario.title, "proves": " ".join(scenario.proves) or "all invariants"}
        for name, scenario in ALL_SCENARIOS.items()
    ]


def _faults() -> Rows:
    return [
        {
            "fault": name,
            "does": MEANINGS.get(name, "-"),
            "on": kind.on.value,
            "stands for": " ".join(kind.ids) or "-",
            "amount": kind.amount or "-",
            "lasts": "no" if kind.instant else "yes",
        }
        for name, kind in KINDS.items()
    ]


def _bugs() -> Rows:
    return [{"bug": bug.id, "title": bug.title, "scenario": bug.scenario} for bug in PLANTED]


MEANINGS = {
    "refuse": "connections are refused",
    "moved": "it has another address from then on; nobody is at the old one",
    "reset": "every open connection is reset",
    "black_hole": "bytes are held, and delivered when it ends",
    "partition": "one replica and one target do not reach each other",
    "half_open": "the host is gone without a word, its connections never come back",
    "slow_link": "everything takes longer on its way",
    "thin_link": "few bytes pass per second",
    "sliced": "bytes arrive in small pieces",
    "status": "answers with an error status",
    "rate_limited": "answers 429",
    "overloaded": "503 with Retry-After",
    "credential_refused": "401, 403 and other refusals of our own credential",
    "silent": "accepts and never answers",
    "cut": "the answer is cut off",
    "stall": "the answer falls silent",
    "error_in_200": "an error object in an answer that began well",
    "malformed": "an event that is none",
    "endless": "one event that never ends",
    "compressed": "a coding that nobody asked for",
    "meaning_in_200": "an answer of 200 whose body means another status",
    "other_model": "names another model than was asked for",
    "foreign_script": "text in letters of several bytes",
    "slow_drip": "single bytes, far apart",
    "power_off": "the machine is switched off without a word, and comes back as a new one",
    "draining": "the node's agent is told to leave: nothing new is taken",
    "evicted": "the model is not in memory until somebody asks for it, and takes its time to load",
    "fewer_slots": "the node takes fewer calls at once than was declared",
    "smaller_window": "the node holds shorter prompts than was declared, and says so",
    "postgres_away": "the database refuses",
    "postgres_hung": "the database takes questions and answers none",
    "postgres_failover": "the database dies under what is asked of it; when it ends another one is there",
    "keys_locked": "somebody holds the table of keys: questions about them wait, each on a connection",
    "postgres_slow": "the database takes its time",
    "feed_lost": "the feed of news from the database is lost",
    "redis_away": "redis refuses",
    "redis_hung": "redis accepts and never answers",
    "redis_slow": "redis takes its time for each answer",
    "redis_empty": "redis starts again and remembers nothing",
    "redis_garbled": "when redis was found empty is overwritten by something that is no time",
    "redis_cut": "one replica cannot reach redis",
    "redis_failover": "redis' replica hears nothing more; when it ends that one takes over",
    "redis_full": "redis has no memory left and refuses what takes some",
    "redis_readonly": "redis is a replica and refuses what writes",
    "redis_moved": "redis says that our keys lie at another port of it",
    "redis_forgets_scripts": "redis forgets the scripts it was given",
    "redis_unfit": "redis cannot carry leases: it evicts them, or runs no scripts",
    "ledger_away": "the accounting service refuses",
    "ledger_hung": "the accounting service takes what is sent and answers nothing",
    "ledger_slow": "the accounting service takes its time",
    "ledger_refusing": "the accounting service wants nothing of what it is sent",
    "ledger_repeating": "each batch comes to the ledger twice, late and mixed",
    "ledger_forgetful": "the ledger stores, and its answer is lost",
    "crash": "the process is killed; another one starts when it ends",
    "sigterm": "the process is told to leave; another one starts when it ends",
    "sigterm_twice": "the process is told to leave, and told again",
    "wall_jump": "the wall clock jumps",
    "lag": "the process stands still",
    "no_descriptors": "the process gets no new file descriptor; those that are open go on",
    "bad_catalogue": "an operator applies a catalogue that does not compile",
    "new_catalogue": "an operator applies a new catalogue",
    "nodes_off": "an operator switches off all nodes that were declared",
    "nodes_on": "an operator switches them on again",
    "revoke_key": "an operator revokes a client key",
    "revoke_key_unheard": "the last of several keys is revoked, and nobody is told",
}
"""What each kind of fault does."""
