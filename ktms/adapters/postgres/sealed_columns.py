"""Every column that holds ciphertext, and the place each value is bound to.

A test compares the list with the database, so that no start check and no rotation misses a column.
"""

from ktms.ports.secrets import Place

SEALED_COLUMNS = (("vendor_key", "secret"), ("node", "token"), ("node_announcement", "token"))
"""Table and column of the type `ktms_ciphertext`."""

ROWS_PER_KEY = """
select 'vendor_key' as "table", key_id, count(*) as rows from vendor_key group by key_id
union all
select 'node', token_key_id, count(*) from node where token is not null group by token_key_id
union all
select 'node_announcement', token_key_id, count(*) from node_announcement group by token_key_id
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
