"""What the audit keeps of a change: before and after, only what changed, never a secret."""

from collections.abc import Mapping, Sequence

from ktms.adapters.postgres.specs import Entry, plain
from ktms.domain.catalogue import Catalogue
from ktms.domain.catalogue_diff import Change, Spec, entry_name
from ktms.domain.catalogue_plan import Plan


def details_of(plan: Plan, stored: Catalogue) -> Mapping[str, object]:
    """Give the changes with the values before and after them; a secret shows as the name of its field alone."""
    before, after = _by_kind(stored), _by_kind(plan.merged)
    return {"changes": [_one(change, before, after) for change in plan.changes]}


def _one(
    change: Change, before: Mapping[tuple[str, str], Entry], after: Mapping[tuple[str, str], Entry]
) -> Mapping[str, object]:
    place = (change.kind, change.name)
    return {
        "action": change.action,
        "kind": change.kind,
        "name": change.name,
        "fields": change.fields,
        "before": _shown(before.get(place), change.fields),
        "after": None if change.action == "remove" else _shown(after.get(place), change.fields),
    }


def _shown(entry: Entry | None, names: tuple[str, ...]) -> Mapping[str, object] | None:
    if entry is None:
        return None
    return {name: value for name, value in plain(entry).items() if not names or name in names}


def _by_kind(catalogue: Catalogue) -> Mapping[tuple[str, str], Entry]:
    sections: Mapping[str, Sequence[Spec]] = {
        "vendor": catalogue.vendors,
        "model": catalogue.models,
        "chain": catalogue.chains,
        "node": catalogue.nodes,
        "price": catalogue.prices,
        "tenant": catalogue.tenants,
        "client_key": catalogue.client_keys,
    }
    found: dict[tuple[str, str], Entry] = {
        (kind, entry_name(entry)): entry for kind, entries in sections.items() for entry in entries
    }
    found["policy", "policy"] = catalogue.policy
    return found
