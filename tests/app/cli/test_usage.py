import json
from datetime import UTC, datetime

import pytest
from click.testing import Result

from ktms.adapters.system.clock import SystemClock
from ktms.app.cli.usage_view import ALL_SUMS
from ktms.domain.access.actor import Role
from ktms.domain.access.usage_sums import DAY_S
from ktms.domain.ids import LOCAL, KeyId, ModelName, NodeName, TenantName
from tests.app.cli.terminal import Terminal
from tests.usage_events import usage_event


async def usage(terminal: Terminal, *args: str) -> Result:
    return await terminal.run("admin", "usage", *args)


def now_s() -> float:
    return SystemClock().wall()


def day(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).date().isoformat()


@pytest.fixture
async def used(terminal: Terminal) -> Terminal:
    """Three attempts today, one of them on a machine of ours, and one eight days ago."""
    now = now_s()
    await terminal.stage.book.send(
        [
            usage_event(1, at_s=now, cost_picos=1_500_000_000_001, cloud_picos=None),
            usage_event(2, at_s=now, tenant=TenantName("team"), model=ModelName("large"), cost_picos=1),
            usage_event(
                3, at_s=now, vendor=LOCAL, node=NodeName("mac-1"), cost_picos=0, cloud_picos=2_000_000_000_000
            ),
            usage_event(4, at_s=now - 8 * DAY_S, cost_picos=7_000_000_000_000),
        ]
    )
    return terminal


def cells(result: Result) -> list[list[str]]:
    return [line.split() for line in result.stdout.splitlines()]


async def test_usage_is_shown_by_day_with_a_row_of_totals(used: Terminal) -> None:
    now = now_s()
    assert cells(await usage(used)) == [
        [
            "day",
            "attempts",
            "failed",
            "prompt_tokens",
            "cached_tokens",
            "completion_tokens",
            "cost_usd",
            "saved_usd",
        ],
        [day(now - 8 * DAY_S), "1", "0", "100", "10", "50", "7.000000", "0.000000"],
        [day(now), "3", "0", "300", "30", "150", "1.500000", "2.000000"],
        ["total", "4", "0", "400", "40", "200", "8.500000", "2.000000"],
    ]


async def test_dimensions_are_columns_in_their_order(used: Terminal) -> None:
    rows = cells(await usage(used, "--by", "tenant,model", "--from", "7d"))
    assert [row[:3] for row in rows] == [
        ["tenant", "model", "attempts"],
        ["default", "small", "2"],
        ["team", "large", "1"],
        ["total", "3", "0"],
    ]


async def test_without_dimensions_there_is_one_row_for_all(used: Terminal) -> None:
    assert [row[0] for row in cells(await usage(used, "--by", ""))] == ["attempts", "4"]


async def test_what_did_not_run_on_a_machine_has_none(used: Terminal) -> None:
    assert [row[0] for row in cells(await usage(used, "--by", "node", "--from", "1d"))] == [
        "node",
        "-",
        "mac-1",
        "total",
    ]


@pytest.mark.parametrize(
    ("args", "attempts"),
    [
        (("--tenant", "team"), 1),
        (("--model", "small"), 3),
        (("--vendor", "local"), 1),
        (("--from", "8d", "--until", "1d"), 0),
        (("--from", "9d", "--until", "1d"), 1),
        (("--from", "1970-01-01", "--until", "2020-01-01"), 1),
    ],
    ids=str,
)
async def test_what_is_asked_for_is_shown(used: Terminal, args: tuple[str, ...], attempts: int) -> None:
    await used.stage.book.send([usage_event(9, at_s=0.5 * DAY_S, tenant=TenantName("nobody"))])
    rows = json.loads((await usage(used, "--by", "", "--json", *args)).stdout)
    assert sum(row["attempts"] for row in rows) == attempts


async def test_a_key_is_named_by_its_name_or_its_id_and_shown_with_both(used: Terminal) -> None:
    made = json.loads((await used.run("admin", "keys", "create", "ci", "--json")).stdout)
    await used.stage.book.send([usage_event(5, at_s=now_s(), key_id=KeyId(made["id"]))])
    for name in ("ci", made["id"]):
        rows = cells(await usage(used, "--by", "key", "--key", name))
        assert rows[1][:3] == [made["id"], "ci", "1"]


async def test_a_key_that_does_not_exist_is_named(used: Terminal) -> None:
    result = await usage(used, "--key", "nobody")
    assert (result.exit_code, result.stderr) == (1, "ktms: there is no client key nobody\n")


async def test_csv_has_all_columns_and_exact_amounts(used: Terminal) -> None:
    result = await usage(used, "--by", "tenant", "--from", "1d", "--csv")
    assert result.stdout.splitlines() == [
        ",".join(["tenant", *ALL_SUMS]),
        "default,2,0,200,20,10,100,40,0,1.500000000001,2",
        "team,1,0,100,10,5,50,20,0,0.000000000001,0",
    ]


async def test_keys_are_named_in_csv_beside_their_ids(used: Terminal) -> None:
    made = json.loads((await used.run("admin", "keys", "create", "ci", "--json")).stdout)
    await used.stage.book.send([usage_event(6, at_s=now_s(), key_id=KeyId(made["id"]))])
    lines = (await usage(used, "--by", "key,tenant", "--key", "ci", "--csv")).stdout.splitlines()
    assert lines[0].startswith("key,key_name,tenant,attempts")
    assert lines[1].startswith(f"{made['id']},ci,")


async def test_json_has_the_same(used: Terminal) -> None:
    (row,) = json.loads((await usage(used, "--by", "tenant", "--tenant", "team", "--json")).stdout)
    assert row == {
        "tenant": "team",
        "attempts": 1,
        "failed": 0,
        "prompt_tokens": 100,
        "cached_tokens": 10,
        "cache_write_tokens": 5,
        "completion_tokens": 50,
        "reasoning_tokens": 20,
        "estimated": 0,
        "cost_usd": "0.000000000001",
        "saved_usd": "0",
    }


async def test_an_empty_answer_says_so(terminal: Terminal) -> None:
    result = await usage(terminal, "--from", "2027-01-01", "--until", "2027-02-01")
    assert (result.stdout, result.stderr) == ("", "No usage from 2027-01-01 to 2027-01-31 that fits.\n")


async def test_an_empty_csv_still_has_its_head(terminal: Terminal) -> None:
    assert len((await usage(terminal, "--csv")).stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--from", "yesterday"), "expected a day such as 2027-01-31, or 7d"),
        (("--from", "0d"), "expected a day"),
        (("--until", "2027-02-30"), "expected a day"),
        (("--by", "day,colour"), "'colour' is none of day, tenant, key, model, vendor, node"),
        (("--by", "day,day"), "each once"),
    ],
    ids=str,
)
async def test_a_wrong_word_is_wrong_usage(terminal: Terminal, args: tuple[str, ...], said: str) -> None:
    result = await usage(terminal, *args)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr


async def test_days_in_the_wrong_order_are_named(terminal: Terminal) -> None:
    result = await usage(terminal, "--from", "2027-02-01", "--until", "2027-01-01")
    assert result.exit_code == 1
    assert result.stderr == (
        "ktms: no day lies between 2027-02-01 and 2027-01-01: --until is the first day that is not shown\n"
    )


async def test_csv_and_json_at_once_are_wrong_usage(terminal: Terminal) -> None:
    result = await usage(terminal, "--csv", "--json")
    assert (result.exit_code, "--csv or --json, not both" in result.stderr) == (2, True)


async def test_a_ledger_that_is_away_is_named(terminal: Terminal) -> None:
    terminal.stage.book.away = "away"
    result = await usage(terminal)
    assert (result.exit_code, result.stderr) == (1, "ktms: the ledger does not answer\n")


async def test_a_question_that_is_too_fine_says_what_to_do(terminal: Terminal) -> None:
    now = now_s()
    await terminal.stage.book.send([usage_event(n, at_s=now, key_id=KeyId(f"key-{n}")) for n in range(10_001)])
    result = await usage(terminal, "--by", "key")
    assert result.exit_code == 1
    assert "more than 10000 rows: ask for fewer days" in result.stderr


async def test_a_viewer_may_look(used: Terminal) -> None:
    result = await used.run("admin", "usage", "--by", "", KTMS_ADMIN_KEY=used.stage.tokens[Role.VIEWER])
    assert result.exit_code == 0
