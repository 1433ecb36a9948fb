"""Contract of `ktms/ports/usage_reports.py`: what is told stands with what is kept, in `test_ledger.py`.

Here: an answer has a bound.
"""

import pytest

from ktms.domain.access.usage_report import ROWS_MAX, Dimension, UsageQuery, UsageTooFine
from ktms.domain.ids import KeyId
from tests.contracts.books_stage import Books
from tests.usage_events import usage_event

PER_BATCH = 5_000


async def test_an_answer_beyond_what_anybody_reads_is_refused(books: Books) -> None:
    events = [usage_event(number, key_id=KeyId(f"key-{number}")) for number in range(ROWS_MAX + 1)]
    for start in range(0, len(events), PER_BATCH):
        await books.book.send(events[start : start + PER_BATCH])
    with pytest.raises(UsageTooFine):
        await books.book.usage(UsageQuery(0, 100_000, (Dimension.KEY,)))
    assert len(await books.book.usage(UsageQuery(0, 100_000, (Dimension.TENANT,)))) == 1
