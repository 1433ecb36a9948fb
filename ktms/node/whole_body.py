"""The body of an answer, whole but bounded: a way hands it over in as many pieces as it likes.

Not here: what is in it (`plain_json.py`).
"""

import aiohttp


async def whole_body(answer: aiohttp.ClientResponse, most_bytes: int) -> bytes:
    """Read it to its end, or to the bound; of what is longer the beginning is given."""
    body = bytearray()
    async for piece in answer.content.iter_any():
        body += piece
        if len(body) >= most_bytes:
            answer.close()
            break
    return bytes(body[:most_bytes])
