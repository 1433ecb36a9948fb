"""What the demo node says."""

import math

from ktms.adapters.demo_node.speech import TEXT, as_base64, count, speech, vector


def test_the_words_join_to_the_text() -> None:
    assert speech(None).text == TEXT
    assert speech(None).finish_reason == "stop"


def test_the_text_says_that_it_is_a_demo() -> None:
    assert "demo" in TEXT
    assert "not a language model" in TEXT


def test_a_limit_cuts_the_text_and_says_so() -> None:
    cut = speech(3)
    assert (cut.text, cut.finish_reason) == ("This is the", "length")


def test_a_limit_beyond_the_text_cuts_nothing() -> None:
    assert speech(10_000) == speech(None)


def test_an_empty_prompt_counts_as_one_token() -> None:
    assert count(("",)) == 1
    assert count(("two words", "and three more")) == 5


def test_vectors_have_length_one_and_depend_on_the_text_alone() -> None:
    assert math.isclose(sum(x * x for x in vector("a")), 1, abs_tol=1e-4)
    assert vector("a") == vector("a")
    assert vector("a") != vector("b")


def test_base64_is_little_endian_floats() -> None:
    assert as_base64((1.0, -2.0)) == "AACAPwAAAMA="
