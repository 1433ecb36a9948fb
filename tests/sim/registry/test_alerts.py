"""Alerts: one name each, a page each, expressions whose brackets close."""

import re
from typing import Any

import pytest

from ktms.config.yaml_tree import read_tree
from sim.registry.alert_rules import DOCUMENT, rules
from sim.registry.alerts import ALERTS, Alert
from sim.registry.failures import FAILURES

EVERY = [alert for alerts in ALERTS.values() for alert in alerts]

CLOSES = {")": "(", "]": "[", "}": "{"}


def read() -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = read_tree(rules()).value["groups"]  # type: ignore[index,call-overload,assignment]
    return groups


def balanced(text: str) -> bool:
    opened: list[str] = []
    for each in re.sub(r'"[^"]*"', "", text):
        if each in CLOSES.values():
            opened.append(each)
        elif each in CLOSES and (not opened or opened.pop() != CLOSES[each]):
            return False
    return not opened


def test_no_two_alerts_have_one_name() -> None:
    assert len({alert.name for alert in EVERY}) == len(EVERY)


@pytest.mark.parametrize("alert", EVERY, ids=lambda alert: alert.name)
def test_an_alert_leads_to_the_page_of_an_id(alert: Alert) -> None:
    assert alert.page in FAILURES


@pytest.mark.parametrize("alert", EVERY, ids=lambda alert: alert.name)
def test_the_brackets_of_an_expression_close(alert: Alert) -> None:
    assert balanced(alert.expr)


@pytest.mark.parametrize("alert", EVERY, ids=lambda alert: alert.name)
def test_an_alert_is_told_in_one_short_line(alert: Alert) -> None:
    assert re.fullmatch(r"Ktms[A-Z][A-Za-z]+", alert.name)
    assert 0 < len(alert.summary) <= 110
    assert "\n" not in alert.summary + alert.expr


def test_the_file_holds_every_rule_as_prometheus_reads_it() -> None:
    groups = read()
    assert [group["name"] for group in groups] == [f"ktms-{name}" for name in ALERTS]
    found = [rule for group in groups for rule in group["rules"]]
    assert [(rule["alert"], rule["expr"]) for rule in found] == [(alert.name, alert.expr) for alert in EVERY]
    assert [rule["annotations"]["summary"] for rule in found] == [alert.summary for alert in EVERY]
    assert [rule.get("for", "0s") for rule in found] == [f"{alert.for_s}s" for alert in EVERY]


def test_a_rule_links_its_page_and_says_how_urgent_it_is() -> None:
    rule = read()[0]["rules"][0]
    assert rule["labels"] == {"severity": "critical", "failure": "FR5"}
    assert rule["annotations"]["runbook"] == f"{DOCUMENT}#fr5"


@pytest.mark.parametrize(
    ("text", "closes"),
    [("sum(rate(x[5m]))", True), ("sum(rate(x[5m])", False), ('x{a=~"("}', True), ("a)(", False), ("(]", False)],
)
def test_brackets_that_do_not_close_are_found(text: str, *, closes: bool) -> None:
    assert balanced(text) is closes
