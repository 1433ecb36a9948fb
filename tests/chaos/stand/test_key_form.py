"""Keys made apart from the product are keys to it."""

from collections.abc import Callable

import pytest

from chaos.stand.key_form import new_admin_key, new_keyring, stranger_key
from ktms.domain.access.key_form import KeyKind, read_key
from ktms.domain.access.keyring import parse_keyring


@pytest.mark.parametrize(("made", "kind"), [(new_admin_key, KeyKind.ADMIN), (stranger_key, KeyKind.CLIENT)])
def test_the_product_reads_a_key_that_was_made_without_it(made: Callable[[], str], kind: KeyKind) -> None:
    read = read_key(made())
    assert read is not None
    assert read.kind is kind


def test_no_two_keys_are_alike() -> None:
    assert len({stranger_key() for _ in range(100)}) == 100


def test_the_product_reads_the_keyring() -> None:
    assert parse_keyring(new_keyring()).ids == ("chaos-1",)
