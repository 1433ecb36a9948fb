import json

import pytest
from click.testing import Result

from ktms.adapters.memory.batch_store import MemoryBatchStore
from ktms.adapters.memory.batch_upkeep import MemoryBatchUpkeep
from ktms.domain.access.actor import Role
from ktms.domain.batch.batch import FileComplaint
from tests.app.cli.terminal import Terminal
from tests.contracts.shelf_stage import OWNER, Shelf, over

UNKNOWN = f"batch_{'0' * 32}"


def shelf(terminal: Terminal) -> Shelf:
    return over(terminal.stage.shelf, terminal.stage.clock.advance, terminal.stage.store)


async def batches(terminal: Terminal, *args: str) -> Result:
    return await terminal.run("admin", "batches", *args)


async def test_batches_of_all_keys_are_listed_newest_first(terminal: Terminal) -> None:
    made = shelf(terminal)
    first, second = await made.batch(3), await made.batch(1)
    head, *rows = (await batches(terminal, "list")).stdout.splitlines()
    assert head.split() == ["id", "key", "tenant", "state", "lines", "done", "failed", "made", "until"]
    assert [row.split()[:7] for row in rows] == [
        [second, OWNER, "default", "in_progress", "1", "0", "0"],
        [first, OWNER, "default", "in_progress", "3", "0", "0"],
    ]


async def test_a_list_goes_on_over_pages_and_ends_where_it_is_told(terminal: Terminal) -> None:
    made = shelf(terminal)
    names = [await made.batch(1) for _ in range(5)]
    listed = json.loads((await batches(terminal, "list", "--most", "3", "--json")).stdout)
    assert [each["id"] for each in listed] == names[:1:-1]
    assert len(json.loads((await batches(terminal, "list", "--most", "9", "--json")).stdout)) == 5


async def test_a_batch_is_shown_with_all_that_is_known_of_it(terminal: Terminal) -> None:
    made = shelf(terminal)
    new = await made.new_batch()
    await made.batches.create(new)
    upkeep = MemoryBatchUpkeep(terminal.stage.shelf)
    examination = await upkeep.examine()
    assert examination is not None
    await upkeep.examined(examination, [FileComplaint("empty_file", "The input file has no lines.")])
    shown = json.loads((await batches(terminal, "show", new.id, "--json")).stdout)
    assert (shown["state"], shown["route"], shown["complaints"]) == (
        "failed",
        "/v1/chat/completions",
        ["The input file has no lines."],
    )
    assert shown["ended_at"] == shown["created_at"] == "2026-09-21T14:13:20Z"
    text = (await batches(terminal, "show", new.id)).stdout
    assert "complaints" in text
    assert "The input file has no lines." in text


async def test_batches_are_cancelled_and_the_audit_says_by_whom(terminal: Terminal) -> None:
    made = shelf(terminal)
    names = [await made.batch(1), await made.batch(1)]
    result = await batches(terminal, "cancel", *names)
    assert (result.exit_code, result.stderr) == (0, "".join(f"Batch {name} is: cancelling.\n" for name in names))
    assert [entry.subject for entry in terminal.stage.store.audit] == [f"batch {name}" for name in names]
    assert {entry.actor.name for entry in terminal.stage.store.audit} == {"the-owner"}


async def test_a_batch_that_had_ended_stays_as_it_is(terminal: Terminal) -> None:
    made = shelf(terminal)
    name = await made.batch(0)
    await made.upkeep.move_on()
    assert (await batches(terminal, "cancel", name)).stderr == f"Batch {name} had ended: completed.\n"
    assert await MemoryBatchStore(terminal.stage.shelf).find(name, None) is not None


@pytest.mark.parametrize("args", [("show", UNKNOWN), ("cancel", UNKNOWN), ("show", "x"), ("cancel", "x")])
async def test_an_unknown_batch_is_said_in_one_line(terminal: Terminal, args: tuple[str, ...]) -> None:
    result = await batches(terminal, *args)
    assert (result.exit_code, result.stderr) == (
        1,
        "ktms: no batch has this id (ktms admin batches list)\n",
    )


async def test_a_viewer_looks_and_cancels_nothing(terminal: Terminal) -> None:
    name, key = await shelf(terminal).batch(1), terminal.stage.tokens[Role.VIEWER]
    assert (await terminal.run("admin", "batches", "list", KTMS_ADMIN_KEY=key)).exit_code == 0
    result = await terminal.run("admin", "batches", "cancel", name, KTMS_ADMIN_KEY=key)
    assert result.stderr == "ktms: CancelBatch needs the role operator, this key has viewer\n"
