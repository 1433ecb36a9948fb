"""Where the secrets of a gateway file come from, resolved on the side that reads the file.

Not here: the fields that hold them (`gateway_entries.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ktms.config.gateway_entries import SecretSource
from ktms.config.secret_file import ReadFile, SecretFileUnreadable
from ktms.domain.access.secret import Secret


class SecretMissing(Exception):
    """The source gives no secret; the message says why and never holds one."""


@dataclass(frozen=True, slots=True)
class SecretSources:
    """Opens `env`, `file` and `value`. Relative paths start at `folder`, the one of the gateway file."""

    environ: Mapping[str, str]
    read_file: ReadFile
    folder: Path

    def open(self, source: SecretSource) -> Secret:
        """Give the secret a field points to.

        Raises:
            SecretMissing: not exactly one source, or nothing there.
        """
        given = [name for name in ("env", "file", "value") if getattr(source, name)]
        if len(given) != 1:
            raise SecretMissing(f"give exactly one of env, file, value (got {' and '.join(given) or 'none'})")
        if source.value:
            return Secret(source.value)
        return self._from_environment(source.env) if source.env else self._from_file(source.file)

    def _from_environment(self, name: str) -> Secret:
        value = self.environ.get(name, "")
        if not value:
            raise SecretMissing(f"environment variable {name} is not set")
        return Secret(value)

    def _from_file(self, name: str) -> Secret:
        try:
            content = self.read_file(self.folder / name).content
        except SecretFileUnreadable as error:
            raise SecretMissing(str(error)) from error
        if not content.reveal():
            raise SecretMissing(f"{self.folder / name} is empty")
        return content
