import json

import pytest

from ktms.domain.catalogue import EngineKind
from ktms.node.filter.body import DROPPED, EngineBody, engine_body
from ktms.node.filter.refused import Refused

ASKED = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def made(members: object, *, engine: EngineKind = EngineKind.OLLAMA) -> EngineBody | Refused:
    raw = members if isinstance(members, bytes) else json.dumps(members).encode()
    return engine_body(raw, {"m": "m", "m:latest": "m"}.get, engine)


def kept(members: object) -> object:
    """Give what the engine gets."""
    body = made(members)
    assert isinstance(body, EngineBody)
    return json.loads(body.text)


def status(members: object, *, engine: EngineKind = EngineKind.OLLAMA) -> int:
    body = made(members, engine=engine)
    return body.status if isinstance(body, Refused) else 200


def saying(content: object) -> dict[str, object]:
    return {**ASKED, "messages": [{"role": "system", "content": "x"}, {"role": "user", "content": content}]}


def test_what_openai_knows_goes_through() -> None:
    full = {
        **ASKED,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"image_url": "http://x"}}}],
        "temperature": 0.1,
        "top_k": 40,
        "max_tokens": 2**53,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    assert kept(full) == full


def test_the_engines_own_name_of_the_model_is_sent() -> None:
    assert kept({**ASKED, "model": "m:latest"}) == ASKED


@pytest.mark.parametrize("name", sorted(DROPPED))
def test_what_is_for_the_owner_is_dropped(name: str) -> None:
    assert kept({**ASKED, name: {"num_ctx": 1}}) == ASKED


@pytest.mark.parametrize(
    "name", ["Options", "KEEP_ALIVE", "num_Ctx", "optionſ", "Keep_alive", "Stream", "a-b", ""]
)
def test_a_name_that_go_would_read_as_another_is_dropped(name: str) -> None:
    assert kept({**ASKED, name: 1}) == ASKED


def test_a_second_model_under_another_case_is_dropped() -> None:
    assert kept(b'{"model":"m","Model":"x:cloud","MODEL":"y:cloud","messages":[]}') == {
        "model": "m",
        "messages": [],
    }


def test_a_name_that_is_given_twice_has_one_value_for_all() -> None:
    assert status(b'{"model":"m","model":"other"}') == 404
    assert kept(b'{"model":"other","model":"m"}') == {"model": "m"}


@pytest.mark.parametrize("name", [None, 1, "", [], {"m": "m"}])
def test_a_body_without_a_model_is_refused(name: object) -> None:
    assert status({**ASKED, "model": name}) == 400


@pytest.mark.parametrize("name", ["other", "M", "m ", "m:cloud", "m-cloud", "m:1b-Cloud"])
def test_a_model_that_is_not_served_is_refused(name: str) -> None:
    assert status({**ASKED, "model": name}) == 404


def test_a_stub_for_a_cloud_is_refused_even_where_the_engine_lists_it() -> None:
    told = engine_body(b'{"model":"m:cloud"}', lambda name: name, EngineKind.OLLAMA)
    assert isinstance(told, Refused)


BROKEN = [b"", b"null", b'"m"', b"{", b'{"model":"m",}', b"\xff\xfe{}", b'{"model":"m","x":Infinity}', b"{}{}"]


@pytest.mark.parametrize("raw", [*BROKEN, b'{"model":"m","x":1e999}', b'{"model":"m","x":' + b"9" * 5000 + b"}"])
def test_what_is_no_json_object_is_refused(raw: bytes) -> None:
    assert status(raw) == 400


def test_what_is_nested_without_end_is_refused() -> None:
    assert status(b'{"model":"m","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}") == 400


def test_half_a_character_goes_through() -> None:
    assert kept(b'{"model":"m","x":"\\ud83d"}') == {"model": "m", "x": "\ud83d"}


def test_a_stream_is_what_is_asked_for_with_true() -> None:
    for asked, streams in ((True, True), (False, False), (None, False), (1, False), ("true", False)):
        body = made({**ASKED, "stream": asked})
        assert isinstance(body, EngineBody)
        assert body.streams is streams


REMOTE: dict[str, object] = {
    "a URL": {"type": "image_url", "image_url": {"url": "http://10.0.0.1/"}},
    "a URL with TLS": {"type": "image_url", "image_url": {"url": "https://x/"}},
    "a URL of its own": {"type": "image_url", "image_url": "http://x/"},
    "a URL without a type": {"image_url": "http://x/"},
    "capital letters": {"type": "image_url", "Image_URL": {"URL": "HTTP://x/"}},
    "a file": {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}},
    "a path": {"type": "image_url", "image_url": {"url": "/etc/passwd"}},
    "a space before": {"type": "image_url", "image_url": {"url": " http://x/"}},
    "a sound": {"type": "audio_url", "audio_url": {"url": "http://x/"}},
    "a film": {"type": "video_url", "video_url": {"url": "gopher://x/"}},
    "deeper": {"type": "x", "x": [[{"image_url": "http://x/"}]]},
    "a vector": {"type": "image_embeds", "image_embeds": "gASV"},
}


@pytest.mark.parametrize("row", REMOTE)
def test_what_an_engine_would_fetch_is_refused(row: str) -> None:
    assert status(saying([{"type": "text", "text": "look"}, REMOTE[row]])) == 400
    assert status({**ASKED, "messages": [{"role": "user", "Content": [REMOTE[row]]}]}) == 400


LOCAL: dict[str, object] = {
    "a picture": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}],
    "a picture in capital letters": [{"type": "image_url", "image_url": {"url": "DATA:image/png;base64,AAAA"}}],
    "a sound": [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}],
    "a text about a URL": "see http://example.com/x.png",
    "a text in a part": [{"type": "text", "text": "![](https://example.com/x.png)"}],
    "nothing": None,
}


@pytest.mark.parametrize("row", LOCAL)
def test_what_lies_in_the_body_passes(row: str) -> None:
    assert kept(saying(LOCAL[row])) == saying(LOCAL[row])


def test_sources_beside_a_message_are_no_pictures() -> None:
    cited = {"role": "assistant", "content": "x", "annotations": [{"url_citation": {"url": "https://x/"}}]}
    assert status({**ASKED, "messages": [cited]}) == 200


@pytest.mark.parametrize("messages", [None, "x", {}, ["x"], [None]])
def test_messages_of_another_shape_are_the_engines_to_judge(messages: object) -> None:
    assert status({**ASKED, "messages": messages}) == 200


FETCHED: dict[str, object] = {
    "in a text": "look: ![](http://10.0.0.1/x.png)",
    "in a part": [{"type": "text", "text": "![](HTTPS://x)"}],
    "in two parts": [{"type": "text", "text": "![]("}, {"type": "text", "text": "http://x)"}],
}


@pytest.mark.parametrize("row", FETCHED)
def test_a_picture_that_a_text_names_is_refused_where_the_engine_would_fetch_it(row: str) -> None:
    assert status(saying(FETCHED[row]), engine=EngineKind.TGI) == 400
    assert status(saying(FETCHED[row]), engine=EngineKind.VLLM) == 200


def test_a_picture_that_a_text_holds_passes_there() -> None:
    assert status(saying("![](data:image/png;base64,AAAA)"), engine=EngineKind.TGI) == 200
    assert status(saying([{"type": "x"}, "y", {"text": "![alt](http://x)"}]), engine=EngineKind.TGI) == 200
