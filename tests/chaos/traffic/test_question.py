"""What a call asks for."""

import json

from chaos.stand.asked import CANARY, read_asked
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
