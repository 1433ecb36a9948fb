"""What the simulated Redis refuses with errors of its own, in the words of a real one, and which commands it hits.

Rules: as with a real server, a full one refuses what would take memory, a replica whatever writes, a server of a
cluster whatever has keys that lie elsewhere; all else is answered. A script is refused for what it does.
Not here: connections, and servers that answer nothing (`server.py`).
"""

from ktms.adapters.redis.lua import read_scripts
from sim.fakes.redis.commands import Session
from sim.fakes.redis.resp import Refusal

FULL = Refusal(b"OOM command not allowed when used memory > 'maxmemory'.")
READ_ONLY = Refusal(b"READONLY You can't write against a read only replica.")
NO_SCRIPTS = Refusal(b"NOPERM User default has no permissions to run the 'eval' command")

EVICTING = b"# Memory\r\nmaxmemory:1048576\r\nmaxmemory_policy:allkeys-lru\r\n"
"""What a server that evicts our leases says of itself."""

EVICTS, RUNS_NO_SCRIPTS = 1, 2
"""The amounts of `redis_unfit`."""

SLOT = 5798
OTHER_PORT = 6380
"""Where the same server answers as the one that has the slot."""

_WRITES = frozenset({b"SET", b"DEL", b"INCRBY", b"PEXPIRE", b"ZREM", b"FLUSHALL"})
_TAKES_MEMORY = frozenset({b"SET", b"INCRBY"})
_HAS_KEYS = _WRITES | {b"GET", b"PTTL", b"ZCARD", b"EVALSHA", b"EVAL"}
_SCRIPTING = frozenset({b"EVAL", b"EVALSHA", b"SCRIPT"})


class Refusals:
    """Which errors a server gives at the moment."""

    def __init__(self) -> None:
        self._on: dict[str, int] = {}
        self._unfit: list[int] = []
        scripts = read_scripts()
        reading = (scripts.moment, scripts.read)
        freeing = (scripts.release, scripts.drained, scripts.leave)
        self._reading = frozenset(script.digest.encode() for script in reading)
        self._freeing = frozenset(script.digest.encode() for script in (*reading, *freeing))

    def mode(self, kind: str, amount: float, *, on: bool) -> None:
        """Begin or end one of them."""
        if kind == "redis_unfit":
            (self._unfit.append if on else self._unfit.remove)(int(amount))
        else:
            self._on[kind] = self._on.get(kind, 0) + (1 if on else -1)

    @property
    def evicts(self) -> bool:
        """Whether its settings let it evict leases."""
        return EVICTS in self._unfit

    def of(self, session: Session, request: list[bytes]) -> Refusal | bytes | None:
        """Give what a request is answered instead of what it asks for; None: what it asks for."""
        name, script = request[0].upper(), request[1] if len(request) > 1 else b""
        if name == b"INFO" and self.evicts:
            return EVICTING
        if name in _SCRIPTING and RUNS_NO_SCRIPTS in self._unfit:
            return NO_SCRIPTS
        if self._on.get("redis_moved") and not session.at_other_port and name in _HAS_KEYS:
            return Refusal(b"MOVED %d redis:%d" % (SLOT, OTHER_PORT))
        is_script = name == b"EVALSHA"
        if self._on.get("redis_readonly") and (name in _WRITES or (is_script and script not in self._reading)):
            return READ_ONLY
        if self._on.get("redis_full") and (name in _TAKES_MEMORY or (is_script and script not in self._freeing)):
            return FULL
        return None
