"""The twins of our own Lua scripts (`ktms/adapters/redis/scripts`): each does what its script says, step by step.

A test runs both on the same random calls and compares their answers. Not here: when one is loaded (`scripts.py`).
"""

from ktms.adapters.redis.lua import read_scripts
from sim.fakes.redis.keyspace import Keyspace
from sim.fakes.redis.resp import Answer
from sim.fakes.redis.scripts import Scripts

_DRAINING = b"~"

WHETHER_IT_RUNS = b"return 1"
"""What a gateway asks at its start to see whether there are scripts at all."""


def register_twins(scripts: Scripts) -> None:
    """Say what each of our scripts does."""
    sources = read_scripts()
    for script, twin in (
        (sources.take, take),
        (sources.renew, renew),
        (sources.release, release),
        (sources.drained, drained),
        (sources.moment, moment),
        (sources.wait, wait),
        (sources.leave, leave),
        (sources.read, read),
        (sources.claim, claim),
        (sources.post, post),
    ):
        scripts.register(script.source.encode(), twin)
    scripts.register(WHETHER_IT_RUNS, one)


def one(data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
    """Give 1."""
    del data, keys, arguments
    return 1


def take(data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
    """Take a slot on the first node that has one free."""
    now = data.now_ms()
    told = data.get(keys[0])
    epoch = int(told) if told is not None and told.removeprefix(b"-").isdigit() else None
    if epoch is None or epoch > now:
        epoch = now
        data.put(keys[0], b"%d" % now)
    lease, ttl_ms, grace_ms, *slots = arguments
    if now - epoch < int(grace_ms):
        return [-1]
    nodes = keys[1:]
    held = None
    for at, node in enumerate(nodes):
        data.sets.remove_until(node, now)
        if held is None and data.sets.score(node, lease) is not None:
            held = at
    looked: list[Answer] = []
    for at, node in enumerate(nodes):
        free = data.sets.count(node) < int(slots[at])
        if at == held or (held is None and free):
            data.sets.add(node, lease, now + int(ttl_ms))
            return [at + 1, *looked, data.sets.count(node)]
        looked.append(data.sets.count(node))
    return [0, *looked]


def renew(data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
    """Prolong leases; take up again those that are gone, full or not."""
    now = data.now_ms()
    _begin_epoch(data, keys[0], now)
    ends = now + int(arguments[0])
    answer: list[Answer] = []
    swept: dict[bytes, None] = {}
    for at, node in enumerate(keys[1:]):
        lease, slots = arguments[1 + 2 * at : 3 + 2 * at]
        if node not in swept:
            swept[node] = None
            data.sets.remove_until(node, now)
        if data.sets.add(node, lease, ends):
            answer += [at + 1, 2 if data.sets.count(node) > int(slots) else 1]
    return answer


def release(data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
    """Give a lease back on whichever of these nodes it is."""
    lease, drain_ms, channel, *names = arguments
    removed = 0
    for node, name in zip(keys, names, strict=True):
        if not data.sets.remove(node, lease):
            continue
        removed += 1
        if drain_ms == b"0":
            data.tell(channel, name)
        else:
            member = _DRAINING + drain_ms + _DRAINING + lease
            data.sets.add(node, member, data.now_ms() + int(drain_ms))
    return removed


def drained(data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
    """Free the slots of nodes that drained already when these were seen idle."""
    channel, until_ms, *names = arguments
    freed = 0
    for node, name in zip(keys, names, strict=True):
        gone = [member for member in data.sets.members(node) if _drained_before(data, node, member, int(until_ms))]
        freed += sum(data.sets.remove(node, member) for member in gone)
        if gone:
            data.tell(channel, name)
    return freed


def moment(data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
    """Give the time."""
    del keys, arguments
    return data.now_ms()


def wait(data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
    """Count waiters, new or still there."""
    now = data.now_ms()
    ttl_ms, *waiters = arguments
    for key, waiter in zip(keys, waiters, strict=True):
        data.sets.remove_until(key, now)
        data.sets.add(key, waiter, now + int(ttl_ms))
    return len(keys)


def leave(data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
    """Count a waiter off."""
    return data.sets.remove(keys[0], arguments[0])


def read(data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
    """Count what lives, and give reports with their stamps."""
    now = data.now_ms()
    _begin_epoch(data, keys[0], now)
    sets = int(arguments[0])
    counts: list[Answer] = [data.sets.count(key, above=now) for key in keys[1 : sets + 1]]
    return [now, counts, [data.get(key) for key in keys[sets + 1 :]]]


def claim(data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
    """Take a duty that nobody has, or keep one's own."""
    if data.get(keys[0]) not in {None, arguments[0]}:
        return 0
    data.put(keys[0], arguments[0], lives_ms=int(arguments[1]))
    return 1


def post(data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
    """Put reports up, stamped."""
    ttl_ms, *reports = arguments
    for key, report in zip(keys, reports, strict=True):
        data.put(key, b"%d %b" % (data.now_ms(), report), lives_ms=int(ttl_ms))
    return len(keys)


def _drained_before(data: Keyspace, node: bytes, member: bytes, until_ms: int) -> bool:
    if not member.startswith(_DRAINING):
        return False
    ends_ms = data.sets.score(node, member)
    assert ends_ms is not None, "it was found there"
    return ends_ms - int(member.split(_DRAINING, 2)[1]) < until_ms


def _begin_epoch(data: Keyspace, key: bytes, now_ms: int) -> None:
    if data.get(key) is None:
        data.put(key, b"%d" % now_ms)
