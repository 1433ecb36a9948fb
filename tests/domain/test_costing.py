"""What an attempt cost, and what it would have cost in the cloud."""

from dataclasses import replace
from decimal import Decimal

import pytest

from ktms.domain.catalogue import Catalogue, ModelSpec, PriceSpec, TargetSpec, VendorKind, VendorSpec
from ktms.domain.conversation.usage import Usage
from ktms.domain.costing import Cost, cost_of, first_cloud
from ktms.domain.ids import LOCAL, VendorModel, VendorName
from ktms.domain.price_compile import price_table
from ktms.domain.routing.compile import compile_snapshot
from ktms.domain.snapshot import Model

NODE_MODEL = VendorModel("qwen3:4b")

PRICES = price_table(
    [
        PriceSpec("alpha", "gpt", Decimal(1), output=Decimal(2)),
        PriceSpec("alpha", "gpt", Decimal(5), output=Decimal(5), valid_from=100),
        PriceSpec("local", NODE_MODEL, Decimal("0.1"), output=Decimal("0.2")),
    ]
)
USAGE = Usage(10, 20)
LOCAL_TARGET, GPT = TargetSpec("local", NODE_MODEL), TargetSpec("alpha", "gpt")
SNAPSHOT = compile_snapshot(
    Catalogue(
        vendors=(VendorSpec("alpha", VendorKind.OPENAI, "https://alpha.example/v1"),),
        models=(
            ModelSpec("cloudy", (TargetSpec("alpha", "other"), GPT)),
            ModelSpec("homely", (LOCAL_TARGET,)),
            ModelSpec("mixed", (LOCAL_TARGET, GPT, TargetSpec("alpha", "other"))),
        ),
    ),
    version=1,
)


def model(name: str) -> Model:
    found = SNAPSHOT.names[name]
    assert isinstance(found, Model)
    return found


HOMELY, MIXED, CLOUDY = model("homely"), model("mixed"), model("cloudy")


def test_a_saving_is_measured_by_the_models_own_first_cloud_target() -> None:
    assert first_cloud(MIXED, (CLOUDY, MIXED)) is MIXED.cloud[0]


def test_a_model_without_one_is_measured_by_the_first_of_its_chain() -> None:
    assert first_cloud(HOMELY, (HOMELY, MIXED, CLOUDY)) is MIXED.cloud[0]


def test_where_there_is_no_cloud_there_is_nothing_to_compare_with() -> None:
    assert first_cloud(HOMELY, (HOMELY,)) is None


@pytest.mark.parametrize(("wall", "picos"), [(99, 10_000_000 + 40_000_000), (100, 150_000_000)])
def test_the_price_is_that_of_the_moment_the_attempt_began(wall: float, picos: int) -> None:
    target = (VendorName("alpha"), VendorModel("gpt"))
    assert cost_of(PRICES, USAGE, target, MIXED.cloud[0], wall) == Cost(picos, picos, priced=True)


def test_a_node_costs_its_electricity_and_is_compared_with_the_cloud() -> None:
    cost = cost_of(PRICES, USAGE, (LOCAL, NODE_MODEL), MIXED.cloud[0], 0)
    assert cost == Cost(1_000_000 + 4_000_000, 50_000_000, priced=True)


def test_a_target_without_a_price_costs_nothing_and_says_so() -> None:
    assert cost_of(PRICES, USAGE, (LOCAL, VendorModel("x")), None, 0) == Cost(0, None, priced=False)


def test_a_cloud_target_without_a_price_is_nothing_to_compare_with() -> None:
    cloud = replace(MIXED.cloud[0], vendor_model=VendorModel("unpriced"))
    assert cost_of(PRICES, USAGE, (LOCAL, NODE_MODEL), cloud, 0).cloud_picos is None
