"""How long a state machine is searched: the same short programs in every run, or what the profile `nightly` says.

A machine that is wrong on purpose stops at the first failure found: what matters is that there is one.
"""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

NIGHTLY = "nightly"

PATIENCE = 4
"""A wrong rule is looked for so many times as long: it is found early, and a new step must not hide it."""

Factory = Callable[[], RuleBasedStateMachine]


def search(machine: Factory, *, examples: int, steps: int) -> None:
    """Run the machine; examples and steps are those of the short search."""
    run_state_machine_as_test(machine, settings=_budget(examples, steps))  # type: ignore[arg-type]  # any factory will do


def must_fail(machine: Factory, *, examples: int, steps: int) -> None:
    """Run a machine over a wrong rule, longer than the right one if need be: one of its assertions must fail."""
    hasty = settings(_quick(PATIENCE * examples, steps), phases=[Phase.generate])
    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine, settings=hasty)  # type: ignore[arg-type]  # as above


def _budget(examples: int, steps: int) -> settings:
    return settings() if settings.get_current_profile_name() == NIGHTLY else _quick(examples, steps)


def _quick(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
