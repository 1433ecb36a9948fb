"""Roles of the admin plane."""

import pytest

from ktms.domain.access.actor import Actor, Role


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("needed", list(Role))
def test_a_role_covers_itself_and_all_before_it(role: Role, needed: Role) -> None:
    order = [Role.VIEWER, Role.OPERATOR, Role.OWNER]

    assert role.covers(needed) is (order.index(role) >= order.index(needed))


def test_an_actor_is_named_by_its_key() -> None:
    assert Actor("ops", Role.OWNER).name == "ops"
