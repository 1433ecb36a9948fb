"""What one call asks for, and the request that asks it.

Not here: when it is made (`load.py`), what comes back (`answer.py`).
"""

from dataclasses import dataclass

from chaos.stand.asked import CANARY, prompt
from chaos.stand.settings import MODEL

PATH = "/v1/chat/completions"

PROMPT_WORDS = 8
"""Words of a prompt besides what it says to targets."""


@dataclass(frozen=True, slots=True)
class Question:
    """One call: through which gateway, with which key, how the answer is wanted.

    `leaves_after`: so many events of a stream and its client is gone; None: it stays. `placement` None: the key's.
    `word`: an Idempotency-Key; empty: none.
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

    @property
    def manner(self) -> str:
        """How its answer is taken, in the word of the journal."""
        return "reads" if self.leaves_after is None else "leaves_midway"

    def headers(self, token: str) -> dict[str, str]:
        """Write the headers of its request."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if self.placement is not None:
            headers["X-KTMS-Placement"] = self.placement
        if self.word:
            headers["Idempotency-Key"] = self.word
        return headers

    def body(self) -> dict[str, object]:
        """Write the body of its request."""
        more = " ".join(f"{CANARY}-{self.name}-{nth}" for nth in range(PROMPT_WORDS))
        content = prompt(self.name, self.gateway, self.tokens, more)
        members: dict[str, object] = {"model": self.model, "messages": [{"role": "user", "content": content}]}
        if self.streamed:
            members["stream"] = True
            if self.usage_asked:
                members["stream_options"] = {"include_usage": True}
        return members
