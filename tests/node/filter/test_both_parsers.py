"""aiohttp has two parsers; a difference between them has been a hole before, so both must keep the same rules."""

import subprocess
import sys
from pathlib import Path

import aiohttp.http_parser

ROOT = Path(__file__).parents[3]
RULES = (
    "test_table.py",
    "test_smuggling.py",
    "test_fuzz.py",
    "test_door.py",
    "test_inbound_body.py",
    "test_connection.py",
)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python as if aiohttp's extensions had not been built."""
    command = ["env", "AIOHTTP_NO_EXTENSIONS=1", sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_parser_in_use_is_the_fast_one() -> None:
    assert aiohttp.http_parser.HttpRequestParser is not aiohttp.http_parser.HttpRequestParserPy


def test_the_parser_in_python_keeps_the_same_rules() -> None:
    probe = "import aiohttp.http_parser as p; assert p.HttpRequestParser is p.HttpRequestParserPy"
    assert run("-c", probe).returncode == 0
    files = [str(Path(__file__).with_name(name)) for name in RULES]
    done = run("-m", "pytest", "-qx", "-p", "no:randomly", "-p", "no:cacheprovider", *files)
    assert done.returncode == 0, done.stdout
