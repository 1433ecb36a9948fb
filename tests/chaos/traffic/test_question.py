"""What a call asks for."""

import json

from chaos.stand.asked import CANARY, TRAVELS, read_asked
from chaos.traffic.question import Question


def test_a_target_reads_of_a_question_which_call_it_is() -> None:
    question = Question("17", "gw2", "app-1", tokens=9, usage_asked=True)
    asked = read_asked(1, json.dumps(question.body()).encode(), "")
    assert (asked.call, asked.gateway, asked.tokens) == ("17", "gw2", 9)
    assert (asked.streamed, asked.usage_asked) == (True, True)


def test_each_prompt_has_words_that_nobody_may_log() -> None:
    assert CANARY in json.dumps(Question("1", "gw1", "app-1").body())


def test_headers_say_only_what_is_wished() -> None:
    plain, wished = Question("1", "gw1", "k"), Question("1", "gw1", "k", placement="nodes_only", word="once-1")
    assert plain.headers("t").keys() == {"Authorization", "Content-Type"}
    assert wished.headers("t")["X-KTMS-Placement"] == "nodes_only"
    assert wished.headers("t")["Idempotency-Key"] == "once-1"


def test_a_repeat_says_the_same_byte_for_byte_and_tells_a_target_who_it_is() -> None:
    first = Question("17", "gw2", "app-1", word="once-17")
    again = first.again("17r", "gw3").again("17rs")
    asked = read_asked(1, json.dumps(again.body()).encode(), "", again.headers("t")[TRAVELS])
    assert (again.body(), again.word, again.said_as) == (first.body(), "once-17", "17")
    assert (asked.call, asked.gateway) == ("17rs", "gw3")


def test_a_call_without_a_word_that_is_made_again_is_another_call() -> None:
    again = Question("17", "gw2", "app-1").again("17s")
    assert (again.said_as, set(again.headers("t"))) == ("17s", {"Authorization", "Content-Type"})


def test_a_bounded_question_says_how_long_its_answer_may_be() -> None:
    assert Question("1", "gw1", "k", tokens=7, bounded=True).body()["max_tokens"] == 7
    assert "max_tokens" not in Question("1", "gw1", "k", tokens=7).body()
