import math
from dataclasses import replace

import pytest

from ktms.domain.catalogue import PolicySpec
from ktms.domain.catalogue_rules import CatalogueInvalid
from ktms.domain.placement import Placement
from ktms.domain.policy_edit import POLICY_FIELDS, changed_fields, edited

STORED = PolicySpec(placement=Placement.NODES_ONLY, allowed_regions=("fr",), attempts_max=2)
WANTED = PolicySpec(placement=Placement.CLOUD_ONLY, force_cloud=True, band=math.inf)


def test_only_the_settings_named_are_taken() -> None:
    assert edited(STORED, WANTED, ("force_cloud",)) == replace(STORED, force_cloud=True)


def test_all_settings_can_be_named() -> None:
    assert edited(STORED, WANTED, POLICY_FIELDS) == WANTED


def test_no_name_changes_nothing() -> None:
    assert edited(STORED, WANTED, ()) == STORED


def test_an_unknown_setting_is_refused_with_those_that_exist() -> None:
    with pytest.raises(CatalogueInvalid, match=r"force: is no setting: placement, placement_lock, force_cloud"):
        edited(STORED, WANTED, ("force",))


@pytest.mark.parametrize(
    ("name", "wanted", "said"),
    [
        ("band", PolicySpec(band=math.nan), "band: must be 1 or more"),
        ("attempts_max", PolicySpec(attempts_max=7), "attempts_max: must be 1 to 6"),
        ("allowed_regions", PolicySpec(allowed_regions=("FR",)), "allowed_regions.0: must be"),
    ],
)
def test_a_value_that_cannot_be_is_refused(name: str, wanted: PolicySpec, said: str) -> None:
    with pytest.raises(CatalogueInvalid, match=said):
        edited(STORED, wanted, (name,))


def test_a_wrong_value_that_is_not_named_is_not_looked_at() -> None:
    assert edited(STORED, PolicySpec(band=0), ("force_cloud",)) == STORED


def test_settings_that_differ_are_named() -> None:
    assert changed_fields(STORED, replace(STORED, band=2, force_cloud=True)) == ("force_cloud", "band")
