"""`ktms doctor`: what is wrong with a gateway before it serves anybody, a line each."""

import asyncio

import click

from ktms.adapters.system.clock import SystemClock
from ktms.adapters.system.open_files import raise_open_files
from ktms.app.cli.example import example
from ktms.app.cli.screen import put, put_json, say
from ktms.app.doctor.environment import ENVIRONMENT
from ktms.app.doctor.examine import examine
from ktms.app.doctor.finding import Finding, Verdict, error
from ktms.config.settings import Settings, from_environment
from ktms.config.variables import SettingsInvalid

STYLES = {Verdict.OK: "green", Verdict.WARNING: "yellow", Verdict.ERROR: "red"}
VERDICT_COLUMNS, SUBJECT_COLUMNS = 8, 18


@click.command(
    epilog=example(
        "# with the environment of ktms serve; exit code 1 where something does not work",
        "KTMS_DATABASE_URL_FILE=/run/secrets/db KTMS_REDIS_URL=redis://redis:6379/0 \\",
        "KTMS_ENCRYPTION_KEYS_FILE=/run/secrets/keys ktms doctor",
    )
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(*, as_json: bool) -> None:
    """Look whether `ktms serve` would work with this environment; changes nothing.

    Settings, Redis, Postgres, its schema, keyring, ledger, clocks, and what the stored catalogue says: prices,
    limits. A line each: ok, warning or error, and what to do; exit code 1 where there is an error. What cannot be
    looked at before something else is mended has no line. For `ktms serve`: `ktms up` sets up all of it itself.
    """
    try:
        settings = from_environment()
    except SettingsInvalid as invalid:
        found = [error(ENVIRONMENT, line) for line in invalid.lines]
        _end(found, as_json=as_json)
    else:
        _end(asyncio.run(_examined(settings, told=not as_json)), as_json=as_json, told=True)


async def _examined(settings: Settings, *, told: bool) -> list[Finding]:
    """Look, and tell each finding as it is made: a server that is away takes seconds to find out."""
    found = []
    async for finding in examine(settings, SystemClock(), raise_open_files()):
        found.append(finding)
        if told:
            _tell(finding)
    return found


def _end(found: list[Finding], *, as_json: bool, told: bool = False) -> None:
    """Tell what was not told yet, sum up, and end with the exit code."""
    if as_json:
        put_json([_facts(finding) for finding in found])
    elif not told:
        for finding in found:
            _tell(finding)
    errors, warned = (
        sum(finding.verdict is verdict for finding in found) for verdict in (Verdict.ERROR, Verdict.WARNING)
    )
    say(f"{errors} errors, {warned} warnings.")
    if errors:
        raise click.exceptions.Exit(1)


def _tell(finding: Finding) -> None:
    head = f"{finding.verdict:<{VERDICT_COLUMNS}} {finding.subject:<{SUBJECT_COLUMNS}} {finding.text}"
    put(head + (f"; {finding.remedy}" if finding.remedy else ""), STYLES[finding.verdict])


def _facts(finding: Finding) -> dict[str, str]:
    return {
        "verdict": finding.verdict.value,
        "subject": finding.subject,
        "text": finding.text,
        "remedy": finding.remedy,
    }
