"""From facts to findings: all causes that fit, without those that are mere symptoms of another one.

Pure. A fact that is not known accuses nobody. Not here: the rules, by what they look at (`*_rules.py`); which
cause hides which (`causes.py`).
"""

from collections.abc import Iterable

from ktms.node.doctor.cause import Id, Weight
from ktms.node.doctor.causes import CAUSES
from ktms.node.doctor.engine_rules import engine_findings
from ktms.node.doctor.facts import Facts
from ktms.node.doctor.finding import Finding, finding
from ktms.node.doctor.gateway_rules import gateway_findings
from ktms.node.doctor.machine_rules import machine_findings
from ktms.node.doctor.model_rules import model_findings
from ktms.node.doctor.node_rules import node_findings
from ktms.node.doctor.window_rules import window_findings

_RULES = (machine_findings, engine_findings, model_findings, window_findings, node_findings, gateway_findings)

_ORDER = {name: at for at, name in enumerate(CAUSES)}


def judge(facts: Facts) -> tuple[Finding, ...]:
    """Give the findings in the order of the table."""
    if facts.unusable is not None:
        return (finding(Id.SETTINGS_UNUSABLE, why=facts.unusable),)
    found = dict.fromkeys(one for rule in _RULES for one in rule(facts))
    return tuple(sorted(causes_among(found), key=lambda one: _ORDER[one.id]))


def causes_among(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Leave out what follows from another finding; what is left out still hides what follows from it."""
    every = tuple(found)
    names = {one.id for one in every}
    return tuple(one for one in every if not one.cause.after & names)


def exit_code(findings: Iterable[Finding]) -> int:
    """Give 1 where one stops the node, else 2 where one warns, else 0."""
    weights = {one.cause.weight for one in findings}
    return int(next((one for one in (Weight.STOPS, Weight.WARNS) if one in weights), Weight.REMARK))


def not_seen(facts: Facts) -> tuple[str, ...]:
    """Name what could not be looked at, so that a report without findings promises no more than it may."""
    gateway, engine = facts.gateway, facts.engine
    said = []
    if gateway is not None and gateway.key is not None and gateway.announced is None:
        said.append(f"whether the gateway reaches this node: {gateway.not_asked or 'it was not asked'}")
    if engine is not None and engine.answers and engine.slots is None:
        said.append("how many calls the engine serves at once")
    if any(model.window is None for model in (engine.models if engine is not None else ())):
        said.append("the window of a model")
    return tuple(said)
