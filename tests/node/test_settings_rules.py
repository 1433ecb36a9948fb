import pytest

from ktms.node.settings_rules import is_plain_url, wrong_with


@pytest.mark.parametrize(
    "url", ["http://g", "https://g.example:8443/behind/a/path", "http://[::1]:8790", "http://ü.de"]
)
def test_a_url_that_leads_somewhere_is_plain(url: str) -> None:
    assert is_plain_url(url)


@pytest.mark.parametrize(
    "url",
    ["", "g", "ftp://g", "http://", "http://g:x", "http://[g", "http://a@g", "http://g?", "http://g\t", "//g"],
)
def test_what_is_none_or_says_more_is_not(url: str) -> None:
    assert not is_plain_url(url)


def test_what_is_left_to_the_agent_is_not_wrong() -> None:
    assert [wrong_with(name, None) for name in ("slots", "public_url", "tunnel_token_file")] == [None] * 3


def test_what_is_wrong_is_said_without_the_value() -> None:
    assert wrong_with("node_key", "a secret") == "must be 1 to 512 visible ASCII characters"
    assert wrong_with("drain_s", float("nan")) == "must be 0 to 3600"
