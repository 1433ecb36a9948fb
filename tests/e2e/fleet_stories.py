"""What happens to a fleet: filled, crowded, a replica killed, the store down, hung and emptied, a replica drained.

Each story is played once and notes what was seen. The facts are stated in `test_fleet_replicas.py`.
"""

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from ktms.ports.lease_store import LEASE_TTL_S
from tests.e2e.fleet_crowd import Outcome
from tests.e2e.fleet_stand import ANYWHERE, NODES_ONLY, SLOTS, Fleet
from tests.e2e.fleet_store import alive, members
from tests.e2e.http import Answer, data_of
from tests.e2e.program import Done
from tests.e2e.waiting import now, until

ALL_SLOTS = sum(SLOTS)
ANSWERS_EACH = 8
"""So many answers of every machine are no accident."""

CLIENTS = 12
"""Per replica: two replicas alone ask for more slots than there are."""

HELD_BY_THE_DEAD = 5

BACK_WITHIN_S = 3.0
"""Redis is in use again so soon (FR10)."""

SLACK_S = 1.0
"""For a loaded machine."""


@dataclass
class Filled:
    """As many answers without end as there are slots, begun through all replicas in turn; then one call more."""

    served_by: Counter[str]
    running: dict[str, int]
    leased: dict[str, int]
    dialled: int
    one_more: Answer
    at_rest_s: float


@dataclass
class Crowded:
    """Many short answers, more at once than slots, through all replicas."""

    outcomes: list[Outcome]
    most: dict[str, int]
    at_rest_s: float


@dataclass
class Killed:
    """A replica that held some slots was killed while others were asked for more than the rest.

    One of the others had an answer of its own that outlived a TTL: `long`, and what of it was `kept`.
    """

    long: frozenset[str]
    held: frozenset[str]
    gone_after: dict[str, float] = field(default_factory=dict)
    left_at_death_s: dict[str, float] = field(default_factory=dict)
    overfull: list[dict[str, int]] = field(default_factory=list)
    endings: list[str] = field(default_factory=list)
    cut_s: float = 0.0
    kept: frozenset[str] = frozenset()
    full_again_s: float = 0.0
    outcomes: list[Outcome] = field(default_factory=list)


@dataclass
class Away:
    """The store was stopped, and came back with what it held; two replicas are left, three answers run."""

    held_by_one: frozenset[str]
    held: frozenset[str]
    anywhere: Answer
    nodes_only: Answer
    running: int
    back_s: float
    held_after: frozenset[str]


@dataclass
class Hung:
    """The store took connections and answered nothing."""

    anywhere: Answer
    anywhere_s: float
    nodes_only: Answer
    back_s: float


@dataclass
class Emptied:
    """The store was started again without anything in it."""

    refusals: list[Answer] = field(default_factory=list)
    elsewhere: list[Answer] = field(default_factory=list)
    strangers: set[str] = field(default_factory=set)
    regained_after_s: float = 0.0
    granted_after_s: float = 0.0
    held_after: frozenset[str] = frozenset()


@dataclass
class Drained:
    """A replica with two answers without end was told to leave; another one has two as well."""

    held: frozenset[str]
    left: frozenset[str]
    done: Done
    last_word: str


def seconds_until(fact: Callable[[], object], what: str, within_s: float = 15.0) -> float:
    began_at = now()
    until(fact, what, within_s)
    return now() - began_at


def _error_code(events: list[str]) -> str:
    """Give the last word of a stream: an error's code, or none."""
    return next((event["error"]["code"] for event in data_of(events) if "error" in event), "none")


def fill(stand: Fleet) -> Filled:
    """Use all slots, and ask once more."""
    dialled_before = stand.cloud.dialled
    with ExitStack() as opened:
        streams = [opened.enter_context(stand.holding(number % 3)) for number in range(ALL_SLOTS)]
        served_by = Counter(stream.headers.get("x-ktms-node", "the cloud") for stream in streams)
        running = {machine.name: machine.counts.running for machine in stand.machines.all}
        leased, dialled = alive(stand.leases), stand.cloud.dialled - dialled_before
        one_more = stand.say(0, ANYWHERE)
    return Filled(served_by, running, leased, dialled, one_more, seconds_until(lambda: stand.at_rest, "rest"))


def throng(stand: Fleet) -> Crowded:
    """Ask for more than there is, until every machine has answered often."""

    def worked() -> bool:
        return all(asking.served_by(node) >= ANSWERS_EACH for node in stand.nodes)

    with stand.crowd((0, 1, 2), CLIENTS) as asking:
        until(worked, "every machine has answered")
        until(lambda: stand.machines.running == ALL_SLOTS, "all slots are in use")
    most = {machine.name: machine.counts.most for machine in stand.machines.all}
    return Crowded(asking.outcomes, most, seconds_until(lambda: stand.at_rest, "rest"))


def kill(stand: Fleet) -> Killed:
    """Kill a replica under load, and watch what it held."""
    with ExitStack() as opened:
        opened.enter_context(stand.holding(1))
        long, long_at = members(stand.leases), now()
        streams = [opened.enter_context(stand.holding(0)) for _ in range(HELD_BY_THE_DEAD)]
        story = Killed(long, members(stand.leases) - long)
        with stand.crowd((1, 2), CLIENTS) as asking:
            until(lambda: stand.machines.running == ALL_SLOTS, "all slots are in use")
            _kill(stand, story)
            began_at = now()
            story.endings = [_error_code(stream.rest()) for stream in streams]
            story.cut_s = now() - began_at
            _watch_leases_go(stand, story)
            story.full_again_s = seconds_until(lambda: stand.machines.running == ALL_SLOTS, "all slots are in use")
            until(lambda: now() - long_at > LEASE_TTL_S, "the long answer outlives a TTL")
            story.kept = members(stand.leases)
    story.outcomes = asking.outcomes
    until(lambda: stand.at_rest, "rest")
    return story


def _kill(stand: Fleet, story: Killed) -> None:
    leases = stand.leases
    story.left_at_death_s = {
        lease: left_s for found in leases.values() for lease, left_s in found.items() if lease in story.held
    }
    stand.replicas[0].program.signal(signal.SIGKILL)
    stand.replicas[0].program.ended()


def _watch_leases_go(stand: Fleet, story: Killed) -> None:
    began_at = now()

    def all_gone() -> bool:
        leases = stand.leases
        over = {node: count for node, count in alive(leases).items() if count > SLOTS[stand.nodes.index(node)]}
        if over:
            story.overfull.append(over)
        for lease in story.held - members(leases) - set(story.gone_after):
            story.gone_after[lease] = now() - began_at
        return len(story.gone_after) == len(story.held)

    until(all_gone, "the leases of the dead replica are gone", LEASE_TTL_S + SLACK_S)


@contextmanager
def lose(stand: Fleet) -> Iterator[Away]:
    """Stop the store and start it; three answers without end run, and run on as long as the block does."""
    with stand.holding(1), stand.holding(1):
        held_by_one = members(stand.leases)
        with stand.holding(2):
            held = members(stand.leases)
            stand.store.stop(keep=True)
            anywhere = stand.say(1, ANYWHERE)
            nodes_only = stand.say(2, NODES_ONLY)
            running = stand.machines.running
            stand.store.start()
            back_s = seconds_until(lambda: _both_use_nodes(stand), "nodes are used again")
            yield Away(held_by_one, held, anywhere, nodes_only, running, back_s, members(stand.leases))


def _both_use_nodes(stand: Fleet) -> bool:
    return all(stand.say(number, NODES_ONLY).status == 200 for number in (1, 2))


def hang(stand: Fleet) -> Hung:
    """Hang the store and let it go on."""
    with stand.store.hung():
        began_at = now()
        anywhere = stand.say(1, ANYWHERE)
        anywhere_s = now() - began_at
        nodes_only = stand.say(2, NODES_ONLY)
    back_s = seconds_until(lambda: _both_use_nodes(stand), "nodes are used again")
    return Hung(anywhere, anywhere_s, nodes_only, back_s)


def empty(stand: Fleet, held: frozenset[str]) -> Emptied:
    """Start the store again without anything in it, while these leases are held."""
    until(lambda: members(stand.leases) == held, "only those without end run")
    story = Emptied()
    stand.store.stop()
    stand.store.start()
    until(lambda: stand.store.found_empty_at, "a replica finds it empty", BACK_WITHIN_S + SLACK_S)

    def regained() -> bool:
        _look_into_the_empty(stand, held, story)
        return members(stand.leases) >= held

    until(regained, "the answers that run have their slots again")
    found_at = stand.store.found_empty_at
    assert found_at
    story.regained_after_s = stand.store.now_s - found_at
    until(lambda: not _look_into_the_empty(stand, held, story), "nodes are used again")
    story.granted_after_s = stand.store.now_s - found_at
    story.held_after = members(stand.leases)
    return story


def _look_into_the_empty(stand: Fleet, held: frozenset[str], story: Emptied) -> bool:
    """Ask both ways, and whether nodes were refused; what was granted to others meanwhile is noted."""
    answer = stand.say(2, NODES_ONLY)
    if answer.status == 200:
        return False
    story.refusals.append(answer)
    strangers = members(stand.leases) - held
    elsewhere = stand.say(1, ANYWHERE)
    if stand.say(2, NODES_ONLY).status != 200:  # still refused, so all that was seen in between counts
        story.strangers |= strangers
        story.elsewhere.append(elsewhere)
    return True


def drain(stand: Fleet, held: frozenset[str]) -> Drained:
    """Tell a replica to leave that has one of these leases, and gets another one."""
    until(lambda: members(stand.leases) == held, "only those without end run")
    with stand.holding(2) as stream:
        all_held = members(stand.leases)
        leaving = stand.replicas[2].program
        leaving.signal(signal.SIGTERM)
        last_word = _error_code(stream.rest())
        done = leaving.ended()
        return Drained(all_held, members(stand.leases), done, last_word)
