"""A table of keys that somebody holds, and a revocation that nobody hears of, in stories."""

from chaos.experiments.all_of_them import EXPERIMENTS
from chaos.stand.client_keys import STRANGER
from tests.chaos.experiments.seen import failing
from tests.chaos.experiments.story import RunStory


def sessions(story: RunStory, at: float, count: int) -> None:
    story.note(at, "gauge", name="postgres_sessions", label="gw1", value=count)


def locked() -> RunStory:
    story = RunStory()
    sessions(story, 11.0, 6)
    sessions(story, 12.0, 25)
    story.call(12.0, "error", status=503, code="auth_unavailable", key=STRANGER, took_s=3.1)
    story.call(13.0, by="node-0")
    return story


def test_a_full_pool_that_makes_nobody_wait_for_long_holds() -> None:
    assert failing("keys-locked", locked().over()) == set()


def test_a_session_too_many_is_found() -> None:
    story = locked()
    sessions(story, 14.0, 26)
    assert failing("keys-locked", story.over()) == {"the server counts 26 sessions at most"}


def test_a_look_up_that_takes_too_long_is_found() -> None:
    story = locked()
    story.call(13.0, "error", status=503, code="auth_unavailable", key=STRANGER, took_s=5.0)
    assert failing("keys-locked", story.over()) == {"2 of 2 look-ups are told to come back, within 5.00 s"}


def test_a_known_key_that_is_refused_meanwhile_is_found() -> None:
    story = locked()
    story.call(14.0, "error", status=503, code="auth_unavailable")
    assert failing("keys-locked", story.over()) == {"1 of 2 calls of known keys are answered"}


def revoked() -> RunStory:
    story = RunStory()
    for gateway in ("gw1", "gw2"):
        story.note(1.0, "host_up", gateway)
    story.note(10.0, "key_revoked", key="key-4")
    for gateway in ("gw1", "gw2"):
        story.call(12.0, key="leaver", gateway=gateway)
        story.call(20.5, "error", status=401, code="invalid_api_key", key="leaver", gateway=gateway)
    return story


def test_a_revoked_key_that_is_refused_in_time_holds() -> None:
    over = revoked().over()
    assert failing("key-revoked-unheard", over) == set()
    assert EXPERIMENTS["key-revoked-unheard"].felt(over) == 2


def test_a_revoked_key_that_is_let_in_later_is_found() -> None:
    story = revoked()
    story.call(21.0, key="leaver", gateway="gw2")
    over, figure = story.over(), EXPERIMENTS["key-revoked-unheard"].figure
    assert failing("key-revoked-unheard", over) == {"2 of 3 calls are refused 10 s later, by 2 replicas"}
    assert figure is not None
    assert figure.of(over) == 1.0


def test_the_second_key_counts_from_its_own_revocation() -> None:
    story = revoked()
    story.note(12.5, "key_revoked", key="key-5")
    story.call(12.6, key="later-leaver", gateway="gw1")
    story.call(13.5, key="later-leaver", gateway="gw1")
    story.call(22.0, key="later-leaver", gateway="gw1")
    over = story.over()
    assert failing("key-revoked-unheard", over) == set()
    assert EXPERIMENTS["key-revoked-unheard"].felt(over) == 4


def test_a_replica_of_which_nothing_is_known_is_found() -> None:
    story = revoked()
    story.note(21.0, "host_up", "gw3")
    assert failing("key-revoked-unheard", story.over())
