"""OpenAI: bearer keys, ids of requests, chunks with padding, and a usage chunk on demand."""

from collections.abc import Sequence

from sim.fakes.asking import header_of
from sim.fakes.dialect import Dialect, Machine, Page, Saying
from sim.fakes.steps import Asked
from sim.fakes.wire_text import Json

_PADDING = "aGVsbG8"


FINGERPRINT = "fp_44709d6fcb"
"""Which build of the vendor answered; it travels through the gateway and nobody acts upon it."""


class OpenAi(Dialect):
    """The vendor that everybody copies."""

    def refuses(self, asked: Asked, machine: Machine) -> Page | None:
        """Want a key, then the model."""
        scheme, _, key = (header_of(asked, "authorization") or "").partition(" ")
        if machine.keys and (scheme != "Bearer" or not key or key in machine.quirks.refused_keys):
            return self.refusal(401, "Incorrect API key provided: ****.")
        return super().refuses(asked, machine)

    def headers(self, asked: Asked) -> tuple[tuple[str, str], ...]:
        """Number the request."""
        return (("x-request-id", f"req_{asked.exchange}"), ("openai-version", "2020-10-01"))

    def cards(self, machine: Machine) -> list[Json]:
        """Describe the models."""
        return [{**known, "owned_by": "openai"} for known in super().cards(machine)]

    def chunk(self, saying: Saying, choices: Sequence[Json], **more: object) -> dict[str, object]:
        """Add what OpenAI adds: null usage where it comes later, and padding against guessing tokens by length."""
        made = super().chunk(saying, choices)
        made["system_fingerprint"] = FINGERPRINT
        if saying.asked.streamed and not saying.legacy:
            made["service_tier"] = "default"
            if saying.asked.usage_asked:
                made["usage"] = None
            if choices:
                made["obfuscation"] = _PADDING
        return made | more
