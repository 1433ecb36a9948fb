"""The first keys of a data folder: the owner's admin key and one client key, made once, kept in the home."""

from ktms.adapters.postgres.key_admin import PostgresKeyAdmin
from ktms.app.failed import StartFailed
from ktms.app.home import Home
from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.key_form import read_key, same_digest
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import DEFAULT_TENANT, ClientKeySpec
from ktms.ports.key_admin import NameTaken
from ktms.ports.key_store import KeyStore

UP = Actor("ktms up", Role.OWNER)
"""Whom the audit names for what `ktms up` does by itself."""

FIRST_KEY_NAME = "first"


async def first_owner(home: Home, keys: PostgresKeyAdmin) -> None:
    """See that the admin key of this home opens this data folder.

    Raises:
        StartFailed: the folder belongs to another home.
    """
    key = home.admin_key()
    if await keys.bootstrap(key.reveal()):
        return
    text = read_key(key.reveal())
    stored = None if text is None else await keys.find_admin(text.id)
    if text is None or stored is None or stored.revoked or not same_digest(stored.digest, text.digest):
        raise StartFailed(
            f"the admin key in {home.config_file} does not open this data folder: it has another owner.",
            "Put the owner's config.toml back, or name another folder with --data-dir.",
        )


async def first_client_key(home: Home, admin: PostgresKeyAdmin, store: KeyStore) -> str | None:
    """See that the client key of this home works here; give it if it was made just now.

    Raises:
        StartFailed: the key file cannot be used.
    """
    kept = home.client_key()
    text = None if kept is None else read_key(kept.reveal())
    if kept is not None and text is None:
        raise StartFailed(f"{home.client_key_file} holds no complete key: remove it and start again for a new one")
    if text is not None:
        stored = (await store.find((text.id,))).get(text.id)
        if stored is not None and not stored.revoked:
            return None
        kept = kept if stored is None else None  # a revoked key stays revoked: a new one takes its place
    token = await _create(home, admin, kept)
    if kept is not None:
        return None
    home.keep_client_key(token)
    return token


async def _create(home: Home, admin: PostgresKeyAdmin, kept: Secret | None) -> str:
    try:
        _, token = await admin.create(ClientKeySpec(FIRST_KEY_NAME, DEFAULT_TENANT, secret=kept), actor=UP)
    except NameTaken:
        name = f"{FIRST_KEY_NAME}-{home.entropy.token_bytes(4).hex()}"  # an earlier one, whose file was removed
        _, token = await admin.create(ClientKeySpec(name, DEFAULT_TENANT, secret=kept), actor=UP)
    return token
