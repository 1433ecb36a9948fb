import json

import pytest

from ktms.dialects.openai_chat.batch_request import read_batch_request
from ktms.dialects.openai_chat.request import BadRequest
from ktms.domain.call import Route

FILE = f"file-{'0' * 32}"
GOOD = {"input_file_id": FILE, "endpoint": "/v1/embeddings", "completion_window": "24h"}


def read(**changes: object) -> object:
    return read_batch_request(json.dumps({**GOOD, **changes}).encode())


def param_of(raw: bytes) -> str | None:
    with pytest.raises(BadRequest) as found:
        read_batch_request(raw)
    return found.value.param


def test_a_request_is_read() -> None:
    wanted = read_batch_request(json.dumps({**GOOD, "metadata": {"a": "b"}}).encode())
    assert (wanted.input_file, wanted.route, wanted.metadata) == (FILE, Route.EMBEDDINGS, {"a": "b"})


@pytest.mark.parametrize("metadata", [None, {}])
def test_metadata_may_be_absent(metadata: object) -> None:
    assert read(metadata=metadata) == read()


def test_a_file_that_cannot_exist_is_for_the_door_to_refuse() -> None:
    assert read_batch_request(json.dumps({**GOOD, "input_file_id": "x"}).encode()).input_file is None


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'{"a":' + b"[" * 2000 + b"]" * 2000 + b"}", b'{"a":1,"a":1}'])
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    assert param_of(raw) is None


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"other": 1}, "other"),
        ({"input_file_id": 1}, "input_file_id"),
        ({"endpoint": None}, "endpoint"),
        ({"endpoint": "/v1/x"}, "endpoint"),
        ({"completion_window": 24}, "completion_window"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"a": None}}, "metadata"),
        ({"metadata": {"x" * 65: "a"}}, "metadata"),
        ({"metadata": {"a": "x" * 513}}, "metadata"),
        ({"metadata": {"a": "\0"}}, "metadata"),
        ({"metadata": {str(number): "" for number in range(17)}}, "metadata"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, object], param: str) -> None:
    assert param_of(json.dumps({**GOOD, **change}).encode()) == param


@pytest.mark.parametrize("name", ["input_file_id", "metadata"])
@pytest.mark.parametrize("number", [b"1e999", b"9" * 400])
def test_a_number_beyond_all_bounds_is_refused(name: str, number: bytes) -> None:
    others = json.dumps({other: value for other, value in GOOD.items() if other != name})
    for value in (number, b"[%b]" % number):
        assert param_of(b'%b,"%b":%b}' % (others[:-1].encode(), name.encode(), value)) == name
