"""The shortcut: what fits equals what a parse says, and what could differ never fits."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktms.dialects.openai_chat.chunk import read_chunk
from ktms.dialects.openai_chat.frame import MAX_FRAME_BYTES, MAX_HOLES, Frame, learn

PLAIN = '{"id":"1","model":"gpt","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}'


def learned(payload: str, *, legacy: bool = False) -> Frame | None:
    event = f"data: {payload}\n\n".encode()
    chunk = read_chunk(payload.encode(), legacy=legacy)
    return learn(event, len("data: "), chunk, legacy=legacy, model=b'"public"')


def with_content(raw: bytes) -> bytes:
    return b"data: " + PLAIN.encode().replace(b'"a"', b'"' + raw + b'"') + b"\n\n"


@settings(deadline=None)
@given(text=st.text(), ascii_only=st.booleans())
def test_any_text_fits_and_is_seen_as_a_parse_sees_it(text: str, ascii_only: bool) -> None:
    frame = learned(PLAIN)
    assert frame is not None
    event = with_content(json.dumps(text, ensure_ascii=ascii_only)[1:-1].encode("utf-8", "surrogatepass"))
    chunk = read_chunk(event[6:], legacy=False)
    fit = frame.fit(event)
    assert fit is not None
    assert fit.edited == event.replace(b'"model":"gpt"', b'"model":"public"', 1)
    assert (fit.visible, fit.text_bytes, fit.usage) == (chunk.visible, chunk.text_bytes, None)


@pytest.mark.parametrize(
    "raw",
    [
        b'a"},"finish_reason":"stop"},{"delta":{"content":"b',
        b'a","model":"b',
        b"a\\",
        b"a\n",
        b"a\x01",
        b'a"',
    ],
)
def test_nothing_but_a_whole_string_fits_a_hole(raw: bytes) -> None:
    frame = learned(PLAIN)
    assert frame is not None
    assert frame.fit(with_content(raw)) is None


@pytest.mark.parametrize(
    "change",
    [
        ("null}", '"stop"}'),
        ("gpt", "gpt-5"),
        ('"id":"1"', '"id":"2"'),
        ("}]}", '}],"error":{"code":1}}'),
        ("}]}", '}],"usage":{"prompt_tokens":1}}'),
        ('"model"', '"mo\\u0064el"'),
        ("data: ", "data:"),
        ("\n\n", "\r\n\r\n"),
        ("\n\n", "\n\ndata: {}\n\n"),
    ],
)
def test_any_other_difference_does_not_fit(change: tuple[str, str]) -> None:
    frame = learned(PLAIN)
    assert frame is not None
    assert frame.fit(with_content(b"a").replace(change[0].encode(), change[1].encode(), 1)) is None


USAGE = PLAIN.replace("}]}", '}],"usage":{"prompt_tokens":1,"details":{"a":2}},"obfuscation":"x"}')


@pytest.mark.parametrize("usage", ['{"prompt_tokens":77}', "{}", '{"a":{"b":1},"c":{"d":2}}', '{"text":"x"}'])
def test_running_usage_and_padding_may_vary(usage: str) -> None:
    frame = learned(USAGE)
    assert frame is not None
    event = f"data: {USAGE}\n\n".replace('{"prompt_tokens":1,"details":{"a":2}}', usage).replace('"x"', '"yy"')
    fit = frame.fit(event.encode())
    assert fit is not None
    assert fit.usage == usage.replace('"x"', '"yy"').encode()


@pytest.mark.parametrize(
    "usage", ["null", "7", '{"a":{"b":{"c":1}}}', '{"a":"}"}', '{"a":"\\u0041"}', '{"a":"{"}']
)
def test_usage_that_is_no_flat_object_does_not_fit(usage: str) -> None:
    frame = learned(USAGE)
    assert frame is not None
    event = f"data: {USAGE}\n\n".replace('{"prompt_tokens":1,"details":{"a":2}}', usage)
    assert frame.fit(event.encode()) is None


def test_the_name_is_found_before_between_and_behind_the_holes() -> None:
    choices = '"choices":[{"delta":{"content":"a","reasoning":"b"}}]'
    for payload in (
        f'{{"model":"gpt",{choices}}}',
        f'{{{choices},"model":"gpt"}}',
        f'{{{choices},"model":"gpt","obfuscation":"c"}}',
        f'{{{choices},"obfuscation":"c","model":"gpt"}}',
    ):
        frame = learned(payload)
        assert frame is not None
        event = (
            f"data: {payload}\n\n".replace('"a"', '"abc"').replace('"b"', '""').replace('"c"', '"cccc"').encode()
        )
        fit = frame.fit(event)
        assert fit is not None
        assert fit.edited == event.replace(b"gpt", b"public")


def test_without_a_name_nothing_is_put_in() -> None:
    payload = '{"choices":[{"delta":{"content":"a"}}]}'
    frame = learned(payload)
    assert frame is not None
    event = f"data: {payload}\n\n".encode()
    fit = frame.fit(event)
    assert fit is not None
    assert fit.edited == event


def test_fixed_parts_of_a_delta_stay_visible() -> None:
    payload = '{"choices":[{"delta":{"content":"a","audio":{"id":"x"},"name":"tool"}}]}'
    frame = learned(payload)
    assert frame is not None
    fit = frame.fit(f"data: {payload}\n\n".replace('"a"', '""').encode())
    assert fit is not None
    assert (fit.visible, fit.text_bytes) == (True, len("tool"))


@pytest.mark.parametrize(
    "payload",
    [
        PLAIN.replace("null}", '"stop"}'),  # finishes
        PLAIN.replace('"a"', '""'),  # shows nothing
        PLAIN.replace('{"content":"a"}', '{"audio":{"id":"a"}}'),  # no string to vary
        PLAIN.replace('{"content":"a"}', '{"name":"a"}'),
        PLAIN.replace("}]}", '}],"error":{"code":1}}'),
        PLAIN.replace('"content":"a"', '"content":"a","content":"b"'),  # one of two holes is not counted
        PLAIN.replace("}]}", '}],"text":"elsewhere"}'),
        PLAIN.replace('"content":"a"', '"content":"a","obfuscation":"b"'),  # padding that would count
        PLAIN.replace('"gpt"', '{"text":"gpt"}'),
        PLAIN.replace('"gpt"', '{"obfuscation":"gpt"}'),
        PLAIN.replace('"gpt"', '[{"usage":{"a":1}}]').replace("}]}", '}],"usage":{"a":1}}'),
        PLAIN.replace("}]}", '}],"x":{"usage":{"a":1}},"usage":{"a":1}}'),  # which of the two?
        PLAIN.replace('"content":"a"', ",".join(f'"x{n}":{{"text":"a"}}' for n in range(MAX_HOLES + 1))),
        PLAIN.replace('"a"', '"' + "a" * MAX_FRAME_BYTES + '"'),
    ],
)
def test_what_makes_no_good_frame_is_not_learned(payload: str) -> None:
    assert learned(payload) is None


def test_a_foreign_usage_beside_ours_is_a_fixed_part() -> None:
    payload = PLAIN.replace("}]}", '}],"x":{"usage":{"b":2}},"usage":{"a":1}}')
    frame = learned(payload)
    assert frame is not None
    fit = frame.fit(f"data: {payload}\n\n".replace('{"a":1}', '{"a":9}').encode())
    assert fit is not None
    assert fit.usage == b'{"a":9}'
    assert frame.fit(f"data: {payload}\n\n".replace('{"b":2}', '{"b":9}').encode()) is None


def test_legacy_text_is_learned_on_its_own_route_only() -> None:
    payload = '{"choices":[{"text":"a"}]}'
    assert learned(payload, legacy=True) is not None
    assert learned(payload) is None
