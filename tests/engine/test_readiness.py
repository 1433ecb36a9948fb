from hypothesis import given
from hypothesis import strategies as st

from ktms.engine.readiness import judge


def test_a_replica_with_everything_is_ok() -> None:
    verdict = judge(draining=False, version=3, postgres_answers=True, key_window_open=True, nodes_known=True)
    assert (verdict.status, verdict.reasons, verdict.ready) == ("ok", (), True)


def test_without_postgres_an_open_key_window_keeps_a_replica_degraded_but_ready() -> None:
    verdict = judge(draining=False, version=3, postgres_answers=False, key_window_open=True, nodes_known=True)
    assert (verdict.status, verdict.reasons, verdict.ready) == ("degraded", ("postgres_away",), True)


def test_without_postgres_a_closed_key_window_makes_it_unready() -> None:
    verdict = judge(draining=False, version=3, postgres_answers=False, key_window_open=False, nodes_known=True)
    assert verdict.status == "unready"
    assert verdict.reasons == ("postgres_away", "key_window_closed")


def test_fr14_without_redis_the_cloud_still_answers() -> None:
    verdict = judge(draining=False, version=3, postgres_answers=True, key_window_open=True, nodes_known=False)
    assert (verdict.status, verdict.reasons, verdict.ready) == ("degraded", ("redis_away",), True)


def test_without_a_snapshot_nothing_can_be_answered() -> None:
    verdict = judge(draining=False, version=0, postgres_answers=True, key_window_open=True, nodes_known=True)
    assert (verdict.status, verdict.ready) == ("unready", False)


@given(st.integers(0, 9), st.booleans(), st.booleans())
def test_a_draining_replica_is_never_ready(version: int, postgres: bool, window: bool) -> None:
    verdict = judge(
        draining=True, version=version, postgres_answers=postgres, key_window_open=window, nodes_known=True
    )
    assert not verdict.ready


def test_fp9_a_saved_snapshot_keeps_a_replica_degraded_while_saved_keys_count() -> None:
    verdict = judge(
        draining=False, version=3, postgres_answers=False, key_window_open=True, nodes_known=True, saved=True
    )
    assert (verdict.status, verdict.reasons, verdict.ready) == (
        "degraded",
        ("saved_snapshot", "postgres_away"),
        True,
    )


def test_fp9_a_saved_snapshot_whose_keys_count_no_more_is_not_ready() -> None:
    verdict = judge(
        draining=False, version=3, postgres_answers=False, key_window_open=False, nodes_known=True, saved=True
    )
    assert verdict.status == "unready"
