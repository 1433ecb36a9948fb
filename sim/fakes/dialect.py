"""How a target speaks: the shapes that all share, for each engine and vendor to change what is its own.

A dialect decides and writes; it has no clock, no chance and no state.
Not here: when anything is said (`target.py`), what goes wrong on purpose (`misbehaving.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from sim.draft import Habit
from sim.fakes import asking
from sim.fakes.gauges import Gauges
from sim.fakes.steps import JSON, Asked
from sim.fakes.wire_text import CREATED, DONE, HOLE, Json, Write, card, compact, told, usage, writer


class Route(Enum):
    """What is asked for; the value ends the path."""

    CHAT = "/chat/completions"
    COMPLETIONS = "/completions"
    EMBEDDINGS = "/embeddings"


@dataclass(slots=True)
class Quirks:
    """What a scenario may set on a target, also while it runs.

    `loading`: its model is not in memory yet. `cold`: so too, be it that nobody has asked for it since.
    `draining`: it takes nothing new. `slots_told`: how many an agent says that it has, None: the truth.
    `thinking_tokens`: so many of each answer come as reasoning. `answers_as`: the model it names in its answers,
    whatever was asked. `refused_keys`: credentials that no longer count. `shifts`: Ollama cuts a prompt that is
    too long. `metrics`: llama.cpp was started with `--metrics`. `old_errors`: llama.cpp writes an error in a
    stream as a field of its own. `habits`: what else it does.
    """

    loading: bool = False
    cold: bool = False
    draining: bool = False
    slots_told: int | None = None
    thinking_tokens: int = 0
    answers_as: str | None = None
    refused_keys: tuple[str, ...] = ()
    shifts: bool = True
    metrics: bool = True
    old_errors: bool = False
    habits: tuple[Habit, ...] = ()


class Machine(Protocol):
    """What a dialect may know of the target that speaks it."""

    @property
    def cloud(self) -> bool:
        """Whether it is a cloud vendor."""
        ...

    @property
    def models(self) -> Sequence[str]:
        """The names of its models; the first one is in memory."""
        ...

    @property
    def window(self) -> int | None:
        """Tokens that fit, prompt and answer together (of all answers, by a habit); None: no bound."""
        ...

    @property
    def slots(self) -> int:
        """Answers written at once."""
        ...

    @property
    def slots_declared(self) -> int:
        """Answers written at once, as its operator believes."""
        ...

    @property
    def running(self) -> int:
        """Answers that are being written."""
        ...

    @property
    def waiting(self) -> int:
        """Answers in its queue."""
        ...

    @property
    def gauges(self) -> Gauges:
        """What its metrics say of its load."""
        ...

    @property
    def keys(self) -> int:
        """How many credentials it handed out; 0: it wants none."""
        ...

    @property
    def quirks(self) -> Quirks:
        """What a scenario has set."""
        ...


@dataclass(frozen=True, slots=True)
class Page:
    """A whole response that is no answer of a model: an error, or what a probe reads.

    `means` is the row of the failure matrix that it stands for, where there is one.
    """

    status: int
    body: bytes
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    means: str = ""


@dataclass(frozen=True, slots=True)
class Saying:
    """One answer as it is planned. `finish` is its finish reason."""

    asked: Asked
    route: Route
    model: str
    prompt_tokens: int
    tokens: int
    finish: str

    @property
    def legacy(self) -> bool:
        """Whether it is a text completion."""
        return self.route is Route.COMPLETIONS

    @property
    def usage(self) -> dict[str, object]:
        """Its counts."""
        return usage(self.prompt_tokens, self.tokens)


@dataclass(frozen=True, slots=True)
class Break:
    """How an engine's own failure looks once a stream has begun. `shows`: there is an error object in it."""

    data: bytes
    shows: bool = True


class Dialect:
    """OpenAI's shapes.

    `head_first`: the head leaves before the first token is there. `ping_s`, `ping`: comments while nothing comes.
    `keep_alive_s`: how long an idle connection is kept.
    """

    head_first: bool = False
    ping_s: float | None = None
    ping: bytes = b":\n\n"
    keep_alive_s: float = 75.0
    version_path: str = "/v1"
    end_mark: bytes = DONE

    def route(self, path: str) -> Route | None:
        """Give the route of a path, None where a POST leads nowhere."""
        if not path.startswith(self.version_path):
            return None
        rest = path[len(self.version_path) :]
        return next((route for route in Route if route.value == rest), None)

    def page(self, method: str, path: str, machine: Machine) -> Page:
        """Answer what is no question to a model."""
        if method != "GET":
            return self.refusal(404, f"Invalid URL ({method} {path})")
        if path == f"{self.version_path}/models":
            return Page(200, compact({"object": "list", "data": self.cards(machine)}))
        return self.refusal(404, f"Invalid URL ({method} {path})")

    def cards(self, machine: Machine) -> list[Json]:
        """Describe the models."""
        return [card(name, "system") for name in machine.models]

    def refuses(self, asked: Asked, machine: Machine) -> Page | None:
        """Say no to a request that cannot be served, None where it can; `asked` has a route."""
        if not self.knows(asked.model, machine):
            return self.refusal(404, f"The model `{asked.model}` does not exist")
        return None

    def knows(self, model: str, machine: Machine) -> bool:
        """Whether there is such a model."""
        return model in machine.models

    def name_of(self, asked: Asked, machine: Machine) -> str:
        """Give the name that the answer has for its model."""
        return machine.quirks.answers_as or asked.model or machine.models[0]

    def plan(self, asked: Asked, route: Route, machine: Machine) -> Saying:
        """Plan an answer to what was not refused."""
        wanted, allowed = asking.tokens_wanted(asked), self.allowed(asked, machine)
        tokens = wanted if allowed is None else min(wanted, allowed)
        finish = "stop" if tokens == wanted else "length"
        return Saying(asked, route, self.name_of(asked, machine), self.prompt(asked, machine), tokens, finish)

    def allowed(self, asked: Asked, machine: Machine) -> int | None:
        """Give how many tokens may be written at most."""
        bounds = [] if machine.window is None else [max(1, machine.window - self.prompt(asked, machine))]
        asked_for = self.max_tokens(asked)
        return min([*bounds, *([] if asked_for is None else [asked_for])], default=None)

    def max_tokens(self, asked: Asked) -> int | None:
        """Read how many tokens the client wants at most."""
        return asked.max_tokens

    def prompt(self, asked: Asked, machine: Machine) -> int:  # noqa: ARG002  # engines look at the window
        """Count the tokens that are read."""
        return asking.prompt_tokens(asked)

    # Streams.

    def headers(self, asked: Asked) -> tuple[tuple[str, str], ...]:  # noqa: ARG002  # vendors number their requests
        """Give the headers of an answer."""
        return ()

    def chunk(self, saying: Saying, choices: Sequence[Json], **more: object) -> dict[str, object]:
        """Make what every chunk has."""
        return {
            "id": identity(saying),
            "object": "text_completion" if saying.legacy else "chat.completion.chunk",
            "created": CREATED,
            "model": saying.model,
            "choices": choices,
            **more,
        }

    def opening(self, saying: Saying) -> bytes:
        """Write what comes before the first token."""
        if saying.legacy:
            return b""
        delta = {"role": "assistant", "content": ""}
        return told(self.chunk(saying, [{"index": 0, "delta": delta, "finish_reason": None}]))

    def first_token(self, saying: Saying, *, thinking: bool = False) -> Write:
        """Make the writer of the first chunk that holds text."""
        return self.tokens(saying, thinking=thinking)

    def tokens(self, saying: Saying, *, thinking: bool = False) -> Write:
        """Make the writer of the chunks that hold text."""
        return writer(self.chunk(saying, [self.choice(saying, HOLE, thinking=thinking)]))

    def choice(self, saying: Saying, text: str, *, thinking: bool = False) -> Json:
        """Make a choice that holds text and is not finished."""
        if saying.legacy:
            return {"index": 0, "text": text, "logprobs": None, "finish_reason": None}
        return {"index": 0, "delta": {"reasoning" if thinking else "content": text}, "finish_reason": None}

    def closing(self, saying: Saying, *, with_usage: bool) -> tuple[bytes, ...]:
        """Write what comes after the last token, one write each."""
        end = told(self.chunk(saying, [self.last_choice(saying)]))
        counts = told(self.chunk(saying, [], usage=saying.usage)) if with_usage else b""
        return (end, counts + self.end_mark)

    def last_choice(self, saying: Saying) -> Json:
        """Make the choice that finishes."""
        if saying.legacy:
            return {"index": 0, "text": "", "logprobs": None, "finish_reason": saying.finish}
        return {"index": 0, "delta": {}, "finish_reason": saying.finish}

    def breaks(self, saying: Saying, page: Page, machine: Machine) -> Break:  # noqa: ARG002  # for the engines
        """Write how a failure of its own ends a stream; `page` is the same failure before a stream."""
        return Break(b"data: %b\n\n" % page.body)

    # Whole answers.

    def whole(self, saying: Saying, text: str, *, with_usage: bool) -> bytes:
        """Write an answer that is not streamed."""
        return compact(self.answer(saying, text) | ({"usage": saying.usage} if with_usage else {}))

    def answer(self, saying: Saying, text: str) -> dict[str, object]:
        """Make an answer that is not streamed, without its usage."""
        choice: Json = {"index": 0, "text": text, "logprobs": None, "finish_reason": saying.finish}
        if not saying.legacy:
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": saying.finish}
        made = self.chunk(saying, [choice])
        made["object"] = "text_completion" if saying.legacy else "chat.completion"
        return made

    def vectors(self, saying: Saying, *, with_usage: bool) -> bytes:
        """Write embeddings; the first number of each is the exchange."""
        count = asking.inputs_total(saying.asked)
        data = [
            {"object": "embedding", "index": at, "embedding": [float(saying.asked.exchange), at + 0.5]}
            for at in range(count)
        ]
        made: dict[str, object] = {"object": "list", "model": saying.model, "data": data}
        if with_usage:
            made["usage"] = {"prompt_tokens": saying.prompt_tokens, "total_tokens": saying.prompt_tokens}
        return compact(made)

    # Errors.

    def refusal(self, status: int, message: str, *, param: str | None = None) -> Page:
        """Write an error in this dialect's shape."""
        fields = {"message": message, "type": error_type(status), "param": param, "code": error_code(status)}
        return Page(status, compact({"error": fields}))

    def busy(self, machine: Machine) -> Page:  # noqa: ARG002  # engines say how many they take
        """Write the 429."""
        return self.refusal(429, "Rate limit reached for requests")

    def late_errors(self, machine: Machine) -> tuple[Page, ...]:
        """Write what may go wrong once an answer has begun."""
        return (self.failing(500), self.failing(503), *((self.busy(machine),) if machine.cloud else ()))

    def meaning(self, status: int, machine: Machine) -> Page:
        """Write an error of this status; 400 means a context that is too long, what is no error means 500."""
        if status == 400:
            return self.too_long()
        if status == 429:
            return self.busy(machine)
        return self.failing(status if status in _FAILINGS else 500)

    def too_long(self) -> Page:
        """Write the error of a prompt that does not fit."""
        fields = {
            "message": "This model's maximum context length is 128000 tokens.",
            "type": error_type(400),
            "param": "messages",
            "code": "context_length_exceeded",
        }
        return Page(400, compact({"error": fields}))

    def failing(self, status: int) -> Page:
        """Write a 5xx."""
        return self.refusal(status, _FAILINGS.get(status, "The server had an error while processing your request"))

    def not_json(self) -> Page:
        """Write the answer to a body that is no JSON object."""
        return self.refusal(400, "We could not parse the JSON body of your request.")


_FAILINGS = {
    502: "Bad gateway.",
    503: "That model is currently overloaded with other requests.",
    504: "The upstream timed out.",
}
_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


def error_type(status: int) -> str:
    """Give OpenAI's type of an error."""
    return _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")


def error_code(status: int) -> str | None:
    """Give OpenAI's code of an error."""
    return _CODES.get(status)


def identity(saying: Saying) -> str:
    """Give the id of an answer."""
    return f"{'cmpl' if saying.legacy else 'chatcmpl'}-{saying.asked.exchange}"
