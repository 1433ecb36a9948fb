"""Writes the operator's document of failures: tables by group, the alerts, a page for each id.

All it says comes from the registry: rows (`failures.py`), pages (`runbook/`), alerts, and what stands for each id.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from sim.registry.alert_rules import FILE as ALERT_FILE
from sim.registry.alert_rules import anchor
from sim.registry.alerts import ALERTS, Alert
from sim.registry.due import Due
from sim.registry.failures import FAILURES, Failure
from sim.registry.picture import FILE as PICTURE_FILE
from sim.registry.proofs import Proof, Standing, proof_of
from sim.registry.runbook.all_pages import PAGES
from sim.registry.runbook.page import Page

GROUPS = {
    "FR": "Redis",
    "FP": "Postgres",
    "FL": "Ledger",
    "FV": "Vendors and nodes alike",
    "FN": "Own machines",
    "FG": "The gateway itself",
}
"""Headings by the letters of the ids, in the order of the matrix."""

WIDTH = 118
"""Columns of running text, as in the other documents."""

_WHOLE = re.compile(r"`[^`]+`|\[[^]]+\]\([^)]+\)")
_GLUE = "\x1f"
"""Stands for a space at which no line may end."""

_HEAD = """\
<!-- Made by `python -m sim failures --write` from sim/registry: change it there. -->

# Failures

What breaks, what callers see then, what you see, and what to do. One principle: a failure of the book-keeping is
no failure of the service. Each id is proven by scenarios of the [simulator](simulation.md) and, where something
real is involved, by experiments of the [chaos suite](chaos.md) with a real Postgres, Redis and ledger. CI runs all
that are named here, and fails where one no longer shows its id (`make matrix`).

{picture}

Of {total} ids are proven

{counts}

Which metrics there are, what `/readyz` says and which lines are logged: [operations.md](operations.md). Alerts for
Prometheus: [{alert_file}]({alert_file}).
"""


def document(scenarios: Mapping[str, Sequence[str]]) -> str:
    """Give its text; `scenarios` are the ids that each proves, by its name."""
    proofs = [proof_of(failure, scenarios) for failure in FAILURES.values()]
    parts = [_head(proofs)]
    for letters, heading in GROUPS.items():
        parts.append(_table(heading, [proof for proof in proofs if proof.failure.id.startswith(letters)]))
    parts += [_alerts(), "## Runbook\n"]
    parts += [_page(failure, PAGES[failure.id]) for failure in FAILURES.values()]
    return "\n".join(parts)


def _head(proofs: Sequence[Proof]) -> str:
    picture = f"![the matrix: each id in the colour of its proofs]({PICTURE_FILE.removeprefix('docs/')})"
    counts = [
        f"- {sum(proof.standing is standing for proof in proofs)} {standing.value}"
        for standing in Standing
        if any(proof.standing is standing for proof in proofs)
    ]
    return _HEAD.format(
        picture=picture,
        total=len(proofs),
        counts="\n".join(counts),
        alert_file=ALERT_FILE.removeprefix("docs/"),
    )


def _table(heading: str, proofs: Sequence[Proof]) -> str:
    columns = "| id | what breaks | what then happens | what you see | proven by |\n|---|---|---|---|---|\n"
    return f"## {heading}\n\n{columns}{''.join(map(_row, proofs))}"


def _row(proof: Proof) -> str:
    failure = proof.failure
    name = f"[{failure.id}]({anchor(failure.id)})"
    return f"| {name} | {failure.fault} | {failure.behaviour} | {PAGES[failure.id].sees} | {_proven_by(proof)} |\n"


def _proven_by(proof: Proof) -> str:
    failure = proof.failure
    named = (
        ("scenario", proof.scenarios, failure.scenario_due),
        ("experiment", proof.experiments, failure.chaos_due),
    )
    return "; ".join(_named(what, names, due) for what, names, due in named if names or due is not Due.NEVER)


def _named(what: str, names: Sequence[str], due: Due) -> str:
    if names:
        return f"{what}{'s' if len(names) > 1 else ''} {', '.join(f'`{name}`' for name in names)}"
    return f"{what} {'comes with releases' if due is Due.RELEASES else 'is missing'}"


def _alerts() -> str:
    rows = "".join(_alert(alert) for alerts in ALERTS.values() for alert in alerts)
    return f"## Alerts\n\n| alert | severity | after | page |\n|---|---|---|---|\n{rows}"


def _alert(alert: Alert) -> str:
    after = f"{alert.for_s} s" if alert.for_s else "at once"
    return f"| `{alert.name}` | {alert.severity.value} | {after} | [{alert.page}]({anchor(alert.page)}) |\n"


def _page(failure: Failure, page: Page) -> str:
    told = f"**{failure.fault[0].upper()}{failure.fault[1:]}: {failure.behaviour}.**"
    names = [alert.name for alerts in ALERTS.values() for alert in alerts if alert.page == failure.id]
    if names:
        told += f" Alerts: {', '.join(f'`{name}`' for name in names)}."
    return "\n".join((f"### {failure.id}\n", _filled(told), "", *_points(page), ""))


def _points(page: Page) -> Iterator[str]:
    yield _point("- **Symptom.** ", page.symptom)
    yield _point("- **KTMS by itself.** ", page.itself)
    yield "- **Look first** at"
    yield from (_point("  - ", each) for each in page.look)
    yield _point("- **Do.** ", page.do)
    yield _point("- **The sign of its end.** ", page.over)


def _point(begin: str, text: str) -> str:
    return _filled(begin + text, " " * (len(begin) - len(begin.lstrip()) + 2))


def _filled(text: str, indent: str = "") -> str:
    """Break lines, but never inside of code or a link: commands are copied."""
    whole = _WHOLE.sub(lambda found: found[0].replace(" ", _GLUE), text)
    lines = textwrap.fill(whole, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines.replace(_GLUE, " ")
