"""What a vendor's error message may carry to a client: no credential, no internal address, 300 characters.

Better too much taken away than too little: a date that looks like an address is no loss. All patterns are linear.
"""

import re

SHOWN_MAX_CHARS = 300
"""Routing: upstream messages are cut to this."""

_READ_MAX_CHARS = 4096
"""More of a message is not looked at; what was cut through here is dropped, it could be half a secret."""

_GONE = "[…]"

PART_MIN_CHARS = 8
"""So much of the beginning of a secret, at the end of a text that was cut, is taken for a part of it."""

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+"), " "),
    (re.compile(r"://[^\s/@]{0,512}@"), f"://{_GONE}@"),
    (re.compile(r"(?i)\b(bearer|authorization:? *basic)\s+[\w.~+/=*-]{4,}"), rf"\1 {_GONE}"),
    (re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|pplx|csk|nvapi|ktms)[-_][\w*.-]{4,}"), _GONE),
    (re.compile(r"\b(?:AIza|AKIA|eyJ)[\w*.-]{12,}"), _GONE),
    (re.compile(r"(?i)\b((?:api[-_ ]?)?key|token|secret|password|signature|sig)=[^\s&\"']+"), rf"\1={_GONE}"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b"), _GONE),
    (re.compile(r"\[[0-9A-Fa-f:.%]{2,60}\](?::\d{1,5})?"), _GONE),
    (re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{0,4}:){3,7}[0-9A-Fa-f]{1,4}(?![\w:])"), _GONE),
    (re.compile(r"(?<![\w:])[0-9A-Fa-f]{0,4}::[0-9A-Fa-f]{1,4}(?![\w:])"), _GONE),
    (re.compile(r"(?i)\blocalhost\b(?::\d{1,5})?"), _GONE),
    (re.compile(r"(?i)\b(?:[a-z0-9_-]{1,63}\.){1,8}(?:internal|local|lan|localdomain)\b(?::\d{1,5})?"), _GONE),
    (re.compile(r"(?i)\b[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63}){1,8}:\d{2,5}\b"), _GONE),
    (re.compile(r"(?<=://)[A-Za-z0-9_-]+(?::\d{1,5})?(?=[/\s?#,;)\"']|$)"), _GONE),
    (re.compile(r" {2,}"), " "),
)


def scrub(message: str) -> str:
    """Give a vendor's message in a form that may be shown: no secrets, no addresses, 300 characters."""
    text = message
    if len(text) > _READ_MAX_CHARS:
        text = text[:_READ_MAX_CHARS].rpartition(" ")[0]
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    text = text.strip()
    return text if len(text) <= SHOWN_MAX_CHARS else text[: SHOWN_MAX_CHARS - 1] + "…"


def without(text: str, secret: str) -> str:
    """Take a known secret out of a text, also where the text was cut amid it: not every one has a known form."""
    text = text.replace(secret, _GONE)
    shown = text.removesuffix("…")
    for length in range(len(secret) - 1, PART_MIN_CHARS - 1, -1):
        if shown.endswith(secret[:length]):
            return shown[:-length] + _GONE
    return text
