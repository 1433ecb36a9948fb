"""Who listens on a TCP port of this machine, as far as Linux tells an ordinary user."""

from pathlib import Path

LISTENING = "0A"
"""State of a listening socket in /proc/net/tcp (kernel documentation, proc_net_tcp)."""


def port_owner(port: int, proc: Path = Path("/proc")) -> str | None:
    """Give "name (pid 123)"; None where it cannot be told."""
    inodes = _listening(port, proc)
    if not inodes:
        return None
    for process in proc.iterdir():
        if process.name.isdigit() and _holds(process, inodes):
            return f"{_name(process)} (pid {process.name})"
    return None


def _listening(port: int, proc: Path) -> set[str]:
    inodes = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{fields[9]}]")
    return inodes


def _holds(process: Path, inodes: set[str]) -> bool:
    try:
        return any(str(link.readlink()) in inodes for link in (process / "fd").iterdir())
    except OSError:
        return False  # another user's process, or one that has just ended


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return "a process"
