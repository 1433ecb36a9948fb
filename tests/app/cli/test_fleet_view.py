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
        admin_pb2.NodeStatus(
            name="mac-2", engine="vllm", health="down", slots=2, draining=True, engine_calls=7, kv_used=0.375
        ),
    ],
    queues=[
        admin_pb2.QueueStatus(model="small", waiting=2, slots=6, busy=3, holding_s=1.25, forecast_s=0.5),
        admin_pb2.QueueStatus(model="gone"),
    ],
)


def shown(
    fleet: admin_pb2.GetFleetResponse, *, width: int = 200, blocks: bool = True, terminal: bool = False
) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, force_terminal=terminal, color_system=None)
    console.print(fleet_view(fleet, "gw:9090", blocks=blocks))
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
    assert lines[5] == ["mac-2", "draining", "vllm,", "7", "calls,", "KV", "38%", "░░░░░░░░░░", "0/2"]
    assert lines[8] == ["small", "2", "█████░░░░░", "3/6", "1.2", "s", "0.5", "s"]
    assert lines[9][3:] == ["0/0", "0.0", "s", "-"]


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_a_terminal_of_any_width_is_shown_names_and_counts(width: int) -> None:
    lines = [line.split() for line in shown(FLEET, width=width, terminal=True)]
    nodes = {line[0]: line for line in lines if line and line[0].startswith("mac")}
    assert {name: line[1] for name, line in nodes.items()} == {"mac-1": "healthy", "mac-2": "draining"}
    assert "3/4" in nodes["mac-1"]
    assert "qwen3:4b" in nodes["mac-1"]
    assert any(line[:2] == ["small", "2"] and "3/6" in line for line in lines)


def test_a_narrow_terminal_is_shown_numbers_for_bars_and_the_fewer_columns_the_narrower_it_is() -> None:
    narrow, middling = (shown(FLEET, width=width, terminal=True) for width in (40, 60))
    assert narrow[3].split() == ["node", "health", "slots", "model"]
    assert middling[2].split() == ["node", "health", "engine", "slots", "model", "speed"]
    assert "█" not in "".join(narrow)
    assert all(len(line.rstrip()) <= 40 for line in narrow)


def test_a_name_that_is_longer_than_the_terminal_is_broken_and_not_cut() -> None:
    name = "machine-" * 8
    fleet = admin_pb2.GetFleetResponse(known=True, nodes=[admin_pb2.NodeStatus(name=name, health="down", slots=1)])
    assert "".join(line.split()[0] for line in shown(fleet, width=40, terminal=True)[4:]) == name


def test_a_pipe_gets_all_columns_however_narrow_it_says_it_is() -> None:
    assert "speed" in "\n".join(shown(FLEET, width=90))


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
            "engine_calls": None,
            "kv_used": None,
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
            "engine_calls": 7,
            "kv_used": 0.375,
            "models": [],
        },
    ]
    assert facts["queues"] == [
        {"model": "small", "waiting": 2, "slots": 6, "busy": 3, "holding_s": 1.25, "forecast_s": 0.5},
        {"model": "gone", "waiting": 0, "slots": 0, "busy": 0, "holding_s": 0.0, "forecast_s": None},
    ]
