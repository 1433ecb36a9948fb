"""`ktms up` where it cannot start: one clear line, exit code 1, never a traceback, nothing left running."""

import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import declared
from tests.e2e.conftest import NewHome
from tests.e2e.http import answers
from tests.e2e.ports import any_port, occupied
from tests.e2e.program import Done
from tests.e2e.up_process import Home, up

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def used(new_home: NewHome) -> Home:
    """A home whose gateway has run before and is stopped."""
    home = new_home()
    with up(home, "--config", bare_config(home.folder), "--port", str(any_port())):
        pass
    return home


@pytest.fixture
def copied(used: Home, new_home: NewHome) -> Iterator[Home]:
    """A copy of the used home that a test may break."""
    home = new_home()
    shutil.copytree(used.folder / "config", home.folder / "config")
    yield home
    shutil.rmtree(home.folder)


def bare_config(folder: Path) -> Path:
    """Declare nothing, so that nothing is looked for on the machine."""
    return declared.write_gateway(folder / "bare.yaml")


def config(home: Home, text: str) -> Path:
    path = home.folder / "gateway.yaml"
    path.write_text(text)
    return path


def line(done: Done) -> str:
    """Give the one line a refused start says."""
    assert done.code == 1, done.out + done.err
    assert "Traceback" not in done.out + done.err
    assert done.out == ""
    assert len(done.lines) == 1, done.err
    said = done.lines[0]
    assert said.startswith("ktms: ")
    return said.removeprefix("ktms: ")


def test_a_named_port_that_is_taken_is_named_with_its_owner(used: Home) -> None:
    with occupied() as port:
        said = line(used.refused("--config", bare_config(used.folder), "--port", str(port)))
    assert re.match(rf"port {port} is taken by \S+ \(pid {os.getpid()}\)", said)


def test_the_usual_port_taken_means_the_next_free_one(used: Home) -> None:
    with (
        occupied() as port,
        up(
            used, "--config", bare_config(used.folder), variables=[("KTMS_HTTP_ADDR", f"127.0.0.1:{port}")]
        ) as running,
    ):
        assert running.url.startswith("http://127.0.0.1:")
        assert int(running.url.rpartition(":")[2]) > port
        assert re.search(rf"port +{port} is taken by \S+ \(pid {os.getpid()}\)", running.banner)
        assert answers(running.url, "/readyz")


def test_a_data_folder_that_cannot_be_made_is_named(new_home: NewHome) -> None:
    home = new_home()
    home.folder.joinpath("share").write_text("a file, where a folder should be")
    assert line(home.refused()) == f"the data folder {home.data} cannot be made: Not a directory"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_data_folder_that_is_not_writable_is_named(new_home: NewHome) -> None:
    home = new_home()
    home.data.mkdir(parents=True)
    home.data.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert line(home.refused()).startswith(f"the data folder {home.data} is not writable")


@pytest.mark.skipif(os.geteuid() != 0, reason="only for root the databases run as another user")
def test_a_data_folder_that_the_databases_cannot_enter_is_named(new_home: NewHome) -> None:
    home = new_home()
    home.folder.chmod(0o700)
    said = line(home.refused())
    assert f"cannot enter {home.folder}: choose a data folder such as /var/lib/ktms" in said


def test_data_of_another_postgres_is_not_touched(copied: Home) -> None:
    data = copied.data / "postgres"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("15\n")
    said = line(copied.refused())
    assert f"{data} holds data of Postgres 15, but this is Postgres 18" in said
    assert [path.name for path in data.iterdir()] == ["PG_VERSION"]


def test_data_without_its_password_is_refused(new_home: NewHome) -> None:
    home = new_home()
    (home.data / "postgres").mkdir(parents=True)
    assert line(home.refused()).startswith(f"the password file {home.config / 'postgres.password'} is missing")


def test_a_second_gateway_on_the_same_data_is_refused(used: Home) -> None:
    with up(used, "--config", bare_config(used.folder), "--port", str(any_port())) as running:
        said = line(used.refused("--port", str(any_port())))
        assert said.startswith(f"the data folder {used.data} is in use by process {running.program.process.pid}")


WRONG: dict[str, tuple[str, str]] = {
    "broken YAML": ("version: 1\nmodels: [", r"gateway\.yaml:\d+:\d+: "),
    "an unknown field": (
        "version: 1\nmodels:\n  - {name: m, target: []}\n",
        r"gateway\.yaml:3:\d+: .*unknown field.*did you mean 'targets'",
    ),
    "a vendor that is not declared": (
        "version: 1\nmodels:\n  - {name: m, targets: [{vendor: nobody, model: x}]}\n",
        r"gateway\.yaml:3:\d+: .*nobody",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_refused_with_its_place(used: Home, case: str) -> None:
    text, expected = WRONG[case]
    said = line(used.refused("--config", config(used, text)))
    assert re.search(expected, said), said


def test_a_file_that_is_not_there_is_named(used: Home) -> None:
    assert "nowhere.yaml" in line(used.refused("--config", "nowhere.yaml"))


def test_a_wrong_setting_is_named(used: Home) -> None:
    assert line(used.refused(KTMS_SHUTDOWN_TIMEOUT_S="soon")).startswith("KTMS_SHUTDOWN_TIMEOUT_S")


def test_an_unknown_option_is_wrong_usage(used: Home) -> None:
    done = used.refused("--prot", "9000")
    assert done.code == 2
    assert "--port" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("keyring", "local-1:short", "keyring"),
        ("client-key", "ktms_sk_cut", "client-key"),
        ("config.toml", "[admin\n", "config.toml"),
    ],
)
def test_a_broken_file_of_the_home_is_named(used: Home, file: str, text: str, expected: str) -> None:
    path = used.config / file
    kept = path.read_text()
    try:
        path.write_text(text)
        assert expected in line(used.refused("--config", bare_config(used.folder)))
    finally:
        path.write_text(kept)


def test_another_keyring_does_not_open_the_data_and_leaves_no_server(used: Home) -> None:
    path = used.config / "keyring"
    kept = path.read_text()
    try:
        path.write_text("local-1:" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789_-AbCdE" + "\n")
        assert "local-1" in line(used.refused("--config", bare_config(used.folder)))
    finally:
        path.write_text(kept)
    assert not (used.data / "postgres" / "postmaster.pid").exists()


def test_a_file_that_contradicts_what_is_stored_is_refused(used: Home) -> None:
    vendor = declared.vendor("http://127.0.0.1:9/v1")
    stored = declared.write_gateway(used.folder / "one.yaml", vendors=[vendor], models=[declared.cloud_model("m")])
    with up(used, "--config", stored, "--port", str(any_port())):
        pass
    other = {**declared.cloud_model("n"), "aliases": ["m"]}
    second = declared.write_gateway(used.folder / "two.yaml", vendors=[vendor], models=[other])
    assert "'m'" in line(used.refused("--config", second))
