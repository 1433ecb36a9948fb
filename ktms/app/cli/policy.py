"""`ktms admin policy`: settings of the whole gateway, one by one."""

import math
from typing import TypedDict, Unpack

import click

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.messages import PLACEMENTS, placement_name
from ktms.app.cli.admin_client import AdminClient
from ktms.app.cli.connection import with_admin
from ktms.app.cli.example import example
from ktms.app.cli.screen import put_json, put_table
from ktms.domain.placement import Placement

SWITCH = click.Choice(["on", "off"])


class Wishes(TypedDict):
    """Options of `set`, as click gives them; what is absent stays."""

    placement: str | None
    placement_lock: str | None
    force_cloud: str | None
    regions: tuple[str, ...]
    all_regions: bool
    band: float | None
    attempts_max: int | None


@click.group(
    epilog=example(
        "# an incident on the machines: everything to the cloud", "ktms admin policy set --force-cloud on"
    )
)
def policy() -> None:
    """Look at the settings of a whole gateway, and change them at once."""


@policy.command(epilog=example("ktms admin policy show"))
@click.option("--json", "as_json", is_flag=True, help="Print the settings as JSON.")
@with_admin
def show(admin: AdminClient, *, as_json: bool) -> None:
    """Show all settings."""
    answer = admin.policy()
    _put(answer.policy, answer.version, as_json=as_json)


@policy.command(
    "set",
    epilog=example(
        "# an incident on the machines, and its end",
        "ktms admin policy set --force-cloud on",
        "ktms admin policy set --force-cloud off",
        "# nothing leaves France",
        "ktms admin policy set --region fr --placement nodes_only --placement-lock on",
    ),
)
@click.option(
    "--placement", type=click.Choice([each.value for each in Placement]), help="Placement where nothing names one."
)
@click.option("--placement-lock", type=SWITCH, help="Refuse calls that name another placement.")
@click.option("--force-cloud", type=SWITCH, help="Send everything to the cloud, whatever calls ask for.")
@click.option("--region", "regions", multiple=True, help="Region calls may run in; repeat.")
@click.option("--all-regions", is_flag=True, help="Let calls run in every region.")
@click.option("--band", type=float, help="How much later than the best a node may finish: 1 or more; inf is off.")
@click.option("--attempts-max", type=int, help="Attempts per call, 1 to 6.")
@click.option("--json", "as_json", is_flag=True, help="Print the settings as JSON.")
@with_admin
def set_policy(admin: AdminClient, *, as_json: bool, **wishes: Unpack[Wishes]) -> None:
    """Change the settings that are named; all others stay. Every replica follows within seconds."""
    request = _request(wishes)
    if not request.update_mask.paths:
        raise click.UsageError("name at least one setting to change")
    answer = admin.set_policy(request)
    _put(answer.policy, answer.version, as_json=as_json)


def _request(wishes: Wishes) -> admin_pb2.SetPolicyRequest:
    request = admin_pb2.SetPolicyRequest()
    wanted, names = request.policy, request.update_mask.paths
    if wishes["placement"] is not None:
        wanted.placement = PLACEMENTS[Placement(wishes["placement"])]
        names.append("placement")
    if wishes["placement_lock"] is not None:
        wanted.placement_lock = wishes["placement_lock"] == "on"
        names.append("placement_lock")
    if wishes["force_cloud"] is not None:
        wanted.force_cloud = wishes["force_cloud"] == "on"
        names.append("force_cloud")
    if wishes["regions"] and wishes["all_regions"]:
        raise click.UsageError("--region and --all-regions contradict each other")
    if wishes["regions"] or wishes["all_regions"]:
        wanted.allowed_regions.extend(wishes["regions"])
        names.append("allowed_regions")
    if wishes["band"] is not None:
        wanted.band = wishes["band"]
        names.append("band")
    if wishes["attempts_max"] is not None:
        wanted.attempts_max = wishes["attempts_max"]
        names.append("attempts_max")
    return request


def policy_facts(policy: admin_pb2.Policy) -> dict[str, object]:
    """What is shown of the policy; null in `allowed_regions` means all, in `band` that it is off."""
    return {
        "placement": placement_name(policy.placement),
        "placement_lock": policy.placement_lock,
        "force_cloud": policy.force_cloud,
        "allowed_regions": list(policy.allowed_regions) or None,
        "band": None if math.isinf(policy.band) else policy.band,
        "attempts_max": policy.attempts_max,
    }


def _put(policy: admin_pb2.Policy, version: int, *, as_json: bool) -> None:
    facts = policy_facts(policy)
    if as_json:
        put_json({**facts, "version": version})
        return
    put_table(("setting", "value"), [[name, _text(name, value)] for name, value in facts.items()])


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ", ".join(value)
    absent = "all" if name == "allowed_regions" else "off"
    return absent if value is None else str(value)
