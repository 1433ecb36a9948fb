"""Counts, duties and reports of all replicas in Redis (port: FleetBoard).

Not here: leases and waiters themselves (`fleet.py`), the rules (`scripts/`), the way to Redis (`link.py`).
"""

from collections.abc import Callable, Sequence
from itertools import zip_longest

from ktms.adapters.redis.chunks import chunks
from ktms.adapters.redis.keys import EPOCH, FREED, duty_key, leases_of, report_of, spoken_of, waiters_of
from ktms.adapters.redis.line import Words
from ktms.adapters.redis.link import RedisLink
from ktms.adapters.redis.reports import decode, encode
from ktms.domain.capacity.node_report import Look, NodeReport
from ktms.domain.ids import ModelName, NodeName
from ktms.ports.fleet_board import REPORT_TTL_S, SPOKEN_TTL_S, BoardView, Seen


class RedisFleetBoard:
    """What one replica sees and says; `replica` tells it from all others, an earlier life of its own included."""

    def __init__(self, link: RedisLink, replica: str) -> None:
        self._link = link
        self._replica = replica

    async def read(self, nodes: Sequence[NodeName], models: Sequence[ModelName]) -> BoardView:
        """Read counts and reports, a part of the fleet per round trip: what others ask goes in between."""
        busy: dict[NodeName, int] = {}
        waiting: dict[ModelName, int] = {}
        seen: list[Seen] = []
        for some_nodes, some_models in zip_longest(chunks(nodes), chunks(models), fillvalue=()):
            keys = [leases_of(node) for node in some_nodes]
            keys += [waiters_of(model) for model in some_models]
            reports = [key_of(node) for key_of in (report_of, spoken_of) for node in some_nodes]
            words: Words = (1 + len(keys) + len(reports), EPOCH, *keys, *reports, len(keys))
            now_ms, counts, texts = await self._link.ask(words, script=self._link.scripts.read)
            busy.update(zip(some_nodes, counts, strict=False))
            waiting.update(zip(some_models, counts[len(some_nodes) :], strict=True))
            seen += [one for text in texts if text is not None and (one := decode(text, now_ms)) is not None]
        return BoardView(busy, waiting, tuple(seen))

    async def claim(self, duty: str, ttl_s: float) -> bool:
        """Claim a duty, or keep it."""
        words = (1, duty_key(duty), self._replica, round(ttl_s * 1000))
        return bool(await self._link.ask(words, script=self._link.scripts.claim))

    async def post(self, reports: Sequence[NodeReport]) -> None:
        """Put reports up."""
        await self._put([one for one in reports if one.look is not Look.SPOKE], report_of, REPORT_TTL_S)
        await self._put([one for one in reports if one.look is Look.SPOKE], spoken_of, SPOKEN_TTL_S)

    async def moment(self) -> float:
        """Give the time of Redis."""
        return float(await self._link.ask((1, EPOCH), script=self._link.scripts.moment)) / 1000

    async def drained(self, nodes: Sequence[NodeName], until: float) -> None:
        """Free the slots of idle nodes that drained before."""
        until_ms = round(until * 1000)
        for part in chunks(nodes):
            keys = [leases_of(node) for node in part]
            await self._link.ask((len(keys), *keys, FREED, until_ms, *part), script=self._link.scripts.drained)

    async def _put(self, reports: Sequence[NodeReport], key_of: Callable[[NodeName], str], ttl_s: float) -> None:
        for part in chunks(reports):
            keys = [key_of(report.node) for report in part]
            words: Words = (len(keys), *keys, round(ttl_s * 1000), *(encode(report) for report in part))
            await self._link.ask(words, script=self._link.scripts.post)
