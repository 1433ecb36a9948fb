"""`ktms apply`: makes a gateway what a file declares, and shows what that changes."""

import re
from dataclasses import fields, replace
from pathlib import Path

import click

from ktms.api.admin_grpc.document import decode_catalogue, encode_catalogue
from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.messages import change_of
from ktms.app.cli.admin_client import AdminClient, AdminRefused
from ktms.app.cli.connection import with_admin
from ktms.app.cli.example import example
from ktms.app.cli.failed import CommandFailed
from ktms.app.cli.screen import put, put_json, say
from ktms.config.gateway_file import GatewayFile, GatewayFileInvalid, load_gateway
from ktms.domain.catalogue import Catalogue
from ktms.domain.catalogue_diff import Change
from ktms.domain.complaint import Complaint

SIGNS = {"add": ("+", "green"), "change": ("~", "yellow"), "remove": ("-", "red")}

POLICY = "policy"

SECTIONS = frozenset(each.name for each in fields(Catalogue))
"""What complaints about a catalogue begin with."""

DONE = {"add": "added", "change": "changed", "remove": "removed"}


@click.command(
    epilog=example(
        "# look first, then do it", "ktms apply -f gateway.yaml --dry-run", "ktms apply -f gateway.yaml"
    )
)
@click.option(
    "-f", "--file", "path", required=True, type=click.Path(path_type=Path), help="gateway.yaml to apply."
)
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@click.option("--prune", is_flag=True, help="Remove what is stored but not in the file.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@with_admin
def apply(admin: AdminClient, path: Path, *, dry_run: bool, prune: bool, as_json: bool) -> None:
    """Make a gateway what a file declares, in one step or not at all.

    Entries that are stored but not in the file stay, unless --prune is given. Secrets that the file leaves out are
    kept. Client keys without a secret are made and shown this once.
    """
    file = _load(path, whole=prune)
    catalogue = file.catalogue if prune or file.states_policy else _with_stored_policy(admin, file.catalogue)
    try:
        answer = admin.apply(encode_catalogue(catalogue), dry_run=dry_run, prune=prune)
    except AdminRefused as refused:
        raise CommandFailed(*(placed(file, line) for line in refused.lines)) from refused
    if as_json:
        put_json(_plain(answer, dry_run=dry_run))
    else:
        _show(answer, dry_run=dry_run)


def _load(path: Path, *, whole: bool) -> GatewayFile:
    """Read the file; one that replaces everything must hold together by itself."""
    try:
        file = load_gateway(path)
        if whole:
            file.check()
    except GatewayFileInvalid as error:
        raise CommandFailed(*error.lines) from error
    return file


def _with_stored_policy(admin: AdminClient, catalogue: Catalogue) -> Catalogue:
    """A file that says nothing about the policy must not open what it closed."""
    return replace(catalogue, policy=decode_catalogue(admin.export()).policy)


def placed(file: GatewayFile, line: str) -> str:
    """Give a complaint of the gateway its place in the file, where it is about something in the file."""
    match = re.fullmatch(r"([a-z_]+(?:\.[^.: ]+)*): (.*)", line)
    if match is None:
        return line
    steps = tuple(int(step) if step.isdigit() else step for step in match[1].split("."))
    if steps[0] not in SECTIONS:
        return line
    if _stands_in(file, steps):
        return file.line(Complaint(steps, match[2]))
    return f"what is stored beside this file no longer fits: {steps[0]}: {match[2]}"


def _stands_in(file: GatewayFile, steps: tuple[int | str, ...]) -> bool:
    """Whether the file itself says what stands there, and not only what is stored."""
    section, number = steps[0], steps[1] if len(steps) > 1 else None
    if section == POLICY:
        return file.states_policy
    # The gateway lays the file's entries before those that are stored only, so their numbers are the file's.
    return not isinstance(number, int) or number < len(getattr(file.catalogue, str(section)))


def _plain(answer: admin_pb2.ApplyConfigResponse, *, dry_run: bool) -> dict[str, object]:
    changes = [change_of(message) for message in answer.changes]
    return {
        "dry_run": dry_run,
        "version": answer.version,
        "changes": [
            {"action": each.action, "kind": each.kind, "name": each.name, "fields": list(each.fields)}
            for each in changes
        ],
        "warnings": list(answer.warnings),
        "new_keys": [{"name": each.name, "token": each.token} for each in answer.new_keys],
    }


def _show(answer: admin_pb2.ApplyConfigResponse, *, dry_run: bool) -> None:
    changes = [change_of(message) for message in answer.changes]
    for change in changes:
        _show_change(change)
    for warning in answer.warnings:
        say(f"warning: {warning}", "yellow")
    for key in answer.new_keys:
        put(f"client key {key.name}: {key.token}")
    if answer.new_keys:
        say("These keys are shown this once: store them now.", "bold")
    say(_summary(changes, answer.version, dry_run=dry_run))


def _show_change(change: Change) -> None:
    sign, style = SIGNS[change.action]
    fields = f": {', '.join(change.fields)}" if change.fields else ""
    put(f"{sign} {change.kind} {change.name}{fields}", style)


def _summary(changes: list[Change], version: int, *, dry_run: bool) -> str:
    if not changes:
        return f"Nothing to change; version {version} is in force."
    counts = {action: sum(change.action == action for change in changes) for action in SIGNS}
    words = ", ".join(f"{count} {DONE[action]}" for action, count in counts.items() if count)
    return f"Dry run, nothing was changed: {words}." if dry_run else f"{words}; version {version} is in force."
