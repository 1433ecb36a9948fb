"""Ollama 0.32 and later: names with tags, prompts cut in silence, and failures in a stream that show no error.

Whoever asks beyond the slots waits inside, without bound; a model that loads makes everybody wait. Sources: the
fleet research, section 2.1. Not here: its native routes for generation, which the gateway does not speak.
"""

from collections.abc import Sequence

from sim.fakes import asking
from sim.fakes.dialect import Break, Dialect, Machine, Page, Saying
from sim.fakes.steps import Asked
from sim.fakes.wire_text import HOLE, Json, Write, compact, told, writer

KEPT_TOKENS = 5
"""What survives at the front of a prompt that is cut: 4096 become 2051."""

FOR_EVER = "2318-03-12T09:12:31.012345678+01:00"
"""How `keep_alive: -1` shows as a date."""

WEIGHTS_BYTES = 4_920_753_328

_TYPES = {400: "invalid_request_error", 404: "not_found_error"}


class Ollama(Dialect):
    """Ollama's OpenAI-compatible side, and what a probe may ask of its own."""

    def knows(self, model: str, machine: Machine) -> bool:
        """Compare names without case; a missing tag is `latest`."""
        return _full(model) in {_full(name) for name in machine.models}

    def refuses(self, asked: Asked, machine: Machine) -> Page | None:
        """Refuse unknown models, and long prompts where it cannot cut."""
        if not self.knows(asked.model, machine):
            return self.refusal(404, f"model '{asked.model}' not found")
        if self._too_long(asked, machine) and not machine.quirks.shifts:
            return self.refusal(400, "prompt is longer than the context length")
        return None

    def _too_long(self, asked: Asked, machine: Machine) -> bool:
        return machine.window is not None and asking.prompt_tokens(asked) > machine.window

    def prompt(self, asked: Asked, machine: Machine) -> int:
        """Count what is left of the prompt: about half the window of one that does not fit."""
        window = machine.window
        if window is None or not self._too_long(asked, machine):
            return asking.prompt_tokens(asked)
        return window - (window - KEPT_TOKENS) // 2

    def max_tokens(self, asked: Asked) -> int | None:
        """Read `max_tokens` alone: the newer name is ignored in silence."""
        given = asked.members.get("max_tokens")
        return given if isinstance(given, int) and given > 0 else None

    def chunk(self, saying: Saying, choices: Sequence[Json], **more: object) -> dict[str, object]:
        """Add its fingerprint."""
        return super().chunk(saying, choices, system_fingerprint="fp_ollama", **more)

    def opening(self, saying: Saying) -> bytes:  # noqa: ARG002  # the role comes with the first token
        """Write nothing."""
        return b""

    def first_token(self, saying: Saying, *, thinking: bool = False) -> Write:
        """Give the role with the first token, and not again."""
        if saying.legacy:
            return self.tokens(saying)
        text = {"content": "", "reasoning": HOLE} if thinking else {"content": HOLE}
        choice = {"index": 0, "delta": {"role": "assistant", **text}, "finish_reason": None}
        return writer(self.chunk(saying, [choice]))

    def closing(self, saying: Saying, *, with_usage: bool) -> tuple[bytes, ...]:
        """Write the finish chunk, the usage chunk and the end mark, each alone."""
        counts = (told(self.chunk(saying, [], usage=saying.usage)),) if with_usage else ()
        return (told(self.chunk(saying, [self.last_choice(saying)])), *counts, self.end_mark)

    def breaks(self, saying: Saying, page: Page, machine: Machine) -> Break:  # noqa: ARG002  # the error is lost
        """Write its native error as it comes through: an empty chunk, no finish, no end mark."""
        return Break(told(self.chunk(saying, [self.choice(saying, "")])), shows=False)

    def refusal(self, status: int, message: str, *, param: str | None = None) -> Page:
        """Write an error; `code` is always null."""
        fields = {"message": message, "type": _TYPES.get(status, "api_error"), "param": param, "code": None}
        return Page(status, compact({"error": fields}))

    def failing(self, status: int) -> Page:
        """Write a 5xx: 503 means that loads pile up."""
        busy = "server busy, please try again.  maximum pending requests exceeded"
        return self.refusal(
            status, busy if status == 503 else "llama runner process has terminated: exit status 2"
        )

    def page(self, method: str, path: str, machine: Machine) -> Page:
        """Answer what Ollama says about itself."""
        match method, path:
            case "GET", "/":
                return Page(200, b"Ollama is running", "text/plain; charset=utf-8")
            case "GET", "/api/version":
                return _said({"version": "0.33.0"})
            case "GET", "/api/tags":
                return _said({"models": [_model(name) for name in machine.models]})
            case "GET", "/api/ps":
                return _said({"models": [_loaded(name, machine) for name in machine.models]})
            case "POST", "/api/show":
                info = {"general.architecture": "llama", "llama.context_length": 131_072}
                return _said({"details": _DETAILS, "model_info": info, "capabilities": ["completion"]})
            case "GET", "/v1/models":
                return super().page(method, path, machine)
            case _:
                return Page(404, b"404 page not found", "text/plain")

    def cards(self, machine: Machine) -> list[Json]:
        """Describe the models by their full names."""
        return [
            {**known, "id": _tagged(str(known["id"])), "owned_by": "library"} for known in super().cards(machine)
        ]


_DETAILS = {"family": "llama", "parameter_size": "8.0B", "quantization_level": "Q4_K_M", "format": "gguf"}


def _tagged(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


def _full(name: str) -> str:
    return _tagged(name.lower())


def _said(value: Json) -> Page:
    return Page(200, compact(value))


def _model(name: str) -> dict[str, object]:
    full = _tagged(name)
    return {"name": full, "model": full, "size": WEIGHTS_BYTES, "digest": "46e0c10c039e", "details": _DETAILS}


def _loaded(name: str, machine: Machine) -> Json:
    """Describe a model in memory; one that still loads is listed too."""
    on_gpu = {"size_vram": WEIGHTS_BYTES, "context_length": machine.window or 4096, "expires_at": FOR_EVER}
    return _model(name) | on_gpu
