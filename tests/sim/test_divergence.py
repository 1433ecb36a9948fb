from pathlib import Path

from sim.divergence import first_divergence, read_facts, read_records, write_records
from sim.trace import Record


def records(*texts: str, task: str = "relay:12") -> list[Record]:
    return [Record(text, task) for text in texts]


def test_equal_runs_do_not_part() -> None:
    assert first_divergence(records("a", "b"), records("a", "b")) is None


def test_the_first_record_that_differs_is_named() -> None:
    found = first_divergence(records("a", "b", "c", "d"), records("a", "b", "x", "y"))
    assert found is not None
    assert (found.number, found.left, found.right) == (3, Record("c", "relay:12"), Record("x", "relay:12"))


def test_the_record_tells_the_task_that_wrote_it_on_either_side() -> None:
    found = first_divergence(records("a", task="one:1"), records("b", task="other:2"))
    assert found is not None
    assert [side.task for side in (found.left, found.right) if side] == ["one:1", "other:2"]


def test_a_run_that_ends_earlier_parts_at_its_end() -> None:
    found = first_divergence(records("a", "b"), records("a"))
    assert found is not None
    assert (found.number, found.right) == (2, None)


def test_the_last_equal_records_are_shown_and_no_more() -> None:
    found = first_divergence(records(*"abcdefg", "1"), records(*"abcdefg", "2"), context=3)
    assert found is not None
    assert [record.text for record in found.before] == ["e", "f", "g"]


def test_another_task_with_the_same_record_is_no_difference() -> None:
    assert first_divergence(records("a", task="one:1"), records("a", task="other:2")) is None


def test_records_come_back_from_a_file(tmp_path: Path) -> None:
    wanted = records("timer 1.0", 'reply "x"\ttab', "bytes ü")
    write_records(tmp_path / "trace", wanted)
    assert list(read_records(tmp_path / "trace")) == wanted


def test_facts_are_compared_as_lines(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text('{"at":1}\n{"at":2}\n')
    assert [record.text for record in read_facts(tmp_path / "journal")] == ['{"at":1}', '{"at":2}']
