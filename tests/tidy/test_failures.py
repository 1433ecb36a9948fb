"""The documents of failures are what the registry gives, and all that they name is there.

Metrics and their labels, settings, commands and their options, events, error codes; and the experiments of the
chaos suite, which the simulator names without importing it.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import click
import pytest

from chaos.experiments.all_of_them import EXPERIMENTS
from ktms.adapters.telemetry.exposition import registry_of
from ktms.adapters.telemetry.line_writer import LineWriter
from ktms.adapters.telemetry.tally import Tally
from ktms.app.cli.root import ktms
from sim.registry.alert_rules import DOCUMENT, rules
from sim.registry.alert_rules import FILE as ALERT_FILE
from sim.registry.alerts import ALERTS, Alert
from sim.registry.experiments import EXPERIMENTS as NAMED
from sim.registry.failures import FAILURES
from sim.registry.handbook import document
from sim.registry.picture import FILE as PICTURE
from sim.registry.picture import picture
from sim.registry.runbook.all_pages import PAGES
from sim.scenarios.catalogue import SCENARIOS
from tests.tidy.source import sources

CODE = re.compile(r"`([^`]+)`")
METRIC = re.compile(r"\b((?:ktms|process)_[a-z_]+)\b(?:\{([^}]*)\})?")
VALUE = re.compile(r'(operation|kind|dependency|reason)="([a-z_]+)"')
WORD = re.compile(r"[a-z]+(_[a-z]+)+")
OF_POSTGRES = {"application_name", "pg_stat_activity", "pg_locks"}
"""Names of Postgres, in pages that send an operator there."""

EVERY = [alert for alerts in ALERTS.values() for alert in alerts]


@cache
def families() -> Mapping[str, frozenset[str]]:
    """Give each metric's labels; a histogram is told by the names of its series too."""
    tally = Tally()
    found = {family.name: frozenset[str]() for family in registry_of(tally, LineWriter(1), "0").collect()}
    found |= {f"{name}_total": labels for name, labels in found.items()}
    for counters in tally.counters:
        found[counters.name] = frozenset(counters.label_names)
    for histograms in tally.histograms:
        found[histograms.name] = frozenset({*histograms.label_names, "le"})
    for gauges in tally.gauges:
        found[gauges.name] = frozenset(gauges.label_names)
    return found | {"ktms_build_info": frozenset({"version"})}


def unknown_metrics(text: str) -> Iterator[str]:
    for name, labels in METRIC.findall(text):
        if name not in families():
            yield name
        for label in re.findall(r"(\w+)=", labels):
            if label not in families().get(name, ()):
                yield f"{name}{{{label}}}"


def page_text(name: str) -> str:
    page = PAGES[name]
    return "\n".join((page.sees, page.symptom, page.itself, *page.look, page.do, page.over))


def wrong_commands(text: str) -> Iterator[str]:
    for words in (code.split() for code in CODE.findall(text) if code.startswith("ktms ")):
        command: click.Command = ktms
        rest = words[1:]
        while rest and isinstance(command, click.Group) and not rest[0].startswith("-"):
            found = command.get_command(click.Context(command), rest.pop(0))
            if found is None:
                yield " ".join(words)
                break
            command = found
        known = {option for parameter in command.params for option in parameter.opts}
        if [word for word in rest if word.startswith("--") and word not in known]:
            yield " ".join(words)


@cache
def said(root: Path) -> str:
    """Give all that the product's own text holds, its settings file included."""
    return "".join(source.text for source in sources(root, "ktms"))


def unknown_words(text: str, product: str) -> list[str]:
    words = {word for word in CODE.findall(text) if WORD.fullmatch(word)} - families().keys() - OF_POSTGRES
    return [word for word in sorted(words) if f'"{word}"' not in product and f"{word}:" not in product]


@pytest.mark.parametrize("name", [DOCUMENT, PICTURE, ALERT_FILE])
def test_the_files_are_what_the_registry_gives(root: Path, name: str) -> None:
    proves = {scenario: each.proves for scenario, each in SCENARIOS.items()}
    texts = {DOCUMENT: document(proves), PICTURE: picture(proves), ALERT_FILE: rules()}
    assert (root / name).read_text() == texts[name], "python -m sim failures --write"


def test_the_registry_names_the_experiments_that_there_are() -> None:
    there = {name: one.ids for name, one in EXPERIMENTS.items()}
    assert {name: ids for name, ids in there.items() if NAMED.get(name) != ids} == {}, (
        "sim/registry/experiments.py"
    )
    assert [name for name in NAMED if name not in there] == []


@pytest.mark.parametrize("alert", EVERY, ids=lambda alert: alert.name)
def test_an_alert_asks_for_metrics_and_labels_that_exist(alert: Alert) -> None:
    assert METRIC.search(alert.expr)
    assert list(unknown_metrics(alert.expr)) == []


@pytest.mark.parametrize("name", FAILURES)
def test_a_page_names_metrics_that_exist(name: str) -> None:
    assert list(unknown_metrics(page_text(name))) == []


@pytest.mark.parametrize("text", [*map(page_text, FAILURES), *(alert.expr for alert in EVERY)])
def test_values_of_labels_are_words_of_the_product(root: Path, text: str) -> None:
    assert [value for _, value in VALUE.findall(text) if f'"{value}"' not in said(root)] == []


@pytest.mark.parametrize("name", FAILURES)
def test_a_page_names_settings_that_are_documented(root: Path, name: str) -> None:
    documented = (root / "docs/configuration.md").read_text()
    assert [each for each in re.findall(r"KTMS_[A-Z_]+", page_text(name)) if f"`{each}`" not in documented] == []


@pytest.mark.parametrize("name", FAILURES)
def test_a_page_names_commands_that_exist(name: str) -> None:
    assert list(wrong_commands(page_text(name))) == []


@pytest.mark.parametrize("name", FAILURES)
def test_a_page_names_events_and_codes_that_exist(root: Path, name: str) -> None:
    assert unknown_words(page_text(name), said(root)) == []


def test_a_metric_or_label_that_is_not_there_is_found() -> None:
    text = 'sum(ktms_request_total) + ktms_dependency_up{name="redis"} + process_open_fds'
    assert list(unknown_metrics(text)) == ["ktms_request_total", "ktms_dependency_up{name}"]


def test_a_command_or_option_that_is_not_there_is_found() -> None:
    text = "`ktms admin keys drop` and `ktms top --twice`, `ktms admin nodes show NAME` and `ktms doctor`"
    assert list(wrong_commands(text)) == ["ktms admin keys drop", "ktms top --twice"]


def test_an_event_or_code_that_is_not_there_is_found() -> None:
    text = "`node_turned` and `node_returned`, `idle_s` of `pg_locks`, `ktms_in_flight`, `busy`"
    assert unknown_words(text, 'event("node_turned")\nidle_s: float\n') == ["node_returned"]
