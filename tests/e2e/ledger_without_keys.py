"""`ktms ledger` that does not know repeats: its statement inserts whatever comes. A test of the tests."""

import ktms.adapters.postgres.usage_ledger as known
from ktms.adapters.postgres.usage_statements import INGEST
from ktms.app.cli import main

KNOWING = "on conflict do nothing"

if __name__ == "__main__":
    assert KNOWING in INGEST, "the statement has another form"
    vars(known)["INGEST"] = INGEST.replace(KNOWING, "")
    main()
