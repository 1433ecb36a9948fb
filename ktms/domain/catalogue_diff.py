"""Differences between two catalogues."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: what happens to one entry. `fields` names what changed, never a secret's value."""

    action: str  # add, change, remove
    kind: str  # vendor, model, chain, node, price, tenant, client_key, policy
    name: str
    fields: tuple[str, ...] = ()
