"""Does what was decided, step by step, and says each before it is done.

Rules: what is held is let go in the end, whatever happens; a step that fails stops the rest, and a second run goes
on where it stopped. Not here: which steps (`plan.py`, `removal.py`).
"""

import contextlib
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ktms.node.home import NodeHome
from ktms.node.install.actions import (
    Action,
    AwaitAnnounced,
    AwaitEngine,
    Hold,
    InstallAgent,
    InstallProgram,
    Linger,
    MakeCertificate,
    Note,
    PullModel,
    Remove,
    StartService,
    StayWith,
    StopService,
    Verify,
    WriteFile,
    WriteSettings,
)
from ktms.node.install.agent_environment import install_agent
from ktms.node.install.awaited import await_announced
from ktms.node.install.certificate import make_certificate
from ktms.node.install.downloads import install_program
from ktms.node.install.engines_here import engine_at
from ktms.node.install.facts import Facts, Manager, agent_pid
from ktms.node.install.progress import Bar
from ktms.node.install.pull import pull
from ktms.node.install.refused import Refused
from ktms.node.machine import Machine
from ktms.node.service import launchd, systemd
from ktms.node.service.background import NODE, Background, ServiceFailed
from ktms.node.settings_file import settings_text

ENGINE_WITHIN_S = 60.0
"""An Ollama answers in a second; on a first start it makes its keys and looks for GPUs."""

LOOK_EVERY_S = 0.25

VERIFY_S = 180.0
"""The gateway gives a model two minutes to load."""

SECRET_MODE = 0o600
"""Of settings, which hold keys, and of services, whose variables may."""


@dataclass
class Hands:
    """What steps are done with. `told` takes lines for the owner, `pause` waits so many seconds."""

    machine: Machine
    facts: Facts
    told: Callable[[str], None]
    pause: Callable[[float], None]
    held: ExitStack = field(default_factory=ExitStack)
    children: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    code: int = 0


def carry_out(actions: Iterable[Action], hands: Hands) -> int:
    """Do all of it; gives the exit code.

    Raises:
        Refused: a step could not be done.
    """
    steps = tuple(actions)
    with hands.held:
        for action in steps:
            hands.told(action.line)
            try:
                _do(action, hands)
            except OSError as error:
                raise Refused(
                    f"{error.filename or ''}: {error.strerror or error}", "mend that, and run this again"
                ) from error
            except ServiceFailed as error:
                raise Refused(str(error), "look why: ktms-node doctor; or run it here: --foreground") from error
    if hands.facts.manager is Manager.SYSTEMD and any(isinstance(one, StopService) for one in steps):
        systemd.forget(hands.machine, hands.facts.systemctl)
    return hands.code


def _do(action: Action, hands: Hands) -> None:
    match action:
        case Note():
            pass
        case InstallProgram() | InstallAgent() | MakeCertificate() | PullModel():
            _make(action, hands)
        case WriteSettings() | WriteFile() | Remove():
            _write(action, hands.machine)
        case AwaitEngine() | AwaitAnnounced() | Verify():
            _look(action, hands)
        case Linger() | StartService() | StopService() | Hold() | StayWith():
            _serve(action, hands)


def _make(action: InstallProgram | InstallAgent | MakeCertificate | PullModel, hands: Hands) -> None:
    """Bring something here that was not."""
    match action:
        case InstallProgram():
            with _bar(action.pin.name) as bar:
                install_program(hands.machine, action.pin, action.folder, bar.show)
            mark = action.folder.with_name(f"{action.pin.name}.sha256")
            hands.machine.write(mark, action.pin.sha256 + "\n")
        case InstallAgent():
            install_agent(hands.machine, action)
        case MakeCertificate():
            openssl = hands.facts.programs["openssl"]
            make_certificate(hands.machine, openssl, action.certificate, action.key, action.address)
        case PullModel():
            with _bar(action.model) as bar:
                pull(action.url, action.model, bar.show)


def _write(action: WriteSettings | WriteFile | Remove, machine: Machine) -> None:
    match action:
        case WriteSettings():
            machine.write(action.path, settings_text(action.settings), SECRET_MODE)
        case WriteFile():
            machine.write(action.path, action.text, SECRET_MODE)
        case Remove():
            for path in action.paths:
                _remove(path, action.below)


def _look(action: AwaitEngine | AwaitAnnounced | Verify, hands: Hands) -> None:
    """See whether what was started does what it should."""
    match action:
        case AwaitEngine():
            _await_engine(action.url, hands)
        case AwaitAnnounced():
            _await_announced(action, hands)
        case Verify():
            _verify(action, hands)


def _serve(action: Linger | StartService | StopService | Hold | StayWith, hands: Hands) -> None:
    """Have programs run, or not."""
    facts, machine = hands.facts, hands.machine
    is_mac = facts.manager is Manager.LAUNCHD
    match action:
        case Linger():
            line = systemd.linger(machine, action.user)
            if line is not None:
                hands.told(
                    f"this user may not: without it the node ends at the logout; once, as administrator: {line}"
                )
        case StartService():
            _make_logs(action.program)
            name, stops_in_s = action.program.name, action.program.stops_in_s
            if is_mac:
                launchd.start(machine, facts.uid, action.path, name, stops_in_s, hands.pause)
            else:
                systemd.start(machine, facts.systemctl, name, stops_in_s)
        case StopService():
            if is_mac:
                launchd.stop(machine, facts.uid, action.name, action.stops_in_s, hands.pause)
            else:
                systemd.stop(machine, facts.systemctl, action.name, action.stops_in_s)
        case Hold():
            _make_logs(action.program)
            hands.children[action.program.name] = hands.held.enter_context(_child(action.program, hands.machine))
        case StayWith():
            hands.code = _stay(hands.children[NODE])


def _make_logs(program: Background) -> None:
    program.log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextmanager
def _bar(what: str) -> Iterator[Bar]:
    bar = Bar(sys.stderr, what)
    try:
        yield bar
    finally:
        bar.end()


def _remove(path: Path, below: Path) -> None:
    """Remove it, and the folders above it that are empty then."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    for folder in path.parents:
        if folder == below or below not in folder.parents:
            return
        with suppress(OSError):
            folder.rmdir()
            continue
        return


def _await_engine(url: str, hands: Hands) -> None:
    for _ in range(int(ENGINE_WITHIN_S / LOOK_EVERY_S)):
        if engine_at(url) is not None:
            return
        hands.pause(LOOK_EVERY_S)
    log = hands.facts.home.log.with_name("ollama.log")
    raise Refused(f"no engine answers at {url} after {ENGINE_WITHIN_S:.0f} s", f"look into {log} or the journal")


def _await_announced(action: AwaitAnnounced, hands: Hands) -> None:
    child = hands.children.get(NODE)
    home = NodeHome(action.status.parent)
    models = await_announced(
        hands.machine,
        action.status,
        action.within_s,
        hands.pause,
        ended=lambda: child is not None and child.poll() is not None,
        is_its_own=lambda: agent_pid(hands.machine, home) is not None,
    )
    hands.told(f"the gateway knows the node; it serves {', '.join(models) or 'nothing'}")


def _verify(action: Verify, hands: Hands) -> None:
    ran = hands.machine.run((str(action.program), "verify", "--home", str(action.home)), within_s=VERIFY_S)
    for line in (ran.out + ran.err).splitlines():
        hands.told(line)
    hands.code = ran.code


@contextmanager
def _child(program: Background, machine: Machine) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a program while the block runs; what it says goes into its log."""
    variables = {**machine.variables, **dict(program.variables)}
    with program.log.open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - words of ours
            program.words, env=variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(program.stops_in_s)
        if process.poll() is None:
            process.kill()
            process.wait()


def _stay(process: "subprocess.Popen[bytes]") -> int:
    """Wait for the agent's end, handing on what this process is told."""
    before = {number: signal.signal(number, lambda one, _: process.send_signal(one)) for number in _ENDS}
    try:
        return process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
