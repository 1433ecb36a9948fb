"""The report: one line for each finding with its remedy, or all of it as JSON. It holds no secret.

Not here: what is found (`judge.py`).
"""

import json
from collections.abc import Iterator, Sequence

from ktms.node.doctor.cause import Weight
from ktms.node.doctor.causes import CAUSES
from ktms.node.doctor.finding import Finding
from ktms.node.doctor.judge import exit_code

WORDS = {Weight.STOPS: "stops", Weight.WARNS: "warns", Weight.REMARK: "note"}


def lines(findings: Sequence[Finding], not_seen: Sequence[str]) -> Iterator[str]:
    """Give the lines for a person."""
    for one in findings:
        yield f"{WORDS[one.cause.weight]}  {one.id}: {one.title}. Remedy: {one.remedy}"
    for what in not_seen:
        yield f"open   not found out: {what}"
    if exit_code(findings) == 0:
        yield f"well   nothing is wrong: {len(CAUSES)} causes were looked for"


def as_json(findings: Sequence[Finding], not_seen: Sequence[str]) -> str:
    """Give it for a program."""
    told = [
        {
            "cause": one.id.value,
            "weight": WORDS[one.cause.weight],
            "title": one.title,
            "remedy": one.remedy,
            "values": dict(one.values),
        }
        for one in findings
    ]
    answer = {"exit_code": exit_code(findings), "findings": told, "not_found_out": list(not_seen)}
    return json.dumps(answer, indent=2)
