"""Facts of one call that routing decides on; never its content.

Shapes only. The bytes themselves stay with the door and the dialect; a prompt is not a fact.
"""

from dataclasses import dataclass
from enum import StrEnum

from ktms.domain.placement import Placement


class Route(StrEnum):
    """The model routes of the OpenAI API, by what they do; the value is the path below a vendor's base URL."""

    CHAT = "/chat/completions"
    COMPLETIONS = "/completions"
    EMBEDDINGS = "/embeddings"


@dataclass(frozen=True, slots=True)
class Choices:
    """What a client chose in one place (header, `ktms` field or suffix); None means it said nothing."""

    placement: Placement | None = None
    tier: str | None = None
    interactive: bool | None = None
    cache: bool | None = None


NO_CHOICES = Choices()


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What was read from the body: enough to route, estimate and observe.

    `text_bytes` counts all text that a model reads, tools included; `images` counts what is no text; `max_tokens`
    is None where the client set none; `answers` is `n`, `answers_written` how many the vendor writes and charges:
    more, where it keeps the best ones or answers several prompts; `usage_asked` is whether the client itself asked
    for a usage chunk.
    """

    model: str
    streamed: bool = False
    usage_asked: bool = False
    max_tokens: int | None = None
    answers: int = 1
    text_bytes: int = 0
    images: int = 0
    choices: Choices = NO_CHOICES
    answers_written: int = 1
