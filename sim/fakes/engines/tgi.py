"""TGI: flat errors with statuses of their own, one model whatever is asked, 429 beyond its slots, comments.

Sources: the fleet research, section 2.4.
"""

from collections.abc import Sequence

from sim.fakes import asking
from sim.fakes.dialect import Break, Dialect, Machine, Page, Saying
from sim.fakes.steps import Asked
from sim.fakes.wire_text import Json, compact

KEEP_ALIVE_S = 15.0
"""Its comments come so often."""

METRICS = """\
# TYPE tgi_queue_size gauge
tgi_queue_size {waiting}
# TYPE tgi_batch_current_size gauge
tgi_batch_current_size {running}
"""

_TYPES = {404: "not_found", 422: "validation", 424: "generation", 429: "overloaded", 503: "healthcheck"}


class Tgi(Dialect):
    """Hugging Face's text-generation-inference."""

    head_first = True
    ping_s: float | None = KEEP_ALIVE_S

    def refuses(self, asked: Asked, machine: Machine) -> Page | None:
        """Refuse beyond its slots, and what does not fit; the model's name is not looked at."""
        if machine.running + machine.waiting >= machine.slots:
            busy = self.busy(machine)
            return Page(busy.status, busy.body, means="FN2")
        window, prompt = machine.window, asking.prompt_tokens(asked)
        if window is None:
            return None
        if prompt >= window:
            text = f"Input validation error: `inputs` must have less than {window} tokens. Given: {prompt}"
            return self.refusal(422, text)
        if prompt + (asked.max_tokens or 0) > window:
            text = f"`inputs` tokens + `max_new_tokens` must be <= {window}."
            given = f"Given: {prompt} `inputs` tokens and {asked.max_tokens} `max_new_tokens`"
            return self.refusal(422, f"Input validation error: {text} {given}")
        return None

    def name_of(self, asked: Asked, machine: Machine) -> str:  # noqa: ARG002  # what was asked for is not looked at
        """Give its own model's name."""
        return machine.quirks.answers_as or machine.models[0]

    def chunk(self, saying: Saying, choices: Sequence[Json], **more: object) -> dict[str, object]:
        """Give no id, and its version as fingerprint."""
        made = super().chunk(saying, choices, system_fingerprint="3.3.6-native")
        return made | {"id": "", "usage": None} | more

    def opening(self, saying: Saying) -> bytes:  # noqa: ARG002  # the role comes with every token
        """Write nothing."""
        return b""

    def choice(self, saying: Saying, text: str, *, thinking: bool = False) -> Json:
        """Give the role with every token; it does not tell reasoning apart."""
        if saying.legacy:
            return super().choice(saying, text, thinking=thinking)
        delta = {"role": "assistant", "content": text}
        return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}

    def last_choice(self, saying: Saying) -> Json:
        """Finish with an empty text."""
        if saying.legacy:
            return super().last_choice(saying)
        return {**self.choice(saying, ""), "finish_reason": saying.finish}

    def breaks(self, saying: Saying, page: Page, machine: Machine) -> Break:  # noqa: ARG002  # the same everywhere
        """Write the flat error as an event; no end mark follows."""
        return Break(b"data: %b\n\n" % page.body)

    def refusal(self, status: int, message: str, *, param: str | None = None) -> Page:  # noqa: ARG002  # it names none
        """Write an error: a text, and its kind beside it."""
        kind = _TYPES.get(status, "incomplete_generation")
        return Page(status, compact({"error": message, "error_type": kind}))

    def busy(self, machine: Machine) -> Page:  # noqa: ARG002  # the text has no number
        """Write the 429."""
        return self.refusal(429, "Model is overloaded")

    def failing(self, status: int) -> Page:
        """Write a 5xx."""
        return self.refusal(status, "unhealthy" if status == 503 else "Incomplete generation")

    def late_errors(self, machine: Machine) -> tuple[Page, ...]:  # noqa: ARG002  # the same on every machine
        """Write what may go wrong while it writes."""
        return (
            self.refusal(424, "Request failed during generation: Server error: CUDA out of memory"),
            self.refusal(500, "Incomplete generation"),
        )

    def page(self, method: str, path: str, machine: Machine) -> Page:
        """Answer what TGI says about itself."""
        match method, path:
            case "GET", "/health" | "/ping" | "/":
                return self.failing(503) if machine.quirks.loading else Page(200, b"")
            case "GET", "/info":
                return Page(200, compact(_info(machine)))
            case "GET", "/metrics":
                running, waiting = machine.gauges.total()
                text = METRICS.format(running=running, waiting=waiting)
                return Page(200, text.encode(), "text/plain; version=0.0.4")
            case "GET", "/v1/models":
                return super().page(method, path, machine)
            case _:
                return Page(404, b"", "text/plain")

    def cards(self, machine: Machine) -> list[Json]:
        """Describe its one model, which nobody ever made."""
        return [{"id": machine.models[0], "object": "model", "created": 0, "owned_by": machine.models[0]}]


def _info(machine: Machine) -> Json:
    window = machine.window or 4096
    return {
        "model_id": machine.models[0],
        "max_concurrent_requests": machine.slots,
        "max_input_tokens": window - 1,
        "max_total_tokens": window,
        "version": "3.3.6",
        "router": "text-generation-router",
    }
