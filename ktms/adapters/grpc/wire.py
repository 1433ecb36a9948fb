"""What both ends of the ledger's protocol agree on besides the protocol itself."""

SERVICE = "ktms.ledger.v1.LedgerService"

MESSAGE_MAX_BYTES = 4 * 1024 * 1024
"""Ten times a full batch; an answer of 10,000 rows fits too."""

EVENTS_MAX = 5_000
"""Per message: ten times what a gateway sends, and still one short transaction."""

ACCOUNTS_MAX = 10_000
"""Per question: their names fit into a message, and their sums are read in one statement."""
