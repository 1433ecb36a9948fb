"""`ktms serve` under test, and the commands an operator gives it."""

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ktms.domain.access.key_form import KeyKind, make_key
from tests.e2e import declared
from tests.e2e.cloud import Cloud
from tests.e2e.http import Answer, answers
from tests.e2e.ports import any_port
from tests.e2e.program import KTMS, Done, Program, environment, run
from tests.e2e.waiting import until

LOOPBACK = "127.0.0.1"

OWNER = make_key(KeyKind.ADMIN, lambda count: bytes(range(2, count + 2)))
KEYRING = "tests-1:" + base64.urlsafe_b64encode(bytes(range(100, 132))).decode().rstrip("=")


@dataclass(frozen=True)
class Replica:
    """A running `ktms serve`."""

    url: str
    admin_addr: str
    home: Path
    program: Program

    def ktms(self, *words: str | Path) -> Done:
        """Run a command as its owner."""
        variables = {"KTMS_ADMIN_ADDR": self.admin_addr, "KTMS_ADMIN_KEY": OWNER}
        return run([KTMS, *words], environment(self.home, **variables))

    def apply(self, name: str, **parts: object) -> Done:
        """Apply a file that declares these parts."""
        done = self.ktms("apply", "-f", declared.write_gateway(self.home / f"{name}.yaml", **parts))
        assert done.code == 0, done.err
        return done

    def new_key(self, name: str) -> str:
        """Make a client key as an operator does; give its token."""
        done = self.ktms("admin", "keys", "create", name)
        assert done.code == 0, done.err
        return done.out.strip()

    def page(self, path: str) -> Answer | None:
        """GET a page; None while nobody answers."""
        return answers(self.url, path)

    def readiness(self) -> tuple[int, Any]:
        """Give the status of /readyz and what it says."""
        page = self.page("/readyz")
        assert page, "the listener is closed"
        return page.status, page.json

    def metric(self, line: str) -> float | None:
        """Give the value of a series, by its name and labels; None when absent."""
        page = self.page("/metrics")
        assert page
        found = [each for each in page.body.splitlines() if each.startswith(f"{line} ")]
        return float(found[0].rpartition(" ")[2]) if found else None


@contextmanager
def serving(
    home: Path, database_url: str, variables: Mapping[str, str] | None = None, *, files_max: int | None = None
) -> Iterator[Replica]:
    """Run `ktms serve` while the block runs; alive when the block begins, ready or not.

    `files_max`: the system lets it open so many files and no more.
    """
    limited = () if files_max is None else ("sh", "-c", f'ulimit -n {files_max} && exec "$@"', "sh")
    port, admin_port = any_port(), any_port()
    env = environment(
        home,
        KTMS_HTTP_ADDR=f"{LOOPBACK}:{port}",
        KTMS_ADMIN_ADDR=f"{LOOPBACK}:{admin_port}",
        KTMS_DATABASE_URL=database_url,
        KTMS_BOOTSTRAP_ADMIN_KEY=OWNER,
        **{"KTMS_ENCRYPTION_KEYS": KEYRING, **(variables or {})},
    )
    with Program([*limited, str(KTMS), "serve"], env, home, f"serve-{port}") as program:
        replica = Replica(f"http://{LOOPBACK}:{port}", f"{LOOPBACK}:{admin_port}", home, program)
        program.until(lambda: replica.page("/healthz"), "ktms serve is alive")
        yield replica


def prepared(replica: Replica) -> None:
    """Wait until it has its database, and so its owner; a database without a configuration serves nothing yet."""
    until(lambda: replica.readiness()[1]["reasons"] in ([], ["no_snapshot"]), "ktms serve has its database")


def one_model(cloud: Cloud) -> dict[str, object]:
    """Declare the least that can answer: one vendor, one model."""
    return {"vendors": [declared.vendor(cloud.url)], "models": [declared.cloud_model()]}


def home_with_a_model(home: Path, database: str, cloud: Cloud) -> Path:
    """Give the home of a replica whose database has one model and one key."""
    with serving(home, database, {"KTMS_DRAIN_DELAY_S": "0"}) as replica:
        prepared(replica)
        keys = [declared.client_key("app", declared.APP_KEY)]
        replica.apply("gateway", **one_model(cloud), client_keys=keys)
    return home
