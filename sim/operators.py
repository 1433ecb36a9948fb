"""What people do in a world: ask each gateway for its readiness, change the catalogue, revoke a key."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from ktms.domain.access.key_form import read_key
from ktms.domain.catalogue import Catalogue, ClientKeySpec
from sim.actors.answer import Answer
from sim.actors.caller import Clients
from sim.actors.request import Request
from sim.draft import CallDraft
from sim.fakes.postgres.operator import Operator
from sim.journal.journal import Journal

READINESS = Request("GET", "/readyz", ((b"Host", b"gateway"),), b"")

PATIENCE_S = 5.0
"""A probe that gets no answer by then counts as none."""


class Named(Protocol):
    """A gateway's machine, as far as a watch needs it."""

    @property
    def name(self) -> str: ...  # noqa: D102


class Watch:
    """Asks every gateway for its readiness now and then, as a balancer does; status 0: no answer."""

    def __init__(self, gateways: Sequence[Named], clients: Clients, journal: Journal, every_s: float) -> None:
        self._gateways = gateways
        self._clients = clients
        self._journal = journal
        self._every_s = every_s

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            for number, gateway in enumerate(self._gateways):
                await self._ask(number, gateway.name)
            await asyncio.sleep(self._every_s)

    async def _ask(self, number: int, name: str) -> None:
        answer = Answer(lambda _: None)
        try:
            async with asyncio.timeout(PATIENCE_S):
                line, _ = await self._clients.open(CallDraft(at_s=0.0, gateway=number), fresh=True)
                line.ask(READINESS, answer)
                while not answer.ended:
                    answer.changed.clear()
                    await answer.changed.wait()
                line.leave("fin")
        except (OSError, TimeoutError):
            self._journal.note("readyz", name, status=0, ready=False, state="", reasons="")
            return
        told = json.loads(answer.body) if answer.over else {}
        self._journal.note(
            "readyz",
            name,
            status=answer.status,
            ready=answer.status == 200,
            state=told.get("status", ""),
            reasons=" ".join(told.get("reasons", ())),
        )


async def act(
    kind: str, operator: Operator, catalogue: Catalogue, doomed: ClientKeySpec | None, number: int
) -> None:
    """Do what the fault of this kind stands for; `number` makes a new catalogue different from all before."""
    match kind:
        case "bad_catalogue":
            await operator.spoil()
        case "new_catalogue" | "nodes_on":
            await operator.apply(_renamed(catalogue, number))
        case "nodes_off":
            off = tuple(replace(node, enabled=False) for node in catalogue.nodes)
            await operator.apply(_renamed(replace(catalogue, nodes=off), number))
        case _:
            assert kind in {"revoke_key", "revoke_key_unheard"}, kind
            if doomed is not None and doomed.secret is not None:
                text = read_key(doomed.secret.reveal())
                assert text is not None, "made by us"
                await operator.revoke(text.id, heard=kind == "revoke_key")


def _renamed(catalogue: Catalogue, number: int) -> Catalogue:
    """Give the same catalogue with another alias: a new version that changes no call."""
    model, *others = catalogue.models
    return replace(catalogue, models=(replace(model, aliases=(f"alias-{number}",)), *others))
