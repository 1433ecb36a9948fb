"""Writes the alerts as a file of rules that Prometheus reads."""

import json
from collections.abc import Iterator

from sim.registry.alerts import ALERTS, Alert

FILE = "docs/examples/alerts.yaml"

DOCUMENT = "docs/failures.md"
"""Where the pages are that rules link to."""

_HEAD = """\
# Alerts of KTMS for Prometheus. Made by `python -m sim failures --write`: change sim/registry/alerts.py instead.
# In prometheus.yml: `rule_files: [alerts.yaml]`. critical is for a person now, warning for today.
groups:
"""


def rules() -> str:
    """Give the text of the file."""
    return _HEAD + "".join(_group(name, alerts) for name, alerts in ALERTS.items())


def anchor(name: str) -> str:
    """Give the place of an id's page in the document."""
    return f"#{name.lower()}"


def _group(name: str, alerts: tuple[Alert, ...]) -> str:
    return f"  - name: ktms-{name}\n    rules:\n" + "".join(line for alert in alerts for line in _rule(alert))


def _rule(alert: Alert) -> Iterator[str]:
    yield f"      - alert: {alert.name}\n"
    yield f"        expr: |-\n          {alert.expr}\n"
    if alert.for_s:
        yield f"        for: {alert.for_s}s\n"
    yield f"        labels: {{severity: {alert.severity.value}, failure: {alert.page}}}\n"
    yield "        annotations:\n"
    yield f"          summary: {json.dumps(alert.summary, ensure_ascii=False)}\n"
    yield f"          runbook: {DOCUMENT}{anchor(alert.page)}\n"
