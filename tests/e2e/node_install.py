"""A person on a machine of their own: runs the line that the gateway's administrator handed over, with `sh`."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e import declared
from tests.e2e.http import CHAT, Answer, ask, saying
from tests.e2e.program import Done, Program, environment, run
from tests.e2e.up_process import Up
from tests.e2e.waiting import until

INSTALLED_WITHIN_S = 180.0
"""Ten packages come from a registry, which may be far."""

FOLLOWED_WITHIN_S = 30.0


@dataclass(frozen=True)
class Owner:
    """One user of a machine. `line` is what is to be run there, and holds the node key.

    `inside`: words that lead to where this user's systemd is, and the folder by which it is found.
    """

    folder: Path
    line: str
    inside: tuple[str, ...] = ()
    runtime: str = "/nowhere"

    @property
    def home(self) -> Path:
        """Where the agent is to lie."""
        return self.folder / ".ktms"

    @property
    def program(self) -> Path:
        """The installed command."""
        return self.home / "venv" / "bin" / "ktms-node"

    def env(self) -> dict[str, str]:
        """Give the environment of this user.

        pip asks `rustc`, where there is one, for its version; one that rustup brought then writes into the home.
        """
        return environment(
            self.folder, XDG_RUNTIME_DIR=self.runtime, RUSTUP_HOME=str(self.folder.parent / "rustup")
        )

    def runs(self, *options: str) -> Done:
        """Run the line with more options, to its end."""
        return run(self._words(*options), self.env())

    @contextmanager
    def stays(self, name: str, *options: str) -> Iterator[Program]:
        """Run the line with more options while the block runs."""
        with Program(self._words(*options), self.env(), self.folder.parent, name) as program:
            yield program

    def _words(self, *options: str) -> list[str | Path]:
        return [*self.inside, "sh", "-c", " ".join((self.line, *options))]

    def ktms_node(self, *words: str) -> Done:
        """Run the installed command."""
        return run([*self.inside, self.program, *words], self.env())

    def pid(self) -> int:
        """Give the process of the agent."""
        return int(json.loads((self.home / "status.json").read_text())["pid"])

    def tells(self, number: signal.Signals) -> None:
        """Send the agent a signal."""
        os.kill(self.pid(), number)

    def names(self) -> list[str]:
        """List all that lies in the home."""
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))


def owner_of(up: Up, folder: Path, name: str, model: str) -> Owner:
    """Have the administrator make a key and the line to run."""
    made = up.ktms("admin", "nodes", "create", name, "--model", model, "--gateway", up.url, "--json")
    assert made.code == 0, made.err
    return Owner(folder, json.loads(made.out)["install"])


def announced(program: Program, owner: Owner) -> None:
    """Wait until the installer says that the gateway called the node."""
    program.until(
        lambda: "got a token" in program.err or "cannot use" in program.err, "verified", INSTALLED_WITHIN_S
    )
    assert "got a token" in program.err, program.err
    assert (owner.home / "status.json").exists()


def answered_by_the_node(up: Up) -> Answer:
    """Ask through the gateway until the node answers: a replica follows what is announced within seconds."""

    def look() -> Answer | None:
        answer = ask(up.url, CHAT, key=declared.APP_KEY, body=saying("hi", model=declared.HOUSE))
        return answer if answer.status == 200 else None

    return until(look, "a call is answered through the gateway", FOLLOWED_WITHIN_S)
