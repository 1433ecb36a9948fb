"""Names of hosts and of their incarnations."""

from sim.hosts import HOST, NOWHERE, name_of


def test_the_name_of_an_incarnation_is_that_of_its_host() -> None:
    assert name_of("gw1#2") == "gw1"


def test_a_bare_name_is_its_own() -> None:
    assert name_of("gw1") == "gw1"


def test_whoever_was_started_on_no_host_is_nowhere() -> None:
    assert HOST.get() == NOWHERE
