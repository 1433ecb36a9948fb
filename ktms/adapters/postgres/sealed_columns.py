"""Every column that holds ciphertext, and the place each value is bound to.

A test compares the list with the database, so that no start check and no rotation misses a column.
"""

from ktms.ports.secrets import Place

SEALED_COLUMNS = (
    ("vendor_key", "secret"),
    ("node", "token"),
    ("node_announcement", "token"),
    ("repeatable_call", "answer"),
    ("batch_file_piece", "content"),
)
"""Table and column of the types `ktms_ciphertext` and `ktms_sealed_answer`."""

ROWS_PER_KEY = """
select 'vendor_key' as "table", key_id, count(*) as rows from vendor_key group by key_id
union all
select 'node', token_key_id, count(*) from node where token is not null group by token_key_id
union all
select 'node_announcement', token_key_id, count(*) from node_announcement group by token_key_id
union all
select 'repeatable_call', answer_key_id, count(*) from repeatable_call
where answer_key_id is not null and expires_at > now() group by answer_key_id
union all
select 'batch_file_piece', key_id, count(*) from batch_file_piece group by key_id
order by 1, 2
"""
"""How many rows of each table lie under which key; one part per sealed column."""


def vendor_key_place(row: str, vendor: str) -> Place:
    """Bind a vendor's credential to its row and to the vendor it belongs to; both UUID text."""
    return Place("vendor_key", "secret", row, vendor)


def node_token_place(node: str) -> Place:
    """Bind a node's token to the node, UUID text."""
    return Place("node", "token", node, node)


def announced_token_place(row: str, node_key: str) -> Place:
    """Bind an announced token to its row and to the key it was announced with; both UUID text."""
    return Place("node_announcement", "token", row, node_key)


def kept_answer_place(call: str, client_key: str) -> Place:
    """Bind a kept answer to the call that was answered (UUID text) and to the key of its client."""
    return Place("repeatable_call", "answer", call, client_key)


def file_piece_place(file: str, number: int) -> Place:
    """Bind a piece of a file (UUID text) to its place in it: pieces cannot change places."""
    return Place("batch_file_piece", "content", f"{file}/{number}", file)
