from ktms.adapters.postgres.pool import Database
from ktms.app.doctor.finding import Verdict
from ktms.app.doctor.ledger import ledger_finding
from ktms.config.address import Address
from ktms.config.settings import Settings


async def test_our_own_database_that_tells_what_was_spent_is_fine(database: Database) -> None:
    finding = await ledger_finding(Settings(), database)
    assert (finding.verdict, "the gateway's own Postgres" in finding.text) == (Verdict.OK, True)


async def test_a_service_that_is_away_is_an_error(database: Database) -> None:
    finding = await ledger_finding(Settings(ledger_addr=Address("127.0.0.1", 1)), database)
    assert (finding.verdict, "ktms ledger at 127.0.0.1:1" in finding.text) == (Verdict.ERROR, True)


async def test_plain_text_to_another_machine_is_an_error(database: Database) -> None:
    finding = await ledger_finding(Settings(ledger_addr=Address("192.0.2.1", 9191)), database)
    assert (finding.verdict, "KTMS_LEDGER_TLS_CA" in finding.text) == (Verdict.ERROR, True)
