"""What a vendor's message may carry to a client."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.routing.scrub import PART_MIN_CHARS, SHOWN_MAX_CHARS, scrub, without


@pytest.mark.parametrize(
    "message",
    [
        "The model `x` does not exist.",
        "This model's maximum context length is 8192 tokens (got 9000).",
        "Invalid value for 'temperature': -5, see https://platform.openai.com/docs/errors.",
        "max_tokens=5 is too small; an internal error happened on the local side",
        "at 12:30:45 the ratio was 3.14",
        "Ungültig: 한글🙂",
    ],
)
def test_ordinary_words_stay(message: str) -> None:
    assert scrub(message) == message


SECRETS = [
    "sk-proj-abcdef1234567890",
    "sk-abc***xyz1",
    "ktms_sk_0123456789_abcdef",
    "gsk_abcdef1234567890",
    "AIzaSyA1234567890abcdef",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
    "10.0.0.7:8790",
    "192.168.1.20",
    "127.0.0.1:11434",
    "[::1]:8080",
    "fe80::1ff:fe23:4567:890a",
    "2001:db8:1:2:3:4:5:6",
    "localhost:8000",
    "gpu-1.cluster.local",
    "db.corp.internal:5432",
    "vllm.default:8000",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("frame", ["{}", "connect to {} failed", "'{}'", "({})", "x: {}, retry"])
def test_credentials_and_internal_addresses_are_taken_away(secret: str, frame: str) -> None:
    shown = scrub(frame.format(secret))

    assert secret not in shown
    assert "[…]" in shown


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("https://user:pass@vendor.com/v1 failed", "https://[…]@vendor.com/v1 failed"),
        ("got Bearer abcdef123456.", "got Bearer […]"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic […]"),
        ("GET https://v.com/?api_key=abc&x=1", "GET https://v.com/?api_key=[…]&x=1"),
        ("http://vllm:8000/v1/models is away", "http://[…]/v1/models is away"),
        ("http://vllm is away", "http://[…] is away"),
        ("one\r\ntwo\x00three", "one two three"),
        ("  padded  ", "padded"),
        ("", ""),
    ],
)
def test_the_rest_of_the_message_stays_readable(message: str, shown: str) -> None:
    assert scrub(message) == shown


def test_a_long_message_is_cut() -> None:
    shown = scrub("word " * 200)

    assert len(shown) == SHOWN_MAX_CHARS == 300
    assert shown.endswith("…")


def test_a_message_that_just_fits_is_not_cut() -> None:
    assert scrub("x" * 300) == "x" * 300


def test_a_secret_across_the_reading_limit_is_not_shown_in_half() -> None:
    shown = scrub("sk-proj-abcdef1234567890 " * 163 + " " * 10 + "sk-livesecretlivesecret" * 100)

    assert "livesecret" not in shown


def test_an_endless_word_is_not_shown_at_all() -> None:
    assert scrub("x" * 10_000) == ""


@given(st.text(max_size=600))
def test_a_message_is_one_line_and_never_too_long(message: str) -> None:
    shown = scrub(message)

    assert len(shown) <= SHOWN_MAX_CHARS
    assert not any(character in shown for character in "\r\n\x00\u2028")


@given(st.text(max_size=80), st.sampled_from(SECRETS), st.text(max_size=80))
def test_a_secret_between_any_words_is_taken_away(before: str, secret: str, after: str) -> None:
    assert secret not in scrub(f"{before} {secret} {after}")


@pytest.mark.parametrize("piece", ["a.", "a:", "1.", "::", "http://", "sk-", "[:", "ab:", "a-b_c.", "://@"])
def test_no_message_takes_long(piece: str) -> None:
    began = time.process_time()
    scrub(piece * 5000)
    scrub(f"{piece * 2000} end")

    assert time.process_time() - began < 0.5


KNOWN = "0a1b2c3d4e5f60718293"


def test_a_known_secret_of_no_known_form_is_taken_out_everywhere() -> None:
    assert without(f"{KNOWN} is bad: {KNOWN}", KNOWN) == "[…] is bad: […]"


@pytest.mark.parametrize("ending", ["", "…"])
def test_what_was_cut_amid_a_known_secret_shows_nothing_of_it(ending: str) -> None:
    for length in range(PART_MIN_CHARS, len(KNOWN)):
        assert without(f"bad key {KNOWN[:length]}{ending}", KNOWN) == "bad key […]"


def test_a_text_without_the_secret_stays_as_it_is() -> None:
    assert without("no such model…", KNOWN) == "no such model…"
