"""Files: forms in any pieces and any order, contents in pieces, nothing left of what breaks off."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

import openai
import pytest
from openai import AsyncOpenAI

from ktms.api.body import BodyLimits
from ktms.api.openai.upload import NAME_CHARS_MAX
from ktms.app.batch_parts import BatchSettings
from ktms.app.gateway import GatewaySettings
from ktms.domain.batch.batch import KEEP_S
from ktms.ports.file_store import PIECE_BYTES, PIECES_AT_ONCE
from tests.api.house import BEARER, House, house_of
from tests.api.openai.test_batches import jsonl, line, sdk_of
from tests.api.wire_client import Answer, ask, connected, request

EDGE = "XedgeX"
FORM = f"Content-Type: multipart/form-data; boundary={EDGE}"
SMALL_MAX = 4 * PIECE_BYTES


def part(name: str, value: bytes, file_name: str | None = None) -> bytes:
    given = "" if file_name is None else f'; filename="{file_name}"'
    head = f'--{EDGE}\r\nContent-Disposition: form-data; name="{name}"{given}\r\n\r\n'
    return head.encode() + value + b"\r\n"


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + f"--{EDGE}--\r\n".encode()


class _Vanishing(dict[int, bytes]):
    """Pieces that are there when they are counted, and half of them not when they are read."""

    def __iter__(self) -> Iterator[int]:
        return (number for number in super().__iter__() if number < len(self) // 2)


PURPOSE = part("purpose", b"batch")
FILE = part("file", b"content", "a.jsonl")


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not true():  # noqa: ASYNC110 - the shelf tells nobody
            await asyncio.sleep(0)


async def upload(house: House, body: bytes, header: str = FORM) -> Answer:
    return await house.post(body, header, target="/v1/files")


@pytest.fixture
async def small() -> AsyncIterator[House]:
    """A gateway that takes no large files, and no slow ones."""
    settings = GatewaySettings(batches=BatchSettings(file_max_bytes=SMALL_MAX), body=BodyLimits(total_s=0.2))
    async with house_of(settings) as house:
        yield house


@pytest.fixture
async def sdk(house: House) -> AsyncIterator[AsyncOpenAI]:
    async with sdk_of(house) as made:
        yield made


async def test_a_file_comes_back_byte_for_byte(house: House, sdk: AsyncOpenAI) -> None:
    content = bytes(range(256)) * 1500  # more than one piece, and every byte there is
    file = await sdk.files.create(file=("night.jsonl", content), purpose="batch")
    assert (file.object, file.filename, file.purpose, file.bytes) == ("file", "night.jsonl", "batch", len(content))
    assert file.expires_at is not None
    assert file.expires_at - file.created_at == pytest.approx(KEEP_S, abs=1)
    assert await sdk.files.retrieve(file.id) == file
    assert (await sdk.files.content(file.id)).content == content
    assert len(house.shelf.files[file.id].pieces) == len(content) // PIECE_BYTES + 1  # type: ignore[index]  # an id is a text


async def test_a_large_file_comes_back_whole_on_a_connection_that_stays(house: House) -> None:
    content = b"".join(number.to_bytes(4, "big") for number in range(PIECE_BYTES * (2 * PIECES_AT_ONCE + 1) // 4))
    stored = await upload(house, form(PURPOSE, part("file", content, "a")))
    async with connected(house.port) as client:
        for _ in range(2):
            await client.send(request(f"/v1/files/{stored.json['id']}/content", headers=(BEARER,)))
            answer = await client.answer()
            assert (answer.status, answer.body == content) == (200, True)


async def test_files_are_listed_page_by_page_in_either_order(house: House, sdk: AsyncOpenAI) -> None:
    names = [(await sdk.files.create(file=("a", b"x"), purpose="batch")).id for _ in range(4)]
    assert house.shelf.files
    assert [each.id async for each in await sdk.files.list(limit=2)] == names[::-1]
    assert [each.id async for each in await sdk.files.list(limit=3, order="asc")] == names
    assert (await sdk.files.list(purpose="assistants")).data == []


async def test_a_deleted_file_is_gone(sdk: AsyncOpenAI) -> None:
    file = await sdk.files.create(file=("a", b"x"), purpose="batch")
    deleted = await sdk.files.delete(file.id)
    assert (deleted.id, deleted.deleted) == (file.id, True)
    for gone in (sdk.files.retrieve(file.id), sdk.files.content(file.id), sdk.files.delete(file.id)):
        with pytest.raises(openai.NotFoundError):
            await gone


async def test_a_file_that_a_batch_needs_is_not_deleted(sdk: AsyncOpenAI) -> None:
    file = await sdk.files.create(file=("a", jsonl(line("a"))), purpose="batch")
    await sdk.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    with pytest.raises(openai.ConflictError):
        await sdk.files.delete(file.id)


async def test_a_file_may_be_kept_for_less(sdk: AsyncOpenAI) -> None:
    file = await sdk.files.create(
        file=("a", b"x"), purpose="batch", expires_after={"anchor": "created_at", "seconds": 3600}
    )
    assert file.expires_at == pytest.approx(file.created_at + 3600, abs=1)


@pytest.mark.parametrize("body", [form(PURPOSE, FILE), form(FILE, PURPOSE), form(part("x", b"y"), PURPOSE, FILE)])
async def test_fields_come_in_any_order(house: House, body: bytes) -> None:
    answer = await upload(house, body)
    assert (answer.status, answer.json["bytes"], answer.json["filename"]) == (200, 7, "a.jsonl")


@pytest.mark.parametrize("size", [1, 7, 4096])
async def test_a_form_in_pieces_is_the_same_form(house: House, size: int) -> None:
    content = b"\r\n--Xedge\r\n--XedgeY" * 50
    body = form(PURPOSE, part("file", content, "a"))
    async with connected(house.port) as client:
        head = request("/v1/files", method="POST", headers=(BEARER, FORM, f"Content-Length: {len(body)}"))
        await client.send(head, *(body[at : at + size] for at in range(0, len(body), size)))
        answer = await client.answer()
    assert answer.json["bytes"] == len(content)
    assert (await house.get(f"/v1/files/{answer.json['id']}/content")).body == content


async def test_a_file_without_a_name_that_can_be_shown_gets_one(house: House) -> None:
    for given, shown in (("", "file"), ("a\x07b", "a?b"), ("x" * 300, "x" * NAME_CHARS_MAX), ('a\\"b', 'a"b')):
        answer = await upload(house, form(PURPOSE, part("file", b"", given)))
        assert answer.json["filename"] == shown


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (form(PURPOSE), "file"),
        (form(FILE), "purpose"),
        (form(part("purpose", b"assistants"), FILE), "purpose"),
        (form(FILE, part("purpose", b"assistants")), "purpose"),
        (form(PURPOSE, part("upload", b"x", "a")), "file"),
        (form(PURPOSE, FILE, FILE), "file"),
        (form(PURPOSE, PURPOSE, FILE), None),
        (form(part("purpose", b"b" * 2000), FILE), None),
        (form(PURPOSE, part("expires_after[seconds]", b"1"), FILE), "expires_after[seconds]"),
        (form(PURPOSE, part("expires_after[seconds]", b"x"), FILE), "expires_after[seconds]"),
        (form(PURPOSE, part("expires_after[anchor]", b"x"), FILE), "expires_after[anchor]"),
        (PURPOSE + FILE, None),
        (b"no form", None),
        (form(b"--" + EDGE.encode() + b"\r\nX: y\r\n\r\nz\r\n"), None),
        (form(b"--" + EDGE.encode() + b"\r\n" + b"X" * 9000), None),
        (form(*(part(f"f{number}", b"") for number in range(20))), None),
        (b"--" + EDGE.encode() + b"junk\r\n\r\n", None),
    ],
)
async def test_what_is_no_such_form_is_refused_and_leaves_nothing(
    house: House, body: bytes, param: str | None
) -> None:
    answer = await upload(house, body)
    assert (answer.status, answer.code, answer.json["error"]["param"]) == (400, "invalid_request", param)
    assert house.shelf.files == {}


@pytest.mark.parametrize(
    "header",
    [
        "Content-Type: application/json",
        "X: y",
        "Content-Type: multipart/form-data",
        f"Content-Type: multipart/form-data; boundary={'x' * 71}",
    ],
)
async def test_a_body_that_is_no_form_is_refused(house: House, header: str) -> None:
    answer = await upload(house, form(PURPOSE, FILE), header)
    assert (answer.status, answer.json["error"]["param"]) == (400, "Content-Type")


async def test_a_compressed_form_is_refused(house: House) -> None:
    body = form(PURPOSE, FILE)
    sent = request("/v1/files", method="POST", headers=(BEARER, FORM, "Content-Encoding: gzip"), body=body)
    assert (await ask(house.port, sent)).status == 415


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_file_beyond_the_limit_is_refused_in_clear_words(small: House, chunked: bool) -> None:
    body = form(PURPOSE, part("file", b"x" * (SMALL_MAX + 1), "a"))
    if chunked:
        async with connected(small.port) as client:
            head = request("/v1/files", method="POST", headers=(BEARER, FORM, "Transfer-Encoding: chunked"))
            await client.send(head, b"%x\r\n%b\r\n" % (len(body), body), b"0\r\n\r\n")
            answer = await client.answer()
    else:
        answer = await upload(small, body)
    assert (answer.status, answer.code) == (413, "request_too_large")
    assert "larger than 0 MB; split it" in answer.message
    assert small.shelf.files == {}


async def test_a_length_beyond_the_limit_is_refused_before_anything_is_read(small: House) -> None:
    async with connected(small.port) as client:
        headers = (BEARER, FORM, f"Content-Length: {10**9}")
        await client.send(request("/v1/files", method="POST", headers=headers))
        assert (await client.answer()).status == 413


async def test_an_upload_that_stands_still_ends_and_leaves_nothing(small: House) -> None:
    async with connected(small.port) as client:
        headers = (BEARER, FORM, "Content-Length: 1000")
        await client.send(request("/v1/files", method="POST", headers=headers), PURPOSE, FILE[:-4])
        answer = await client.answer()
    assert (answer.status, answer.code) == (408, "request_timeout")
    assert small.shelf.files == {}


async def test_a_client_that_leaves_in_the_middle_leaves_nothing(house: House) -> None:
    async with connected(house.port) as client:
        headers = (BEARER, FORM, "Content-Length: 2000000")
        beginning = PURPOSE + part("file", b"x" * 70_000, "a")[:-2]
        await client.send(request("/v1/files", method="POST", headers=headers), beginning)
        await until(lambda: bool(house.shelf.files))
    await until(lambda: not house.shelf.files)
    assert house.telemetry.in_flight == 0
    (record,) = house.telemetry.calls
    assert (record.status, record.cancelled) == (499, True)


async def test_an_upload_while_the_store_goes_away_is_told_so(house: House) -> None:
    assert (await house.get("/v1/files")).status == 200
    house.store.away = True
    answer = await upload(house, form(PURPOSE, FILE))
    assert (answer.status, answer.code) == (503, "store_unavailable")
    house.store.away = False
    assert house.shelf.files == {}


async def test_a_content_that_cannot_be_read_to_its_end_is_cut_off(house: House) -> None:
    made = await upload(house, form(PURPOSE, part("file", b"x" * (40 * PIECE_BYTES), "a")))
    row = house.shelf.files[made.json["id"]]
    sizes = (40 * PIECE_BYTES, *(len(piece) for piece in row.pieces.values()))
    assert sizes[0] == sum(sizes[1:])
    row.pieces = _Vanishing(row.pieces)
    with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
        await house.get(f"/v1/files/{made.json['id']}/content")


@pytest.mark.parametrize(
    "target", ["?limit=0", "?limit=1001", "?order=up", "?after=x", "?limit=%C2%B2", "?purpose=%00"]
)
async def test_a_wrong_page_is_refused(house: House, target: str) -> None:
    assert (await house.get(f"/v1/files{target}")).status == 400


@pytest.mark.parametrize("tail", ["file-1", f"file-{'0' * 32}", f"file-{'0' * 32}/content", "", "x/y/z"])
async def test_what_is_no_file_is_not_found(house: House, tail: str) -> None:
    answer = await house.get(f"/v1/files/{tail}")
    assert (answer.status, answer.code) == (404, "not_found")


async def test_a_replica_that_leaves_takes_no_more_files(house: House) -> None:
    house.gateway._drain.close()
    answer = await upload(house, form(PURPOSE, FILE))
    assert (answer.status, answer.code) == (503, "draining")


async def test_prompts_of_a_batch_are_in_no_log(house: House) -> None:
    canary = "canary-of-a-batch"
    body = jsonl(line("a", messages=[{"role": "user", "content": canary}]))
    await upload(house, form(PURPOSE, part("file", body, "a")))
    assert canary not in repr(house.telemetry.events) + repr(house.telemetry.calls)
