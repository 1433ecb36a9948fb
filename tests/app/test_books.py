from pathlib import Path

import pytest

from ktms.adapters.files.usage_spool import FileUsageSpool
from ktms.adapters.grpc.ledger_client import GrpcLedger
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.memory.usage_spool import MemoryUsageSpool
from ktms.adapters.postgres.pool import Database
from ktms.adapters.postgres.usage_ledger import PostgresUsageLedger
from ktms.app.books import LedgerAt, ledger_at, open_book, open_spool
from ktms.app.failed import StartFailed
from ktms.config.address import Address
from ktms.config.settings import LedgerTls, Settings

NOWHERE = Database("postgres://nobody@127.0.0.1:1/none")
HERE, THERE = Address("127.0.0.1", 1), Address("ledger.example.com", 1)


async def opened(at: LedgerAt | None) -> object:
    async with open_book(at, NOWHERE, MemoryTelemetry()) as book:
        return book


def test_without_an_address_there_is_no_service() -> None:
    assert ledger_at(Settings()) is None


def test_an_address_comes_with_how_to_speak_there() -> None:
    tls = LedgerTls(Path("/ca"))
    settings = Settings(ledger_addr=THERE, ledger_tls=tls, ledger_allow_plaintext=True)
    assert ledger_at(settings) == LedgerAt(THERE, tls, allow_plaintext=True)


async def test_without_a_service_usage_goes_to_our_own_database() -> None:
    assert isinstance(await opened(None), PostgresUsageLedger)


@pytest.mark.parametrize("at", [LedgerAt(HERE), LedgerAt(THERE, allow_plaintext=True)], ids=["here", "allowed"])
async def test_with_a_service_usage_goes_there(at: LedgerAt) -> None:
    assert isinstance(await opened(at), GrpcLedger)


async def test_plain_text_to_another_machine_is_refused() -> None:
    with pytest.raises(StartFailed, match="KTMS_LEDGER_TLS_CA"):
        await opened(LedgerAt(THERE))


async def test_an_authority_that_is_not_there_is_named() -> None:
    with pytest.raises(StartFailed, match="cannot read /none"):
        await opened(LedgerAt(THERE, LedgerTls(Path("/none"))))


def test_without_a_folder_events_wait_in_memory() -> None:
    assert isinstance(open_spool(None), MemoryUsageSpool)


def test_with_a_folder_they_wait_there(tmp_path: Path) -> None:
    spool = open_spool(tmp_path)
    assert isinstance(spool, FileUsageSpool)
    spool.close()


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StartFailed, match="KTMS_SPOOL_DIR: cannot use"):
        open_spool(tmp_path / "file")
