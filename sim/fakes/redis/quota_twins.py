"""The twins of the scripts about limits (`ktms/adapters/redis/scripts`), on the arithmetic of the gateway itself.

What is counted lies here in the bytes that the scripts keep, because the gateway is answered with them; what is
reserved is kept as JSON, which nobody else reads. Not here: leases and waiters (`twins.py`).
"""

import json
from dataclasses import asdict
from struct import iter_unpack, unpack_from

from ktms.adapters.redis.lua import read_scripts
from ktms.adapters.redis.quota_words import pack_counters, unpack_counters
from ktms.domain.access import quota_counters as arithmetic
from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import Limit, Spent
from ktms.domain.access.quota_counters import NEW, Counters, Part, Share, roll
from ktms.domain.access.quota_refusals import refusal
from ktms.domain.units import US_PER_S
from sim.fakes.clock import WALL_AT_START
from sim.fakes.redis.keyspace import Keyspace
from sim.fakes.redis.resp import Answer
from sim.fakes.redis.scripts import Scripts
from sim.loop import STARTS_AT

SWEEP_MAX = 50
"""As in `account.lua`: what one call gives back of the dead."""

NAMES_MAX = 1000
"""As in the scripts: names that one answer carries."""

LIVES_MS = 40 * 86_400_000
_BEGAN_US = int(WALL_AT_START - STARTS_AT) * US_PER_S
_NEXT = b"~"
_LIMITS = list(Limit)


def register_quota_twins(scripts: Scripts) -> None:
    """Say what each of the scripts does."""
    sources = read_scripts()
    for script, twin in (
        (sources.reserve, reserve),
        (sources.settle, settle),
        (sources.beat, beat),
        (sources.declare, declare),
        (sources.raise_spent, raise_spent),
    ):
        scripts.register(script.source.encode(), twin)


def reserve(data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
    """Reserve of all accounts of a call, or of none; before, give back what the dead have reserved."""
    now_us = wall_us(data)
    beats, held, *names = keys
    call, holder, ttl_us, tombstone_ms, numbers, _ = arguments
    _sweep(data, beats, int(ttl_us), int(tombstone_ms), now_us)
    new = not _lives(data, beats, holder, now_us)
    if new:
        data.hashes.put(beats, holder, b"%d" % (now_us + int(ttl_us)))
    (micros,) = map(int, unpack_from("<d", numbers))
    wishes = [tuple(map(int, wish)) for wish in iter_unpack("<5d", numbers[8:])]
    shares = [Share(wish[0], wish[1]) for wish in wishes]
    limits = [_limits(*wish[2:]) for wish in wishes]
    before = [roll(_open(data, name), now_us) for name in names]
    answer: list[Answer] = [1, int(new), now_us]
    packed: list[Answer] = [pack_counters(its) for its in before]
    if data.hashes.get(held, call) is not None:
        return answer + packed
    if any(limit.dollars and not its.read for limit, its in zip(limits, before, strict=True)):
        return [0, *answer[1:], *packed]
    refused = refusal(list(zip(limits, shares, strict=True)), before, micros, now_us)
    if refused is not None:
        wait_ms = -1 if refused.wait_ms is None else refused.wait_ms
        which = [refused.account + 1, _LIMITS.index(refused.limit) + 1, wait_ms]
        return [2, *answer[1:], *which, *packed]
    parts: dict[bytes, Part] = {}
    for name, share, its in zip(names, shares, before, strict=True):
        after, parts[name] = arithmetic.reserve(its, share, micros, now_us)
        answer.append(_close(data, name, after))
    data.hashes.put(held, call, _write(parts))
    return answer


def settle(data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
    """Put what was used in the place of what was reserved, or charge it where that was given back."""
    now_us = wall_us(data)
    held, swept, *names = keys
    call, numbers = arguments
    kept = data.hashes.remove(held, call)
    late = kept is None
    if kept is None:
        kept = data.hashes.remove(swept, call)
    if kept is None:
        return 0
    micros, nothing, *tokens = (int(number) for (number,) in iter_unpack("<d", numbers))
    parts = list(_read(kept).values())
    for name, part, tokens_us in zip(names, parts, tokens, strict=True):
        counters, used = _open(data, name), Share(0, tokens_us)
        if late:
            counters = arithmetic.charge(counters, part, used, micros, now_us)
        else:
            counters = arithmetic.settle(counters, part, used, micros, now_us)
            if nothing:
                counters = arithmetic.give_back_request(counters, part, now_us)
        _close(data, name, counters)
    return 2 if late else 1


def beat(data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
    """Say that a holder lives; give back what it does not know; name what it has, where it knows less."""
    now_us = wall_us(data)
    beats, held = keys
    holder, ttl_us, known, *strange = arguments
    data.hashes.put(beats, holder, b"%d" % (now_us + int(ttl_us)))
    for call in strange:
        _give_back(data, held, call, now_us)
    there = [call for call, _ in data.hashes.items(held)]
    return [len(there), *(there[:NAMES_MAX] if len(there) > int(known) else [])]


def declare(data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
    """Take up reservations under way that are not here any more."""
    now_us, new = wall_us(data), 0
    held, swept, *_ = keys
    for call, micros, names in zip(arguments[::3], arguments[1::3], arguments[2::3], strict=True):
        if data.hashes.get(held, call) is not None:
            continue
        new += 1
        data.hashes.remove(swept, call)
        parts: dict[bytes, Part] = {}
        for name in names.split(b"\0"):
            counters = roll(_open(data, name), now_us)
            after, parts[name] = arithmetic.take_up(counters, int(micros), now_us)
            _close(data, name, after)
        data.hashes.put(held, call, _write(parts))
    return new


def raise_spent(data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
    """Raise what accounts have settled to at least what the ledger knows."""
    for name, numbers in zip(keys, arguments, strict=True):
        day, month, day_micros, month_micros = map(int, unpack_from("<4d", numbers))
        spent = Spent(name.decode(), day, month, day_micros, month_micros)
        _close(data, name, arithmetic.raise_to(_open(data, name), spent, wall_us(data)))
    return len(keys)


def _sweep(data: Keyspace, beats: bytes, ttl_us: int, tombstone_ms: int, now_us: int) -> None:
    next_us = int(data.hashes.get(beats, _NEXT) or 0)
    if now_us < next_us <= now_us + US_PER_S:
        return
    left, base = SWEEP_MAX, beats.removesuffix(b"beats")
    for holder, until_us in [(holder, int(at)) for holder, at in data.hashes.items(beats) if holder != _NEXT]:
        if until_us > now_us + ttl_us:
            data.hashes.put(beats, holder, b"%d" % (now_us + ttl_us))
        elif until_us <= now_us and left > 0:
            held, swept = base + b"held:" + holder, base + b"swept:" + holder
            some = data.hashes.items(held)[:left]
            left -= len(some)
            for call, _ in some:
                data.hashes.put(swept, call, _give_back(data, held, call, now_us))
            if some:
                data.hashes.expire(swept, tombstone_ms)
            elif until_us + tombstone_ms * 1000 <= now_us:
                data.hashes.remove(beats, holder)
    if left > 0:
        data.hashes.put(beats, _NEXT, b"%d" % (now_us + US_PER_S))


def _lives(data: Keyspace, beats: bytes, holder: bytes, now_us: int) -> bool:
    return int(data.hashes.get(beats, holder) or 0) > now_us


def _give_back(data: Keyspace, held: bytes, call: bytes, now_us: int) -> bytes:
    kept = data.hashes.remove(held, call) or b"{}"
    for name, part in _read(kept).items():
        _close(data, name, arithmetic.settle(_open(data, name), part, Share(), 0, now_us))
    return kept


def wall_us(data: Keyspace) -> int:
    """Give the server's time in microseconds since 1970."""
    return _BEGAN_US + data.now_us()


def _open(data: Keyspace, name: bytes) -> Counters:
    packed = data.get(name)
    return NEW if packed is None else unpack_counters(packed)


def _close(data: Keyspace, name: bytes, counters: Counters) -> bytes:
    packed = pack_counters(counters)
    data.put(name, packed, lives_ms=LIVES_MS)
    return packed


def _limits(*numbers: int) -> Limits:
    concurrent, day, month = (None if number < 0 else number for number in numbers)
    return Limits(concurrent=concurrent, usd_per_day_micros=day, usd_per_month_micros=month)


def _write(parts: dict[bytes, Part]) -> bytes:
    return json.dumps({name.decode(): asdict(part) for name, part in parts.items()}).encode()


def _read(kept: bytes) -> dict[bytes, Part]:
    parts = json.loads(kept)
    return {name.encode(): Part(**part | {"share": Share(**part["share"])}) for name, part in parts.items()}
