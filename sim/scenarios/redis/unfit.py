"""FR13: a Redis that evicts leases, or runs no scripts, is named at the start of every replica, and what to do."""

from collections.abc import Iterator

from sim.draft import CallDraft, Draft
from sim.fakes.redis.refusals import EVICTS, RUNS_NO_SCRIPTS
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.scenarios.fleet.leases.worlds import When, calls_in, drawn, machines, world_of
from sim.scenarios.scenario import Scenario
from sim.seed import Seed

SAID = {EVICTS: "maxmemory-policy", RUNS_NO_SCRIPTS: "Lua scripts"}
"""A word of the sentence for each."""


def _draft(seed: Seed) -> Draft:
    """A replica is killed and started anew while Redis is unfit."""
    chance = seed.chance("draft")
    replicas = chance.between(1, 2)
    starts_s = drawn(chance, 3.0, 5.0)
    unfit = Fault("redis_unfit", "", starts_s, 14.0, float(chance.pick((EVICTS, RUNS_NO_SCRIPTS))))
    crash = Fault("crash", "gw1", starts_s + drawn(chance, 1.0, 3.0), drawn(chance, 1.0, 4.0))
    calls: list[CallDraft] = [
        *calls_in(chance, replicas, When(0.5, starts_s - 0.5), 2),
        *calls_in(chance, replicas, When(crash.ends_at_s + 0.5, unfit.ends_at_s - 0.5), 3),
        *calls_in(chance, replicas, When(unfit.ends_at_s + 8.0, unfit.ends_at_s + 12.0), 3),
    ]
    nodes = machines(chance, 2, slots=8)
    return world_of(chance, replicas, nodes, calls, (unfit, crash), runs_s=unfit.ends_at_s + 14.0)


def _seen(journal: Journal) -> Iterator[str]:
    amounts = [fact for fact in journal.of("fault") if fact.text("fault") == "redis_unfit" and fact.has("on")]
    if not amounts:
        return
    began_at, word = amounts[0].at, SAID[int(amounts[0].number("amount"))]
    ends_at = next((fact.at for fact in journal.of("fault") if _ends(fact.text("fault"), fact.has("on"))), 0.0)
    started = [fact for fact in journal.of("host_up") if began_at < fact.at < ends_at]
    told = [fact for fact in journal.of("log") if fact.text("name") == "redis_unfit"]
    if (
        started
        and len(told) == len(started)
        and all(fact.text("level") == "error" and word in fact.text("text") for fact in told)
        and {fact.host for fact in told} == {fact.host for fact in started}
    ):
        yield "FR13"


def _ends(fault: str, on: bool) -> bool:
    return fault == "redis_unfit" and not on


UNFIT_SCENARIOS = (
    Scenario("fr13-unfit", "a Redis that cannot carry leases is named at the start", ("FR13",), _draft, _seen),
)
