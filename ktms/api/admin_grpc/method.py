"""One method of the admin plane, as the door calls it, and how one says that there is nothing of that name."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.message import Message

from ktms.domain.access.actor import Actor

Request = TypeVar("Request", bound=Message)


class NotFound(Exception):
    """What the request names does not exist; the message says what."""


@dataclass(frozen=True, slots=True)
class Method:
    """One method: the class of its request, and what it does."""

    request: type[Message]
    answer: Callable[[Message, Actor], Awaitable[Message]]


def method(request: type[Request], answer: Callable[[Request, Actor], Awaitable[Message]]) -> Method:
    """Make a method of a function that takes requests of one class."""

    async def answered(message: Message, actor: Actor) -> Message:
        assert isinstance(message, request), "the door parses with the class named here"
        return await answer(message, actor)

    return Method(request, answered)
