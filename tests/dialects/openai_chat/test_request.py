"""Requests: what is read, what is refused, and that nothing but the named edits changes a byte."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktms.dialects.openai_chat.request import (
    HEAVY_BYTES,
    MAX_ANSWERS,
    MAX_MODEL_CHARS,
    MAX_TOKENS_ASKED,
    BadRequest,
    RequestBody,
    is_heavy,
    read_request,
)
from ktms.domain.call import NO_CHOICES, CallFacts, Choices, Route
from ktms.domain.placement import Placement


def chat(more: str = "") -> RequestBody:
    return read_request(f'{{"model":"m"{more}}}'.encode(), Route.CHAT)


def refused(body: bytes | str, route: Route = Route.CHAT) -> BadRequest:
    with pytest.raises(BadRequest) as caught:
        read_request(body if isinstance(body, bytes) else body.encode(), route)
    assert str(caught.value) == caught.value.message
    return caught.value


def test_the_facts_of_a_chat_request() -> None:
    body = {
        "model": "auto:high",
        "messages": [{"role": "user", "content": "hällo"}, {"role": "user", "content": [{"type": "image_url"}]}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_completion_tokens": 7,
        "n": 2,
        "ktms": {"placement": "nodes-only", "tier": "high", "interactive": True, "cache": "off"},
    }
    read = read_request(json.dumps(body).encode(), Route.CHAT)
    assert read.facts == CallFacts(
        model="auto:high",
        streamed=True,
        usage_asked=True,
        max_tokens=7,
        answers=2,
        answers_written=2,
        text_bytes=6,
        images=1,
        choices=Choices(Placement.NODES_ONLY, "high", interactive=True, cache=False),
    )
    assert read.longest_text_bytes == 6
    assert read.raw == json.dumps(body).encode()


def test_what_is_absent_or_null_has_its_default() -> None:
    nulls = "".join(
        f',"{name}":null'
        for name in ("stream", "stream_options", "max_tokens", "max_completion_tokens", "n", "ktms", "messages")
    )
    assert chat().facts == chat(nulls).facts == CallFacts(model="m")


def test_embeddings_neither_stream_nor_generate() -> None:
    body = b'{"model":"e","input":["ab","cde"],"stream":true,"n":500,"max_tokens":"x"}'
    read = read_request(body, Route.EMBEDDINGS)
    assert read.facts == CallFacts(model="e", text_bytes=5)
    assert read.longest_text_bytes == 3
    assert read.for_target("x", ask_usage=True) == body.replace(b'"e"', b'"x"')


def test_legacy_completions_count_their_prompt_and_may_only_echo() -> None:
    read = read_request(b'{"model":"m","prompt":"abc","max_tokens":0}', Route.COMPLETIONS)
    assert (read.facts.text_bytes, read.facts.max_tokens) == (3, 0)


@pytest.mark.parametrize(
    ("members", "written"),
    [
        ('"prompt":"a"', 1),
        ('"prompt":["a","b","c"]', 3),
        ('"prompt":[1,2,3]', 1),
        ('"prompt":[[1],[2]],"n":2', 4),
        ('"prompt":"a","n":2,"best_of":5', 5),
        ('"prompt":["a","b"],"best_of":5', 10),
        ('"prompt":[]', 1),
        ('"n":3', 3),
    ],
)
def test_a_legacy_completion_is_written_as_often_as_its_vendor_charges(members: str, written: int) -> None:
    read = read_request(f'{{"model":"m",{members}}}'.encode(), Route.COMPLETIONS)
    assert read.facts.answers_written == written


def test_a_chat_has_no_best_of() -> None:
    assert chat(',"n":2,"best_of":"x"').facts.answers_written == 2


@pytest.mark.parametrize("name", ["tools", "functions", "response_format", "prediction", "documents"])
def test_what_the_model_reads_beside_the_prompt_is_text_and_no_part_of_the_longest_input(name: str) -> None:
    read = chat(f',"messages":[{{"content":"ab"}}],"{name}":[{{"a":"b"}}]')
    assert (read.facts.text_bytes, read.longest_text_bytes) == (2 + len('[{"a":"b"}]'), 2)
    assert chat(f',"{name}":null').facts.text_bytes == 0


@pytest.mark.parametrize("route", [Route.COMPLETIONS, Route.EMBEDDINGS])
def test_a_missing_prompt_is_the_vendors_to_refuse(route: Route) -> None:
    assert read_request(b'{"model":"m"}', route).facts == CallFacts(model="m")


def test_the_larger_of_two_token_limits_counts() -> None:
    assert chat(',"max_tokens":5,"max_completion_tokens":3').facts.max_tokens == 5
    assert chat(',"max_tokens":5,"max_completion_tokens":9').facts.max_tokens == 9
    assert chat(',"max_tokens":5').facts.max_tokens == 5


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not valid JSON"),
        (b"[]", "must be a JSON object"),
        (b"\xef\xbb\xbf{}", "not valid JSON"),
        (b'{"model":"m"} x', "not valid JSON"),
        (b'{"model":"m","x":"\xff"}', "UTF-8"),
        (b'{"model":"a","model":"b"}', "twice"),
        (b'{"model":"a","\\u006dodel":"b"}', "twice"),
        (b'{"stream":true,"model":"a","stream":false}', "twice"),
        (b'{"model":"m","x":' + b"[" * 64 + b"]" * 64 + b"}", "nested deeper than 64"),
        (b'{"model":"m","x":' + b"[" * 9999 + b"]" * 9999 + b"}", "nested deeper than 64"),
    ],
)
def test_a_body_that_is_no_proper_object_is_refused_without_a_field(body: bytes, says: str) -> None:
    error = refused(body)
    assert says in error.message
    assert error.param is None


LONG = json.dumps("m" * (MAX_MODEL_CHARS + 1))


@pytest.mark.parametrize("model", ['""', "null", "7", '["m"]', '{"a":1}', LONG])
def test_a_wrong_model_is_refused_by_name(model: str) -> None:
    assert refused(f'{{"model":{model}}}').param == "model"


def test_a_missing_model_is_refused_by_name() -> None:
    assert refused("{}").param == "model"


def test_the_longest_model_name_is_taken() -> None:
    assert read_request(json.dumps({"model": "m" * MAX_MODEL_CHARS}).encode(), Route.CHAT).facts.answers == 1


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ('"stream":1', "stream"),
        ('"stream":"true"', "stream"),
        ('"max_tokens":0', "max_tokens"),
        ('"max_tokens":-1', "max_tokens"),
        ('"max_tokens":1.5', "max_tokens"),
        ('"max_tokens":1e2', "max_tokens"),
        ('"max_tokens":true', "max_tokens"),
        ('"max_tokens":"7"', "max_tokens"),
        ('"max_tokens":' + "9" * 5000, "max_tokens"),
        (f'"max_completion_tokens":{MAX_TOKENS_ASKED + 1}', "max_completion_tokens"),
        ('"n":0', "n"),
        (f'"n":{MAX_ANSWERS + 1}', "n"),
        ('"stream":true,"stream_options":7', "stream_options"),
        ('"stream":true,"stream_options":[]', "stream_options"),
        ('"stream":true,"stream_options":{"include_usage":true,"include_usage":false}', "stream_options"),
        ('"stream":true,"stream_options":{"include_usage":1}', "stream_options.include_usage"),
        ('"ktms":"high"', "ktms"),
        ('"ktms":{"tier":"a","tier":"b"}', "ktms"),
        ('"ktms":{"teir":"high"}', "ktms.teir"),
        ('"ktms":{"' + "x" * 100 + '":1}', "ktms." + "x" * 64),
        ('"ktms":{"placement":"moon"}', "ktms.placement"),
        ('"ktms":{"placement":1}', "ktms.placement"),
        ('"ktms":{"tier":""}', "ktms.tier"),
        ('"ktms":{"tier":1}', "ktms.tier"),
        ('"ktms":{"interactive":"yes"}', "ktms.interactive"),
        ('"ktms":{"cache":"maybe"}', "ktms.cache"),
        ('"ktms":{"cache":1}', "ktms.cache"),
    ],
)
def test_a_wrong_field_that_we_read_is_refused_by_name(more: str, param: str) -> None:
    assert refused(f'{{"model":"m",{more}}}').param == param


@pytest.mark.parametrize(
    ("spelling", "cache"), [('"on"', True), ('"off"', False), ("true", True), ("false", False)]
)
def test_the_cache_can_be_switched_in_words_and_in_flags(spelling: str, cache: bool) -> None:
    assert chat(f',"ktms":{{"cache":{spelling}}}').facts.choices == Choices(cache=cache)


def test_nulls_inside_ktms_say_nothing() -> None:
    nulls = ',"ktms":{"placement":null,"tier":null,"interactive":null,"cache":null}'
    assert chat(nulls).facts.choices == NO_CHOICES


@pytest.mark.parametrize("placement", list(Placement))
def test_placements_are_read_with_hyphen_or_underscore(placement: Placement) -> None:
    for spelling in (placement.value, placement.value.replace("_", "-")):
        assert chat(f',"ktms":{{"placement":"{spelling}"}}').facts.choices.placement is placement


@pytest.mark.parametrize("odd", ['"temperature":"hot"', '"messages":7', '"top_p":1e999', '"user":{"a":[]}'])
def test_fields_that_we_do_not_read_are_not_judged(odd: str) -> None:
    assert chat(f",{odd}").for_target("x", ask_usage=False) == f'{{"model":"x",{odd}}}'.encode()


def test_p30_unknown_fields_big_numbers_and_order_travel_untouched() -> None:
    body = (
        '{"client_metadata":{"k":"v"},"model" : "m","messages":[{"role":"user","content":"\\u00e9 \\ud83d"}],'
        '"chat_template_kwargs":{"enable_thinking":false},"seed":18446744073709551615,"temperature":0.70e0}'
    )
    want = body.replace('"m"', '"vendor/é"').encode()
    assert read_request(body.encode(), Route.CHAT).for_target("vendor/é", ask_usage=False) == want


def test_a_nested_model_and_an_escaped_name_are_told_apart() -> None:
    body = b'{"a":{"model":"m"},"\\u006dodel":"m","b\\"model":"m"}'
    want = b'{"a":{"model":"m"},"\\u006dodel":"x","b\\"model":"m"}'
    assert read_request(body, Route.CHAT).for_target("x", ask_usage=False) == want


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ('{"ktms":{},"model":"m"}', '{"model":"x"}'),
        ('{"model":"m","ktms":{"tier":"a"}}', '{"model":"x"}'),
        ('{ "ktms" : {} , "model" : "m" }', '{ "model" : "x" }'),
        ('{ "model" : "m" , "ktms" : {} , "a":1 }', '{ "model" : "x" , "a":1 }'),
        ('{"a":1,"kt\\u006ds":null,"model":"m"}', '{"a":1,"model":"x"}'),
        ('{"model":"m","a":{"ktms":1}}', '{"model":"x","a":{"ktms":1}}'),
    ],
)
def test_ktms_is_removed_with_one_comma(body: str, want: str) -> None:
    assert read_request(body.encode(), Route.CHAT).for_target("x", ask_usage=False) == want.encode()


OPTIONS_OF_ENGINES = frozenset({"options", "num_ctx", "keep_alive"})


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ('{"model":"m"}', '{"model":"x"}'),
        ('{"model":"m","num_ctx":4096}', '{"model":"x"}'),
        ('{"num_ctx":4096,"model":"m","a":1}', '{"model":"x","a":1}'),
        ('{"num_ctx":4096,"ktms":{},"keep_alive":0,"model":"m"}', '{"model":"x"}'),
        ('{"a":1,"options":{"num_ctx":4096},"num_ctx":1,"model":"m","ktms":{}}', '{"a":1,"model":"x"}'),
        ('{ "options" : {} , "model" : "m" , "keep_alive" : "1h" , "a":1 }', '{ "model" : "x" , "a":1 }'),
        ('{"\\u006fptions":null,"model":"m"}', '{"model":"x"}'),
        ('{"model":"m","a":{"num_ctx":1},"num_ctx_":2}', '{"model":"x","a":{"num_ctx":1},"num_ctx_":2}'),
    ],
)
def test_n26_members_that_a_target_must_not_see_are_removed(body: str, want: str) -> None:
    read = read_request(body.encode(), Route.CHAT)
    assert read.for_target("x", ask_usage=False, withheld=OPTIONS_OF_ENGINES) == want.encode()


def test_n26_usage_is_asked_for_beside_what_is_removed() -> None:
    read = chat(',"stream":true,"num_ctx":4096')
    want = b'{"model":"x","stream":true,"stream_options":{"include_usage":true}}'
    assert read.for_target("x", ask_usage=True, withheld=OPTIONS_OF_ENGINES) == want


def test_n26_the_next_target_gets_what_the_last_one_must_not_see() -> None:
    read = chat(',"num_ctx":4096')
    assert read.for_target("x", ask_usage=False, withheld=OPTIONS_OF_ENGINES) == b'{"model":"x"}'
    assert read.for_target("x", ask_usage=False) == b'{"model":"x","num_ctx":4096}'


@pytest.mark.parametrize(
    ("more", "want"),
    [
        ("", ',"stream_options":{"include_usage":true}'),
        (',"stream_options":null', ',"stream_options":{"include_usage":true}'),
        (',"stream_options":{}', ',"stream_options":{"include_usage":true}'),
        (',"stream_options":{ }', ',"stream_options":{"include_usage":true }'),
        (',"stream_options":{"a":1}', ',"stream_options":{"include_usage":true,"a":1}'),
        (',"stream_options":{"include_usage":false,"a":1}', ',"stream_options":{"include_usage":true,"a":1}'),
        (',"stream_options":{"a":1,"include_usage" : null}', ',"stream_options":{"a":1,"include_usage" : true}'),
        (',"ktms":{}', ',"stream_options":{"include_usage":true}'),
        (',"stream_options":{"a":1},"ktms":{}', ',"stream_options":{"include_usage":true,"a":1}'),
    ],
)
def test_usage_is_asked_for_and_other_options_are_kept(more: str, want: str) -> None:
    read = chat(f',"stream":true{more}')
    assert not read.facts.usage_asked
    assert read.for_target("x", ask_usage=True) == f'{{"model":"x","stream":true{want}}}'.encode()


def test_usage_that_the_client_asked_for_is_not_added_again() -> None:
    read = chat(',"stream":true,"stream_options":{"include_usage":true}')
    assert read.facts.usage_asked
    want = b'{"model":"x","stream":true,"stream_options":{"include_usage":true}}'
    assert read.for_target("x", ask_usage=True) == want


@pytest.mark.parametrize(
    "more", ["", ',"stream":false', ',"stream":false,"stream_options":{"include_usage":true}']
)
def test_usage_is_not_asked_for_where_nothing_streams(more: str) -> None:
    read = chat(more)
    assert not read.facts.usage_asked
    assert read.for_target("x", ask_usage=True) == f'{{"model":"x"{more}}}'.encode()


def test_a_target_without_usage_gets_no_option() -> None:
    assert chat(',"stream":true').for_target("x", ask_usage=False) == b'{"model":"x","stream":true}'


def test_the_body_for_one_target_is_made_once() -> None:
    read = chat(',"stream":true')
    first = read.for_target("x", ask_usage=True)
    assert read.for_target("x", ask_usage=True) is first
    assert read.for_target("x", ask_usage=False) != first


def test_p40_each_target_gets_the_original_with_its_own_name() -> None:
    read = chat(',"ktms":{"tier":"a"},"b":1')
    assert [read.for_target(name, ask_usage=False) for name in ("x", "y", "x")] == [
        b'{"model":"x","b":1}',
        b'{"model":"y","b":1}',
        b'{"model":"x","b":1}',
    ]


OTHERS: st.SearchStrategy[dict[str, object]] = st.dictionaries(
    st.text("x0é", max_size=2).map("x{}".format) | st.text(max_size=4).map("x{}".format),
    st.sampled_from([1, "x", None, [], {"model": "m"}, {"ktms": 1}]),
    max_size=4,
)
OPTIONS = st.sampled_from([None, {}, {"a": 1}, {"include_usage": False}, {"include_usage": True, "b": [1]}])


@settings(deadline=None)
@given(
    others=OTHERS,
    options=st.none() | st.tuples(OPTIONS),
    ktms=st.none() | st.tuples(st.sampled_from([None, {}, {"tier": "a"}])),
    order=st.permutations(["model", "stream", "stream_options", "ktms"]),
    indent=st.sampled_from([None, 1]),
    ask=st.booleans(),
    withheld=st.frozensets(st.sampled_from(["x", "x0", "x00", "xx"]), max_size=3),
)
def test_the_edited_body_means_the_same_but_for_the_named_edits(
    others: dict[str, object],
    options: tuple[object] | None,
    ktms: tuple[object] | None,
    order: list[str],
    indent: int | None,
    ask: bool,
    withheld: frozenset[str],
) -> None:
    ours: dict[str, object] = {"model": "m", "stream": True}
    if options is not None:
        ours["stream_options"] = options[0]
    if ktms is not None:
        ours["ktms"] = ktms[0]
    body = {name: value for name, value in others.items() if name not in order}
    body |= {name: ours[name] for name in order if name in ours}
    read = read_request(json.dumps(body, indent=indent).encode(), Route.CHAT)
    made = read.for_target("x", ask_usage=ask, withheld=withheld)
    want = {name: value for name, value in body.items() if name not in withheld} | {"model": "x"}
    want.pop("ktms", None)
    if ask:
        given = want.get("stream_options")
        want["stream_options"] = {**(given if isinstance(given, dict) else {}), "include_usage": True}
    assert json.loads(made) == want


def test_bodies_above_64_kb_are_heavy() -> None:
    assert not is_heavy(b"x" * HEAVY_BYTES)
    assert is_heavy(b"x" * (HEAVY_BYTES + 1))
