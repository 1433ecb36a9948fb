import json

import pytest
from click.testing import Result

from ktms.domain.access.key_form import KeyKind, read_key
from tests.app.cli.terminal import Terminal

AUTO = """version: 1
vendors: [{name: cloud, kind: openai, base_url: "https://cloud.example/v1"}]
models: [{name: small, targets: [{vendor: cloud, model: m}]}]
chains: [{name: auto, default_tier: low, tiers: {low: [small]}}]
"""


async def keys(terminal: Terminal, *args: str) -> Result:
    return await terminal.run("admin", "keys", *args)


async def test_the_token_of_a_new_key_stands_alone_on_standard_output(terminal: Terminal) -> None:
    result = await keys(terminal, "create", "app-1")
    text = read_key(result.stdout.removesuffix("\n"))
    assert text is not None
    assert text.kind is KeyKind.CLIENT
    assert f"Made key app-1 ({text.id}) of tenant default." in result.stderr


async def test_every_option_reaches_the_key(terminal: Terminal) -> None:
    limits = ("--rpm", "1", "--tpm", "2", "--concurrent", "3", "--usd-per-day", "0.25", "--usd-per-month", "500")
    placement = ("--placement", "nodes_only", "--placement-lock", "--allow-placement", "nodes_only")
    more = (
        "--region",
        "fr",
        "--interactive",
        "--dollar-limit-mode",
        "closed",
        "--expires",
        "2100-01-31",
        "--cache-ttl",
        "60",
    )
    result = await keys(terminal, "create", "app-1", "--json", *limits, *placement, *more)
    assert result.exit_code == 0, result.output
    made = json.loads(result.stdout)
    assert made.pop("token").startswith("ktms_sk_")
    assert made.pop("id")
    assert made == {
        "name": "app-1",
        "tenant": "default",
        "models": None,
        "placements": ["nodes_only"],
        "allowed_regions": ["fr"],
        "placement": "nodes_only",
        "placement_lock": True,
        "tier": None,
        "interactive": True,
        "limits": {"rpm": 1, "tpm": 2, "concurrent": 3, "usd_per_day": "0.25", "usd_per_month": "500"},
        "dollars_closed": True,
        "cache_ttl_s": 60,
        "expires_at": "2100-01-31T00:00:00Z",
        "revoked": False,
    }


async def test_keys_are_listed_as_a_table(terminal: Terminal) -> None:
    await keys(terminal, "create", "app-1", "--rpm", "600")
    result = await keys(terminal, "list")
    head, row = result.stdout.splitlines()
    assert head.split() == ["id", "name", "tenant", "models", "limits", "expires", "state"]
    assert row.split()[1:] == ["app-1", "default", "all", "rpm=600", "never", "live"]


async def test_a_revoked_key_is_listed_only_when_asked_for(terminal: Terminal) -> None:
    made = json.loads((await keys(terminal, "create", "app-1", "--json")).stdout)
    revoked = await keys(terminal, "revoke", made["id"])
    assert (revoked.exit_code, revoked.stderr) == (0, f"Revoked {made['id']}.\n")
    assert json.loads((await keys(terminal, "list", "--json")).stdout) == []
    assert [key["revoked"] for key in json.loads((await keys(terminal, "list", "--all", "--json")).stdout)] == [
        True
    ]


async def test_more_keys_than_fit_a_page_are_all_listed(terminal: Terminal) -> None:
    text = "version: 1\nclient_keys:\n" + "".join(f"  - {{name: k{n}}}\n" for n in range(501))
    await terminal.run("apply", "-f", terminal.write("gateway.yaml", text))
    assert len(json.loads((await keys(terminal, "list", "--json")).stdout)) == 501


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("create", "app-1", "--tenant", "gone"), 1, "ktms: this tenant does not exist: declare it under tenants"),
        (("create", "!"), 1, "ktms: name: "),
        (("create", "taken"), 1, "ktms: a live client key has this name\n"),
        (("revoke", "gone"), 1, "ktms: no client key has the id gone (ktms admin keys list)\n"),
        (("create", "app-1", "--usd-per-day", "0.0000001"), 2, "at most 6 decimals"),
        (("create", "app-1", "--usd-per-day", "many"), 2, "expected dollars"),
        (("create", "app-1", "--expires", "soon"), 2, "expected a date such as"),
        (("create", "app-1", "--rpm", "-1"), 2, "-1 is not in the range"),
        (("create", "app-1", "--tpm", "99999999999999999999"), 2, "is not in the range"),
        (("create", "app-1", "--cache-ttl", "99999999999999999999"), 2, "is not in the range"),
        (("create", "app-1", "--placement", "cloud"), 2, "'cloud' is not one of"),
        (("create",), 2, "Missing argument 'NAME'"),
        (("revoke",), 2, "Missing argument"),
    ],
)
async def test_what_cannot_be_is_said_with_the_exit_code_of_whose_fault_it_is(
    terminal: Terminal, args: tuple[str, ...], code: int, said: str
) -> None:
    await keys(terminal, "create", "taken")
    result = await keys(terminal, *args)
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr
