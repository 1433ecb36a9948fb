"""Which requests a fault of a target strikes."""

from chaos.stand.modes import LIMITED, SILENT, STATUS, Modes


def test_a_fault_strikes_each_so_many_requests() -> None:
    modes = Modes()
    modes.switch(STATUS, 503, on=True, every=3)
    assert [modes.striking(STATUS) is not None for _ in range(6)] == [False, False, True, False, False, True]


def test_who_only_looks_is_struck_by_what_strikes_everybody() -> None:
    modes = Modes()
    modes.switch(STATUS, 503, on=True, every=2)
    modes.switch(SILENT, 0, on=True, every=1)
    assert modes.of_all(STATUS) is None
    assert modes.of_all(SILENT) is not None


def test_a_fault_that_is_off_strikes_nobody() -> None:
    modes = Modes()
    modes.switch(STATUS, 503, on=True, every=1)
    modes.switch(STATUS, 503, on=False, every=1)
    assert modes.striking(STATUS) is None
    assert modes.names == ()


def test_a_limit_is_for_the_credential_that_comes_first() -> None:
    modes = Modes()
    assert modes.limiting("one") is None
    modes.switch(LIMITED, 4, on=True, every=1)
    assert [modes.limiting(key) is not None for key in ("two", "one", "two")] == [True, False, True]
