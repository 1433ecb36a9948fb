from dataclasses import replace

import pytest

from ktms.app.doctor.declared import catalogue_findings
from ktms.app.doctor.finding import Verdict
from ktms.domain.access.limits import Limits
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    Catalogue,
    ClientKeySpec,
    DollarLimitMode,
    ModelSpec,
    PriceSpec,
    TargetSpec,
    TenantSpec,
    VendorKind,
    VendorSpec,
)

DOLLARS = Limits(usd_per_day_micros=1)
SOUND = Catalogue(
    vendors=(VendorSpec("cloud", VendorKind.OPENAI, "https://api.example.com/v1", keys=(Secret("x"),)),),
    models=(ModelSpec("m", (TargetSpec("cloud", "mini"),)),),
    prices=(PriceSpec("cloud", "mini"),),
)
LIMITED = replace(
    SOUND, tenants=(TenantSpec("team", DOLLARS),), client_keys=(ClientKeySpec("app", "team", limits=DOLLARS),)
)


def told(catalogue: Catalogue, mode: DollarLimitMode = DollarLimitMode.OPEN) -> list[tuple[Verdict, str, str]]:
    return [(each.verdict, each.subject, each.text) for each in catalogue_findings(catalogue, mode)]


def test_a_catalogue_without_a_model_is_a_warning() -> None:
    assert [each[:2] for each in told(Catalogue())] == [(Verdict.WARNING, "catalogue")]


def test_a_sound_catalogue_is_fine() -> None:
    assert told(SOUND) == [(Verdict.OK, "catalogue", "1 models; each target in the cloud has a price")]


def test_a_target_without_a_price_is_a_warning() -> None:
    assert told(replace(SOUND, prices=())) == [
        (Verdict.WARNING, "catalogue", "model m: target cloud/mini has no price, its use costs 0")
    ]


def test_a_limit_of_dollars_where_something_costs_nothing_is_a_warning_of_its_own() -> None:
    assert told(replace(LIMITED, prices=()))[1:] == [
        (Verdict.WARNING, "limits", "dollars are limited (2 keys and tenants), but 1 cloud targets cost 0 there")
    ]


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        (DollarLimitMode.OPEN, "pass, but of keys and teams that say closed"),
        (DollarLimitMode.CLOSED, "are refused"),
    ],
)
def test_limits_of_dollars_are_told_with_what_happens_when_nobody_can_count(
    mode: DollarLimitMode, said: str
) -> None:
    [_, (verdict, subject, text)] = told(LIMITED, mode)
    assert (verdict, subject, text.endswith(f"calls {said}")) == (Verdict.OK, "limits", True)
