import asyncio
import gc

import pytest

from ktms.adapters.redis import link as link_module
from ktms.adapters.redis.link import RedisLink
from ktms.ports.lease_store import LeaseStoreAway
from tests.adapters.redis.stand_in import PATIENT_S, StandIn, standing_in, until

SHORT_S = 0.05


async def kind_of(asking: "asyncio.Future[object]") -> str:
    try:
        await asking
    except LeaseStoreAway as away:
        return away.kind
    return "answered"


async def ask(link: RedisLink) -> str:
    try:
        return await kind_of(link.ask(("PING",)))
    except LeaseStoreAway as away:
        return away.kind


async def until_answered(link: RedisLink) -> None:
    async with asyncio.timeout(PATIENT_S):
        while await ask(link) != "answered":  # noqa: ASYNC110 - nobody tells when
            await asyncio.sleep(0)


async def test_what_is_asked_in_one_turn_is_one_write(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        await link.ask(("PING",))
        before = stand_in.pieces
        link.tell(("SET", "key", 0))
        answers = await asyncio.gather(*(link.ask(("INCRBY", "key", 1)) for _ in range(50)))
        assert (answers, stand_in.pieces - before) == (list(range(1, 51)), 1)


async def test_what_nobody_waits_for_goes_along_with_what_is_asked_next(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "LINGER_S", PATIENT_S)
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        await link.ask(("PING",))
        before = stand_in.pieces
        link.tell(("SET", "key", 41))
        for _ in range(5):
            await asyncio.sleep(0)
        assert stand_in.pieces == before
        assert (await link.ask(("INCRBY", "key", 1)), stand_in.pieces - before) == (42, 1)


async def test_what_nobody_waits_for_goes_alone_when_nothing_is_asked(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        await link.ask(("PING",))
        for times in (1, 2, 3):
            before = stand_in.pieces
            link.tell(("INCRBY", "key", 1))
            await until(lambda before=before: stand_in.pieces > before)  # type: ignore[misc]  # bound here and now
            assert await link.ask(("INCRBY", "key", 0)) == times


async def test_what_is_asked_together_is_answered_in_its_order(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        words = [
            ((2, "{ktms:fleet}:leases:a", "{ktms:fleet}:leases:b", "x", 0, "news", "a", "b"), link.scripts.release)
        ]
        assert await link.ask_all(words * 3) == [0, 0, 0]


async def test_a_pipeline_is_bounded_and_the_rest_follows(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "PIPELINE_MAX", 10)
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        await link.ask(("PING",))
        before = stand_in.pieces
        await asyncio.gather(*(link.ask(("PING",)) for _ in range(25)))
        assert stand_in.pieces - before == 3


async def test_scripts_are_loaded_once_and_again_after_they_were_lost(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        words = (1, "{ktms:fleet}:duty:probe", "gw1", 5000)
        assert await link.ask(words, script=link.scripts.claim) == 1
        before = stand_in.pieces
        assert await link.ask(words, script=link.scripts.claim) == 1
        assert stand_in.pieces - before == 1
        stand_in.forget_scripts()
        assert await link.ask(words, script=link.scripts.claim) == 1
        assert stand_in.pieces - before == 3


async def test_a_caller_that_is_cancelled_disturbs_no_other(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link, asyncio.TaskGroup() as group:
        await link.ask(("PING",))
        asking = [group.create_task(ask(link)) for _ in range(5)]
        for _ in range(2):
            await asyncio.sleep(0)
        asking[2].cancel()
        await asyncio.wait(asking)
        assert [task.cancelled() or task.result() for task in asking] == ["answered"] * 2 + [True] + [
            "answered"
        ] * 2


async def test_a_hung_server_costs_one_timeout_and_not_more(silent_port: int) -> None:
    loop = asyncio.get_running_loop()
    async with RedisLink(f"redis://127.0.0.1:{silent_port}", timeout_s=0.1) as link:
        began_at = loop.time()
        kinds = await asyncio.gather(*(ask(link) for _ in range(20)))
        assert set(kinds) == {"timeout"}
        assert 0.09 < loop.time() - began_at < 0.1 + 0.5


async def test_who_asks_while_others_wait_in_vain_pays_one_timeout_too(stand_in: StandIn) -> None:
    loop = asyncio.get_running_loop()
    async with RedisLink(stand_in.url, timeout_s=0.2) as link, asyncio.TaskGroup() as group:
        await link.ask(("PING",))
        stand_in.redis.mode("redis_hung", on=True)
        before = stand_in.pieces
        first = group.create_task(ask(link))
        await until(lambda: stand_in.pieces > before)
        began_at = loop.time()
        assert await ask(link) == "timeout"
        assert loop.time() - began_at < 0.2 + 0.15
        assert first.done()


async def test_after_three_failures_nobody_is_made_to_wait(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=SHORT_S, silence_s=600) as link:
        stand_in.redis.mode("redis_hung", on=True)
        kinds = [await ask(link) for _ in range(5)]
        assert kinds == ["timeout", "timeout", "timeout", "silenced", "silenced"]
        assert link.silenced
        connected = stand_in.connected
        await asyncio.gather(*(ask(link) for _ in range(50)))
        assert stand_in.connected == connected


async def test_refused_connections_silence_as_well(stand_in: StandIn) -> None:
    stand_in.redis.mode("redis_away", on=True)
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S, silence_s=600) as link:
        assert [await ask(link) for _ in range(4)] == ["away", "away", "away", "silenced"]


async def test_those_who_wait_when_silence_begins_are_told(stand_in: StandIn) -> None:
    stand_in.redis.mode("redis_hung", on=True)
    async with RedisLink(stand_in.url, timeout_s=SHORT_S, silence_s=600) as link:
        assert await ask(link) == "timeout"
        kinds = await asyncio.gather(*(ask(link) for _ in range(3)))
        assert set(kinds) == {"timeout"}
        async with asyncio.TaskGroup() as group:
            late = group.create_task(ask(link))
            await until(lambda: link.silenced)
        assert late.result() in {"timeout", "silenced"}


async def test_one_trial_that_nobody_waits_for_puts_redis_to_use_again(stand_in: StandIn) -> None:
    stand_in.redis.mode("redis_away", on=True)
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S, silence_s=SHORT_S) as link:
        assert [await ask(link) for _ in range(4)][-1] == "silenced"
        stand_in.redis.mode("redis_away", on=False)
        await until(lambda: not link.silenced)
        assert await ask(link) == "answered"


async def test_what_nobody_waits_for_is_said_when_redis_is_back(stand_in: StandIn) -> None:
    stand_in.redis.mode("redis_away", on=True)
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S, silence_s=SHORT_S) as link:
        link.tell(("SET", "key", "first"))
        link.tell(("SET", "other", "second"))
        link.tell(("DEL", "other"))
        assert await ask(link) == "away"
        stand_in.redis.mode("redis_away", on=False)
        await until_answered(link)
        assert (await link.ask(("GET", "key")), await link.ask(("GET", "other"))) == (b"first", None)


async def test_what_was_said_first_is_sent_first(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        link.tell(("SET", "key", "later"))
        link.tell(("SET", "key", "earlier"), first=True)
        assert await link.ask(("GET", "key")) == b"later"


async def test_what_waits_is_bounded(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "QUEUE_MAX", 5)
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        for number in range(9):
            link.tell(("INCRBY", "key", 10**number))
        with pytest.raises(LeaseStoreAway):
            await link.ask(("PING",))
        await until_answered(link)
        assert await link.ask(("GET", "key")) == b"11111"


async def test_of_several_asked_at_once_none_is_left_waiting_when_one_does_not_fit(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "QUEUE_MAX", 2)
    untaken: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: untaken.append(context))
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        words = ((1, "{ktms:fleet}:duty:probe", "gw1", 5000), link.scripts.claim)
        with pytest.raises(LeaseStoreAway):
            await link.ask_all([words] * 3)
        await until_answered(link)
    gc.collect()  # a future with an error that nobody took is told now
    assert untaken == []


@pytest.mark.parametrize(
    "refusal",
    [
        b"-READONLY You can't write against a read only replica.",
        b"-CLUSTERDOWN Hash slot not served",
        b"-MASTERDOWN Link with MASTER is down",
        b"-LOADING Redis is loading the dataset in memory",
        b"-OOM command not allowed when used memory > 'maxmemory'.",
        b"-TRYAGAIN Multiple keys request during rehashing of slot",
    ],
)
async def test_a_server_that_is_the_wrong_one_or_not_ready_is_left_and_found_again(
    stand_in: StandIn, refusal: bytes
) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S, silence_s=SHORT_S) as link:
        await link.ask(("PING",))
        stand_in.refusal = refusal
        link.tell(("SET", "key", "kept"))
        assert [await ask(link) for _ in range(4)] == ["error", "error", "error", "silenced"]
        stand_in.refusal = None
        await until_answered(link)
        assert await link.ask(("GET", "key")) == b"kept"
        assert stand_in.connected > 1


async def test_another_refusal_is_an_error_of_that_request_alone(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        kinds = await asyncio.gather(kind_of(link.ask(("NONSENSE",))), kind_of(link.ask(("PING",))))
        assert (*kinds, stand_in.connected) == ("error", "answered", 1)


async def test_a_cluster_is_followed_to_where_our_keys_are(stand_in: StandIn) -> None:
    async with standing_in() as other, RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        stand_in.refusal = b"-MOVED 1234 127.0.0.1:%d" % other.port
        link.tell(("SET", "key", "kept"))
        assert await ask(link) == "error"
        assert await link.ask(("GET", "key")) == b"kept"
        assert other.connected == 1


async def test_at_the_end_what_is_still_to_be_said_goes_out(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        link.tell(("SET", "key", "last"))
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        assert await link.ask(("GET", "key")) == b"last"


async def test_the_end_does_not_wait_for_a_hung_server(stand_in: StandIn) -> None:
    loop = asyncio.get_running_loop()
    stand_in.redis.mode("redis_hung", on=True)
    async with RedisLink(stand_in.url, timeout_s=SHORT_S) as link:
        link.tell(("SET", "key", "last"))
        began_at = loop.time()
    assert loop.time() - began_at < 5 * SHORT_S + 1


async def test_after_the_end_nobody_is_answered(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url) as link:
        pass
    link.tell(("SET", "key", "too late"))
    with pytest.raises(LeaseStoreAway):
        await link.ask(("PING",))


async def test_a_link_that_is_cancelled_leaves_nobody_waiting(stand_in: StandIn) -> None:
    stand_in.redis.mode("redis_hung", on=True)

    async def use(asked: "list[asyncio.Future[object]]") -> None:
        async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
            asked.append(link.ask(("PING",)))
            await until(lambda: stand_in.pieces > 0)

    asked: list[asyncio.Future[object]] = []
    async with asyncio.TaskGroup() as group:
        using = group.create_task(use(asked))
        await until(lambda: stand_in.pieces > 0)
        for _ in range(3):
            await asyncio.sleep(0)
        using.cancel()
    assert await kind_of(asked[0]) == "away"


async def test_a_mistake_of_ours_in_a_round_trip_costs_that_one_and_not_the_gateway(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        unsayable: tuple[str, ...] = ("GET", object())  # type: ignore[assignment]  # nobody foresaw it
        assert await kind_of(link.ask(unsayable)) == "away"
        assert await ask(link) == "answered"
