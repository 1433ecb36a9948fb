from pathlib import Path

import pytest

from ktms.node.far import far_session
from tests.node.gateways import GatewayAtHand
from tests.node.nodes import KEY


@pytest.mark.parametrize("text", [b"default login anna password hers\n", b"\xff\xfe machine"])
async def test_what_netrc_says_takes_nothing_from_our_own_header(
    tmp_path: Path, gateway: GatewayAtHand, monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_bytes(text)
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    headers = {"Authorization": f"Bearer {KEY}"}
    async with far_session() as far:
        await far.put(f"{gateway.url}/node/v1/announce", json={}, headers=headers)
    assert (await gateway.heard.get())[1] == headers["Authorization"]


async def test_the_proxy_of_the_environment_is_used(
    gateway: GatewayAtHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", gateway.url)
    async with far_session() as far, far.put("http://gw.invalid/node/v1/announce", json={}) as answer:
        assert answer.status == 200
