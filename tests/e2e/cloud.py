"""A cloud vendor for processes under test: the mock vendor of `tests/world` on a thread and loop of its own.

What it does follows from what the user says, the last message or the prompt: `slow` sends one word and goes on when
told, `hang` sends one word and never ends, `fail` is a 500; everything else is answered at once.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from tests.world.events import C, DONE, F, U, chat_answer, completion_answer, embeddings_answer, role
from tests.world.http_message import SeenRequest
from tests.world.real import RealGround
from tests.world.script import Step, answer, chunk, end, head, hold, status, stream, wait
from tests.world.vendor import MockVendor

T = TypeVar("T")

GO_ON = "go on"
WORD = "cloudy"
