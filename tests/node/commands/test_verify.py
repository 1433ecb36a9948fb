"""`ktms-node verify`: the agent's own words again, and the gateway's verdict."""

import argparse
import asyncio
import json
from pathlib import Path

import pytest

from ktms.node.announcer import Announced
from ktms.node.commands import verify
from ktms.node.home import NodeHome
from ktms.node.settings_file import settings_text
from tests.node.gateways import GatewayAtHand
from tests.node.nodes import EPOCH_MS, TOKEN, settings

SAID = {"url": "http://10.0.0.7:8790", "epoch": EPOCH_MS, "draining": False, "models": []}


@pytest.fixture
def home(tmp_path: Path) -> NodeHome:
    return NodeHome(tmp_path)


def written(home: NodeHome, gateway: str = "http://127.0.0.1:1", said: object = SAID) -> argparse.Namespace:
    home.settings.write_text(settings_text(settings(gateway)))
    home.settings.chmod(0o600)
    home.status.write_text(json.dumps({"said": said, "state": "serving"}))
    return argparse.Namespace(home=home.folder)


async def test_it_says_what_the_agent_said_with_its_epoch_and_the_token(
    home: NodeHome, gateway: GatewayAtHand
) -> None:
    options = written(home, gateway.url)
    await asyncio.to_thread(verify.main, options)
    assert await gateway.next() == SAID | {"token": TOKEN}


def test_a_gateway_that_got_a_token_is_content() -> None:
    code, line = verify.verdict(Announced(200, accepted=("a",), verified=True))
    assert (code, line) == (0, "the gateway reached this node and got a token; served: a")


def test_the_reason_of_the_gateway_is_handed_on() -> None:
    code, line = verify.verdict(Announced(200, verified=False, reason="nobody listens there"))
    assert code == 1
    assert "nobody listens there" in line


def test_an_answer_without_a_verdict_is_no_success() -> None:
    assert verify.verdict(Announced(200))[0] == 1


@pytest.mark.parametrize(
    "answer", [Announced(0, "nobody answers"), Announced(401, "wrong key"), Announced(503, "away")]
)
def test_a_gateway_that_did_not_look_is_quoted(answer: Announced) -> None:
    code, line = verify.verdict(answer)
    assert (code, line) == (1, f"the gateway did not look: {answer.message}")


def test_an_agent_that_has_said_nothing_cannot_be_verified(
    home: NodeHome, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify.main(written(home, said=None)) == 1
    assert "has announced nothing yet" in capsys.readouterr().err


def test_a_machine_that_is_no_node_has_its_own_exit_code(home: NodeHome) -> None:
    assert verify.main(argparse.Namespace(home=home.folder)) == 2
