"""URLs of vendors and nodes, read strictly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.url import LENGTH_MAX, Url, UrlInvalid, read_url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://api.openai.com/v1", Url("https", "api.openai.com", 443, "/v1")),
        ("https://api.openai.com/v1/", Url("https", "api.openai.com", 443, "/v1")),
        ("HTTP://Mac-1.local", Url("http", "mac-1.local", 80, "")),
        ("http://my_engine:8000/", Url("http", "my_engine", 8000, "")),
        ("http://10.0.0.7:8790", Url("http", "10.0.0.7", 8790, "")),
        ("http://[::1]:8080/a/b", Url("http", "::1", 8080, "/a/b")),
        ("https://[2001:DB8:0::1]", Url("https", "2001:db8::1", 443, "")),
        ("https://x.openai.azure.com/openai/v1", Url("https", "x.openai.azure.com", 443, "/openai/v1")),
        ("http://a:65535", Url("http", "a", 65535, "")),
    ],
)
def test_a_plain_url_is_taken_apart(text: str, url: Url) -> None:
    assert read_url(text) == url


@pytest.mark.parametrize(
    "text",
    [
        "https://",
        "https:///v1",
        "https://user@host",
        "https://user:secret@host",
        "https://host?key=1",
        "https://host/v1?x",
        "https://host/v1#x",
        "https://host/%2e%2e/v1",
        "https://host/a b",
        "https://host\n",
        "https://ho\tst",
        "https://host\\@evil",
        "https://höst",
        "https://host:port",
        "https://host:",
        "https://[::1",
        "https://[fe80::1%25eth0]",
        "https://host:123456",
        "https://1:2@host",
    ],
)
def test_anything_but_a_plain_url_is_refused(text: str) -> None:
    with pytest.raises(UrlInvalid, match="must look like"):
        read_url(text)


@pytest.mark.parametrize("text", ["", "api.openai.com", "10.0.0.1:8000", "ftp://host", " https://a", "http:/b"])
def test_a_url_without_its_scheme_is_told_so(text: str) -> None:
    with pytest.raises(UrlInvalid, match="must begin with http:// or https://"):
        read_url(text)


@pytest.mark.parametrize("text", ["http://host:0", "http://host:65536", "http://host:99999"])
def test_an_impossible_port_is_refused(text: str) -> None:
    with pytest.raises(UrlInvalid, match="port"):
        read_url(text)


@pytest.mark.parametrize("path", ["/./v1", "/../v1", "/a//b", "//", "/a/..", "/a/.", "/a//"])
def test_dot_and_empty_segments_are_refused(path: str) -> None:
    with pytest.raises(UrlInvalid, match="segments"):
        read_url("http://host" + path)


@pytest.mark.parametrize(
    "host", ["127.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "256.1.1.1", "1.2.3.4.5", "010.0.0.1", "a.1", "0x"]
)
def test_odd_spellings_of_ipv4_are_refused(host: str) -> None:
    with pytest.raises(UrlInvalid, match="IPv4"):
        read_url(f"http://{host}")


@pytest.mark.parametrize("host", ["[:::1]", "[1.2.3.4]", "[::1.2.3]", "[12345::]"])
def test_brackets_hold_an_ipv6_address(host: str) -> None:
    with pytest.raises(UrlInvalid, match="IPv6"):
        read_url(f"http://{host}")


@pytest.mark.parametrize("host", ["a..b", ".a", "a.", "-a", "a-", "a" * 64, ".".join(["abc"] * 70)])
def test_a_malformed_host_name_is_refused(host: str) -> None:
    with pytest.raises(UrlInvalid, match="host name"):
        read_url(f"http://{host}")


def test_an_endless_url_is_refused() -> None:
    with pytest.raises(UrlInvalid, match="longer than"):
        read_url("http://host/" + "a" * LENGTH_MAX)


@given(st.text(max_size=60))
def test_no_complaint_repeats_the_text(text: str) -> None:
    secret = "s3cr3t-password"
    with pytest.raises(UrlInvalid) as caught:
        read_url(f"https://user:{secret}@host/{text}")
    assert secret not in str(caught.value)


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "169.254.0.1",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "[::ffff:169.254.169.254]",
        "100.100.100.200",
        "0.0.0.0",
        "[::]",
        "224.0.0.1",
        "[ff02::1]",
        "metadata.google.internal",
        "Metadata",
    ],
)
def test_nobody_is_sent_to_link_local_or_metadata_addresses(host: str) -> None:
    assert read_url(f"http://{host}").is_undiallable


@pytest.mark.parametrize("host", ["10.0.0.7", "127.0.0.1", "[::1]", "api.openai.com", "mac-1"])
def test_machines_and_vendors_may_be_dialled(host: str) -> None:
    assert not read_url(f"http://{host}").is_undiallable


@pytest.mark.parametrize(
    ("host", "private"),
    [
        ("10.0.0.7", True),
        ("127.0.0.1", True),
        ("[::1]", True),
        ("[::ffff:10.0.0.1]", True),
        ("192.168.1.1", True),
        ("localhost", True),
        ("gpu.localhost", True),
        ("8.8.8.8", False),
        ("[2606:4700::1111]", False),
        ("api.openai.com", False),
    ],
)
def test_a_private_literal_is_told_from_a_public_one(host: str, private: bool) -> None:
    assert read_url(f"http://{host}").is_private is private
