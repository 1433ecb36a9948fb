"""Client keys of a stand, made by `ktms admin keys create` as an operator makes them.

Their tokens are secrets of the run. Not here: their limits (options of the command).
"""

import asyncio
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass

from chaos.stand.gateway import WORLD, Gateway
from chaos.stand.key_form import stranger_key
from chaos.stand.process import ProcessFailed
from chaos.stand.run_journal import RunJournal
from chaos.stand.settings import KeyWish

STRANGER = "stranger"
"""The name of a key that nobody has made."""

STRANGERS = 200
"""Who was refused is remembered for a while: so many are refused for the first time."""


@dataclass(frozen=True, slots=True)
class ClientKey:
    """One key; `id` is what the ledger and limits know it by."""

    name: str
    id: str
    token: str


class ClientKeys:
    """The keys of a stand, by name."""

    def __init__(self, keys: Sequence[ClientKey]) -> None:
        self._keys = {key.name: key for key in keys}
        self.strangers = tuple(stranger_key() for _ in range(STRANGERS))
        self._next_stranger = itertools.cycle(self.strangers)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all that were made."""
        return tuple(self._keys)

    def __getitem__(self, name: str) -> ClientKey:
        """Give a key."""
        return self._keys[name]

    def token_of(self, name: str) -> str:
        """Give what a client shows: nobody knows that of a stranger, and the next one shows another."""
        return next(self._next_stranger) if name == STRANGER else self._keys[name].token


async def make_keys(gateway: Gateway, wishes: Sequence[KeyWish], journal: RunJournal) -> ClientKeys:
    """Make the keys, all at once.

    Raises:
        ProcessFailed: a command fails.
    """
    async with asyncio.TaskGroup() as group:
        made = [group.create_task(make_key(gateway, wish, journal)) for wish in wishes]
    keys = ClientKeys([task.result() for task in made])
    for token in keys.strangers:
        journal.note("secret", WORLD, what="client_key", value=token)
    return keys


async def make_key(gateway: Gateway, wish: KeyWish, journal: RunJournal) -> ClientKey:
    """Make one key, and note that it counts from now on.

    Raises:
        ProcessFailed: the command fails.
    """
    done = await gateway.ktms("admin", "keys", "create", wish.name, *wish.options, "--json")
    if done.code:
        raise ProcessFailed(f"ktms admin keys create ended with {done.code}: {done.err}")
    told = json.loads(done.out)
    key = ClientKey(wish.name, str(told["id"]), str(told["token"]))
    journal.note("key_made", WORLD, key=key.id, name=key.name)
    journal.note("secret", WORLD, what="client_key", value=key.token)
    return key


async def revoke_key(gateway: Gateway, key: ClientKey, journal: RunJournal) -> None:
    """Revoke one key, and note it.

    Raises:
        ProcessFailed: the command fails.
    """
    done = await gateway.ktms("admin", "keys", "revoke", key.id)
    if done.code:
        raise ProcessFailed(f"ktms admin keys revoke ended with {done.code}: {done.err}")
    journal.note("key_revoked", WORLD, key=key.id)
