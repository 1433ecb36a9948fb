from pathlib import Path

import pytest

from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.postgres.key_admin import PostgresKeyAdmin
from ktms.adapters.postgres.key_store import PostgresKeyStore
from ktms.adapters.postgres.pool import Database
from ktms.app.failed import StartFailed
from ktms.app.first_keys import UP, first_client_key, first_owner
from ktms.app.home import Home
from ktms.domain.access.actor import Role
from ktms.domain.access.key_form import KeyKind, make_key, read_key
from ktms.domain.ids import KeyId

pytestmark = pytest.mark.service


class Folder:
    """A data folder's database, and the home that goes with it."""

    def __init__(self, database: Database, path: Path) -> None:
        self.path = path
        self.admin = PostgresKeyAdmin(database, SeededEntropy("admin"))
        self.store = PostgresKeyStore(database)

    def home(self, name: str = "mine") -> Home:
        return Home(self.path / name, SeededEntropy(name))

    async def client_key(self, home: Home | None = None) -> str | None:
        return await first_client_key(home or self.home(), self.admin, self.store)


@pytest.fixture
def folder(database: Database, tmp_path: Path) -> Folder:
    return Folder(database, tmp_path)


def id_of(token: str | None) -> KeyId:
    text = read_key(token or "")
    assert text is not None
    return text.id


async def names(folder: Folder) -> list[str]:
    return [key.name for key in await folder.admin.list()]


async def test_the_first_home_becomes_the_owner(folder: Folder) -> None:
    await first_owner(folder.home(), folder.admin)
    stored = await folder.admin.find_admin(id_of(folder.home().admin_key().reveal()))
    assert stored is not None
    assert stored.role == Role.OWNER


async def test_the_owner_opens_its_folder_again(folder: Folder) -> None:
    for _ in range(3):
        await first_owner(folder.home(), folder.admin)


async def test_another_home_does_not_open_it(folder: Folder) -> None:
    await first_owner(folder.home("mine"), folder.admin)
    other = folder.home("other")
    with pytest.raises(StartFailed, match="another owner") as refused:
        await first_owner(other, folder.admin)
    assert str(other.config_file) in str(refused.value)
    assert other.admin_key().reveal() not in str(refused.value)


async def test_a_first_client_key_is_made_and_kept(folder: Folder) -> None:
    token = await folder.client_key()
    kept = folder.home().client_key()
    assert kept is not None
    assert kept.reveal() == token
    assert id_of(token) in await folder.store.find([id_of(token)])
    assert await names(folder) == ["first"]


async def test_a_kept_client_key_is_used_again_and_not_shown(folder: Folder) -> None:
    await folder.client_key()
    assert await folder.client_key() is None
    assert await names(folder) == ["first"]


async def test_a_kept_key_is_stored_in_a_new_folder_as_it_is(folder: Folder) -> None:
    token = make_key(KeyKind.CLIENT, SeededEntropy("elsewhere").token_bytes)
    folder.home().keep_client_key(token)
    assert await folder.client_key() is None
    assert id_of(token) in await folder.store.find([id_of(token)])


async def test_a_revoked_key_is_replaced_by_another(folder: Folder) -> None:
    first = await folder.client_key()
    await folder.admin.revoke(id_of(first), actor=UP)
    second = await folder.client_key(Home(folder.home().folder, SeededEntropy("later")))
    assert second is not None
    assert second != first


async def test_a_key_whose_file_was_removed_is_followed_by_one_of_another_name(folder: Folder) -> None:
    first = await folder.client_key()
    folder.home().client_key_file.unlink()
    second = await folder.client_key()
    assert second not in {None, first}
    made = await names(folder)
    assert made[0] == "first"
    assert made[1].startswith("first-")


@pytest.mark.parametrize("text", ["ktms_sk_cut", ""])
async def test_a_key_file_without_a_whole_key_is_refused_and_not_shown(folder: Folder, text: str) -> None:
    folder.home().keep_client_key(text)
    with pytest.raises(StartFailed, match="holds no complete key") as refused:
        await folder.client_key()
    assert str(folder.home().client_key_file) in str(refused.value)
    assert "ktms_sk_cut" not in str(refused.value)
