"""The root command: finds commands, and turns every failure into one clear line and an exit code.

Exit codes: 0 ok, 1 failed, 2 wrong usage. A traceback is shown only with KTMS_LOG_LEVEL=debug.
Commands are imported when they are asked for, and only here: each needs the packages of an extra that may not be
installed, and `ktms export` need not wait for database drivers to load.
"""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click

from ktms.app.cli.example import example
from ktms.app.cli.failed import CommandFailed
from ktms.app.cli.screen import say
from ktms.config.command_settings import debugging
from ktms.config.environment import process_environment
from ktms.domain.fault import fault_of


@dataclass(frozen=True, slots=True)
class Entry:
    """One command: its line in the overview, the extra it needs, and how it is imported."""

    summary: str
    extra: str
    load: Callable[[], click.Command]


def _up() -> click.Command:
    from ktms.app.cli.run import up  # noqa: PLC0415 - see the head of this file

    return up


def _serve() -> click.Command:
    from ktms.app.cli.run import serve  # noqa: PLC0415 - see the head of this file

    return serve


def _migrate() -> click.Command:
    from ktms.app.cli.migrate import migrate  # noqa: PLC0415 - see the head of this file

    return migrate


def _ledger() -> click.Command:
    from ktms.app.cli.ledger import ledger  # noqa: PLC0415 - see the head of this file

    return ledger


def _doctor() -> click.Command:
    from ktms.app.cli.doctor import doctor  # noqa: PLC0415 - see the head of this file

    return doctor


def _apply() -> click.Command:
    from ktms.app.cli.apply import apply  # noqa: PLC0415 - see the head of this file

    return apply


def _export() -> click.Command:
    from ktms.app.cli.export import export  # noqa: PLC0415 - see the head of this file

    return export


def _admin() -> click.Command:
    from ktms.app.cli.admin import admin  # noqa: PLC0415 - see the head of this file

    return admin


def _top() -> click.Command:
    from ktms.app.cli.top import top  # noqa: PLC0415 - see the head of this file

    return top


def _completion() -> click.Command:
    from ktms.app.cli.completion import completion  # noqa: PLC0415 - see the head of this file

    return completion


def _version() -> click.Command:
    from ktms.app.cli.version import version  # noqa: PLC0415 - see the head of this file

    return version


COMMANDS = {
    "up": Entry("Run a whole gateway on this machine, databases included.", "all", _up),
    "serve": Entry("Run a gateway in production, as the environment says.", "server", _serve),
    "ledger": Entry("Run the accounting service, where it is a process of its own.", "server", _ledger),
    "migrate": Entry("Bring the database's schema to what this release needs.", "server", _migrate),
    "doctor": Entry("Look whether a gateway would work here, and what is risky.", "server", _doctor),
    "apply": Entry("Make a gateway what a file declares.", "server", _apply),
    "export": Entry("Print the stored configuration as YAML.", "server", _export),
    "admin": Entry("Administer a running gateway.", "server", _admin),
    "top": Entry("Watch nodes and queues of a running gateway.", "server", _top),
    "completion": Entry("Print the completion script of a shell.", "server", _completion),
    "version": Entry("Print which release is installed here.", "server", _version),
}


class Root(click.Group):
    """Knows its commands by name and summary; imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the names, in the order of the overview."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command.

        Raises:
            CommandFailed: a package it needs is not installed.
        """
        del ctx
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        try:
            return entry.load()
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] == "ktms":
                raise  # ours is missing: a broken release, not a missing extra
            raise CommandFailed(needs_extra(f"ktms {cmd_name}", entry.extra, error.name)) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview without importing anything."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; say in one line why it did not work."""
        try:
            return super().invoke(ctx)
        except CommandFailed as error:
            _report(error, error.lines)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # click's own ways to end
        except Exception as error:  # noqa: BLE001 - the last line of defence: no traceback for a person
            # Its text is not shown: nobody has checked it for secrets.
            fault = fault_of(error)
            more = "KTMS_LOG_LEVEL=debug shows more"
            _report(error, (f"unexpected error ({fault['kind']} at {fault['where']}); {more}",))
        return ctx.exit(1)


def _report(error: Exception, lines: Sequence[str]) -> None:
    for line in lines:
        say(f"ktms: {line}", "red")
    if debugging(process_environment()):
        say("".join(traceback.format_exception(error)))


def needs_extra(command: str, extra: str, package: str | None) -> str:
    """Say which extra is missing."""
    return f"{command} needs the package {package}: run pip install 'ktms[{extra}]'"


@click.command(
    cls=Root,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=example(
        "# a gateway on this machine, and the first call",
        "ktms up",
        'curl http://127.0.0.1:8080/v1/models -H "Authorization: Bearer $KTMS_CLIENT_KEY"',
    ),
)
def ktms() -> None:
    """KTMS, an open LLM gateway: own machines first, the paid cloud after."""
