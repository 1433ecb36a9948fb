"""What the figures were measured on, as far as it explains them; never what would tell whose machine it is."""

import os
import platform
import sys
import sysconfig
from typing import NamedTuple

import aiohttp
import uvloop


class Machine(NamedTuple):
    """The interpreter, the processors and how busy they were before the run."""

    python: str
    pgo: bool
    uvloop: str
    aiohttp: str
    kernel: str
    cpus: int
    load_before: tuple[float, float, float]
    shared_core: bool


def look() -> Machine:
    """Describe this machine."""
    return Machine(
        python=platform.python_version(),
        pgo=is_pgo(),
        uvloop=str(vars(uvloop)["__version__"]),
        aiohttp=aiohttp.__version__,
        kernel=platform.release(),
        cpus=len(os.sched_getaffinity(0)),
        load_before=tuple(round(load, 2) for load in os.getloadavg()),  # type: ignore[arg-type]  # always three
        shared_core=len(os.sched_getaffinity(0)) < 2,
    )


def is_pgo() -> bool:
    """Whether the interpreter was built with profile-guided optimisation: about a fifth faster."""
    return "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")


def subject_cpus() -> list[int]:
    """Give the processor of the contenders: the last one, when there are two or more."""
    cpus = sorted(os.sched_getaffinity(0))
    return cpus[-1:] if len(cpus) > 1 else cpus


def other_cpus() -> list[int]:
    """Give the processors of mock and load generator: all the others."""
    cpus = sorted(os.sched_getaffinity(0))
    return cpus[:-1] if len(cpus) > 1 else cpus


def interpreter_line(machine: Machine) -> str:
    """Name the interpreter in one line."""
    built = "with PGO" if machine.pgo else "without PGO"
    return f"Python {machine.python} ({sys.implementation.name}, {built}), uvloop {machine.uvloop}"
