import pytest

from ktms.engine.settings import EngineSettings


def test_the_defaults_are_the_documented_ones() -> None:
    settings = EngineSettings()
    assert (settings.key_window_s, settings.lookup_s, settings.hold_status_s) == (300, 3, 10)
    assert (settings.keepalive_comment_s, settings.client_stall_s, settings.call_total_s) == (15, 60, 660)


@pytest.mark.parametrize("wrong", [{"key_window_s": 5.0, "reverify_s": 5.0}, {"lookup_s": 700.0}])
def test_times_that_contradict_one_another_are_our_mistake(wrong: dict[str, float]) -> None:
    with pytest.raises(AssertionError):
        EngineSettings(**wrong)  # type: ignore[arg-type]  # members by name
