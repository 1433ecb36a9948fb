"""The commands of the simulated Redis: what each does and answers. Not here: connections and faults."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sim.fakes.clock import WALL_AT_START
from sim.fakes.redis.keyspace import Keyspace, NotAnInteger
from sim.fakes.redis.resp import ARGUMENTS_MAX, OK, Answer, Refusal, Status
from sim.fakes.redis.scripts import Scripts
from sim.loop import STARTS_AT

SYNTAX = Refusal(b"ERR syntax error")
NOT_AN_INTEGER = Refusal(b"ERR value is not an integer or out of range")
NO_AUTH = Refusal(b"NOAUTH Authentication required.")
WRONG_PASS = Refusal(b"WRONGPASS invalid username-password pair or user is disabled.")
NO_PROTO = Refusal(b"NOPROTO unsupported protocol version")

DATABASES = 16
_US = 1_000_000


@dataclass(slots=True)
class State:
    """What the server has. `password` None: nobody is asked for one."""

    password: bytes | None = None
    data: Keyspace = field(default_factory=Keyspace)
    scripts: Scripts = field(default_factory=Scripts)


@dataclass(slots=True)
class Session:
    """What one connection has told. `version` is that of RESP."""

    number: int
    trusted: bool
    version: int = 2
    ended: bool = False
    at_other_port: bool = False
    channels: dict[bytes, None] = field(default_factory=dict)


def answer(state: State, session: Session, request: list[bytes]) -> Answer:
    """Do what a request asks."""
    name, arguments = request[0].upper(), request[1:]
    if not session.trusted and name not in {b"AUTH", b"HELLO", b"QUIT"}:
        return NO_AUTH
    command = _COMMANDS.get(name)
    if session.channels and session.version == 2 and name not in _WHILE_SUBSCRIBED:
        return Refusal(b"ERR Can't execute '%b': only (P|S)SUBSCRIBE and PING are allowed" % name.lower())
    if command is None:
        return Refusal(b"ERR unknown command '%b'" % name[:128])
    least, most, carry_out = command
    if not least <= len(arguments) <= most:
        return Refusal(b"ERR wrong number of arguments for '%b' command" % name.lower())
    try:
        return carry_out(state, session, arguments)
    except (NotAnInteger, ValueError):
        return NOT_AN_INTEGER


def _hello(state: State, session: Session, arguments: list[bytes]) -> Answer:
    version, options = arguments[:1], iter(arguments[1:])
    if version and version[0] not in {b"2", b"3"}:
        return NO_PROTO
    for option in options:
        match option.upper():
            case b"AUTH":
                user, password = next(options, b""), next(options, b"")
                if not _trusts(state, user, password):
                    return WRONG_PASS
                session.trusted = True
            case b"SETNAME" if next(options, None) is not None:
                pass
            case _:
                return SYNTAX
    if not session.trusted:
        return NO_AUTH
    session.version = int(version[0]) if version else session.version
    return {
        b"server": b"redis",
        b"version": b"7.4.0",
        b"proto": session.version,
        b"id": session.number,
        b"mode": b"standalone",
        b"role": b"master",
        b"modules": [],
    }


def _auth(state: State, session: Session, arguments: list[bytes]) -> Answer:
    user, password = (b"default", arguments[0]) if len(arguments) == 1 else arguments
    if state.password is None:
        return Refusal(b"ERR AUTH called without any password configured for the default user.")
    if not _trusts(state, user, password):
        return WRONG_PASS
    session.trusted = True
    return OK


def _trusts(state: State, user: bytes, password: bytes) -> bool:
    return user == b"default" and state.password in {None, password}


def _ping(_: State, session: Session, arguments: list[bytes]) -> Answer:
    if session.channels and session.version == 2:
        return [b"pong", arguments[0] if arguments else b""]
    return arguments[0] if arguments else Status(b"PONG")


def _subscribe(_: State, session: Session, arguments: list[bytes]) -> Answer:
    """Take one channel: with more, one request has several answers, and none of ours asks for them."""
    session.channels[arguments[0]] = None
    return [b"subscribe", arguments[0], len(session.channels)]


def _publish(state: State, _: Session, arguments: list[bytes]) -> Answer:
    """Answer 0, as a server of a cluster does whose subscribers are elsewhere: nobody of ours looks."""
    state.data.tell(arguments[0], arguments[1])
    return 0


def _info(_: State, __: Session, ___: list[bytes]) -> Answer:
    return b"# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"


def _flushall(state: State, _: Session, __: list[bytes]) -> Answer:
    state.data.clear()
    return OK


def _zrem(state: State, _: Session, arguments: list[bytes]) -> Answer:
    return sum(state.data.sets.remove(arguments[0], member) for member in arguments[1:])


def _zcard(state: State, _: Session, arguments: list[bytes]) -> Answer:
    return state.data.sets.count(arguments[0])


def _client(_: State, session: Session, arguments: list[bytes]) -> Answer:
    match arguments[0].upper():
        case b"SETINFO" | b"SETNAME":
            return OK
        case b"ID":
            return session.number
        case other:
            return Refusal(b"ERR unknown subcommand '%b'" % other[:128])


def _select(_: State, __: Session, arguments: list[bytes]) -> Answer:
    """Take any of the usual numbers, but all share one set of keys: our adapters use one."""
    return OK if 0 <= int(arguments[0]) < DATABASES else Refusal(b"ERR DB index is out of range")


def _quit(_: State, session: Session, __: list[bytes]) -> Answer:
    session.ended = True
    return OK


def _get(state: State, _: Session, arguments: list[bytes]) -> Answer:
    return state.data.get(arguments[0])


def _set(state: State, _: Session, arguments: list[bytes]) -> Answer:
    key, value, options = arguments[0], arguments[1], iter(arguments[2:])
    lives_ms, only = None, b""
    for option in map(bytes.upper, options):
        if option in {b"PX", b"EX"} and lives_ms is None:
            lives_ms = int(next(options, b"")) * (1 if option == b"PX" else 1000)
        elif option in {b"NX", b"XX"} and not only:
            only = option
        else:
            return SYNTAX
    if lives_ms is not None and lives_ms <= 0:
        return Refusal(b"ERR invalid expire time in 'set' command")
    if only and (state.data.get(key) is None) != (only == b"NX"):
        return None
    state.data.put(key, value, lives_ms=lives_ms)
    return OK


def _del(state: State, _: Session, arguments: list[bytes]) -> Answer:
    return sum(state.data.delete(key) for key in arguments)


def _incrby(state: State, _: Session, arguments: list[bytes]) -> Answer:
    return state.data.add(arguments[0], int(arguments[1]))


def _pexpire(state: State, _: Session, arguments: list[bytes]) -> Answer:
    return int(state.data.expire(arguments[0], int(arguments[1])))


def _pttl(state: State, _: Session, arguments: list[bytes]) -> Answer:
    return state.data.left_ms(arguments[0])


def _time(state: State, _: Session, __: list[bytes]) -> Answer:
    began_ms = int(WALL_AT_START - STARTS_AT) * 1000
    seconds, us = divmod((began_ms + state.data.now_ms()) * 1000, _US)
    return [b"%d" % seconds, b"%d" % us]


def _script(state: State, _: Session, arguments: list[bytes]) -> Answer:
    match arguments[0].upper(), arguments[1:]:
        case b"LOAD", [source]:
            return state.scripts.load(source)
        case b"EXISTS", [_, *_] as digests:
            return [int(state.scripts.has(digest)) for digest in digests]
        case b"FLUSH", _:
            state.scripts.flush()
            return OK
        case other, _:
            return Refusal(b"ERR unknown subcommand or wrong number of arguments for '%b'" % other[:128])


def _evalsha(state: State, _: Session, arguments: list[bytes]) -> Answer:
    keys_count, rest = int(arguments[1]), arguments[2:]
    if not 0 <= keys_count <= len(rest):
        return Refusal(b"ERR Number of keys can't be greater than number of args")
    return state.scripts.run(arguments[0], state.data, rest[:keys_count], rest[keys_count:])


def _eval(state: State, session: Session, arguments: list[bytes]) -> Answer:
    loaded = state.scripts.load(arguments[0])
    return loaded if isinstance(loaded, Refusal) else _evalsha(state, session, [loaded, *arguments[1:]])


Command = tuple[int, int, Callable[[State, Session, list[bytes]], Answer]]

_WHILE_SUBSCRIBED = {b"PING", b"QUIT", b"SUBSCRIBE"}
_MANY = ARGUMENTS_MAX
_COMMANDS: dict[bytes, Command] = {
    b"AUTH": (1, 2, _auth),
    b"CLIENT": (1, _MANY, _client),
    b"DEL": (1, _MANY, _del),
    b"EVAL": (2, _MANY, _eval),
    b"EVALSHA": (2, _MANY, _evalsha),
    b"FLUSHALL": (0, 1, _flushall),
    b"GET": (1, 1, _get),
    b"HELLO": (0, _MANY, _hello),
    b"INCRBY": (2, 2, _incrby),
    b"INFO": (0, _MANY, _info),
    b"PEXPIRE": (2, 2, _pexpire),
    b"PING": (0, 1, _ping),
    b"PTTL": (1, 1, _pttl),
    b"PUBLISH": (2, 2, _publish),
    b"QUIT": (0, _MANY, _quit),
    b"SCRIPT": (1, _MANY, _script),
    b"SELECT": (1, 1, _select),
    b"SET": (2, _MANY, _set),
    b"SUBSCRIBE": (1, 1, _subscribe),
    b"TIME": (0, 0, _time),
    b"ZCARD": (1, 1, _zcard),
    b"ZREM": (2, _MANY, _zrem),
}
