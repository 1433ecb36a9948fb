import json
from pathlib import Path

import pytest

from ktms.app.cli.apply import placed
from ktms.config.gateway_file import load_gateway
from ktms.domain.access.actor import Role
from tests.app.cli.terminal import Terminal

FILE = """\
version: 1
vendors:
  - {name: openai, kind: openai, base_url: "https://api.openai.com/v1", keys: [{env: OPENAI_API_KEY}]}
models:
  - {name: gpt, targets: [{vendor: openai, model: gpt-4o-mini}]}
tenants:
  - {name: team-a}
client_keys:
  - {name: app-1, tenant: team-a}
"""

KEY = {"OPENAI_API_KEY": "sk-canary"}


async def test_an_apply_shows_what_changed_and_the_new_key_once(terminal: Terminal) -> None:
    path = terminal.write("gateway.yaml", FILE)
    result = await terminal.run("apply", "-f", path, **KEY)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert sorted(lines[:4]) == ["+ client_key app-1", "+ model gpt", "+ tenant team-a", "+ vendor openai"]
    assert lines[4].startswith("client key app-1: ktms_sk_")
    assert "shown this once" in result.stderr
    assert result.stderr.endswith("4 added; version 1 is in force.\n")
    assert "sk-canary" not in result.output


async def test_the_same_file_again_changes_nothing_and_shows_no_key(terminal: Terminal) -> None:
    path = terminal.write("gateway.yaml", FILE)
    await terminal.run("apply", "-f", path, **KEY)
    again = await terminal.run("apply", "-f", path, **KEY)
    assert again.stdout == ""
    assert again.stderr.endswith("Nothing to change; version 1 is in force.\n")


async def test_a_change_names_the_fields_and_no_values(terminal: Terminal) -> None:
    await terminal.run("apply", "-f", terminal.write("gateway.yaml", FILE), **KEY)
    changed = FILE.replace("sk-", "").replace("api.openai.com", "eu.api.openai.com")
    result = await terminal.run("apply", "-f", terminal.write("gateway.yaml", changed), **KEY)
    assert result.stdout == "~ vendor openai: base_url\n"


async def test_a_dry_run_changes_nothing(terminal: Terminal) -> None:
    result = await terminal.run("apply", "-f", terminal.write("gateway.yaml", FILE), "--dry-run", **KEY)
    assert "+ vendor openai" in result.stdout
    assert result.stderr.endswith("Dry run, nothing was changed: 4 added.\n")
    assert terminal.stage.store.version == 0


async def test_prune_removes_what_the_file_does_not_declare(terminal: Terminal) -> None:
    await terminal.run("apply", "-f", terminal.write("gateway.yaml", FILE), **KEY)
    result = await terminal.run("apply", "-f", terminal.write("empty.yaml", "version: 1\n"), "--prune")
    assert "- vendor openai" in result.stdout
    assert "4 removed" in result.stderr


async def test_the_result_as_json_is_for_programs(terminal: Terminal) -> None:
    result = await terminal.run("apply", "-f", terminal.write("gateway.yaml", FILE), "--json", **KEY)
    answer = json.loads(result.stdout)
    assert (answer["version"], answer["dry_run"], len(answer["changes"])) == (1, False, 4)
    assert answer["new_keys"][0]["token"].startswith("ktms_sk_")
    assert answer["changes"][0].keys() == {"action", "kind", "name", "fields"}


async def test_warnings_go_to_standard_error(terminal: Terminal) -> None:
    result = await terminal.run("apply", "-f", terminal.write("gateway.yaml", FILE), **KEY)
    assert "warning: model gpt: target openai/gpt-4o-mini has no price" in result.stderr


async def test_a_file_without_a_policy_keeps_the_stored_one(terminal: Terminal) -> None:
    policy = "version: 1\npolicy: {allowed_regions: [fr], force_cloud: true}\n"
    await terminal.run("apply", "-f", terminal.write("policy.yaml", policy))
    result = await terminal.run("apply", "-f", terminal.write("tenant.yaml", "version: 1\ntenants: [{name: b}]\n"))
    assert result.stdout == "+ tenant b\n"
    assert terminal.stage.store.catalogue.policy.allowed_regions == ("fr",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version: 1\nmodels: [", ":2:10: "),
        ("version: 1\nvendrs: []\n", ":2:1: vendrs: unknown field (did you mean 'vendors'?)"),
        ("version: 1\nversion: 1\n", ":2:1: 'version' stands here twice"),
        (
            FILE.replace("OPENAI_API_KEY", "GONE"),
            ":3:80: vendors[0].keys[0]: environment variable GONE is not set",
        ),
        ("", "the file is empty"),
    ],
)
async def test_a_wrong_file_is_refused_with_its_place_before_anything_is_sent(
    terminal: Terminal, text: str, said: str
) -> None:
    path = terminal.write("gateway.yaml", text)
    terminal.stage.store.away = True
    result = await terminal.run("apply", "-f", path, **KEY)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"ktms: {path}:")
    assert said in result.stderr


async def test_a_missing_file_is_named(terminal: Terminal) -> None:
    result = await terminal.run("apply", "-f", "/gone.yaml")
    assert (result.exit_code, result.stderr) == (
        1,
        "ktms: /gone.yaml: cannot be read: No such file or directory\n",
    )


async def test_what_does_not_fit_to_what_is_stored_is_placed_in_the_file(terminal: Terminal) -> None:
    path = terminal.write("gateway.yaml", FILE.replace("vendor: openai", "vendor: opnai"))
    result = await terminal.run("apply", "-f", path, **KEY)
    assert result.exit_code == 1
    assert f"{path}:5:36: models[0].targets[0].vendor: " in result.stderr
    assert "opnai" in result.stderr


async def test_an_entry_may_name_one_that_is_only_stored(terminal: Terminal) -> None:
    await terminal.run("apply", "-f", terminal.write("gateway.yaml", FILE), **KEY)
    more = "version: 1\nmodels: [{name: big, targets: [{vendor: openai, model: gpt-4o}]}]\n"
    result = await terminal.run("apply", "-f", terminal.write("more.yaml", more))
    assert result.stdout == "+ model big\n"


async def test_a_stored_entry_that_no_longer_fits_is_not_placed_in_the_file(terminal: Terminal) -> None:
    model = "version: 1\nmodels: [{name: %s, aliases: [fast], targets: [{vendor: local, model: m}]}]\n"
    await terminal.run("apply", "-f", terminal.write("first.yaml", model % "small"))
    result = await terminal.run("apply", "-f", terminal.write("second.yaml", model % "big"))
    assert result.exit_code == 1
    assert result.stderr == (
        "ktms: what is stored beside this file no longer fits: "
        "models: 'fast' is the name of a model, alias or chain already\n"
    )


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("  retry:\n    attempts_max: 7\n", ":4:19: policy.retry.attempts_max: "),
        ("  force_cloud: true\n  allowed_regions: [fr, Not A Region]\n", ":4:25: policy.allowed_regions[1]: "),
    ],
)
async def test_what_the_gateway_says_of_the_policy_is_placed_in_the_file(
    terminal: Terminal, policy: str, said: str
) -> None:
    path = terminal.write("gateway.yaml", f"version: 1\npolicy:\n{policy}")
    result = await terminal.run("apply", "-f", path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"ktms: {path}{said}")


def test_what_a_file_leaves_out_is_not_placed_in_it(tmp_path: Path) -> None:
    (tmp_path / "gateway.yaml").write_text("version: 1\n")
    file = load_gateway(tmp_path / "gateway.yaml")
    beside = "what is stored beside this file no longer fits"
    assert placed(file, "policy.band: must be 1 or more") == f"{beside}: policy: must be 1 or more"
    assert placed(file, "models.0.name: is taken") == f"{beside}: models: is taken"
    for line in ("the database is away; nothing was changed", "update_mask: name the settings to change"):
        assert placed(file, line) == line


async def test_with_prune_the_file_must_hold_together_by_itself(terminal: Terminal) -> None:
    more = "version: 1\nmodels: [{name: big, targets: [{vendor: openai, model: gpt-4o}]}]\n"
    path = terminal.write("more.yaml", more)
    terminal.stage.store.away = True
    result = await terminal.run("apply", "-f", path, "--prune")
    assert f"{path}:2:41: models[0].targets[0].vendor: " in result.stderr


async def test_a_key_that_may_not_apply_is_told_so(terminal: Terminal) -> None:
    viewer = terminal.stage.tokens[Role.VIEWER]
    result = await terminal.run("apply", "-f", terminal.write("gateway.yaml", FILE), KTMS_ADMIN_KEY=viewer, **KEY)
    assert result.exit_code == 1
    assert result.stderr == "ktms: ApplyConfig needs the role owner, this key has viewer\n"


async def test_a_database_that_is_away_is_told_and_nothing_was_changed(terminal: Terminal) -> None:
    terminal.stage.store.away = True
    result = await terminal.run("apply", "-f", terminal.write("gateway.yaml", FILE), **KEY)
    assert (result.exit_code, result.stderr) == (1, "ktms: the database is away; nothing was changed\n")


async def test_a_forgotten_file_is_wrong_usage(terminal: Terminal) -> None:
    assert (await terminal.run("apply")).exit_code == 2
