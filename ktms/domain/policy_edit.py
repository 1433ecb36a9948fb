"""A change of single settings of the policy: which ones, and to what."""

from collections.abc import Collection
from dataclasses import fields, replace

from ktms.domain.catalogue import Catalogue, PolicySpec
from ktms.domain.catalogue_rules import CatalogueInvalid, complaints
from ktms.domain.complaint import Complaint

POLICY_FIELDS = tuple(field.name for field in fields(PolicySpec))
"""What can be changed by name."""


def edited(stored: PolicySpec, wanted: PolicySpec, names: Collection[str]) -> PolicySpec:
    """Take the settings named from `wanted`, all others from `stored`.

    Raises:
        CatalogueInvalid: a name that is no setting, or the result breaks a rule.
    """
    unknown = [name for name in names if name not in POLICY_FIELDS]
    if unknown:
        raise CatalogueInvalid((Complaint((unknown[0],), f"is no setting: {', '.join(POLICY_FIELDS)}"),))
    result = replace(stored, **{name: getattr(wanted, name) for name in names})
    found = complaints(Catalogue(policy=result))
    if found:
        raise CatalogueInvalid(tuple(Complaint(each.path[1:], each.message) for each in found))
    return result


def changed_fields(before: PolicySpec, after: PolicySpec) -> tuple[str, ...]:
    """Name the settings that differ."""
    return tuple(name for name in POLICY_FIELDS if getattr(before, name) != getattr(after, name))
