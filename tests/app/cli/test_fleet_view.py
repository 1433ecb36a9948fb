import io

import pytest
from rich.console import Console

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.app.cli.fleet_view import bar, fleet_facts, fleet_view

FLEET = admin_pb2.GetFleetResponse(
    known=True,
    nodes=[
        admin_pb2.NodeStatus(
            name="mac-1",
            engine="ollama",
            health="healthy",
            busy=3,
            slots=4,
            seats=[
                admin_pb2.SeatStatus(
                    model="qwen3:4b",
                    context_window=8192,
                    speed=1.5,
                    prefill_tokens_per_s=812.4,
                    decode_tokens_per_s=42.31,
                    samples=9,
                ),
                admin_pb2.SeatStatus(model="llama3", cold=True, speed=1),
            ],
        ),
        admin_pb2.NodeStatus(name="mac-2", engine="vllm", health="down", slots=2, draining=True),
    ],
    queues=[
        admin_pb2.QueueStatus(model="small", waiting=2, slots=6, busy=3, holding_s=1.25, forecast_s=0.5),
        admin_pb2.QueueStatus(model="gone"),
    ],
)


def shown(fleet: admin_pb2.GetFleetResponse, *, width: int = 200, blocks: bool = True) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(fleet_view(fleet, "gw:9090", blocks=blocks))
    return out.getvalue().splitlines()


def test_nodes_and_queues_are_shown_with_bars() -> None:
    lines = [line.split() for line in shown(FLEET)]
    assert lines[0] == ["gw:9090:", "2", "nodes,", "3", "of", "6", "slots", "taken,", "2", "waiting"]
    assert lines[3] == [
        "mac-1",
        "healthy",
        "ollama",
        "████████░░",
        "3/4",
        "qwen3:4b",
        "8192",
        "812",
        "42.3",
        "x1.50",
    ]
    assert lines[4] == ["llama3", "(cold)", "-", "-", "-", "x1.00"]
    assert lines[5] == ["mac-2", "draining", "vllm", "░░░░░░░░░░", "0/2"]
    assert lines[8] == ["small", "2", "█████░░░░░", "3/6", "1.2", "s", "0.5", "s"]
    assert lines[9][-2:] == ["no", "node"]


def test_a_terminal_of_80_columns_cuts_nothing_that_counts() -> None:
    text = "\n".join(shown(FLEET, width=80))
    assert "mac-1" in text
    assert "3/4" in text


def test_a_replica_without_redis_says_that_its_counts_are_old() -> None:
    fleet = admin_pb2.GetFleetResponse(known=False)
    assert shown(fleet)[1:] == ["Redis does not answer this replica: the counts are old.", "No node is known."]


def test_names_from_elsewhere_can_neither_colour_nor_move_the_cursor() -> None:
    fleet = admin_pb2.GetFleetResponse(
        known=True, nodes=[admin_pb2.NodeStatus(name="[red]x\x1b[2J", engine="[b]", health="\x07", slots=1)]
    )
    text = "\n".join(shown(fleet))
    assert "[red]x?[2J" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (0, 4, ".......... 0/4"),
        (1, 1000, "#......... 1/1000"),
        (3, 4, "########.. 3/4"),
        (4, 4, "########## 4/4"),
        (5, 4, "########## 5/4"),
        (0, 0, ".......... 0/0"),
    ],
)
def test_a_bar_shows_what_is_taken(part: int, whole: int, said: str) -> None:
    assert bar(part, whole, blocks=False).plain == said


def test_what_is_not_measured_is_null_in_json() -> None:
    facts = fleet_facts(FLEET)
    assert facts["known"] is True
    assert facts["nodes"] == [
        {
            "name": "mac-1",
            "engine": "ollama",
            "health": "healthy",
            "draining": False,
            "busy": 3,
            "slots": 4,
            "models": [
                {
                    "name": "qwen3:4b",
                    "context_window": 8192,
                    "cold": False,
                    "speed": 1.5,
                    "prefill_tokens_per_s": 812.4,
                    "decode_tokens_per_s": 42.31,
                    "samples": 9,
                },
                {
                    "name": "llama3",
                    "context_window": None,
                    "cold": True,
                    "speed": 1.0,
                    "prefill_tokens_per_s": None,
                    "decode_tokens_per_s": None,
                    "samples": 0,
                },
            ],
        },
        {
            "name": "mac-2",
            "engine": "vllm",
            "health": "down",
            "draining": True,
            "busy": 0,
            "slots": 2,
            "models": [],
        },
    ]
    assert facts["queues"] == [
        {"model": "small", "waiting": 2, "slots": 6, "busy": 3, "holding_s": 1.25, "forecast_s": 0.5},
        {"model": "gone", "waiting": 0, "slots": 0, "busy": 0, "holding_s": 0.0, "forecast_s": None},
    ]
