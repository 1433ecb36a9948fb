"""Machines as they answered once: their system, what each command printed, their files. Nothing is run.

`mac()` and `linux()` are well: a node is installed there, its service runs, the machine does not sleep. A test
changes what it is about. What nobody recorded is not there: 127, as a shell says it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ktms.node.machine import RUN_S, Ran

LABEL, UNIT = "ktms.node", "ktms-node.service"
"""What the service is called under launchd and under systemd."""

UID = 501
AGENT_PID, ENGINE_PID, INHIBIT_PID = 4242, 4100, 4241
"""Of the agent, of `ollama serve`, and of what keeps the machine awake for the agent."""

ENGINE_VARIABLES = {"OLLAMA_CONTEXT_LENGTH": "8192", "OLLAMA_NUM_PARALLEL": "4"}
"""What the Ollama of both was started with."""

MAC_HOME, LINUX_HOME = Path("/Users/anna"), Path("/home/anna")

PS = ("ps", "-axww", "-o", "pid=,ppid=,args=")
DF = ("df", "-Pk")
ASSERTIONS = ("pmset", "-g", "assertions")
INHIBITORS = ("systemd-inhibit", "--list", "--no-legend", "--no-pager")
UNIT_SHOWN = ("systemctl", "--user", "show", UNIT)
NVIDIA = ("nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits")
SUSPENDS = Path("/sys/power/suspend_stats/success")

NO_GUI_SERVICE = 'Bad request.\nCould not find service "{label}" in domain for user gui: 501\n'


@dataclass
class RecordedMachine:
    """Implements the `Machine` port. `ran` by the words of a command, or by the first of them: the longest wins.

    `asked` holds what was run, in order; `written` what was written, with its mode: reading gives it back.
    """

    system: str
    variables: Mapping[str, str] = field(default_factory=dict)
    ran: dict[tuple[str, ...], Ran] = field(default_factory=dict)
    files: dict[Path, str] = field(default_factory=dict)
    asked: list[tuple[str, ...]] = field(default_factory=list)
    written: dict[Path, tuple[str, int]] = field(default_factory=dict)

    def run(self, words: Sequence[str], within_s: float = RUN_S, stdin: str = "") -> Ran:  # noqa: ARG002 - the port's
        """Give what was recorded."""
        asked = tuple(words)
        self.asked.append(asked)
        for length in range(len(asked), 0, -1):
            if asked[:length] in self.ran:
                return self.ran[asked[:length]]
        return Ran(127, err=f"{asked[0]}: not found\n")

    def read(self, path: Path) -> str | None:
        """Give a file that was recorded or written."""
        return self.written[path][0] if path in self.written else self.files.get(path)

    def write(self, path: Path, text: str, mode: int = 0o644) -> None:
        """Remember it."""
        self.written[path] = text, mode

    def answers(self, *words: str, out: str = "", code: int = 0, err: str = "") -> None:
        """Have a command answer so from now on."""
        self.ran[words] = Ran(code, out, err)

    def lacks(self, *words: str) -> None:
        """Have all commands that begin so be unknown."""
        self.ran = {known: ran for known, ran in self.ran.items() if known[: len(words)] != words}


def mac() -> RecordedMachine:
    """Give a Mac with Apple silicon, macOS 15, an Ollama of its own architecture."""
    machine = RecordedMachine("darwin", {"HOME": str(MAC_HOME), "USER": "anna", "SHELL": "/bin/zsh"})
    machine.answers("id", "-u", out=f"{UID}\n")
    machine.answers("id", "-un", out="anna\n")
    machine.answers("uname", "-sm", out="Darwin arm64\n")
    machine.answers("uname", "-m", out="arm64\n")
    machine.answers("sw_vers", out="ProductName:\t\tmacOS\nProductVersion:\t\t15.6.1\nBuildVersion:\t\t24G90\n")
    machine.answers("sw_vers", "-productVersion", out="15.6.1\n")
    machine.answers("sysctl", "-n", "hw.memsize", "hw.optional.arm64", out="25769803776\n1\n")
    machine.answers("sysctl", "-n", "hw.memsize", out="25769803776\n")
    machine.answers("sysctl", "-n", "hw.optional.arm64", out="1\n")
    machine.answers("sysctl", "-n", "sysctl.proc_translated", out="0\n")
    machine.answers("sysctl", "-n", "machdep.cpu.brand_string", out="Apple M4\n")
    machine.answers(*PS, out=mac_processes())
    machine.answers("ps", "-o", "flags=", "-p", str(ENGINE_PID), out="    4004\n")
    started(machine, **ENGINE_VARIABLES)
    machine.answers("launchctl", "print", f"gui/{UID}", out=f"gui/{UID} = {{\n\ttype = gui\n}}\n")
    machine.answers("launchctl", "print", f"gui/{UID}/{LABEL}", out=launchd_service())
    machine.answers("launchctl", "print", f"user/{UID}", out=f"user/{UID} = {{\n\ttype = user\n}}\n")
    machine.answers("launchctl", "print", f"user/{UID}/{LABEL}", code=113, err=NO_GUI_SERVICE.format(label=LABEL))
    machine.answers(*ASSERTIONS, out=assertions())
    machine.answers("fdesetup", "status", out="FileVault is Off.\n")
    machine.answers("lsof", out=f"p{ENGINE_PID}\ncollama\n")
    machine.answers(*DF, out=disk("/dev/disk3s5", free_kib=214_000_000, mounted="/System/Volumes/Data"))
    return machine


def linux() -> RecordedMachine:
    """Give a Linux with systemd, one NVIDIA GPU of 24 GB, an Ollama of this user."""
    machine = RecordedMachine(
        "linux", {"HOME": str(LINUX_HOME), "USER": "anna", "XDG_RUNTIME_DIR": f"/run/user/{UID}"}
    )
    machine.answers("id", "-u", out=f"{UID}\n")
    machine.answers("id", "-un", out="anna\n")
    machine.answers("uname", "-sm", out="Linux x86_64\n")
    machine.answers("uname", "-m", out="x86_64\n")
    machine.answers(*PS, out=linux_processes())
    machine.answers("systemctl", "--user", "is-system-running", out="running\n")
    machine.answers(*UNIT_SHOWN, out=systemd_service())
    machine.answers("systemctl", "show", "sleep.target", out="LoadState=loaded\n")
    machine.answers("systemctl", "show", "ollama", code=0, out="MainPID=0\nEnvironment=\nLoadState=not-found\n")
    machine.answers("loginctl", "show-user", "anna", "--property=Linger", out="Linger=yes\n")
    machine.answers(*INHIBITORS, out=inhibitors())
    machine.answers(*NVIDIA, out="24564\n")
    machine.answers("ss", out=listener("ollama", ENGINE_PID))
    machine.answers(*DF, out=disk("/dev/nvme0n1p2", free_kib=310_000_000, mounted="/"))
    started(machine, **ENGINE_VARIABLES)
    machine.files |= {
        Path("/proc/meminfo"): "MemTotal:       65654272 kB\nMemFree:         1204120 kB\n"
        "MemAvailable:   51200000 kB\n",
        Path("/proc/version"): "Linux version 6.12.10-1-amd64 (build@host) (gcc 14.2.0) #1 SMP\n",
        SUSPENDS: "0\n",
    }
    return machine


def started(machine: RecordedMachine, **variables: str) -> None:
    """Have `ollama serve` be started with these variables and no others of its own."""
    words = [f"{name}={value}" for name, value in variables.items()]
    if machine.system == "darwin":
        own = ["PATH=/usr/bin:/bin", f"HOME={MAC_HOME}", *words]
        command = f"/Applications/Ollama.app/Contents/Resources/ollama serve {' '.join(own)}\n"
        machine.answers("ps", "-Eww", "-o", "command=", "-p", str(ENGINE_PID), out=command)
    else:
        own = ["PATH=/usr/bin:/bin", f"HOME={LINUX_HOME}", *words]
        machine.files[Path(f"/proc/{ENGINE_PID}/environ")] = "".join(f"{word}\0" for word in own)


def container() -> RecordedMachine:
    """Give the same Linux inside a container: no systemd, nobody to keep awake."""
    machine = linux()
    for words in (("systemctl",), ("loginctl",), ("systemd-inhibit",), ("nvidia-smi",)):
        machine.lacks(*words)
    bus = "Failed to connect to bus: No medium found\n"
    machine.answers("systemctl", "--user", code=1, err=bus)
    machine.answers(
        "loginctl", code=1, err="System has not been booted with systemd as init system (PID 1). Can't operate.\n"
    )
    machine.answers("systemd-inhibit", code=1, err="Failed to connect to bus: No such file or directory\n")
    machine.files[Path("/.dockerenv")] = ""
    return machine


def wsl() -> RecordedMachine:
    """Give a WSL 2 whose systemd is off."""
    machine = container()
    del machine.files[Path("/.dockerenv")]
    machine.files[Path("/proc/version")] = "Linux version 6.6.87.2-microsoft-standard-WSL2 (root@x) (gcc 11.2.0)\n"
    return machine


def launchd_service(
    *, state: str = "running", pid: int | None = AGENT_PID, last_exit: str = "(never exited)"
) -> str:
    """Give what `launchctl print` says of the agent's service."""
    running = "" if pid is None else f"\tpid = {pid}\n"
    return (
        f"gui/{UID}/{LABEL} = {{\n\tactive count = {0 if pid is None else 1}\n"
        f"\tpath = {MAC_HOME}/Library/LaunchAgents/{LABEL}.plist\n\ttype = LaunchAgent\n\tstate = {state}\n\n"
        f"\tprogram = {MAC_HOME}/.ktms/venv/bin/ktms-node\n\targuments = {{\n"
        f"\t\t{MAC_HOME}/.ktms/venv/bin/ktms-node\n\t\trun\n\t}}\n\n"
        f"\tminimum runtime = 10\n\texit timeout = 40\n\truns = 3\n{running}"
        f"\timmediate reason = speculative\n\tforks = 0\n\texecs = 1\n\tlast exit code = {last_exit}\n\n"
        "\tspawn type = interactive (4)\n\tproperties = keepalive | runatload\n}\n"
    )


def systemd_service(
    *,
    load: str = "loaded",
    active: str = "active",
    sub: str = "running",
    enabled: str = "enabled",
    status: int = 0,
) -> str:
    """Give what `systemctl --user show` says of the agent's unit."""
    return (
        f"Type=simple\nMainPID={AGENT_PID if active == 'active' else 0}\nResult=success\nNRestarts=0\n"
        f"ExecMainStatus={status}\nLoadState={load}\nActiveState={active}\nSubState={sub}\n"
        f"UnitFileState={enabled}\n"
    )


def assertions(*, caffeinated: bool = True) -> str:
    """Give what `pmset -g assertions` says, with or without the agent's own."""
    count, own = int(caffeinated), ""
    if caffeinated:
        named = 'named: "caffeinate command-line tool"'
        behalf = f"\tDetails: caffeinate asserting on behalf of Process ID {AGENT_PID}\n"
        own = "".join(
            f"   pid {INHIBIT_PID}(caffeinate): [0x0000a3f1000{at}8f21] 01:12:06 {kind} {named} \n{behalf}"
            "\tLocalized=THE CAFFEINATE TOOL IS PREVENTING SLEEP.\n"
            for at, kind in enumerate(("PreventUserIdleSystemSleep", "PreventSystemSleep"))
        )
    return (
        "2026-11-30 10:12:33 +0100 \nAssertion status system-wide:\n   BackgroundTask                 0\n"
        f"   UserIsActive                   1\n   PreventUserIdleDisplaySleep    0\n"
        f"   PreventSystemSleep             {count}\n   PreventUserIdleSystemSleep     1\n"
        f"Listed by owning process:\n{own}"
        '   pid 312(powerd): [0x0000a3f200018f22] 00:03:10 PreventUserIdleSystemSleep named: "Powerd - Prevent '
        'sleep while display is on" \nKernel Assertions: 0x4=USB\n'
    )


def inhibitors(*, what: str | None = "sleep:idle") -> str:
    """Give what `systemd-inhibit --list` says; `what` None: nothing is held for the agent."""
    others = (
        "ModemManager   0 root 811 ModemManager sleep ModemManager needs to reset devices delay\n"
        "NetworkManager 0 root 790 NetworkManager sleep NetworkManager needs to turn off networks delay\n"
        "Unattended Upgrades Shutdown 0 root 1033 unattended-upgr shutdown Stop ongoing upgrades delay\n"
    )
    if what is None:
        return others
    return f"ktms-node {UID} anna {INHIBIT_PID} systemd-inhibit {what} Serves models block\n{others}"


def disk(device: str, *, free_kib: int, mounted: str) -> str:
    """Give what `df -Pk` says of one file system."""
    total = 482_797_652
    used = total - free_kib
    return (
        "Filesystem     1024-blocks      Used Available Capacity Mounted on\n"
        f"{device}   {total} {used} {free_kib}    {100 * used // total}% {mounted}\n"
    )


def mac_processes(*more: str, engine: str = "/Applications/Ollama.app/Contents/Resources/ollama serve") -> str:
    """Give what `ps` lists on the Mac; an empty `engine`: none runs."""
    return _processes(
        "    1     0 /sbin/launchd",
        "  312     1 /System/Library/CoreServices/powerd.bundle/powerd",
        f" {ENGINE_PID}     1 {engine}" if engine else "",
        f" {AGENT_PID}     1 {MAC_HOME}/.ktms/venv/bin/python {MAC_HOME}/.ktms/venv/bin/ktms-node run",
        f" {INHIBIT_PID}  {AGENT_PID} /usr/bin/caffeinate -i -s -w {AGENT_PID}",
        *more,
    )


def linux_processes(*more: str, engine: str = "/usr/local/bin/ollama serve") -> str:
    """Give what `ps` lists on the Linux; an empty `engine`: none runs."""
    program = f"{LINUX_HOME}/.ktms/venv/bin"
    return _processes(
        "      1       0 /sbin/init",
        f"   {ENGINE_PID}       1 {engine}" if engine else "",
        f"   {AGENT_PID}     980 {program}/python {program}/ktms-node run",
        f"   {INHIBIT_PID}    {AGENT_PID} systemd-inhibit --what=sleep:idle --who=ktms-node --mode=block cat",
        *more,
    )


def _processes(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines if line)


def listener(program: str, pid: int, port: int = 11434) -> str:
    """Give what `ss` says of a program that listens."""
    return f'LISTEN 0 4096 127.0.0.1:{port} 0.0.0.0:* users:(("{program}",pid={pid},fd=3))\n'
