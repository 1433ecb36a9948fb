"""What options ask for, and which are refused with the one thing that helps."""

import argparse
from pathlib import Path

import pytest

from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import EngineKind
from ktms.node.install import options
from ktms.node.install.options import KEY_VARIABLE, Asked, asked_of
from ktms.node.install.refused import Refused
from ktms.node.settings import Tls, Tunnel

FILES = {
    Path("/keys/node"): "ktms_node_from-a-file\n",
    Path("/keys/tunnel"): "a-token\n",
    Path("/keys/none"): " \n",
}


def ask(*words: str, key: str = "") -> Asked:
    parser = argparse.ArgumentParser()
    options.add(parser)
    return asked_of(parser.parse_args(words), {KEY_VARIABLE: key} if key else {}, FILES.get)


def test_what_is_not_named_is_not_asked_for() -> None:
    assert ask().changes == {}


def test_everything_that_is_named_is_asked_for() -> None:
    words = "--gateway https://g.example/ --model a --model b --model a --tls on --slots 4 --listen-port 9000"
    assert ask(*words.split()).changes == {
        "gateway": "https://g.example",
        "models": ("a", "b"),
        "tls": Tls.ON,
        "slots": 4,
        "listen_port": 9000,
    }


def test_what_was_named_once_can_be_taken_back() -> None:
    words = "--slots auto --public-url auto --tunnel none"
    assert ask(*words.split()).changes == {
        "slots": None,
        "public_url": None,
        "tunnel": Tunnel.NONE,
        "tunnel_token_file": None,
    }


def test_the_key_comes_from_the_environment() -> None:
    assert ask(key="ktms_node_x").changes == {"node_key": Secret("ktms_node_x")}


def test_a_key_file_goes_before_the_environment() -> None:
    asked = ask("--key-file", "/keys/node", key="ktms_node_x")
    assert asked.changes == {"node_key": Secret("ktms_node_from-a-file")}


def test_the_key_may_be_an_argument() -> None:
    assert ask("--key", "ktms_node_y", key="ktms_node_x").changes == {"node_key": Secret("ktms_node_y")}


def test_the_engine_is_named_by_its_kind_and_its_place() -> None:
    asked = ask("--engine", "vllm", "--engine-url", "http://127.0.0.1:8000/")
    assert (asked.engine, asked.engine_url) == (EngineKind.VLLM, "http://127.0.0.1:8000")


def test_a_quick_tunnel_and_one_with_a_token() -> None:
    assert ask("--tunnel", "cloudflare").changes["tunnel"] is Tunnel.QUICK
    named = ask("--tunnel", "cloudflare=/keys/tunnel").changes
    assert named == {"tunnel": Tunnel.NAMED, "tunnel_token_file": "/keys/tunnel"}


def test_a_home_of_ones_own_is_taken_from_the_current_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ask("--home", "node").home.folder == tmp_path / "node"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--gateway ftp://g", "no plain URL"),
        ("--gateway https://", "no plain URL"),
        ("--gateway https://user:secret@g", "no plain URL"),
        ("--gateway https://g:99999", "no plain URL"),
        ("--public-url https://g?x=1", "no plain URL"),
        ("--tunnel wireguard", "there is no tunnel"),
        ("--tunnel cloudflare=", "there is no tunnel"),
        ("--tunnel cloudflare=/keys/none", "holds no token"),
        ("--tunnel cloudflare=/keys/gone", "holds no token"),
        ("--slots 0", "out of range"),
        ("--slots ٤", "out of range"),
        ("--slots 1025", "out of range"),
        ("--listen-port 65536", "out of range"),
        ("--key-file /keys/gone", "cannot be read"),
        ("--key-file /keys/none", "no node key"),
        ("--key schlüssel", "no node key"),
    ],
)
def test_what_is_impossible_is_refused_with_a_remedy(words: str, says: str) -> None:
    with pytest.raises(Refused, match=says) as refused:
        ask(*words.split())
    assert "; " in str(refused.value)


def test_a_refused_key_is_not_repeated() -> None:
    with pytest.raises(Refused) as refused:
        ask("--key", "two words")
    assert "two" not in str(refused.value)


@pytest.mark.parametrize("url", ["https://g/a b", "https://g\n", "https://g#x", "https://g:0", "https://@g"])
def test_a_url_that_the_agent_would_not_take_is_refused(url: str) -> None:
    for option in ("--gateway", "--public-url", "--engine-url"):
        with pytest.raises(Refused, match="no plain URL"):
            ask(option, url)


@pytest.mark.parametrize("name", ["", " ", "a\nb"])
def test_a_model_has_a_name(name: str) -> None:
    with pytest.raises(Refused, match="there is no model"):
        ask("--model", name)


@pytest.mark.parametrize("name", ["a\nb", "a\udcff"])
def test_a_folder_whose_path_no_service_takes_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="signs that no service takes") as refused:
        ask("--home", f"/home/{name}")
    assert str(refused.value).isprintable()
