"""From a step of the plan to a target that can be asked: path, headers, credentials, timers.

What is the same for every call to one target is made once and kept with it (per-request work that can be done
once).
Not here: which target comes next (`switchboard.py`), what a vendor's paths look like (`vendors/`).
"""

from ktms.domain.call import CallFacts, Route
from ktms.domain.capacity.seat import Seat
from ktms.domain.capacity.speed import Speed
from ktms.domain.ids import LOCAL, VendorModel
from ktms.domain.routing.timers import cloud_timers, node_timers
from ktms.domain.snapshot import CloudTarget, Model, VendorKey
from ktms.engine.shot import Target
from ktms.ports.upstream import Prologue
from ktms.vendors.registry import node_shape, vendor_shape
from ktms.vendors.shape import Shape

Headers = tuple[tuple[str, str], ...]

_JSON = (("Content-Type", "application/json"), ("Accept", "application/json"))
_EVENTS = (("Content-Type", "application/json"), ("Accept", "text/event-stream"))

PROLOGUES_MAX = 10_000
"""Targets x keys x routes of one snapshot; a fleet of thousands of nodes fits, a leak does not."""


class Targets:
    """Makes targets; one per snapshot, so that nothing of an older one lives on."""

    def __init__(self) -> None:
        self._clouds: dict[tuple[int, str, Route, bool], Target] = {}
        self._prologues: dict[tuple[int, Route, bool], Prologue] = {}
        self._kept: list[object] = []  # objects whose id() is a key above stay alive as long as it

    def cloud(
        self, step: CloudTarget, model: Model, key: VendorKey | None, route: Route, facts: CallFacts
    ) -> Target:
        """Give the target for one model on one vendor, with one of its keys; the same for all calls alike."""
        known = (id(step), "" if key is None else key.id, route, facts.streamed)
        target = self._clouds.get(known)
        if target is None:
            target = _cloud(step, model, key, route, facts)
            if len(self._clouds) < PROLOGUES_MAX:
                self._clouds[known] = target
                self._kept.append(step)
        return target

    def node(
        self,
        seat: Seat,
        model: Model,
        route: Route,
        facts: CallFacts,
        *,
        speed: Speed | None,
        prompt_tokens: int,
    ) -> Target:
        """Make the target for one model on one of our machines."""
        node = seat.state.node
        shape = node_shape(node.engine)
        known = (id(node), route, facts.streamed)
        prologue = self._prologues.get(known)
        if prologue is None:
            auth = () if node.token is None else shape.auth_headers(node.token)
            prologue = _prologue(shape, node.origin.base_path, route, facts, auth)
            if len(self._prologues) < PROLOGUES_MAX:
                self._prologues[known] = prologue
                self._kept.append(node)
        return Target(
            vendor=LOCAL,
            node=node.name,
            vendor_model=seat.vendor_model,
            key_id=None,
            origin=node.origin,
            prologue=prologue,
            timers=node_timers(
                model,
                streamed=facts.streamed,
                max_tokens=facts.max_tokens,
                speed=speed,
                uncached_tokens=prompt_tokens,
            ),
            asks_usage=shape.asks_usage,
            withholds=shape.withholds,
            secret=node.token,
            expects=expected_names(seat),
            may_cut=shape.cuts_long_prompts,
            window=seat.window,
        )


def expected_names(seat: Seat) -> tuple[VendorModel, ...]:
    """Give the names one of which must answer, where the engine tells the truth about it; empty: any."""
    shape = node_shape(seat.state.node.engine)
    if not shape.names_model:
        return ()
    return tuple(seat.state.node.windows) if shape.serves_one else (seat.vendor_model,)


def _cloud(step: CloudTarget, model: Model, key: VendorKey | None, route: Route, facts: CallFacts) -> Target:
    vendor = step.vendor
    shape = vendor_shape(vendor.kind)
    auth = () if key is None else shape.auth_headers(key.secret)
    return Target(
        vendor=vendor.name,
        node=None,
        vendor_model=step.vendor_model,
        key_id=None if key is None else key.id,
        origin=vendor.origin,
        prologue=_prologue(shape, vendor.origin.base_path, route, facts, (*auth, *vendor.headers)),
        timers=cloud_timers(step, model, streamed=facts.streamed),
        asks_usage=shape.asks_usage,
        withholds=shape.withholds,
        secret=None if key is None else key.secret,
    )


def _prologue(shape: Shape, base_path: str, route: Route, facts: CallFacts, headers: Headers) -> Prologue:
    accepted = _EVENTS if facts.streamed else _JSON
    return Prologue("POST", shape.path(base_path, route), (*accepted, *headers))
