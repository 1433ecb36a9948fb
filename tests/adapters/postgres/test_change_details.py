from dataclasses import replace
from typing import Any

from ktms.adapters.postgres.change_details import details_of
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import Catalogue, ModelSpec, PolicySpec, TargetSpec, VendorKind, VendorSpec
from ktms.domain.catalogue_plan import plan_apply

VENDOR = VendorSpec("v", VendorKind.OPENAI, "https://api.example.com", keys=(Secret("canary-secret-value"),))
MODEL = ModelSpec("m", (TargetSpec("v", "x"),))
STORED = Catalogue(vendors=(VENDOR,), models=(MODEL,))


def changes(wanted: Catalogue, *, prune: bool = False) -> list[dict[str, Any]]:
    found = details_of(plan_apply(STORED, wanted, (), prune=prune), STORED)["changes"]
    assert isinstance(found, list)
    return found


def test_a_changed_entry_shows_the_changed_fields_only() -> None:
    (change,) = changes(Catalogue(models=(replace(MODEL, context_window=4096),)))
    assert (change["before"], change["after"]) == ({"context_window": None}, {"context_window": 4096})


def test_a_new_entry_has_no_before_and_a_removed_one_no_after() -> None:
    new = ModelSpec("n", (TargetSpec("v", "y"),))
    removed, added = sorted(
        changes(Catalogue(vendors=(VENDOR,), models=(new,)), prune=True), key=lambda change: change["name"]
    )
    assert (removed["name"], removed["after"], removed["before"]["name"]) == ("m", None, "m")
    assert (added["name"], added["before"], added["after"]["name"]) == ("n", None, "n")


def test_a_changed_secret_shows_as_the_name_of_its_field() -> None:
    (change,) = changes(Catalogue(vendors=(replace(VENDOR, keys=(Secret("canary-other-secret"),)),)))
    assert (list(change["fields"]), change["before"], change["after"]) == (["keys"], {}, {})
    assert "canary" not in repr(change)


def test_the_policy_is_shown_too() -> None:
    (change,) = changes(Catalogue(policy=PolicySpec(band=2)))
    assert (change["before"], change["after"]) == ({"band": 1.25}, {"band": 2})
