"""Dialling a node back on its agent's wish: bounded in number and time, and one line for an answer."""

import asyncio

from ktms.domain.catalogue import Catalogue, NodeSpec
from ktms.domain.routing.compile import compile_snapshot
from ktms.ports.node_registry import NodeVerifier

VERIFY_AT_ONCE_MAX = 4
"""Each is a real request; a whole fleet that installs at once takes turns."""

VERIFY_TIMEOUT_S = 120.0
"""A model that is not in memory has to be loaded first; an installer shows that it waits."""

REASON_LENGTH_MAX = 300
"""A line, as in every message."""


class Verification:
    """Has nodes generate one token."""

    def __init__(self, verifier: NodeVerifier) -> None:
        self._verifier = verifier
        self._turns = asyncio.Semaphore(VERIFY_AT_ONCE_MAX)

    async def reason(self, served: NodeSpec) -> str | None:
        """Give the reason why the node cannot be used, in one line; None when it answered."""
        if not served.enabled or served.draining:
            return "the node drains, or an operator has switched it off"
        if not served.models:
            return "no model of this node is one it may serve"
        node = compile_snapshot(Catalogue(nodes=(served,)), version=0).nodes[0]
        try:
            async with asyncio.timeout(VERIFY_TIMEOUT_S), self._turns:
                reason = await self._verifier.verify(node)
        except TimeoutError:
            return f"no answer within {VERIFY_TIMEOUT_S:.0f} s"
        return None if reason is None else " ".join(reason.split())[:REASON_LENGTH_MAX]
