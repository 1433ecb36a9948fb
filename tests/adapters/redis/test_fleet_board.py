"""What is peculiar to Redis; what every board does is in tests/contracts."""

import pytest
from redis.asyncio import Redis

from ktms.adapters.redis.fleet_board import RedisFleetBoard
from ktms.adapters.redis.keys import report_of, spoken_of
from ktms.adapters.redis.link import RedisLink
from ktms.domain.capacity.node_report import Look, NodeReport
from ktms.domain.ids import NodeName
from ktms.ports.fleet_board import REPORT_TTL_S, SPOKEN_TTL_S
from ktms.ports.lease_store import LeaseStoreAway
from tests.adapters.redis.stand_in import PATIENT_S, StandIn

MAC, LINUX = NodeName("mac-1"), NodeName("linux-1")


async def test_a_report_that_cannot_be_read_is_left_out(valkey_url: str) -> None:
    async with Redis.from_url(valkey_url) as client, RedisLink(valkey_url, timeout_s=PATIENT_S) as link:
        board = RedisFleetBoard(link, "gw1")
        await board.post([NodeReport(MAC, Look.SPOKE)])
        await client.set(report_of(LINUX), "1 of a later release")
        assert [seen.report.node for seen in (await board.read([MAC, LINUX], [])).seen] == [MAC]


async def test_a_report_ends_by_itself(valkey_url: str) -> None:
    async with Redis.from_url(valkey_url) as client, RedisLink(valkey_url, timeout_s=PATIENT_S) as link:
        await RedisFleetBoard(link, "gw1").post([NodeReport(MAC, Look.ANSWERED)])
        assert SPOKEN_TTL_S < await client.ttl(report_of(MAC)) <= REPORT_TTL_S


async def test_a_token_ends_by_itself_long_before(valkey_url: str) -> None:
    async with Redis.from_url(valkey_url) as client, RedisLink(valkey_url, timeout_s=PATIENT_S) as link:
        await RedisFleetBoard(link, "gw1").post([NodeReport(MAC, Look.SPOKE)])
        assert 0 < await client.ttl(spoken_of(MAC)) <= SPOKEN_TTL_S


async def test_a_fleet_is_read_in_pieces_between_which_others_are_served(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        board = RedisFleetBoard(link, "gw1")
        await board.claim("probe", 60)
        view = await board.read([NodeName(f"node-{number}") for number in range(1001)], [])
        assert len(view.busy) == 1001


async def test_a_board_that_does_not_answer_is_away(silent_port: int) -> None:
    async with RedisLink(f"redis://127.0.0.1:{silent_port}", timeout_s=0.02) as link:
        board = RedisFleetBoard(link, "gw1")
        for asking in (
            board.read([MAC], []),
            board.claim("probe", 60),
            board.post([NodeReport(MAC, Look.SPOKE)]),
            board.moment(),
            board.drained([MAC], 0.0),
        ):
            with pytest.raises(LeaseStoreAway):
                await asking
