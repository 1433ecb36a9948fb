"""What is wrong with the machine: its disk, and what keeps the agent running while nobody is there.

Pure. Not here: the agent itself (`node_rules.py`).
"""

from collections.abc import Iterator

from ktms.node.doctor.cause import Id
from ktms.node.doctor.facts import Facts, ServiceFacts
from ktms.node.doctor.finding import GB, Finding, finding, size

DISK_FREE_MIN_BYTES = GB // 2
"""Logs, a release of the agent and what an engine writes beside its models."""

MASKED_SLEEP = "sudo systemctl mask sleep.target suspend.target hibernate.target hybrid-sleep.target"
"""A lingering service may not hold the lock against sleep itself: common polkit rules keep it for sessions."""

CAFFEINATED = "start the agent again, which runs caffeinate; a closed lid and an empty battery win all the same"


def machine_findings(facts: Facts) -> Iterator[Finding]:
    """Judge the machine."""
    for disk in facts.machine.disks:
        if disk.free_bytes < DISK_FREE_MIN_BYTES:
            free, least = f"{disk.free_bytes // 1_000_000} MB", size(DISK_FREE_MIN_BYTES)
            yield finding(Id.DISK_FULL, mounted=disk.mounted, free=free, least=least)
    if facts.service is not None:
        yield from _service(facts.service, facts.machine.system, facts.machine.user)


def _service(service: ServiceFacts, system: str, user: str) -> Iterator[Finding]:
    if service.why_none is not None:
        yield finding(Id.FOREGROUND, why=service.why_none)
        return
    if service.is_enabled is False:
        yield finding(Id.SERVICE_OFF, start=service.start)
    if service.lingers is False:
        yield finding(Id.NO_LINGER, user=user)
    if service.sleep_prevented is False:
        yield finding(Id.SLEEPS, mend=CAFFEINATED if system == "darwin" else MASKED_SLEEP)
    if service.is_encrypted:
        yield finding(Id.LOGIN_NEEDED)
