import ast
import json
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ktms.app.banner import Started, banner

STARTED = Started(
    command=".venv/bin/ktms",
    url="http://127.0.0.1:8080",
    version="1.2.3",
    models=("qwen3:4b", "org/other"),
    chains=("auto",),
    notes=("engine      ollama on port 11434, 1 slots",),
    key_file=Path("/home/me/.config/ktms/client-key"),
    new_key="ktms_sk_new",
    admin_addr="127.0.0.1:9090",
    data_dir=Path("/home/me/.local/share/ktms"),
    seconds=2.345,
)
PATHS = ("/home/me/.config/ktms/client-key", '/home/my user\'s "files"/$HOME/client-key', "/var/ä\\b")


def command_of(text: str) -> list[str]:
    """Give the words of the printed command, as a shell takes them."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if "curl" in line)
    last = next(number for number in range(first, len(lines)) if not lines[number].endswith("\\"))
    return shlex.split("\n".join(lines[first : last + 1]).replace("$(cat", "(cat"), comments=False)


def program_of(text: str) -> str:
    """Give the printed program as it would be pasted."""
    lines = text.splitlines()
    first = lines.index("from openai import OpenAI")
    return "\n".join(lines[first : lines.index("", first)])


def test_it_says_where_everything_is() -> None:
    text = banner(STARTED)
    assert text.startswith("KTMS 1.2.3 answers at http://127.0.0.1:8080 (started in 2.3 s)")
    for fact in ("qwen3:4b, org/other", "ollama on port 11434", "127.0.0.1:9090", "/home/me/.local/share/ktms"):
        assert fact in text


def test_chains_are_named_where_there_are_any() -> None:
    assert "  chains      auto\n" in banner(STARTED)
    assert "chains" not in banner(replace(STARTED, chains=()))


def test_a_new_key_is_shown_once_and_an_old_one_never() -> None:
    assert "(new: ktms_sk_new)" in banner(STARTED)
    assert "new:" not in banner(replace(STARTED, new_key=None))


def test_without_a_model_there_is_nothing_to_try() -> None:
    text = banner(replace(STARTED, models=()))
    assert "none yet" in text
    assert "curl" not in text


def test_the_printed_command_asks_for_the_first_model() -> None:
    words = command_of(banner(STARTED))
    assert words[:3] == ["curl", "-N", "http://127.0.0.1:8080/v1/chat/completions"]
    body = json.loads(words[words.index("-d") + 1])
    assert (body["model"], body["stream"]) == ("qwen3:4b", True)


@pytest.mark.parametrize("path", PATHS)
def test_the_printed_command_reads_the_key_wherever_it_lies(tmp_path: Path, path: str) -> None:
    key_file = tmp_path / path.lstrip("/")
    key_file.parent.mkdir(parents=True)
    key_file.write_text("ktms_sk_kept\n")
    text = banner(replace(STARTED, key_file=key_file))
    header = next(line.strip().rstrip(" \\") for line in text.splitlines() if "Bearer" in line)
    command = ["bash", "-c", f"printf '%s' {header.removeprefix('-H ')}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "Authorization: Bearer ktms_sk_kept"


@pytest.mark.parametrize("path", PATHS)
def test_the_printed_program_is_python_and_reads_the_key(path: str) -> None:
    tree = ast.parse(program_of(banner(replace(STARTED, key_file=Path(path)))))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert {path, "http://127.0.0.1:8080/v1", "qwen3:4b"} <= texts
