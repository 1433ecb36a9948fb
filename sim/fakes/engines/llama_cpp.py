"""llama.cpp's server: one model whatever is asked, timings, comments while it reads, 503 while it loads.

What is asked beyond its slots waits without bound. Sources: the fleet research, section 2.3.
"""

from sim.draft import Habit
from sim.fakes import asking
from sim.fakes.dialect import Break, Dialect, Machine, Page, Saying
from sim.fakes.steps import Asked
from sim.fakes.wire_text import Json, card, compact, told

PING_S = 30.0
"""Its `--sse-ping-interval`."""

BUILD = "b7500-3f1a2c9"

METRICS = """\
# TYPE llamacpp:requests_processing gauge
llamacpp:requests_processing {running}
# TYPE llamacpp:requests_deferred gauge
llamacpp:requests_deferred {waiting}
"""

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    501: "not_supported_error",
    503: "unavailable_error",
}


class LlamaCpp(Dialect):
    """llama-server."""

    head_first = True
    ping_s: float | None = PING_S
    keep_alive_s = 60.0

    def refuses(self, asked: Asked, machine: Machine) -> Page | None:
        """Refuse while it loads, and prompts beyond a slot's window; the model's name is not looked at."""
        if machine.quirks.loading:
            return self._loading()
        window, prompt = machine.window, asking.prompt_tokens(asked)
        if window is None or prompt < window:
            return None
        fields = {
            "code": 400,
            "message": "the request exceeds the available context size, try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": prompt,
            "n_ctx": window,
        }
        return Page(400, compact({"error": fields}))

    def _loading(self) -> Page:
        page = self.refusal(503, "Loading model")
        return Page(page.status, page.body, means="FN4")

    def opening(self, saying: Saying) -> bytes:
        """Give the role with a null text."""
        if saying.legacy:
            return b""
        delta: Json = {"role": "assistant", "content": None}
        return told(self.chunk(saying, [{"finish_reason": None, "index": 0, "delta": delta}]))

    def choice(self, saying: Saying, text: str, *, thinking: bool = False) -> Json:
        """Make a choice that holds text; reasoning has its old name here."""
        if saying.legacy:
            return super().choice(saying, text)
        name = "reasoning_content" if thinking else "content"
        return {"finish_reason": None, "index": 0, "delta": {name: text}}

    def closing(self, saying: Saying, *, with_usage: bool) -> tuple[bytes, ...]:
        """Write the finish, then timings: on a usage chunk where one was asked for, else on the finish."""
        last = self.last_choice(saying)
        if not with_usage:
            return (told(self.chunk(saying, [last], timings=_timings(saying))), self.end_mark)
        counts = saying.usage | {"prompt_tokens_details": {"cached_tokens": 0}}
        return (
            told(self.chunk(saying, [last])),
            told(self.chunk(saying, [], usage=counts, timings=_timings(saying))) + self.end_mark,
        )

    def answer(self, saying: Saying, text: str) -> dict[str, object]:
        """Add timings."""
        return super().answer(saying, text) | {"timings": _timings(saying)}

    def breaks(self, saying: Saying, page: Page, machine: Machine) -> Break:  # noqa: ARG002  # the same everywhere
        """Write the error as an event; older builds have a field of its own for it. No end mark follows."""
        return Break(b"%b: %b\n\n" % (b"error" if machine.quirks.old_errors else b"data", page.body))

    def refusal(self, status: int, message: str, *, param: str | None = None) -> Page:  # noqa: ARG002  # it names none
        """Write an error with the status as its code."""
        fields = {"code": status, "message": message, "type": _TYPES.get(status, "server_error")}
        return Page(status, compact({"error": fields}))

    def failing(self, status: int) -> Page:
        """Write a 5xx."""
        return self.refusal(status, "Context size has been exceeded." if status == 500 else "Service unavailable")

    def page(self, method: str, path: str, machine: Machine) -> Page:
        """Answer what llama-server says about itself."""
        bare, _, query = path.partition("?")
        if machine.quirks.loading and bare in _WANT_A_MODEL:
            return self._loading()
        match method, bare:
            case "GET", "/health" | "/v1/health":
                return Page(200, compact({"status": "ok"}))
            case "GET", "/props":
                return Page(200, compact(_props(machine)))
            case "GET", "/slots":
                return self._slots(machine, wants_one="fail_on_no_slot=1" in query)
            case "GET", "/metrics":
                return self._metrics(machine)
            case "GET", "/v1/models" | "/models":
                return super().page(method, "/v1/models", machine)
            case _:
                return self.refusal(404, "File Not Found")

    def _slots(self, machine: Machine, *, wants_one: bool) -> Page:
        if wants_one and machine.running >= machine.slots:
            return self.refusal(503, "no slot available")
        return Page(200, b"[%b]" % b",".join(compact(_slot(at, machine)) for at in range(machine.slots)))

    def _metrics(self, machine: Machine) -> Page:
        if not machine.quirks.metrics:
            return self.refusal(501, "This server does not support metrics. Start it with `--metrics`")
        running, waiting = machine.gauges.total()
        text = METRICS.format(running=running, waiting=waiting)
        return Page(200, text.encode(), "text/plain; version=0.0.4")

    def cards(self, machine: Machine) -> list[Json]:
        """Describe its one model; slots are automatic, so each tells the window that all of them share."""
        parts = 1 if Habit.SHARES_WINDOW in machine.quirks.habits else machine.slots_declared
        n_ctx = None if machine.window is None else machine.window * parts
        meta = None if machine.quirks.loading else {"n_ctx_train": 131_072, "n_ctx": n_ctx}
        if Habit.TELLS_BUSY not in machine.quirks.habits:
            return [card(machine.models[0], "llamacpp", meta=meta)]
        known: Json = {"loaded": not machine.quirks.loading, "busy": machine.running + machine.waiting}
        return [card(machine.models[0], "llamacpp", meta=meta, ktms=known)]


_WANT_A_MODEL = frozenset({"/health", "/v1/health", "/props", "/slots"})


def _timings(saying: Saying) -> Json:
    return {
        "cache_n": 0,
        "prompt_n": saying.prompt_tokens,
        "prompt_ms": 2.0 * saying.prompt_tokens,
        "predicted_n": saying.tokens,
        "predicted_ms": 30.0 * saying.tokens,
    }


def _props(machine: Machine) -> Json:
    return {
        "default_generation_settings": {"n_ctx": machine.window or 4096},
        "total_slots": machine.slots,
        "model_path": f"/models/{machine.models[0]}.gguf",
        "modalities": {"vision": False, "audio": False},
        "is_sleeping": False,
        "build_info": BUILD,
    }


def _slot(at: int, machine: Machine) -> Json:
    busy = at < machine.running
    return {
        "id": at,
        "n_ctx": machine.window or 4096,
        "is_processing": busy,
        "next_token": {"n_decoded": int(busy)},
    }
