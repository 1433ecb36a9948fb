"""Token counts of one answer."""

from ktms.domain.conversation.usage import NO_USAGE, Usage


def test_nothing_counted_is_nothing_estimated() -> None:
    assert Usage() == NO_USAGE
    assert not NO_USAGE.estimated
