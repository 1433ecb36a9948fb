import json

import pytest
from click.testing import Result

from ktms.domain.catalogue import PolicySpec
from ktms.domain.placement import Placement
from tests.app.cli.terminal import Terminal


async def policy(terminal: Terminal, *args: str) -> Result:
    return await terminal.run("admin", "policy", *args)


async def test_the_policy_of_a_new_gateway_is_shown(terminal: Terminal) -> None:
    rows = [line.split() for line in (await policy(terminal, "show")).stdout.splitlines()]
    assert rows == [
        ["setting", "value"],
        ["placement", "nodes_first"],
        ["placement_lock", "off"],
        ["force_cloud", "off"],
        ["allowed_regions", "all"],
        ["band", "1.25"],
        ["attempts_max", "6"],
    ]


async def test_one_setting_changes_and_the_others_stay(terminal: Terminal) -> None:
    await policy(terminal, "set", "--region", "fr", "--region", "eu", "--attempts-max", "2")
    result = await policy(terminal, "set", "--force-cloud", "on", "--json")
    assert json.loads(result.stdout) == {
        "placement": "nodes_first",
        "placement_lock": False,
        "force_cloud": True,
        "allowed_regions": ["fr", "eu"],
        "band": 1.25,
        "attempts_max": 2,
        "version": 2,
    }


async def test_every_setting_can_be_changed_and_put_back(terminal: Terminal) -> None:
    changed = ("--placement", "cloud_only", "--placement-lock", "on", "--force-cloud", "on", "--band", "inf")
    result = await policy(terminal, "set", *changed, "--region", "fr", "--attempts-max", "1")
    assert result.exit_code == 0, result.output
    assert "band             off" in result.stdout
    assert terminal.stage.store.catalogue.policy == PolicySpec(
        placement=Placement.CLOUD_ONLY,
        placement_lock=True,
        force_cloud=True,
        allowed_regions=("fr",),
        band=float("inf"),
        attempts_max=1,
    )
    back = ("--placement", "nodes_first", "--placement-lock", "off", "--force-cloud", "off", "--band", "1.25")
    await policy(terminal, "set", *back, "--all-regions", "--attempts-max", "6")
    assert terminal.stage.store.catalogue.policy == PolicySpec()


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ((), 2, "name at least one setting to change"),
        (("--region", "fr", "--all-regions"), 2, "--region and --all-regions contradict each other"),
        (("--force-cloud", "maybe"), 2, "'maybe' is not one of 'on', 'off'"),
        (("--attempts-max", "7"), 1, "ktms: attempts_max: must be 1 to 6\n"),
        (("--band", "nan"), 1, "ktms: band: must be 1 or more (inf switches the band off)\n"),
    ],
)
async def test_what_cannot_be_set_is_said_in_one_line(
    terminal: Terminal, args: tuple[str, ...], code: int, said: str
) -> None:
    result = await policy(terminal, "set", *args)
    assert result.exit_code == code
    assert said in result.stderr
    assert terminal.stage.store.catalogue.policy == PolicySpec()
