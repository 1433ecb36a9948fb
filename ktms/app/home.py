"""What `ktms up` keeps for its user: the keyring and the first keys, apart from the data they open.

They lie in the configuration folder (mode 0600), never in the data folder: a copy of the data alone opens nothing.
Not here: the form of keys (domain/access), the files themselves (adapters/files).
"""

import base64
from dataclasses import dataclass, replace
from pathlib import Path

from ktms.adapters.files.private_file import PrivateFileUnusable, read_private, write_private
from ktms.adapters.files.user_config import FILE_NAME, read_user_config, write_user_config
from ktms.app.failed import StartFailed
from ktms.domain.access.key_form import KeyKind, make_key
from ktms.domain.access.keyring import Keyring, KeyringInvalid, parse_keyring
from ktms.domain.access.secret import Secret
from ktms.ports.entropy import Entropy

KEYRING_FILE = "keyring"
CLIENT_KEY_FILE = "client-key"
FIRST_KEY_ID = "local-1"
KEY_BYTES = 32
"""AES-256."""


@dataclass(frozen=True, slots=True)
class Home:
    """The configuration folder of one user."""

    folder: Path
    entropy: Entropy

    @property
    def client_key_file(self) -> Path:
        """Where the first client key lies."""
        return self.folder / CLIENT_KEY_FILE

    @property
    def config_file(self) -> Path:
        """Where the admin commands find address and key."""
        return self.folder / FILE_NAME

    def keyring(self) -> Keyring:
        """Read the keyring, making one the first time.

        Raises:
            StartFailed: the file cannot be used.
        """
        path = self.folder / KEYRING_FILE
        try:
            text = read_private(path)
            if text is None:
                secret = base64.urlsafe_b64encode(self.entropy.token_bytes(KEY_BYTES)).rstrip(b"=").decode()
                text = f"{FIRST_KEY_ID}:{secret}"
                write_private(path, text + "\n")
            return parse_keyring(text.strip())
        except PrivateFileUnusable as error:
            raise StartFailed(str(error)) from error
        except KeyringInvalid as error:
            raise StartFailed(f"{path}: {error}") from error

    def admin_key(self) -> Secret:
        """Give the owner's admin key, made the first time.

        Raises:
            StartFailed: the file cannot be used.
        """
        try:
            config = read_user_config(self.config_file)
            key = config.admin_key or Secret(make_key(KeyKind.ADMIN, self.entropy.token_bytes))
            if config.admin_key is None:
                write_user_config(self.config_file, replace(config, admin_key=key))
        except PrivateFileUnusable as error:
            raise StartFailed(str(error)) from error
        return key

    def keep_admin_addr(self, addr: str) -> None:
        """Note where the admin port is, for the admin commands.

        Raises:
            StartFailed: the file cannot be used.
        """
        try:
            config = read_user_config(self.config_file)
            if config.admin_addr != addr:
                write_user_config(self.config_file, replace(config, admin_addr=addr))
        except PrivateFileUnusable as error:
            raise StartFailed(str(error)) from error

    def client_key(self) -> Secret | None:
        """Give the first client key; None before it was made.

        Raises:
            StartFailed: the file cannot be used.
        """
        try:
            text = read_private(self.client_key_file)
        except PrivateFileUnusable as error:
            raise StartFailed(str(error)) from error
        return None if text is None else Secret(text.strip())

    def keep_client_key(self, token: str) -> None:
        """Keep the first client key.

        Raises:
            StartFailed: the folder cannot be written to.
        """
        try:
            write_private(self.client_key_file, token + "\n")
        except PrivateFileUnusable as error:
            raise StartFailed(str(error)) from error
