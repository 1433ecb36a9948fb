"""`install.sh` as a shell runs it: what it finds, what it refuses, what it hands on. Nothing is installed here."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ktms.app.agent_files import installer_text, wheel_name
from ktms.node.install.__main__ import parser
from tests.node.install.files import served

ROOT = Path(__file__).parents[3]
WHEEL = b"the agent"

BASE = ("sh", "env", "uname", "mktemp", "rm", "cat", "mkdir", "mv", "tar", "sed", "tr", "dirname")
FETCHERS, HASHERS = ("curl", "wget"), ("sha256sum", "shasum", "openssl")

PYTHON = """#!/bin/sh
case "$1" in
  -c) exit {fits} ;;
  *) echo "python $*"; echo "wheel $(basename "$KTMS_NODE_WHEEL") key $KTMS_NODE_KEY"; exit {code} ;;
esac
"""


@dataclass
class Shell:
    """A machine with few programs, and a gateway."""

    bin: Path
    home: Path
    script: Path
    gateway: str = ""

    def has(self, *names: str) -> None:
        for name in names:
            found = shutil.which(name)
            if found is not None:
                (self.bin / name).symlink_to(found)

    def program(self, name: str, text: str) -> None:
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": str(self.bin), "HOME": str(self.home), "TMPDIR": str(self.home), "KTMS_NODE_KEY": "secret"}
        at = ["--gateway", self.gateway] if self.gateway else []
        command = [str(self.bin / "sh"), "-s", "--", *at, *words]
        text = self.script.read_text()
        return subprocess.run(command, input=text, env=env, check=False, capture_output=True, text=True)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    made = Shell(tmp_path / "bin", tmp_path / "home", tmp_path / "install.sh")
    made.bin.mkdir()
    made.home.mkdir()
    made.has(*BASE, "curl", "sha256sum")
    made.program("basename", '#!/bin/sh\necho "${1##*/}"\n')
    made.program("python3", PYTHON.format(fits=0, code=0))
    # The absolute places of this machine have a Python too; a test decides alone which there is.
    text = installer_text(hashlib.sha256(WHEEL).hexdigest())
    made.script.write_text(re.sub(r" /(?:opt|usr|Library)\S*python3", "", text))
    with served({"/node/v1/agent.whl": WHEEL}) as url:
        made.gateway = url
        yield made


def test_it_is_clean() -> None:
    checked = subprocess.run(
        ["shellcheck", ROOT / "ktms/node/install.sh"], check=False, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout


def test_it_hands_everything_on_to_the_agent_that_it_fetched(shell: Shell) -> None:
    done = shell.run("--model", "a b", "--tls", "on")
    assert done.returncode == 0, done.stderr
    words = f"python -P -s -m ktms.node.install --gateway {shell.gateway} --model a b --tls on"
    assert done.stdout.splitlines() == [words, f"wheel {wheel_name()} key secret"]


def test_the_exit_code_is_the_agents(shell: Shell) -> None:
    shell.program("python3", PYTHON.format(fits=0, code=2))
    assert shell.run().returncode == 2


def test_nothing_is_left_behind(shell: Shell) -> None:
    shell.run()
    assert list(shell.home.iterdir()) == []


def test_of_a_script_that_was_cut_off_nothing_runs(shell: Shell) -> None:
    text = shell.script.read_text()
    shell.script.write_text(text[: text.rindex("ktms_install")])
    done = shell.run()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_agent_with_another_hash_is_not_run(shell: Shell) -> None:
    shell.script.write_text(shell.script.read_text().replace(hashlib.sha256(WHEEL).hexdigest(), "ab" * 32))
    done = shell.run()
    assert (done.returncode, done.stdout) == (1, "")
    assert "is not the one of this script" in done.stderr
    assert list(shell.home.iterdir()) == []


def test_a_gateway_that_does_not_answer_is_named(shell: Shell) -> None:
    shell.gateway = "http://127.0.0.1:1"
    done = shell.run()
    assert done.returncode == 1
    assert "ktms-node: the agent cannot be fetched from http://127.0.0.1:1" in done.stderr


@pytest.mark.parametrize("fetcher", FETCHERS)
@pytest.mark.parametrize("hasher", HASHERS)
def test_it_works_with_whatever_is_there(shell: Shell, fetcher: str, hasher: str) -> None:
    if shutil.which(hasher) is None or shutil.which(fetcher) is None:
        pytest.skip(f"{fetcher} or {hasher} is not on this machine")
    for name in ("curl", "sha256sum"):
        (shell.bin / name).unlink()
    shell.has(fetcher, hasher)
    if hasher == "shasum":
        shell.has("perl")
    assert shell.run().returncode == 0


def test_without_anything_to_fetch_or_hash_with_that_is_said(shell: Shell) -> None:
    (shell.bin / "curl").unlink()
    assert "neither curl nor wget" in shell.run().stderr
    shell.has("curl")
    (shell.bin / "sha256sum").unlink()
    assert "none of sha256sum" in shell.run().stderr


def test_without_a_gateway_it_asks_for_one(shell: Shell) -> None:
    shell.gateway = ""
    assert shell.run().stderr == "ktms-node: name the gateway: --gateway https://…\n"
    assert "wants a URL" in shell.run("--gateway", "g.example").stderr


def test_a_python_that_is_too_old_is_passed_over(shell: Shell) -> None:
    shell.program("python3", PYTHON.format(fits=1, code=0))
    shell.program("python3.12", PYTHON.format(fits=0, code=0))
    assert shell.run().returncode == 0


def test_on_a_mac_the_stub_of_the_system_is_never_run(shell: Shell) -> None:
    shell.program("uname", '#!/bin/sh\n[ "$1" = -s ] && echo Darwin || echo arm64\n')
    shell.script.write_text(shell.script.read_text().replace("/usr/bin/python3", str(shell.bin / "python3")))
    done = shell.run("--dry-run")
    assert "aarch64-apple-darwin-install_only" in done.stderr


@pytest.mark.parametrize(
    ("system", "cpu", "build"),
    [
        ("Linux", "x86_64", "x86_64-unknown-linux-gnu"),
        ("Linux", "aarch64", "aarch64-unknown-linux-gnu"),
        ("Darwin", "x86_64", "x86_64-apple-darwin"),
        ("Darwin", "arm64", "aarch64-apple-darwin"),
    ],
)
def test_without_a_python_a_dry_run_says_which_would_be_installed(
    shell: Shell, system: str, cpu: str, build: str
) -> None:
    (shell.bin / "python3").unlink()
    shell.program("uname", f'#!/bin/sh\n[ "$1" = -s ] && echo {system} || echo {cpu}\n')
    done = shell.run("--dry-run")
    assert done.returncode == 0
    assert build in done.stderr
    assert list(shell.home.iterdir()) == []


def test_an_intel_shell_on_apple_silicon_gets_the_python_of_the_machine(shell: Shell) -> None:
    (shell.bin / "python3").unlink()
    shell.program("uname", '#!/bin/sh\n[ "$1" = -s ] && echo Darwin || echo x86_64\n')
    shell.program("sysctl", "#!/bin/sh\necho 1\n")
    assert "aarch64-apple-darwin" in shell.run("--dry-run").stderr


def test_a_system_or_cpu_that_is_not_known_is_named(shell: Shell) -> None:
    (shell.bin / "python3").unlink()
    shell.program("uname", '#!/bin/sh\n[ "$1" = -s ] && echo FreeBSD || echo amd64\n')
    assert "neither macOS nor Linux but FreeBSD" in shell.run().stderr
    shell.program("uname", '#!/bin/sh\n[ "$1" = -s ] && echo Linux || echo riscv64\n')
    assert "none is known for riscv64" in shell.run().stderr


def test_a_python_with_another_hash_is_not_unpacked(shell: Shell) -> None:
    (shell.bin / "python3").unlink()
    text = shell.script.read_text()
    text = text.replace(
        "https://github.com/astral-sh/python-build-standalone/releases/download/20260814", shell.gateway
    )
    pattern = r"python_url=\$python_url/cpython\S+"
    shell.script.write_text(re.sub(pattern, f"python_url={shell.gateway}/node/v1/agent.whl", text))
    done = shell.run()
    assert done.returncode == 1
    assert "has not the SHA-256" in done.stderr
    assert not (shell.home / ".ktms" / "programs" / "python").exists()


def test_what_is_installed_is_asked_to_look_or_to_remove_itself(shell: Shell) -> None:
    program = shell.home / ".ktms" / "venv" / "bin" / "ktms-node"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "agent $*"\n')
    program.chmod(0o755)
    shell.gateway = ""
    assert shell.run("--doctor", "--json").stdout == "agent doctor --json\n"
    assert shell.run("--yes", "--uninstall").stdout == "agent uninstall --yes\n"


def test_there_is_nothing_to_look_into_where_nothing_is_installed(shell: Shell) -> None:
    assert "no node is installed here" in shell.run("--doctor").stderr


def test_the_help_names_every_option(shell: Shell) -> None:
    shown = shell.run("--help").stdout
    options = {option for action in parser()._actions for option in action.option_strings if option[:2] == "--"}
    assert {option for option in options if option not in shown} == {"--help"}


def test_it_is_written_for_any_shell() -> None:
    dash = shutil.which("dash")
    assert dash is None or subprocess.run([dash, "-n", ROOT / "ktms/node/install.sh"], check=False).returncode == 0
    assert os.access(ROOT / "ktms/node/install.sh", os.R_OK)


@pytest.mark.parametrize("end", ["/", "//"])
def test_slashes_at_the_end_of_the_gateways_url_do_no_harm(shell: Shell, end: str) -> None:
    shell.gateway += end
    assert shell.run().returncode == 0
