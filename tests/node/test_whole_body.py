import aiohttp
import pytest

from ktms.node.whole_body import whole_body
from tests.node.fakes.wires import answer_of, answering


@pytest.mark.parametrize(("most", "given"), [(100, b"onetwothree"), (11, b"onetwothree"), (5, b"onetw")])
async def test_an_answer_in_pieces_is_read_to_its_end_or_to_the_bound(
    session: aiohttp.ClientSession, most: int, given: bytes
) -> None:
    head, _ = answer_of(b"onetwothree")
    async with answering(head, b"one", b"two", b"three") as url, session.get(url) as answer:
        assert await whole_body(answer, most) == given
