import pytest

from ktms.node.own_address import own_address_towards
from ktms.node.public_url import place_of
from ktms.node.said import Place
from ktms.node.settings import Tls, Tunnel
from ktms.node.tunnel import TunnelState
from tests.node.nodes import settings

PIN = "ab" * 32
UP, DOWN = TunnelState(ready=True, hostname="a-b.trycloudflare.com"), TunnelState()


def test_a_node_without_tunnel_is_reached_at_its_own_address() -> None:
    assert place_of(settings(), DOWN, "10.0.0.7", None) == Place("http://10.0.0.7:8790")


def test_with_tls_its_own_certificate_is_pinned() -> None:
    assert place_of(settings(tls=Tls.ON), DOWN, "fd00::1", PIN) == Place("https://[fd00::1]:8790", PIN)


def test_the_owners_word_comes_before_the_address() -> None:
    assert place_of(settings(public_url="https://n:1"), DOWN, "10.0.0.7", PIN) == Place("https://n:1", PIN)


def test_a_quick_tunnel_has_its_own_name_and_a_signed_certificate() -> None:
    quick = settings(tunnel=Tunnel.QUICK, tls=Tls.ON)
    assert place_of(quick, UP, "10.0.0.7", PIN) == Place("https://a-b.trycloudflare.com")


@pytest.mark.parametrize("state", [DOWN, TunnelState(ready=True), TunnelState(hostname="a.b")])
def test_a_tunnel_that_is_not_up_is_no_place(state: TunnelState) -> None:
    assert place_of(settings(tunnel=Tunnel.QUICK), state, "10.0.0.7", None) is None


def test_a_named_tunnel_is_reached_where_its_owner_said() -> None:
    named = settings(tunnel=Tunnel.NAMED, public_url="https://node.example", tunnel_token_file="t")
    assert place_of(named, TunnelState(ready=True), None, PIN) == Place("https://node.example")
    assert place_of(named, DOWN, None, PIN) is None


def test_nobody_knows_a_place_without_an_address() -> None:
    assert place_of(settings(), DOWN, None, None) is None


def test_the_own_address_is_that_of_the_way_to_the_gateway() -> None:
    assert own_address_towards("http://127.0.0.1:8080") == "127.0.0.1"


def test_a_gateway_whose_name_is_not_known_leads_nowhere() -> None:
    assert own_address_towards("http://nobody.invalid.:1") is None
