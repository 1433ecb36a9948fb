"""The real entropy."""

from ktms.adapters.system.entropy import SystemEntropy


def test_token_bytes_are_as_many_as_asked_for_and_never_the_same() -> None:
    drawn = [SystemEntropy().token_bytes(16) for _ in range(100)]
    assert {len(token) for token in drawn} == {16}
    assert len(set(drawn)) == 100


def test_uniform_stays_between_its_bounds_and_moves() -> None:
    entropy = SystemEntropy()
    drawn = [entropy.uniform(2.0, 3.0) for _ in range(200)]
    assert all(2.0 <= number <= 3.0 for number in drawn)
    assert max(drawn) - min(drawn) > 0.5
