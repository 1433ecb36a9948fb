"""What one call asks for, and the request that asks it.

Not here: when it is made (`load.py`), what comes back (`answer.py`).
"""

from dataclasses import dataclass, replace

from chaos.stand.asked import CANARY, TRAVELS, prompt, travelling
from chaos.stand.settings import MODEL

PATH = "/v1/chat/completions"

PROMPT_WORDS = 8
"""Words of a prompt besides what it says to targets."""


@dataclass(frozen=True, slots=True)
class Question:
    """One call: through which gateway, with which key, how the answer is wanted.

    `leaves_after`: so many events of a stream and its client is gone; None: it stays. `placement` None: the key's.
    `word`: an Idempotency-Key; empty: none. `bounded`: it says how long its answer may be.
    `repeats`: it says the same, byte for byte, as this one. `turns`: what was said before, which makes it large.
    """

    name: str
    gateway: str
    key: str
    streamed: bool = True
    tokens: int = 8
    placement: str | None = None
    leaves_after: int | None = None
    usage_asked: bool = False
    model: str = MODEL
    word: str = ""
    repeats: "Question | None" = None
    bounded: bool = False
    turns: int = 0

    @property
    def manner(self) -> str:
        """How its answer is taken, in the word of the journal."""
        return "reads" if self.leaves_after is None else "leaves_midway"

    @property
    def said_as(self) -> str:
        """The name of the first call that asked the same."""
        return self.name if self.repeats is None else self.repeats.said_as

    def again(self, name: str, gateway: str | None = None) -> "Question":
        """Ask it once more, through another gateway perhaps; who has a word says the same with it."""
        said = self.repeats or (self if self.word else None)
        return replace(self, name=name, gateway=gateway or self.gateway, repeats=said)

    def headers(self, token: str) -> dict[str, str]:
        """Write the headers of its request."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if self.placement is not None:
            headers["X-KTMS-Placement"] = self.placement
        if self.word:
            headers["Idempotency-Key"] = self.word
        if self.repeats is not None:
            headers[TRAVELS] = travelling(self.name, self.gateway)
        return headers

    def body(self) -> dict[str, object]:
        """Write the body of its request."""
        if self.repeats is not None:
            return self.repeats.body()
        more = " ".join(f"{CANARY}-{self.name}-{nth}" for nth in range(PROMPT_WORDS))
        content = prompt(self.name, self.gateway, self.tokens, more)
        asks = [{"role": "user", "content": CANARY}] * self.turns + [{"role": "user", "content": content}]
        members: dict[str, object] = {"model": self.model, "messages": asks}
        if self.bounded:
            members["max_tokens"] = self.tokens
        if self.streamed:
            members["stream"] = True
            if self.usage_asked:
                members["stream_options"] = {"include_usage": True}
        return members
