"""One target, asked over the simulated network or at a port, on virtual time, with the product's own readers."""

import asyncio
import itertools
import json
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.dialects.openai_chat.answer import WholeAnswer, read_answer, read_error
from ktms.dialects.openai_chat.stream import StreamObserver
from ktms.dialects.openai_chat.vendor_error import WireError
from ktms.domain.call import Route
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.routing.timers import Timers
from ktms.domain.snapshot import Origin, Reach
from ktms.ports.upstream import Flow, Prologue, Upstream, UpstreamAnswer, UpstreamFailed, UpstreamRequest
from sim.draft import VENDOR_MODEL, NodeDraft, VendorDraft
from sim.fakes.dialect import Dialect
from sim.fakes.http_target import HttpTarget
from sim.fakes.port_target import PortRoads, PortTargets
from sim.fakes.target import Target
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.loop import VirtualLoop
from sim.network.network import Network
from sim.seed import Seed
from sim.trace import Trace

T = TypeVar("T")

KEYS = (("Authorization", "Bearer k"), ("api-key", "k"))
PUBLIC = "public-model"
PORT = 8000
TIMERS = Timers(pool_s=5, connect_s=5, first_token_s=60, idle_s=45, total_s=600)
ROUTES = {
    "/chat/completions": Route.CHAT,
    "/completions": Route.COMPLETIONS,
    "/embeddings": Route.EMBEDDINGS,
}


class Watching:
    """Feeds an observer, as the relay does, and keeps what came."""

    def __init__(self, observer: StreamObserver) -> None:
        self.observer = observer
        self.raw = b""
        self.out = b""

    def feed(self, data: bytes) -> Flow:
        self.raw += data
        self.out += self.observer.feed(data)
        if self.observer.done or self.observer.error or self.observer.malformed or self.observer.too_large:
            return Flow.ENOUGH
        return Flow.FLOWING if self.observer.visible else Flow.WAITING


@dataclass
class Seen:
    """What the caller of one exchange met. `took_s` is how long it lasted."""

    status: int = 0
    body: bytes = b""
    failure: FailureKind | None = None
    observer: StreamObserver | None = None
    answer: UpstreamAnswer | None = None
    took_s: float = 0.0

    @property
    def stream(self) -> StreamObserver:
        assert self.observer is not None
        return self.observer

    @property
    def chunks(self) -> list[dict[str, Any]]:
        lines = [line[6:] for line in self.body.split(b"\n") if line.startswith(b"data: {")]
        return [json.loads(line) for line in lines]

    @property
    def text(self) -> str:
        choices = [choice for chunk in self.chunks for choice in chunk.get("choices", ())]
        return "".join(choice.get("text") or _said(choice.get("delta", {})) for choice in choices)

    @property
    def json(self) -> dict[str, Any]:
        made = json.loads(self.body)
        assert isinstance(made, dict)
        return made

    @property
    def error(self) -> WireError:
        return read_error(self.body)

    def whole(self, route: Route = Route.CHAT) -> WholeAnswer:
        return read_answer(self.body, public_model=PUBLIC, route=route)

    def header(self, name: str) -> str | None:
        assert self.answer is not None
        return self.answer.header(name)


def _said(delta: dict[str, str | None]) -> str:
    return (delta.get("content") or "") + (delta.get("reasoning") or "") + (delta.get("reasoning_content") or "")


class Desk:
    """A gateway's place at a target. `wire`: over the network, else at the port."""

    def __init__(
        self,
        draft: VendorDraft | NodeDraft,
        *,
        wire: bool = True,
        seed: int = 1,
        dialect: Dialect | None = None,
        tokens_per_piece: int = 1,
        dates: bool = False,
    ) -> None:
        root = Seed(seed)
        self.trace = Trace()
        self.loop = VirtualLoop(root.chance("loop"), self.trace)
        self.journal = Journal(self.loop.time)
        numbers = itertools.count(1)
        self.target = Target(
            draft,
            root.chance(draft.name),
            self.journal,
            lambda: next(numbers),
            wall=(lambda: self.loop.time() + 1_790_000_000.0) if dates else None,
            tokens_per_piece=tokens_per_piece,
            dialect=dialect,
        )
        self.network = Network(self.loop, root.chance("network"), self.trace)
        self.loop.network = self.network
        self.network.add_host("gateway", "10.0.0.1")
        self.network.add_host(draft.name, "10.0.0.2")
        self.house = HttpTarget(self.target, reset=self.network.reset)
        self.origin = Origin("http", draft.name, PORT, "", Reach.PRIVATE)
        self.roads = PortRoads()
        self.ports = PortTargets("gateway", {self.origin.key: self.target}, self.roads, self.trace)
        self.wire = HttpUpstream(UpstreamSettings(), AddressRules())
        self.upstream: Upstream = self.wire if wire else self.ports.upstream
        self.run(self.loop.create_server(self.house, draft.name, PORT), on=f"{draft.name}#1")

    def run(self, work: Coroutine[Any, Any, T], *, on: str = "gateway#1") -> T:
        """Run work on a host and give what it gave."""
        return self.loop.run_until_complete(self.loop.start_on(on, work, name="test"))

    def pass_s(self, seconds: float = 0.5) -> None:
        """Let time pass."""
        self.run(asyncio.sleep(seconds))

    def close(self) -> None:
        """End, with nothing left open and nothing said twice."""
        self.run(self.upstream.close())
        self.pass_s()
        asked, told = self.facts("asked"), self.facts("told")
        assert [fact.members["exchange"] for fact in asked] == sorted(fact.number("exchange") for fact in told)
        assert (self.target.busy, self.target.running, self.target.waiting) == (0, 0, 0)
        assert self.loop.unhandled == []
        self.loop.close()

    def facts(self, kind: str) -> list[Fact]:
        return list(self.journal.of(kind))

    @property
    def told(self) -> Fact:
        """The one answer that has ended."""
        (fact,) = self.journal.of("told")
        return fact

    @property
    def suffered(self) -> list[str]:
        return [fact.text("id") for fact in self.journal.of("fault_active")]

    def post(self, members: dict[str, object] | bytes | None = None, **options: Any) -> Seen:
        """Ask, with the options of `request`, and wait for the end."""
        return self.run(self.asking(members, **options))

    def request(
        self,
        members: dict[str, object] | bytes | None = None,
        *,
        path: str = "/v1/chat/completions",
        headers: tuple[tuple[str, str], ...] = KEYS,
        timers: Timers = TIMERS,
    ) -> UpstreamRequest:
        """Make a request; the body is that of `chat()` unless given."""
        given = chat() if members is None else members
        body = given if isinstance(given, bytes) else json.dumps(given).encode()
        return UpstreamRequest(self.origin, Prologue("POST", path, headers), body, timers)

    async def asking(self, members: dict[str, object] | bytes | None = None, **options: Any) -> Seen:
        """Ask, with the options of `request`, and wait for the end."""
        request = self.request(members, **options)
        streamed = b'"stream": true' in request.body
        path = request.prologue.path.partition("?")[0]
        route = next((route for end, route in ROUTES.items() if path.endswith(end)), Route.CHAT)
        return await self.exchange(request, route if streamed else None)

    def get(self, path: str, method: str = "GET", *, timers: Timers = TIMERS) -> Seen:
        """Probe."""
        return self.run(self.exchange(UpstreamRequest(self.origin, Prologue(method, path, ()), b"", timers), None))

    async def exchange(self, request: UpstreamRequest, route: Route | None) -> Seen:
        """Send a request and take its answer; `route` None: not as a stream."""
        seen = Seen()
        began = self.loop.time()
        try:
            answer = seen.answer = await self.upstream.send(request)
        except UpstreamFailed as failure:
            seen.failure = failure.kind
            seen.took_s = self.loop.time() - began
            return seen
        seen.status = answer.status
        try:
            if route is not None and answer.status == 200:
                seen.observer = StreamObserver(PUBLIC, route=route, usage_asked=True, max_event_bytes=1 << 20)
                watching = Watching(seen.observer)
                try:
                    await answer.pour(watching)
                    seen.observer.end()
                finally:
                    seen.body = watching.raw
            else:
                seen.body = await answer.read(4 << 20)
        except UpstreamFailed as failure:
            seen.failure = failure.kind
        finally:
            answer.close()
        seen.took_s = self.loop.time() - began
        return seen


def chat(call: str = "c1", tokens: int = 3, **members: object) -> dict[str, object]:
    """A streamed chat request, with usage."""
    made: dict[str, object] = {
        "model": VENDOR_MODEL,
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": f"call={call} tokens={tokens} canary"}],
    }
    return made | members


def whole(call: str = "c1", tokens: int = 3, **members: object) -> dict[str, object]:
    """A chat request that is not streamed."""
    made = chat(call, tokens)
    del made["stream"], made["stream_options"]
    return made | members
