"""`ktms up` under test: started as a person starts it, read as a person reads it."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.program import KTMS, Done, Program, environment, run

LAST_LINE = "Ctrl-C stops it; the data stays."


@dataclass(frozen=True)
class Home:
    """The folders of one user. Below a folder that the account of the databases can enter."""

    folder: Path

    @property
    def data(self) -> Path:
        """Where the databases live."""
        return self.folder / "share" / "ktms"

    @property
    def config(self) -> Path:
        """Where keyring and keys live."""
        return self.folder / "config" / "ktms"

    @property
    def key_file(self) -> Path:
        """Where the first client key lies."""
        return self.config / "client-key"

    def env(self, **variables: str) -> dict[str, str]:
        """Give the environment of this user."""
        return environment(self.folder, **variables)

    def command(self, *options: str | Path) -> list[str | Path]:
        """Give the command line of `ktms up`; the data folder is named, since root's default is the machine's."""
        return [KTMS, "up", "--data-dir", self.data, *options]

    def refused(self, *options: str | Path, **variables: str) -> Done:
        """Run a `ktms up` that is expected to end by itself."""
        return run(self.command(*options), self.env(**variables))


@dataclass(frozen=True)
class Up:
    """A running `ktms up` and what it printed."""

    home: Home
    program: Program
    banner: str

    @property
    def url(self) -> str:
        """Where it answers, without `/v1`."""
        return self._printed(r"answers at (http://\S+)")

    @property
    def admin_addr(self) -> str:
        """Where its admin port is."""
        return self._printed(r"gRPC on (\S+?)\)")

    @property
    def started_in_s(self) -> float:
        """How long the start took, as printed."""
        return float(self._printed(r"started in ([\d.]+) s"))

    @property
    def models(self) -> list[str]:
        """The models it says it has."""
        return self._printed(r"^  models +([^\n]+)$").split(", ")

    @property
    def key(self) -> str:
        """The first client key."""
        return self.home.key_file.read_text().strip()

    @property
    def curl(self) -> str:
        """The printed call, as a shell takes it."""
        return self._printed(r"^(  curl .*?)\n\n")

    @property
    def snippet(self) -> str:
        """The printed Python program."""
        return self._printed(r"^(from openai .*?)\n\n")

    def ktms(self, *words: str | Path, **variables: str) -> Done:
        """Run another ktms command of the same user."""
        return run([KTMS, *words], self.home.env(**variables))

    def _printed(self, pattern: str) -> str:
        found = re.search(pattern, self.banner, re.MULTILINE | re.DOTALL)
        assert found, f"{pattern!r} was not printed: {self.banner}"
        return found[1]


@contextmanager
def up(
    home: Home, *options: str | Path, name: str = "up", variables: Sequence[tuple[str, str]] = ()
) -> Iterator[Up]:
    """Run `ktms up` while the block runs."""
    program = Program(home.command(*options), home.env(**dict(variables)), home.folder, name)
    with program:
        program.said(re.escape(LAST_LINE))
        yield Up(home, program, program.out)
