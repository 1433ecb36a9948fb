import asyncio
import json
from ipaddress import ip_network

import pytest

from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.api.node.door import AT_ONCE_MAX, BODY_MAX_BYTES, WAITING_MAX
from ktms.domain.access.key_form import KeyKind, make_key
from ktms.domain.access.secret import Secret
from ktms.domain.announce_rate import ANNOUNCE_BURST_MAX
from ktms.domain.catalogue import EngineKind
from ktms.domain.ids import KeyId, NodeName
from ktms.domain.joined_node import NodeKey
from ktms.ports.node_registry import Announced
from ktms.ports.telemetry import Dependency
from tests.api.node.yard import EPOCH_MS, OPERATOR, SAID, TARGET, Yard, yard_of
from tests.api.wire_client import Wire, ask, connected, request
from tests.domain.announcements import SAID as LATER

MAC = NodeName("mac-1")


async def test_an_announcement_is_answered_with_what_is_served(yard: Yard) -> None:
    answer = await yard.announce(await yard.issue("mac-1", "qwen3:4b"))
    assert answer.status == 200
    assert answer.json == {
        "node": "mac-1",
        "accepted": ["qwen3:4b"],
        "ignored": ["llama3"],
        "announce_every_s": 30,
    }
    assert answer.headers["x-request-id"]


async def test_an_announced_node_stands_in_the_snapshot(yard: Yard) -> None:
    await yard.announce(await yard.issue())
    (node,) = (await yard.catalogue.snapshot()).nodes
    assert (node.name, node.origin.key) == (MAC, ("http", "10.0.0.7", 8790, None))
    assert (node.engine, node.slots, node.token) == (EngineKind.OLLAMA, 4, Secret("canary-node-token"))
    assert dict(node.windows) == {"qwen3:4b": 8192, "llama3": None}
    assert ("node_announced", "mac-1") in [(each.name, each.facts.get("node")) for each in yard.telemetry.events]


async def test_members_that_a_newer_agent_tells_are_passed_over(yard: Yard) -> None:
    assert (await yard.announce(await yard.issue(), temperature_c=60)).status == 200


async def test_optional_members_may_be_left_out(yard: Yard) -> None:
    body = {name: SAID[name] for name in ("url", "token", "engine", "epoch", "slots")}
    answer = await yard.put(json.dumps({**body, "models": [{"name": "a"}]}).encode(), await yard.issue())
    assert (answer.status, answer.json["accepted"]) == (200, ["a"])


async def test_all_bad_keys_are_told_the_same(yard: Yard) -> None:
    good = await yard.issue()
    unknown = make_key(KeyKind.NODE, lambda count: bytes([9] * count))
    client = make_key(KeyKind.CLIENT, lambda count: bytes([9] * count))
    told = {(await yard.announce(key)).body for key in (None, "", "x", unknown, client, good[:-1], good + "x")}
    assert len(told) == 1
    answer = await yard.announce(unknown)
    assert (answer.status, answer.code) == (401, "invalid_api_key")


async def test_the_right_id_with_another_secret_is_refused(yard: Yard) -> None:
    token = await yard.issue()
    yard.store.node_keys[0].digest = b"x" * 32
    assert (await yard.announce(token)).status == 401


async def test_two_credentials_are_refused(yard: Yard) -> None:
    token = await yard.issue()
    answer = await yard.put(json.dumps(SAID).encode(), token, f"Authorization: Bearer {token}")
    assert answer.status == 401


async def test_a_revoked_key_is_refused_and_its_node_gone(yard: Yard) -> None:
    token = await yard.issue()
    await yard.announce(token)
    await yard.nodes.revoke(MAC, actor=OPERATOR)
    assert (await yard.announce(token)).status == 401
    assert (await yard.catalogue.snapshot()).nodes == ()


async def test_nothing_of_a_body_is_read_before_the_key_is_known_to_be_good(yard: Yard) -> None:
    async with connected(yard.port) as wire:
        head = (
            f"PUT {TARGET} HTTP/1.1\r\nHost: g\r\nContent-Length: 1000\r\nAuthorization: Bearer nonsense\r\n\r\n"
        )
        await wire.send(head.encode())
        assert (await wire.answer()).status == 401


async def test_a_database_that_is_away_is_no_refusal_of_a_key(yard: Yard) -> None:
    token = await yard.issue()
    yard.store.away = True
    answer = await yard.announce(token)
    assert (answer.status, answer.code) == (503, "auth_unavailable")
    assert int(answer.headers["retry-after"]) > 0
    assert yard.telemetry.failures == [(Dependency.POSTGRES, "find_node_key", "away")]


async def test_an_older_agent_of_the_same_node_is_fenced_off(yard: Yard) -> None:
    token = await yard.issue()
    await yard.announce(token, url="http://10.0.0.9:1")
    answer = await yard.announce(token, epoch=EPOCH_MS - 1)
    assert (answer.status, answer.code, answer.json["error"]["param"]) == (409, "stale_announcement", "epoch")
    assert (await yard.catalogue.snapshot()).nodes[0].origin.host == "10.0.0.9"


WRONG = [
    ("url", {"url": "10.0.0.7"}),
    ("url", {"url": "ftp://10.0.0.7"}),
    ("url", {"url": "http://user:pw@10.0.0.7"}),
    ("url", {"url": "http://10.0.0.7/?q=1"}),
    ("url", {"url": "http://10.0.0.7/#x"}),
    ("url", {"url": "http://10.0.0.7:99999"}),
    ("url", {"url": "http://0x7f000001"}),
    ("url", {"url": "http://169.254.169.254"}),
    ("url", {"url": "http://[fe80::1]"}),
    ("url", {"url": "http://metadata.google.internal"}),
    ("url", {"url": "http://100.100.100.200"}),
    ("url", {"url": "http://168.63.129.16"}),
    ("url", {"url": "http://127.0.0.1:8790"}),
    ("url", {"url": "http://[::1]:8790"}),
    ("url", {"url": "http://[::ffff:127.0.0.1]"}),
    ("url", {"url": "http://localhost:8790"}),
    ("url", {"url": "http://a.localhost:8790"}),
    ("url", {"url": "http://0.0.0.0"}),
    ("url", {"url": 7}),
    ("url", {"url": None}),
    ("url", {"url": "http://" + "a" * 3000}),
    ("token", {"token": ""}),
    ("token", {"token": "x" * 513}),
    ("token", {"token": "a b"}),
    ("token", {"token": "a\r\nX-Evil: 1"}),
    ("token", {"token": "é"}),
    ("token", {"token": None}),
    ("engine", {"engine": "sglang"}),
    ("engine", {"engine": "demo"}),
    ("engine", {"engine": 1}),
    ("engine_version", {"engine_version": "x" * 65}),
    ("engine_version", {"engine_version": "1\n2"}),
    ("epoch", {"epoch": 0}),
    ("epoch", {"epoch": -1}),
    ("epoch", {"epoch": 1 << 60}),
    ("epoch", {"epoch": 1.5}),
    ("epoch", {"epoch": EPOCH_MS + 400_000}),
    ("draining", {"draining": "yes"}),
    ("slots", {"slots": 0}),
    ("slots", {"slots": -1}),
    ("slots", {"slots": 1025}),
    ("slots", {"slots": 10**9}),
    ("slots", {"slots": 10**30}),
    ("slots", {"slots": True}),
    ("slots", {"slots": "4"}),
    ("models", {"models": None}),
    ("models", {"models": {}}),
    ("models", {"models": [{"name": f"m{n}"} for n in range(257)]}),
    ("models.0", {"models": ["a"]}),
    ("models.0.name", {"models": [{}]}),
    ("models.0.name", {"models": [{"name": ""}]}),
    ("models.0.name", {"models": [{"name": "a\u0000"}]}),
    ("models.1.name", {"models": [{"name": "a"}, {"name": "a"}]}),
    ("models.1.name", {"models": [{"name": "a"}, {"name": "a:latest"}]}),
    ("models.0.context_window", {"models": [{"name": "a", "context_window": 0}]}),
    ("models.0.context_window", {"models": [{"name": "a", "context_window": 10**7 + 1}]}),
    ("models.0.context_window", {"models": [{"name": "a", "context_window": -1}]}),
    ("models.0.loaded", {"models": [{"name": "a", "loaded": 1}]}),
]


@pytest.mark.parametrize(("param", "members"), WRONG)
async def test_what_is_wrong_is_refused_by_the_name_of_its_member(
    yard: Yard, param: str, members: dict[str, object]
) -> None:
    answer = await yard.announce(await yard.issue(), **members)  # type: ignore[arg-type]  # members of the body
    assert (answer.status, answer.code) == (400, "invalid_request")
    error = answer.json["error"]
    assert (error["param"], error["message"].partition(":")[0]) == (param, param)
    assert (await yard.catalogue.snapshot()).nodes == ()


@pytest.mark.parametrize("member", ["url", "token", "engine", "epoch", "slots", "models"])
async def test_a_missing_member_is_named(yard: Yard, member: str) -> None:
    body = {name: value for name, value in SAID.items() if name != member}
    answer = await yard.put(json.dumps(body).encode(), await yard.issue())
    assert (answer.status, answer.json["error"]["message"]) == (400, f"{member}: is missing.")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b'{"url":1,"url":2}',
        b"[" * 50_000,
        b'{"slots":' + b"9" * 60_000 + b"}",
        json.dumps(SAID).encode("utf-16"),
        json.dumps(SAID).encode() + b"x",
    ],
)
async def test_a_body_that_is_no_announcement_is_refused(yard: Yard, body: bytes) -> None:
    answer = await yard.put(body, await yard.issue())
    assert (answer.status, answer.code) == (400, "invalid_request")


async def test_no_message_repeats_what_was_sent(yard: Yard) -> None:
    token = await yard.issue()
    for members in ({"url": "http://canary:canary@x"}, {"token": "canary canary"}, {"engine": "canary"}):
        yard.clock.advance(60)
        assert b"canary" not in (await yard.announce(token, **members)).body


async def test_a_body_above_the_cap_is_refused_unread(yard: Yard) -> None:
    answer = await yard.put(b" " * (BODY_MAX_BYTES + 1), await yard.issue())
    assert (answer.status, answer.code) == (413, "request_too_large")
    assert answer.message == "The body is larger than 64 KiB."


async def test_a_compressed_body_is_refused(yard: Yard) -> None:
    answer = await yard.put(b"{}", await yard.issue(), "Content-Encoding: gzip")
    assert (answer.status, answer.code) == (415, "unsupported_encoding")


async def test_the_route_takes_put_alone(yard: Yard) -> None:
    answer = await ask(yard.port, request(TARGET, method="POST", body=b"{}"))
    assert (answer.status, answer.headers["allow"]) == (405, "PUT")


@pytest.mark.parametrize(
    ("rules", "url", "status"),
    [
        (AddressRules(loopback_nodes=True), "http://127.0.0.1:8790", 200),
        (AddressRules((ip_network("127.0.0.0/8"),)), "http://127.0.0.1:8790", 200),
        (AddressRules((ip_network("10.1.0.0/16"),)), "http://10.0.0.7:8790", 400),
        (AddressRules((ip_network("169.254.0.0/16"),)), "http://169.254.1.1:8790", 400),
        (AddressRules(), "https://node.trycloudflare.com", 200),
    ],
)
async def test_the_gateway_says_which_addresses_a_node_may_have(
    rules: AddressRules, url: str, status: int
) -> None:
    async with yard_of(rules) as yard:
        assert (await yard.announce(await yard.issue(), url=url)).status == status


async def test_a_node_that_announces_too_often_is_told_when_to_come_back(yard: Yard) -> None:
    token = await yard.issue()
    answers = [await yard.announce(token) for _ in range(ANNOUNCE_BURST_MAX + 1)]
    assert [answer.status for answer in answers] == [200] * ANNOUNCE_BURST_MAX + [429]
    assert (answers[-1].code, answers[-1].headers["retry-after"]) == ("rate_limit_exceeded", "5")
    yard.clock.advance(5)
    assert (await yard.announce(token)).status == 200


async def test_refused_announcements_count_towards_the_rate(yard: Yard) -> None:
    token = await yard.issue()
    statuses = [(await yard.announce(token, slots=0)).status for _ in range(ANNOUNCE_BURST_MAX + 1)]
    assert statuses[-1] == 429


async def test_an_agent_that_is_fenced_off_uses_up_nothing_of_the_rate_of_its_successor(yard: Yard) -> None:
    token = await yard.issue()
    await yard.announce(token)
    for _ in range(2 * ANNOUNCE_BURST_MAX):
        await yard.announce(token, epoch=EPOCH_MS - 1)
    assert (await yard.announce(token)).status == 200


async def test_an_agent_that_is_fenced_off_has_a_rate_too(yard: Yard) -> None:
    token = await yard.issue()
    await yard.announce(token)
    statuses = [(await yard.announce(token, epoch=EPOCH_MS - 1)).status for _ in range(ANNOUNCE_BURST_MAX + 1)]
    assert statuses == [409] * ANNOUNCE_BURST_MAX + [429]


async def test_bodies_that_cannot_be_read_count_towards_the_rate(yard: Yard) -> None:
    token = await yard.issue()
    statuses = [(await yard.put(b"{", token)).status for _ in range(ANNOUNCE_BURST_MAX + 1)]
    assert statuses == [400] * ANNOUNCE_BURST_MAX + [429]


async def test_an_agent_that_is_overtaken_on_its_way_is_fenced_off(yard: Yard) -> None:
    """Another replica takes the later agent's word between the look at the key and the announcement."""
    token = await yard.issue()
    yard.nodes.find = Overtaken(yard).find  # type: ignore[method-assign]  # the door asks whoever is there
    answer = await yard.announce(token)
    assert (answer.status, answer.code) == (409, "stale_announcement")


class Overtaken:
    """Finds a key, just before a later agent announces with it elsewhere."""

    def __init__(self, yard: Yard) -> None:
        self._nodes = yard.nodes
        self._find = yard.nodes.find

    async def find(self, key_id: KeyId) -> NodeKey | None:
        found = await self._find(key_id)
        await self._nodes.announce(key_id, LATER)
        return found


async def test_one_node_speaks_for_no_other(yard: Yard) -> None:
    first, second = await yard.issue("mac-1"), await yard.issue("mac-2")
    await yard.announce(first)
    answer = await yard.announce(second, url="http://10.0.0.8:1", node="mac-1", name="mac-1")
    assert answer.json["node"] == "mac-2"
    nodes = (await yard.catalogue.snapshot()).nodes
    assert {node.name: node.origin.host for node in nodes} == {"mac-1": "10.0.0.7", "mac-2": "10.0.0.8"}


async def test_a_node_that_is_dialled_back_with_success_is_verified(yard: Yard) -> None:
    answer = await yard.announce(await yard.issue(), query="?verify=1")
    assert (answer.json["verified"], answer.json["reason"]) == (True, None)
    (node,) = yard.dialler.asked
    assert (node.name, node.origin.host, list(node.windows)) == (MAC, "10.0.0.7", ["qwen3:4b", "llama3"])


async def test_a_node_that_cannot_be_dialled_back_learns_why_in_one_line(yard: Yard) -> None:
    yard.dialler.reason = "connection\nrefused"
    answer = await yard.announce(await yard.issue(), query="?verify=1")
    assert (answer.status, answer.json["verified"], answer.json["reason"]) == (200, False, "connection refused")
    assert [node.name for node in (await yard.catalogue.snapshot()).nodes] == [MAC]


@pytest.mark.parametrize("query", ["", "?verify=0", "?"])
async def test_nobody_is_dialled_back_unasked(yard: Yard, query: str) -> None:
    answer = await yard.announce(await yard.issue(), query=query)
    assert answer.status == 200
    assert "verified" not in answer.json
    assert yard.dialler.asked == []


@pytest.mark.parametrize("query", ["?verify=2", "?verify", "?verify=1&x=1", "?x"])
async def test_an_unknown_query_is_refused(yard: Yard, query: str) -> None:
    answer = await yard.announce(await yard.issue(), query=query)
    assert (answer.status, answer.json["error"]["param"]) == (400, "verify")


async def test_a_storm_of_nodes_takes_turns_at_the_database(yard: Yard) -> None:
    """S39: fifty nodes join at once."""
    tokens = [await yard.issue(f"mac-{number}") for number in range(50)]
    asked = Counted(yard)
    answers = await asyncio.gather(
        *(yard.announce(token, url=f"http://10.0.1.{number}:1") for number, token in enumerate(tokens))
    )
    assert {answer.status for answer in answers} == {200}
    assert asked.most <= AT_ONCE_MAX
    assert len((await yard.catalogue.snapshot()).nodes) == 50


class Counted:
    """Counts the announcements that are with the registry at once."""

    def __init__(self, yard: Yard) -> None:
        self.now = self.most = 0
        self._announce = yard.nodes.announce
        yard.nodes.announce = self._counted  # type: ignore[assignment,method-assign]  # the door asks whoever is there

    async def _counted(self, *args: object) -> Announced:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        return await self._announce(*args)  # type: ignore[arg-type]  # passed on as they came


async def test_beyond_what_may_wait_a_node_is_told_to_come_back(yard: Yard) -> None:
    token = await yard.issue()
    yard.door._waiting = WAITING_MAX
    answer = await yard.announce(token)
    assert (answer.status, answer.code) == (503, "overloaded")
    assert "retry-after" in answer.headers


async def test_an_agent_that_leaves_gives_its_turn_back(yard: Yard) -> None:
    token = await yard.issue()
    yard.dialler.hold = asyncio.Event()
    for _ in range(3):
        async with connected(yard.port) as wire:
            await _ask_to_verify(wire, token)
            wire.leave()
    yard.dialler.hold.set()
    assert (await yard.announce(token, query="?verify=1")).json["verified"] is True


async def _ask_to_verify(wire: Wire, token: str) -> None:
    body = json.dumps(SAID).encode()
    head = (f"Authorization: Bearer {token}",)
    await wire.send(request(f"{TARGET}?verify=1", method="PUT", headers=head, body=body))
