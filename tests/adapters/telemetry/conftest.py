"""A clock that stands still, records with chosen facts, and a telemetry whose log can be read."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ktms.adapters.telemetry.access_line import LogFormat
from ktms.adapters.telemetry.gateway_telemetry import GatewayTelemetry, LogSettings
from ktms.ports.telemetry import CallRecord


@dataclass
class SettableClock:
    wall_s: float = 1_790_000_000.25  # 2026-09-21T14:13:20.250Z

    monotonic_s: float = 5.0

    def monotonic(self) -> float:
        return self.monotonic_s

    def wall(self) -> float:
        return self.wall_s


@dataclass
class Bench:
    telemetry: GatewayTelemetry
    clock: SettableClock
    log: Path

    def written(self) -> str:
        self.telemetry.stop()
        return self.log.read_text()

    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.written().splitlines()]

    def sample(self, series: str) -> float | None:
        for line in self.telemetry.exposition().decode().splitlines():
            if line.startswith(series + " "):
                return float(line.rsplit(" ", 1)[1])
        return None


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def make_bench(tmp_path: Path, clock: SettableClock) -> Iterator[Callable[..., Bench]]:
    opened: list[tuple[GatewayTelemetry, int]] = []

    def make(log_format: LogFormat = LogFormat.JSON, level: str = "info") -> Bench:
        log = tmp_path / "log"
        fd = os.open(log, os.O_WRONLY | os.O_CREAT)
        settings = LogSettings(log_format=log_format, level=level, fd=fd)
        telemetry = GatewayTelemetry(clock, settings, version="1.2.3")
        opened.append((telemetry, fd))
        return Bench(telemetry, clock, log)

    yield make
    for telemetry, fd in opened:
        telemetry.stop()  # or its thread writes into whatever file gets this number next
        os.close(fd)


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    return make_bench()


@pytest.fixture
def make_record() -> Callable[..., CallRecord]:
    def make(**facts: Any) -> CallRecord:
        plain: dict[str, Any] = {
            "request_id": "01900000-0000-7000-8000-000000000001",
            "route": "/v1/chat/completions",
            "status": 200,
            "code": None,
            "key_id": "abcdefghij",
            "tenant": "team-a",
            "model": "small",
            "chain": None,
            "vendor": "openai",
            "node": None,
            "placement": "nodes_first",
            "streamed": False,
            "attempts": (),
            "total_s": 0.3,
            "upstream_s": 0.25,
            "queue_s": 0.0,
            "first_token_s": None,
            "prompt_tokens": 0,
            "completion_tokens": 0,
            "cancelled": False,
        }
        return CallRecord(**(plain | facts))

    return make
