"""The node token, compared in constant time: what is wrong is told by one text for all, and no sooner.

Digests are compared, so neither the length nor the place of the first difference shows in the time. Not here:
where the token comes from (the installer makes it, the gateway learns it from the announcement).
"""

import hashlib
import hmac
from collections.abc import Sequence

from ktms.domain.access.secret import Secret

_SCHEME = b"bearer "


class TokenCheck:
    """Knows the digest of one token."""

    __slots__ = ("_digest",)

    def __init__(self, token: Secret) -> None:
        assert token.reveal(), "no token would be a token that everybody has"
        self._digest = hashlib.sha256(token.reveal().encode()).digest()

    def passes(self, headers: Sequence[tuple[bytes, bytes]]) -> bool:
        """Whether the headers show it; without any the comparison is made all the same."""
        shown = b""
        for name, value in headers:
            if name.lower() == b"authorization" and value[: len(_SCHEME)].lower() == _SCHEME:
                shown = value[len(_SCHEME) :]
        return hmac.compare_digest(hashlib.sha256(shown).digest(), self._digest)
