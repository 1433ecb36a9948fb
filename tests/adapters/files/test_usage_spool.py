import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ktms.adapters.files.spool_folder import FOLDERS_MAX, SpoolUnusable, take_folder
from ktms.adapters.files.usage_lines import LineInvalid, decode_line, encode_line
from ktms.adapters.files.usage_spool import FileUsageSpool
from ktms.domain.access.usage_event import BatchLine
from ktms.domain.ids import ModelName
from tests.usage_events import usage_event

LINE_BYTES = len(encode_line(usage_event(1)))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def small(root: Path) -> FileUsageSpool:
    """Three events to a file, four files in all."""
    return FileUsageSpool(root, bytes_max=12 * LINE_BYTES, file_bytes=3 * LINE_BYTES)


def fill(spool: FileUsageSpool, numbers: range) -> None:
    for number in numbers:
        spool.put(usage_event(number))


def drained(spool: FileUsageSpool, batch: int = 4) -> list[int]:
    found: list[int] = []
    while events := spool.oldest(batch):
        found += [int(event.id[-6:], 16) for event in events]
        spool.forget(len(events))
    return found


def abandon(spool: FileUsageSpool) -> None:
    """Let go of the folder as a kill does: nothing else happens."""
    os.close(spool._folder.lock)


def files(root: Path) -> list[Path]:
    return sorted(root.glob("*/*.jsonl"))


def test_an_event_is_on_disk_as_soon_as_it_is_recorded(root: Path) -> None:
    spool = FileUsageSpool(root)
    spool.put(usage_event(1))
    (file,) = files(root)
    assert file.read_bytes() == encode_line(usage_event(1))


def test_what_a_dead_process_left_is_lent_first(root: Path) -> None:
    dead = FileUsageSpool(root)
    fill(dead, range(3))
    abandon(dead)
    heir = FileUsageSpool(root)
    fill(heir, range(3, 5))
    assert drained(heir) == [0, 1, 2, 3, 4]


def test_what_was_sent_to_its_end_is_gone_after_a_stop_in_order(root: Path) -> None:
    spool = FileUsageSpool(root)
    fill(spool, range(3))
    drained(spool)
    spool.close()
    assert files(root) == []


def test_what_was_not_sent_is_there_after_a_stop_in_order(root: Path) -> None:
    spool = FileUsageSpool(root)
    fill(spool, range(3))
    spool.close()
    assert (spool.lost_total, drained(FileUsageSpool(root))) == (0, [0, 1, 2])


def test_after_a_kill_what_was_sent_of_the_last_file_comes_again(root: Path) -> None:
    dead = FileUsageSpool(root)
    fill(dead, range(4))
    dead.oldest(2)
    dead.forget(2)
    abandon(dead)
    assert drained(FileUsageSpool(root)) == [0, 1, 2, 3]


def test_a_file_goes_when_all_of_it_was_sent(root: Path) -> None:
    spool = small(root)
    fill(spool, range(8))
    assert len(files(root)) == 3
    spool.oldest(3)
    spool.forget(3)
    assert len(files(root)) == 2


def test_a_file_in_use_goes_once_it_is_large_and_sent(root: Path) -> None:
    spool = small(root)
    fill(spool, range(3))
    drained(spool)
    assert files(root) == []
    fill(spool, range(3, 4))
    assert drained(spool) == [3]


def test_a_spool_that_is_full_loses_its_oldest_file_and_counts_its_events(root: Path) -> None:
    spool = small(root)
    fill(spool, range(20))
    lost = spool.lost_total
    assert lost >= 3
    assert drained(spool) == list(range(lost, 20))


def test_the_file_that_is_being_sent_stays_in_a_full_spool(root: Path) -> None:
    spool = small(root)
    fill(spool, range(3))
    spool.oldest(2)
    fill(spool, range(3, 20))
    lost = spool.lost_total
    assert lost >= 3
    assert (drained(spool), spool.depth) == ([0, 1, 2, *range(3 + lost, 20)], 0)


def test_depth_and_losses_add_up_to_what_was_recorded(root: Path) -> None:
    spool = small(root)
    fill(spool, range(40))
    assert spool.depth + spool.lost_total == 40


def test_half_a_line_at_the_end_was_never_recorded(root: Path) -> None:
    dead = FileUsageSpool(root)
    fill(dead, range(2))
    abandon(dead)
    (file,) = files(root)
    with file.open("ab") as end:
        end.write(encode_line(usage_event(2))[:40])
    heir = FileUsageSpool(root)
    assert (drained(heir), heir.lost_total) == ([0, 1], 0)


def test_a_spoilt_line_is_lost_alone(root: Path) -> None:
    dead = FileUsageSpool(root)
    fill(dead, range(3))
    abandon(dead)
    (file,) = files(root)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + b"\x00garbage\n" + lines[2])
    heir = FileUsageSpool(root)
    assert (drained(heir), heir.lost_total, heir.depth) == ([0, 2], 1, 0)


def test_a_file_that_vanishes_costs_its_events_and_no_more(root: Path) -> None:
    spool = small(root)
    fill(spool, range(8))
    files(root)[0].unlink()
    assert (drained(spool), spool.lost_total, spool.depth) == ([3, 4, 5, 6, 7], 3, 0)


def test_a_file_without_a_whole_line_goes_at_the_start(root: Path) -> None:
    folder = root / "0"
    folder.mkdir(parents=True)
    (folder / "x.jsonl").write_bytes(b"{")
    assert (FileUsageSpool(root).depth, files(root)) == (0, [])


def test_a_full_disk_costs_the_event_and_no_call(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = FileUsageSpool(root)
    spool.put(usage_event(0))
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:10]))
    spool.put(usage_event(1))
    monkeypatch.undo()
    spool.put(usage_event(2))
    assert (drained(spool), spool.lost_total) == ([0, 2], 1)


def test_a_broken_disk_costs_the_event_and_no_call(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = FileUsageSpool(root)

    def broken(handle: int, data: bytes) -> int:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "write", broken)
    spool.put(usage_event(1))
    assert (spool.depth, spool.lost_total) == (0, 1)


def test_what_comes_after_the_end_is_counted_as_lost(root: Path) -> None:
    spool = FileUsageSpool(root)
    spool.close()
    spool.put(usage_event(1))
    assert spool.lost_total == 1


def test_two_processes_never_share_a_folder(root: Path) -> None:
    one, other = FileUsageSpool(root), FileUsageSpool(root)
    fill(one, range(2))
    fill(other, range(2, 4))
    assert (drained(one), drained(other)) == ([0, 1], [2, 3])


def test_whoever_starts_takes_over_from_all_that_are_dead(root: Path) -> None:
    first, second = FileUsageSpool(root), FileUsageSpool(root)
    fill(first, range(2))
    fill(second, range(2, 4))
    abandon(first)
    abandon(second)
    assert drained(FileUsageSpool(root)) == [0, 1, 2, 3]
    assert take_folder(root).path == root / "1", "what was emptied is free for the next one"


def test_a_living_process_keeps_what_is_its_own(root: Path) -> None:
    first, living = FileUsageSpool(root), FileUsageSpool(root)
    fill(living, range(2))
    abandon(first)
    assert FileUsageSpool(root).depth == 0
    assert drained(living) == [0, 1]


def test_files_are_for_their_owner_alone(root: Path) -> None:
    FileUsageSpool(root).put(usage_event(1))
    (file,) = files(root)
    assert [path.stat().st_mode & 0o777 for path in (root, root / "0", file)] == [0o700, 0o700, 0o600]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SpoolUnusable, match="file/spool"):
        FileUsageSpool(tmp_path / "file" / "spool")


def test_more_processes_than_the_folder_is_for_are_refused(root: Path) -> None:
    folders = [take_folder(root) for _ in range(FOLDERS_MAX)]
    with pytest.raises(SpoolUnusable, match=str(FOLDERS_MAX)):
        take_folder(root)
    for folder in folders:
        folder.release()


def test_a_line_keeps_every_member_of_an_event() -> None:
    event = usage_event(1, batch_line=BatchLine("batch-1", 7), chain=ModelName("chäin"), cloud_picos=None)
    assert decode_line(encode_line(event)) == event


def test_a_line_of_another_release_is_read() -> None:
    line = encode_line(usage_event(1)).replace(b'"priced":true', b'"unheard_of":[1]')
    assert decode_line(line) == usage_event(1, priced=False)


@pytest.mark.parametrize("line", [b"", b"{}", b"nonsense", b'{"id":1}', b"\xff"])
def test_garbage_is_no_event(line: bytes) -> None:
    with pytest.raises(LineInvalid):
        decode_line(line)


WRITER = """
import sys
from pathlib import Path
from ktms.adapters.files.usage_spool import FileUsageSpool
from tests.usage_events import usage_event
spool = FileUsageSpool(Path(sys.argv[1]))
number = 0
while True:
    spool.put(usage_event(number))
    print(number, flush=True)
    number += 1
"""


def test_a_kill_loses_nothing_that_was_recorded(root: Path) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(root)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    told = [int(writer.stdout.readline()) for _ in range(2000)]
    writer.send_signal(signal.SIGKILL)
    told += [int(line) for line in writer.stdout if line.endswith("\n")]
    writer.wait()
    writer.stdout.close()
    found = drained(FileUsageSpool(root), 500)
    assert set(told) <= set(found)
    assert len(found) <= len(told) + 1
