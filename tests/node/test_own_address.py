import pytest

from ktms.node.own_address import own_address_towards


def test_the_way_to_a_gateway_on_this_machine_is_loopback() -> None:
    assert own_address_towards("http://127.0.0.1:1") == "127.0.0.1"


@pytest.mark.parametrize(
    "url", ["http://g:99999", "http://[::1", "http://" + "a" * 64 + ".example", "http://.", ""]
)
def test_a_url_that_leads_nowhere_has_none(url: str) -> None:
    assert own_address_towards(url) in {None, "127.0.0.1", "::1"}
