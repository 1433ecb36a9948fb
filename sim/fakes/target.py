"""One cloud vendor or node: its model, its chance, its faults, its books.

Every request for a model is noted as `asked` and, however its answer ends, as `told` once. All that is drawn for
an answer depends on the call it is for, so a call left out of a world changes nothing for the others.
Not here: how steps become bytes on a connection (`http_target.py`) or pieces at a port (`port_target.py`).
"""

import hashlib
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from sim.draft import Engine, Habit, NodeDraft, VendorDraft, vendor_model_of
from sim.fakes import habits, misbehaving, pages
from sim.fakes.answer_books import Books
from sim.fakes.asking import Headers, header_of, prompt_tokens, read_asked, unread
from sim.fakes.dialect import Dialect, Page, Route, Saying
from sim.fakes.engines.agent import Agent
from sim.fakes.engines.llama_cpp import LlamaCpp
from sim.fakes.engines.ollama import Ollama
from sim.fakes.engines.tgi import Tgi
from sim.fakes.engines.vllm import Vllm
from sim.fakes.gauges import Gauges
from sim.fakes.memory import Memory
from sim.fakes.misbehaving import Victim
from sim.fakes.one_window import OneWindow
from sim.fakes.rests import Wall, any_rest, rest_of
from sim.fakes.speech import Pace, Speech
from sim.fakes.steps import Asked, Pause, Silence, Steps
from sim.fakes.vendors.azure import Azure
from sim.fakes.vendors.openai import OpenAi
from sim.journal.journal import Journal
from sim.seed import Chance

QUEUE_POLL_S = 0.05
"""How soon an engine sees that a slot has become free."""

HEAD_FAULTS = ("silent", "status", "rate_limited", "overloaded", "credential_refused")
SPOILING = (
    "foreign_script",
    "endless",
    "compressed",
    "error_in_200",
    "meaning_in_200",
    "malformed",
    "stall",
    "cut",
    "slow_drip",
)
"""Faults of a good answer, in the order in which they are laid around it."""

OTHER_MODEL = "other-model-1"
"""What a target calls its model by mistake."""

GONE = frozenset({"half_open", "power_off"})
"""Faults with which a machine is gone, and comes back as another one that knows nothing."""

CREDENTIALS = ("authorization", "api-key")
"""Headers that hold a credential, by their lower-case names."""

_AT_ONCE = {"endless": misbehaving.endless, "compressed": misbehaving.compressed}
_AFTER_EVENTS = {"malformed": misbehaving.malformed, "stall": misbehaving.stall, "cut": misbehaving.cut}

FAILINGS = (500, 502, 503, 504)

_ENGINES = {
    Engine.OLLAMA: Ollama,
    Engine.VLLM: Vllm,
    Engine.LLAMA_CPP: LlamaCpp,
    Engine.TGI: Tgi,
    Engine.AGENT: Agent,
}

OF_NODES = frozenset({"draining", "evicted", "fewer_slots", "smaller_window"})
"""Faults that are a state of a machine of ours, and no answer of its."""


def dialect_of(draft: VendorDraft | NodeDraft) -> Dialect:
    """Give the dialect of a target."""
    if isinstance(draft, NodeDraft):
        return _ENGINES[draft.engine]()
    return Azure() if draft.azure else OpenAi()


class Target:
    """One vendor or node. `exchanges` gives the next number of a request at any target of the world.

    `models` and `quirks` may be changed while it runs. `dialect` None: that of the draft. `tokens_per_piece` joins
    tokens of a stream into one write. `wall` lets it name dates.
    `busy` counts the answers under way: `running` ones are being written, `waiting` ones are in an engine's queue.
    """

    def __init__(
        self,
        draft: VendorDraft | NodeDraft,
        chance: Chance,
        journal: Journal,
        exchanges: Callable[[], int],
        *,
        wall: Wall | None = None,
        tokens_per_piece: int = 1,
        dialect: Dialect | None = None,
    ) -> None:
        self.name = draft.name
        self.cloud = isinstance(draft, VendorDraft)
        self.draft = draft
        self.dialect = dialect or dialect_of(draft)
        self.models = [vendor_model_of(name) for name in draft.serves]
        self.quirks = habits.quirks_of(draft)
        self.busy = 0
        self.running = 0
        self.gauges = Gauges(draft)
        self._lives = 1
        self._memory = Memory(self.name, self.quirks, journal)
        self._key = chance.token_bytes(16)
        self._journal = journal
        self._exchanges = exchanges
        self._wall = wall
        self._queue: deque[int] = deque()
        self._faults: dict[str, float] = {}
        self._refused_key = ""
        self._anybody = "" if self.cloud else "anybody"  # a machine refuses those too that show nothing
        self._asked_before: Counter[str] = Counter()
        gives_usage = not isinstance(draft, VendorDraft) or draft.gives_usage
        prefill_token_s = draft.prefill_token_s if isinstance(draft, NodeDraft) else 0.0
        pace = Pace(draft.first_token_s, draft.token_s, tokens_per_piece, prefill_token_s)
        self._speech = Speech(self.dialect, self, pace, gives_usage=gives_usage)
        self._one_window = None
        if Habit.SHARES_WINDOW in self.quirks.habits and self.window is not None:
            self._one_window = OneWindow(self.window, self._out_of_window)
        self._paths: set[tuple[str, str]] = set()

    @property
    def window(self) -> int | None:
        """Tokens that fit, prompt and answer together; None: no bound."""
        if not isinstance(self.draft, NodeDraft):
            return None
        smaller = self._faults.get("smaller_window")
        return int(smaller) if smaller is not None else self.draft.real_window or self.draft.window

    @property
    def slots(self) -> int:
        """Answers written at once; a vendor has no such bound."""
        if not isinstance(self.draft, NodeDraft):
            return 1 << 20
        slots = self.draft.real_slots or self.draft.slots
        return min(slots, max(1, int(self._faults.get("fewer_slots", slots))))

    @property
    def slots_declared(self) -> int:
        """Answers written at once, as its operator believes."""
        return self.draft.slots if isinstance(self.draft, NodeDraft) else self.slots

    @property
    def keys(self) -> int:
        """How many credentials it handed out; 0: it wants none."""
        return self.draft.keys if isinstance(self.draft, VendorDraft) else 0

    @property
    def waiting(self) -> int:
        """Answers in its queue."""
        return len(self._queue)

    def fault(self, kind: str, amount: float = 0.0, *, on: bool) -> None:
        """Begin or end a fault of its answers; those under way go on as they are, unless its machine is gone."""
        if kind == "other_model":
            self.quirks.answers_as = OTHER_MODEL if on else None
            return
        if kind in GONE:
            self._lives += on
            return
        if kind in OF_NODES:
            self._change(kind, amount, on=on)
            return
        assert kind in HEAD_FAULTS or kind in SPOILING, kind
        if on:
            self._faults[kind] = amount
        else:
            self._faults.pop(kind, None)
            if kind == "credential_refused":
                self._refused_key = ""

    def _change(self, kind: str, amount: float, *, on: bool) -> None:
        match kind:
            case "draining":
                self.quirks.draining = on
            case "fewer_slots" | "smaller_window" if on:
                self._faults[kind] = amount
            case "fewer_slots" | "smaller_window":
                self._faults.pop(kind, None)
            case _ if on:
                self._memory.evict(amount, idle=self.running == 0)
            case _:
                self._memory.load()

    def respond(self, method: str, path: str, headers: Headers, body: bytes, gateway: str) -> Steps:
        """Take any request; only one for a model counts as an exchange."""
        self._memory.look(wanted=method == "POST", idle=self.running == 0)
        if (method, path) not in self._paths:
            self._paths.add((method, path))
            self._journal.note("path_seen", self.name, target=self.name, method=method, path=path)
        if method != "POST" or self.dialect.route(path) is None:
            return self._probed(method, path)
        number = self._exchanges()
        asked = read_asked(number, path, headers, body) or unread(number, path, headers)
        return self.answer(asked, gateway)

    def answer(self, asked: Asked, gateway: str) -> Steps:
        """Note the request, and give the steps of its answer, which must be taken to their end or closed."""
        self._journal.note(
            "asked",
            self.name,
            exchange=asked.exchange,
            target=self.name,
            cloud=self.cloud,
            model=asked.model,
            call=asked.call,
            gateway=gateway,
            streamed=asked.streamed,
            path=asked.path,
            key=_digest_of(asked),
        )
        if habits.wants_other_load(asked, self):
            self._memory.evict(habits.OPTIONS_LOAD_S, idle=self.running == 0)
        self._asked_before[asked.call] += 1
        chance = Chance(self._key + f"{asked.call}/{self._asked_before[asked.call]}".encode())
        steps = self._kept(asked, chance)
        next(steps)  # into the block that notes `told`, so that it is noted even if no step is ever taken
        return steps

    def _kept(self, asked: Asked, chance: Chance) -> Steps:
        books = Books(self._wall)
        self.busy += 1
        steps = self._behave(asked, chance, books)
        take, life = books.take, self._lives
        try:
            yield Pause(0.0)
            for step in steps:
                if self._lives != life:
                    break
                take(step)
                yield step
            if self._lives != life:
                books.how = "cut"
            elif books.how == "left":
                books.how = "whole"
        finally:
            steps.close()
            self.busy -= 1
            self._tell(asked, books)
        if self._lives != life:
            yield Silence()  # the machine is gone, and its peer is not told

    def _tell(self, asked: Asked, books: Books) -> None:
        text = "".join(books.says)
        prompt, completion = books.usage or (0, 0)
        self._journal.note(
            "told",
            self.name,
            exchange=asked.exchange,
            target=self.name,
            call=asked.call,
            how=books.how,
            status=books.status,
            text=text,
            visible=bool(text),
            finished=books.finished,
            retry_after_s=books.rest_s,
            usage_given=books.usage is not None,
            other_model=books.other_model and books.status == 200,
            prompt_cut=books.prompt_cut,
            prompt_tokens=prompt,
            completion_tokens=completion,
        )

    def _behave(self, asked: Asked, chance: Chance, books: Books) -> Steps:
        """Choose between refusing, failing and answering."""
        route = self.dialect.route(asked.path)
        assert route is not None, asked.path
        victim = Victim(asked.streamed, chance, lambda name: self._suffers(name, asked))
        if "silent" in self._faults:
            return misbehaving.silent(pages.nothing(), victim)
        page = self._refusal(asked, chance)
        if page is None:
            return self._spoilt(asked, route, victim, books)
        if page.means:
            victim.suffers(page.means)
        return self._refusing(page, chance)

    def _refusal(self, asked: Asked, chance: Chance) -> Page | None:
        dialect = self.dialect
        if "status" in self._faults:
            return pages.meaning(dialect.failing(int(self._faults["status"]) or 500), "FV1")
        if "rate_limited" in self._faults:
            rest_s = self._faults["rate_limited"]
            headers = rest_of(rest_s, chance, self._wall) if rest_s else ()
            return pages.meaning(dialect.busy(self), "FV7", headers)
        if "overloaded" in self._faults:
            return pages.meaning(dialect.failing(503), "", rest_of(self._faults["overloaded"], chance, self._wall))
        if "credential_refused" in self._faults and (key := _digest_of(asked) or self._anybody):
            self._refused_key = self._refused_key or key
            if key == self._refused_key:
                return dialect.refusal(401, "Incorrect API key provided.")
        if not asked.members:
            return dialect.not_json()
        if isinstance(self.draft, VendorDraft):
            way = chance.unit()
            if way < self.draft.error_share:
                return pages.meaning(dialect.failing(chance.pick(FAILINGS)), "FV1")
            if way < self.draft.error_share + self.draft.busy_share:
                return pages.meaning(dialect.busy(self), "FV7", any_rest(chance, self._wall))
        return habits.refused(asked, dialect, self) or dialect.refuses(asked, self)

    def _refusing(self, page: Page, chance: Chance) -> Steps:
        yield Pause(chance.around(self.draft.first_token_s / 10, 0.3))
        yield from pages.written(page)

    def _spoilt(self, asked: Asked, route: Route, victim: Victim, books: Books) -> Steps:
        """Lay the faults that are on around a good answer."""
        saying = self.dialect.plan(asked, route, self)
        books.prompt_cut = saying.prompt_tokens < prompt_tokens(asked)
        if self.quirks.answers_as is not None:
            victim.suffers("FN5")
            books.other_model = True
        speech = self._speech.steps(saying, victim.chance, books)
        if self._one_window is not None:
            speech = self._one_window.among(saying, speech)
        good = self._good(asked, speech)
        for kind in SPOILING:
            if kind in self._faults:
                good = self._laid(kind, self._faults[kind], good, saying, victim)
        return good

    def _laid(self, kind: str, amount: float, good: Steps, saying: Saying, victim: Victim) -> Steps:
        match kind:
            case "error_in_200":
                page = victim.chance.pick(self.dialect.late_errors(self))
                end = self.dialect.breaks(saying, page, self)
                return misbehaving.error_in_200(good, int(amount), victim, page, end)
            case "meaning_in_200":
                page = self.dialect.meaning(int(amount), self)
                meant = partial(self._suffers, asked=saying.asked, meant=page.status)
                return misbehaving.meaning_in_200(good, replace(victim, suffers=meant), page)
            case "slow_drip":
                return misbehaving.slow_drip(good, amount, victim)
            case "foreign_script":
                return misbehaving.foreign_script(good)
            case _ if kind in _AT_ONCE:
                return _AT_ONCE[kind](good, victim)
            case _:
                return _AFTER_EVENTS[kind](good, int(amount), victim)

    def _good(self, asked: Asked, speech: Steps) -> Steps:
        """Wait for a slot, then speak."""
        self._queue.append(asked.exchange)
        self.gauges.note(self.running, self.waiting)
        try:
            while self._is_held_up(asked):
                yield Pause(QUEUE_POLL_S)
        finally:
            self._queue.remove(asked.exchange)
            self.gauges.note(self.running, self.waiting)
        self.running += 1
        self.gauges.note(self.running, self.waiting)
        try:
            yield from speech
        finally:
            self.running -= 1
            self.gauges.note(self.running, self.waiting)

    def _is_held_up(self, asked: Asked) -> bool:
        self._memory.look(wanted=True, idle=self.running == 0)
        full = self.running + self.gauges.elsewhere >= self.slots
        return self.quirks.loading or full or self._queue[0] != asked.exchange

    def _out_of_window(self, saying: Saying, begun: bool) -> Steps:
        page = self.dialect.failing(500)
        self._suffers("FV8" if begun else "FV1", saying.asked)
        return pages.broken(self.dialect.breaks(saying, page, self)) if begun else pages.written(page)

    def _probed(self, method: str, path: str) -> Steps:
        while Habit.DEAF_WHILE_BUSY in self.quirks.habits and self.running:
            yield Pause(QUEUE_POLL_S)
        if "silent" in self._faults:
            yield Silence()
        elif "status" in self._faults:
            yield from pages.written(self.dialect.failing(int(self._faults["status"]) or 500))
        else:
            yield from pages.written(self.dialect.page(method, path, self))

    def _suffers(self, name: str, asked: Asked, meant: int = 0) -> None:
        self._journal.note("fault_active", self.name, id=name, target=self.name, call=asked.call, meant=meant)


def _digest_of(asked: Asked) -> str:
    """Name the credential of a request without telling it; empty where there is none."""
    found = next((value for name in CREDENTIALS if (value := header_of(asked, name))), "")
    return hashlib.sha256(found.encode()).hexdigest()[:8] if found else ""
