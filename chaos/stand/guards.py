"""The guards of the product that can be taken away, so that a figure which they keep good is seen to get worse.

A guard is taken away by an edit of one function, as the simulator plants its bugs; the product itself has no
switch for it. Places are named and not imported: they exist in the gateway's process alone. Not here: the process
(`unguarded.py`), the figures (`chaos/experiments`).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Guard:
    """One guard. `place` is `module:Class.function`; without the guard `old` reads `new` there."""

    id: str
    title: str
    place: str
    old: str
    new: str


_ALL_MIGRATE = (
    """async with self._locked(connection):
            await connection.execute(f"{self._book.before}; {_CREATE_BOOK.format(self._book.table)}")
            done: list[str] = []
            for migration in await self._pending(connection):
                await _check_lock(connection)
""",
    """if True:
            await connection.execute(f"{self._book.before}; {_CREATE_BOOK.format(self._book.table)}")
            done: list[str] = []
            for migration in await self._pending(connection):
""",
)

_APPLY_IN_PARTS = (
    """self._database.transaction("apply", APPLY_TIMEOUT_S) as connection:
        version = await lock_catalogue(connection)
        change = connection.transaction()  # a savepoint, so that a dry run ends like any other transaction
        await change.start()
        applied = await self._apply(connection, version, wanted, actor=actor, prune=prune)
""",
    """self._database.session("apply", APPLY_TIMEOUT_S) as connection:
        version = await lock_catalogue(connection)
        change = connection.transaction()
        applied = await self._apply(connection, version, wanted, actor=actor, prune=prune)
        await change.start()
""",
)

_STORES = (
    Guard(
        "repeats-in-doubt",
        "nothing is started while nobody can tell whether it is a repeat",
        "ktms.engine.repeats:KeyedCalls._begin",
        "raise CallFailed(_AWAY) from away",
        "return None",
    ),
    Guard(
        "known-keys-count",
        "a key that was verified within the window counts while Postgres is away",
        "ktms.domain.access.key_window:KeyWindow.look",
        "return Known(sighting.key) if age_s < self._window_s else UNKNOWN",
        "return UNKNOWN",
    ),
    Guard(
        "known-keys-do-not-wait",
        "a call of a known key does not wait for a Postgres that does not answer",
        "ktms.engine.admit:Admission.admit",
        "if isinstance(sighting, Known) and not self.store_answers:",
        "if False:",
    ),
    Guard(
        "server-watches-us",
        "the server ends what waits for a lock as soon as its replica has hung up",
        "ktms.adapters.postgres.pool:_watch_client",
        "await connection.execute(WATCH_CLIENT)",
        "pass",
    ),
    Guard(
        "round-replaces-keys",
        "each round of verification replaces what is known of a key",
        "ktms.domain.access.key_window:KeyWindow.confirm",
        "sighting.key, sighting.verified_at = key, now",
        "sighting.verified_at = now",
    ),
    Guard(
        "start-from-disk",
        "a start without Postgres puts in force what was saved",
        "ktms.engine.snapshot_keeper:SnapshotKeeper.restore",
        "self._put_in_force(found)",
        "pass",
    ),
    Guard(
        "apply-is-one-change",
        "an apply is one transaction",
        "ktms.adapters.postgres.config_store:PostgresConfigStore.apply",
        *_APPLY_IN_PARTS,
    ),
    Guard(
        "releases-are-kept",
        "what Redis refuses as a replica is told to it again",
        "ktms.adapters.redis.link:RedisLink._hand_out",
        "self._keep(kept)",
        "pass",
    ),
    Guard(
        "scripts-come-back",
        "scripts that Redis has lost are loaded again",
        "ktms.adapters.redis.link:RedisLink._exchange",
        "isinstance(answer, NoScriptError)",
        "False",
    ),
)
"""Guards around Postgres and Redis."""

GUARDS: dict[str, Guard] = {
    guard.id: guard
    for guard in (
        Guard(
            "drain-heard",
            "a node that announces that it drains is asked no more",
            "ktms.domain.joined_node:as_served",
            "return leaving(served) if said.draining else served",
            "return served",
        ),
        Guard(
            "move-heard",
            "what was known of a node's old address does not follow it to the new one",
            "ktms.engine.fleet:Fleet._state",
            "if state is None or state.node.origin.key != node.origin.key:",
            "if state is None:",
        ),
        *_STORES,
        Guard(
            "redis-left-alone",
            "Redis is left alone for 2 s after three network errors",
            "ktms.adapters.redis.guard:Guard.failed",
            "if self._errors >= self.errors_max:",
            "if False:",
        ),
        Guard(
            "lease-ends-by-itself",
            "a lease that is not renewed ends after 15 s",
            "ktms.adapters.redis.fleet:RedisFleet.__init__",
            "round(ttl_s * 1000)",
            "round(3600 * 1000)",
        ),
        Guard(
            "second-signal",
            "a second SIGTERM ends the process at once",
            "ktms.app.running:Stops.asked",
            "self.at_once.set()",
            "pass",
        ),
        Guard(
            "drain-waits",
            "whoever leaves waits for the calls under way",
            "ktms.app.gateway:Gateway.drain",
            "asyncio.timeout(self._settings.shutdown_s)",
            "asyncio.timeout(0.0)",
        ),
        Guard(
            "crowd-refused",
            "calls are refused where there are more connections than files for them",
            "ktms.api.crowd:Crowd.refuses_calls",
            "return self.busy > self.most",
            "return False",
        ),
        Guard(
            "heavy-bodies-beside",
            "a large body is read beside the loop",
            "ktms.api.openai.door:_parse",
            "if is_heavy(body):",
            "if False:",
        ),
        Guard(
            "accept-pauses",
            "without descriptors a port waits before it looks again",
            "ktms.api.port:Port._ready",
            "self._pause(listening)",
            "pass",
        ),
        Guard(
            "one-migrates",
            "of several that migrate one has the lock",
            "ktms.adapters.postgres.migrate:Migrator.run",
            *_ALL_MIGRATE,
        ),
        Guard(
            "closed-is-closed",
            "a key whose dollars must be counted is refused while they cannot be",
            "ktms.engine.budget:Budget._do_without",
            "raise CallFailed(_UNCOUNTABLE)",
            "pass",
        ),
        Guard(
            "spending-read-first",
            "what the store of limits has lost is read from the ledger before anything is reserved of it",
            "ktms.engine.budget:Budget._reserved_when_read",
            "await self._means.quotas.raise_spent(spent)",
            "await self._means.quotas.raise_spent([replace(one, day_micros=0, month_micros=0) for one in spent])",
        ),
        Guard(
            "next-target",
            "a call that failed at one target goes on to the next",
            "ktms.engine.walk:Walk._take",
            "return cause if shot.verdict.ends_call else None",
            "return cause",
        ),
        Guard(
            "true-end",
            "a stream that was broken off ends in an error event",
            "ktms.engine.attempt:Attempts._judge_stream",
            "stream.fail(cause)",
            "stream.finish()",
        ),
        Guard(
            "breaker",
            "five failures in a row open the breaker of a vendor",
            "ktms.domain.routing.breaker:Breaker.failed",
            "Event.TRIPPED if self._failures >= FAILURES_MAX else Event.FAILED",
            "Event.FAILED",
        ),
        Guard(
            "one-trial",
            "while a trial is under way nobody else passes",
            "ktms.domain.routing.breaker:Breaker.admits",
            "if self.state is State.HALF_OPEN or self.opens_in(now) > 0:",
            "if self.state is State.HALF_OPEN:\n        return True\n    if self.opens_in(now) > 0:",
        ),
        Guard(
            "idle-timer",
            "an answer that falls silent is ended",
            "ktms.adapters.upstream_http.exchange:Exchange._rearm",
            "connection.watch(min(now + self._timers.idle_s, self._total_at))",
            "connection.watch(self._total_at)",
        ),
        Guard(
            "rests",
            "who was told to wait leaves that key or target alone",
            "ktms.engine.walk:Walk._rest",
            "match Rest.NOTHING if shot.verdict is None else shot.verdict.rest:",
            "match Rest.NOTHING:",
        ),
        Guard(
            "meaning-in-200",
            "an error inside of a 200 is treated by what it means",
            "ktms.domain.routing.outcome:_real_status",
            "status = meant_status(error)",
            "pass",
        ),
        Guard(
            "answer-bounded",
            "an answer that is no stream has 64 MiB at most",
            "ktms.adapters.upstream_http.exchange:Exchange._hold",
            "if self._held_bytes > self._collect_bytes_max:",
            "if False:",
        ),
        Guard(
            "busy-is-no-attempt",
            "a node that says it is full costs a call nothing",
            "ktms.engine.walk:Walk._ask_node",
            "if shot.verdict is not None and shot.verdict.passes:",
            "if False:",
        ),
        Guard(
            "cold-left-alone",
            "a node without its model in memory is loaded beside the calls",
            "ktms.engine.node_walk:NodeWalk._choose",
            "return desk.selector.choose(self._ask, self._refused, warm=True)",
            "return choice",
        ),
        Guard(
            "model-compared",
            "the model that a node's answer names is compared with the one that was asked",
            "ktms.engine.targets:Targets.node",
            "expects=expected_names(seat)",
            "expects=()",
        ),
        Guard(
            "panic-rule",
            "looks that would take down most of the fleet at once are distrusted",
            "ktms.engine.probe:Prober._believed",
            "if believed(before, after):",
            "if True:",
        ),
        Guard(
            "ids-are-kept",
            "a usage event keeps its id, however often it is sent",
            "ktms.adapters.grpc.event_messages:event_message",
            "id=event.id,",
            'id=str(__import__("uuid").uuid4()),',
        ),
        Guard(
            "events-on-disk",
            "usage events wait on disk where there is a folder for them",
            "ktms.app.books:open_spool",
            "if folder is None:",
            "if True:",
        ),
        Guard(
            "kept-until-taken",
            "usage events are kept until the ledger has said that it has them",
            "ktms.engine.outbox:Outbox._send",
            "failure = await self._failure_of(events)",
            "failure = await self._failure_of(events) and None",
        ),
        Guard(
            "rates-are-skipped",
            "what cannot be counted is skipped, where nobody wants it counted at any price",
            "ktms.engine.budget:Budget.reserve",
            "self._do_without(trail, wish, away)",
            "raise CallFailed(_UNCOUNTABLE)",
        ),
        Guard(
            "scripts-are-loaded-again",
            "a Redis that has forgotten our scripts is told them again",
            "ktms.adapters.redis.link:RedisLink._exchange",
            "if lost:",
            "if lost and False:",
        ),
        Guard(
            "last-sending-ends",
            "a replica that leaves sends its last usage events for 2 s, no longer",
            "ktms.app.gateway:Gateway.stop",
            "asyncio.timeout(self._settings.flush_s)",
            "asyncio.timeout(None)",
        ),
    )
}
