"""Which shape belongs to which kind."""

import pytest

from ktms.domain.catalogue import EngineKind, VendorKind
from ktms.domain.catalogue_entries import SERVED_KINDS
from ktms.vendors.registry import VENDORS, node_shape, shape_of, vendor_shape


def test_exactly_the_kinds_that_compile_have_a_shape() -> None:
    assert set(VENDORS) == SERVED_KINDS


@pytest.mark.parametrize("kind", sorted(SERVED_KINDS))
def test_a_vendors_shape_carries_its_kinds_name(kind: VendorKind) -> None:
    assert vendor_shape(kind).name == kind.value
    assert shape_of(kind) is vendor_shape(kind)


@pytest.mark.parametrize("engine", list(EngineKind))
def test_every_engine_has_a_shape_of_its_name(engine: EngineKind) -> None:
    assert node_shape(engine).name == engine.value
    assert shape_of(engine) is node_shape(engine)


def test_a_kind_that_does_not_compile_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError, match="gemini"):
        vendor_shape(VendorKind.GEMINI)
