from ktms.engine.lately import KEPT_MAX, KEPT_S, Lately


def test_what_left_is_given_back_once() -> None:
    lately: Lately[str, int] = Lately()
    lately.left("a", 1, 0.0)
    assert (lately.back("a", 1.0), lately.back("a", 1.0)) == (1, None)


def test_what_left_too_long_ago_is_not_given_back() -> None:
    lately: Lately[str, int] = Lately()
    lately.left("a", 1, 0.0)
    assert lately.back("a", KEPT_S) is None


def test_what_left_too_long_ago_is_forgotten_when_something_else_leaves() -> None:
    lately: Lately[str, int] = Lately()
    lately.left("a", 1, 0.0)
    lately.left("b", 2, KEPT_S)
    assert (lately.find("a"), lately.find("b")) == (None, 2)


def test_whoever_left_first_is_forgotten_first() -> None:
    lately: Lately[int, int] = Lately()
    for number in range(KEPT_MAX):
        lately.left(number, number, 0.0)
    lately.left(0, 0, 1.0)
    lately.left(KEPT_MAX, KEPT_MAX, 1.0)
    assert (lately.find(0), lately.find(1), lately.find(2)) == (0, None, 2)


def test_looking_keeps_it() -> None:
    lately: Lately[str, int] = Lately()
    lately.left("a", 1, 0.0)
    assert (lately.find("a"), lately.find("a"), lately.find("b")) == (1, 1, None)
