"""The fault plan: what breaks, where, when, for how long and how much.

A plan is a plain list, so a failing one is shrunk by leaving faults out and halving their numbers, and it travels
in the one line that replays a failure. Not here: how a fault is carried out, or drawn (`carry_out.py`, `draw.py`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum


class On(StrEnum):
    """What a fault can be aimed at. The target's name follows from it: a host, a vendor or node, or nothing."""

    TARGET = "a vendor or a node, by its name"
    NODE = "a node, by its name"
    PAIR = "one replica and one vendor or node: gw1>cloud-a"
    GATEWAY = "a replica, by its host name"
    POSTGRES = "the database"
    REDIS = "redis"
    LEDGER = "the accounting service"
    OPERATOR = "something an operator does"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault. `ids` are those of the failure matrix that it stands for; `amount` says what it means."""

    on: On
    ids: tuple[str, ...]
    amount: str = ""
    instant: bool = False  # it happens at one moment and has no duration
    drawn: bool = True  # explorers draw it; False: scenarios alone name it


KINDS: dict[str, Kind] = {
    # The network between the gateways and one target.
    "refuse": Kind(On.TARGET, ("FV1",)),
    "moved": Kind(
        On.NODE, ("FN6",), instant=True, drawn=False
    ),  # it has another address, the old one leads nowhere
    "reset": Kind(On.TARGET, ("FV1", "FV3"), instant=True),  # every open connection, by RST
    "black_hole": Kind(On.TARGET, ("FV2", "FV4")),  # bytes are held, delivered when it ends
    "partition": Kind(On.PAIR, ("FV2", "FV4")),  # as a black hole, between one replica and one target only
    "half_open": Kind(On.TARGET, ("FV4",)),  # the host is gone without a FIN; its connections never come back
    "slow_link": Kind(On.TARGET, (), "seconds of latency"),
    "thin_link": Kind(On.TARGET, (), "bytes per second"),
    "sliced": Kind(On.TARGET, (), "largest piece in bytes"),
    # What a target answers while the fault is on.
    "status": Kind(On.TARGET, ("FV1",), "HTTP status 500 to 599"),
    "rate_limited": Kind(On.TARGET, ("FV7",), "seconds of Retry-After; 0: none given, negative: nonsense"),
    "overloaded": Kind(On.TARGET, (), "seconds of Retry-After that come with its 503"),
    "credential_refused": Kind(On.TARGET, ()),  # a vendor refuses the first key it then sees, a node everybody
    "silent": Kind(On.TARGET, ("FV2",)),  # accepts and never answers
    "cut": Kind(On.TARGET, ("FV3",), "events before it; 0: before anything visible"),
    "stall": Kind(On.TARGET, ("FV4",), "events before it"),
    "error_in_200": Kind(On.TARGET, ("FV8",), "events before it"),
    "meaning_in_200": Kind(On.TARGET, ("FV8",), "status meant, before anything visible: 400 (context), 429, 5xx"),
    "malformed": Kind(On.TARGET, ("FV9",), "events before it"),
    "endless": Kind(On.TARGET, ("FV9",)),  # one event that never ends
    "compressed": Kind(On.TARGET, ("FV9",)),  # a coding nobody asked for
    "slow_drip": Kind(On.TARGET, ("FV9",), "seconds between bytes"),
    "other_model": Kind(On.TARGET, ()),  # it names another model than was asked for
    "foreign_script": Kind(On.TARGET, ()),  # its text has letters of several bytes
    # A machine of ours.
    "power_off": Kind(On.NODE, ("FN1",)),  # gone without a FIN, as half_open; a new one is there when it ends
    "draining": Kind(On.NODE, ("FN3",)),  # an agent takes nothing new; other engines have no such state
    "evicted": Kind(On.NODE, ("FN4",), "seconds it takes to load"),  # out of memory until somebody asks for it
    "fewer_slots": Kind(On.NODE, (), "slots it has in truth"),
    "smaller_window": Kind(On.NODE, (), "tokens that fit, and that it tells", drawn=False),
    # The book-keeping.
    "postgres_away": Kind(On.POSTGRES, ("FP1", "FP2", "FP4", "FP6", "FP7")),
    "postgres_hung": Kind(On.POSTGRES, ("FP1", "FP2", "FP3", "FP4", "FP6", "FP7")),
    "postgres_slow": Kind(On.POSTGRES, (), "seconds per answer"),
    "postgres_failover": Kind(On.POSTGRES, ("FP12",), drawn=False),  # what is under way is lost, done or not
    "keys_locked": Kind(On.POSTGRES, ("FP10", "S09"), drawn=False),  # questions about keys wait, each in its place
    "feed_lost": Kind(On.POSTGRES, (), instant=True),
    "redis_away": Kind(On.REDIS, ("FR4", "FR5", "FR6", "FR7", "FR10", "FR14")),
    "redis_hung": Kind(On.REDIS, ("FR4", "FR5", "FR6", "FR7", "FR8", "FR10", "FR14")),
    "redis_slow": Kind(On.REDIS, ("FR4", "FR9"), "seconds per answer"),
    "redis_empty": Kind(On.REDIS, ("FR11", "S02"), instant=True),  # it restarts and remembers nothing
    "redis_garbled": Kind(On.REDIS, (), instant=True, drawn=False),  # somebody overwrote when it was found empty
    "redis_cut": Kind(On.GATEWAY, ()),  # this replica alone cannot reach it; what was sent arrives when it ends
    "redis_failover": Kind(On.REDIS, ("S03",)),  # its replica hears nothing from here on; then that one takes over
    "redis_full": Kind(On.REDIS, ()),  # it has no memory left and refuses what would take some
    "redis_readonly": Kind(On.REDIS, ("FR12",)),  # it is a replica now, and refuses what writes
    "redis_moved": Kind(On.REDIS, ("FR12",)),  # of a cluster; the slot of our keys lies at another port of it
    "redis_forgets_scripts": Kind(On.REDIS, (), instant=True),
    "redis_unfit": Kind(On.REDIS, ("FR13",), "1: it evicts, 2: it runs no scripts", drawn=False),
    # The accounting service.
    "ledger_away": Kind(On.LEDGER, ("FL1", "FL2", "FL4")),
    "ledger_hung": Kind(On.LEDGER, ("FL3",)),  # takes what is sent, which takes effect when it ends
    "ledger_slow": Kind(On.LEDGER, ("FL3",), "seconds per answer"),
    "ledger_refusing": Kind(On.LEDGER, ("FL1",)),  # it wants none of them, for want of a right or of an upgrade
    "ledger_repeating": Kind(On.LEDGER, ("S22", "S23")),  # each batch comes twice, the second time later and mixed
    "ledger_forgetful": Kind(On.LEDGER, ("FL5",)),  # it stores, and the connection breaks before its answer
    # The gateways themselves.
    "crash": Kind(On.GATEWAY, ("FG3",)),  # SIGKILL; a new process when it ends
    "sigterm": Kind(On.GATEWAY, ("FG1",)),  # a new process when it ends
    "sigterm_twice": Kind(On.GATEWAY, ("FG2",), "seconds between the two"),
    "wall_jump": Kind(On.GATEWAY, ("FG5",), "seconds, forward or back", instant=True),
    "lag": Kind(On.GATEWAY, ("FG7",), "seconds the loop stands still", instant=True),
    "no_descriptors": Kind(On.GATEWAY, ("FG8",)),  # its process gets no new one; those that are open go on
    # What people do.
    "bad_catalogue": Kind(On.OPERATOR, (), instant=True),
    "new_catalogue": Kind(On.OPERATOR, (), instant=True),
    "nodes_off": Kind(On.OPERATOR, (), instant=True, drawn=False),  # all that were declared are switched off
    "nodes_on": Kind(On.OPERATOR, (), instant=True, drawn=False),
    "revoke_key": Kind(On.OPERATOR, (), instant=True),
    "revoke_key_unheard": Kind(On.OPERATOR, (), instant=True),  # its notification is lost
}


TIME_MAX_S = 1e6
"""No world lasts so long."""

AMOUNT_MIN, AMOUNT_MAX = -1e6, 1e6
"""Of anything that has an amount: seconds, bytes, events, statuses."""

SIGNED = frozenset({"wall_jump", "rate_limited"})
"""Kinds whose amount may be negative."""


def pair_of(target: str) -> tuple[str, str]:
    """Take the target of a fault between two hosts apart: gateway, vendor or node."""
    gateway, _, name = target.partition(">")
    return gateway, name


class PlanInvalid(ValueError):
    """The text is no plan of this release; the message says why."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `target` is a name, empty where there is only one; seconds count from the start of the world."""

    kind: str
    target: str
    at_s: float
    lasts_s: float = 0.0
    amount: float = 0.0

    @property
    def aimed_at(self) -> str:
        """The vendor, node or replica that suffers it; empty where there is only one it could be."""
        return pair_of(self.target)[1] if KINDS[self.kind].on is On.PAIR else self.target

    @property
    def ends_at_s(self) -> float:
        """When it is over; an instant one ends as it begins."""
        return self.at_s + (0.0 if KINDS[self.kind].instant else self.lasts_s)

    def simpler(self) -> Iterator["Fault"]:
        """Give milder forms of it, the mildest first."""
        for share in (0.1, 0.5):
            if not KINDS[self.kind].instant and self.lasts_s > 0.5:
                yield replace(self, lasts_s=round(self.lasts_s * share, 3))
        if self.amount > 1:
            yield replace(self, amount=float(int(self.amount / 2)))
        if self.at_s != int(self.at_s):
            yield replace(self, at_s=float(int(self.at_s)))


Plan = tuple[Fault, ...]


def rows_of(plan: Plan) -> list[list[object]]:
    """Write a plan as plain rows."""
    return [[*asdict(fault).values()] for fault in plan]


def plan_of(rows: Sequence[Sequence[object]]) -> Plan:
    """Read a plan from its rows.

    Raises:
        PlanInvalid: rows of another form, or faults this release does not know.
    """
    try:
        plan = tuple(
            Fault(str(kind), str(target), float(str(at)), float(str(lasts)), float(str(amount)))
            for kind, target, at, lasts, amount in rows
        )
    except (ValueError, TypeError) as error:
        raise PlanInvalid("the plan is garbled: copy the whole line, nothing more") from error
    for fault in plan:
        if fault.kind not in KINDS:
            raise PlanInvalid(f"the plan has a fault of kind {fault.kind!r}, which this release does not know")
        # A time that is no number would put the timers of the world out of order, and blame the product.
        if not (0 <= fault.at_s < TIME_MAX_S and 0 <= fault.lasts_s < TIME_MAX_S and _is_sane(fault)):
            raise PlanInvalid(f"the plan has a fault of kind {fault.kind!r} whose times or amount cannot be")
    return plan


def _is_sane(fault: Fault) -> bool:
    low = AMOUNT_MIN if fault.kind in SIGNED else 0.0
    return low <= fault.amount <= AMOUNT_MAX
