"""Records which peer a real nginx picks, request by request, into `picks.json` beside this file.

`python tests/golden/nginx_swrr/record.py` needs an `nginx` on the path; the test reads the recording only. One
worker process (its round robin lives there), peers that answer their own letter, all on loopback. The peer that
leaves answers 503 while a file exists, and nginx then sets it aside for `fail_timeout`.
"""

import http.client
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
FIXED = {"5,1,1": 24, "1,1,1": 10, "4,2,1": 22, "7,3,2,2": 30, "1,10,3,3,5": 46}
"""Weights and how many picks to record: more than two rounds."""

RETURNING = "3,2,1"
BEFORE, AWAY, AFTER = 8, 9, 24
FAIL_TIMEOUT_S = 1
SET_ASIDE_S = 3.0
"""nginx counts whole seconds, and one more than the timeout has to be over."""


def main() -> int:
    """Record everything; give the exit code."""
    program = shutil.which("nginx")
    if program is None:
        sys.stderr.write("no nginx on the path\n")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the worker process may be another user's
        away = Path(folder) / "away"
        with _nginx(program, Path(folder), away) as port:
            fixed = [
                {"weights": weights, "picks": "".join(_pick(port, place) for _ in range(count))}
                for place, (weights, count) in enumerate(FIXED.items())
            ]
            returning = _leave_and_return(port, len(FIXED), away)
    version = subprocess.run([program, "-v"], capture_output=True, text=True, check=True).stderr.strip()
    recording = {"nginx": version.rpartition("/")[2], "fixed": fixed, "returning": returning}
    (HERE / "picks.json").write_text(json.dumps(recording, indent=2) + "\n")
    return 0


def _leave_and_return(port: int, place: int, away: Path) -> dict[str, str]:
    before = "".join(_pick(port, place) for _ in range(BEFORE))
    away.touch()
    gone = "".join(_pick(port, place) for _ in range(AWAY))
    away.unlink()
    threading.Event().wait(SET_ASIDE_S)  # nginx goes by the clock here, there is nothing else to wait for
    after = "".join(_pick(port, place) for _ in range(AFTER))
    return {"weights": RETURNING, "leaves": "a", "before": before, "away": gone, "after": after}


def _pick(port: int, place: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request("GET", f"/{place}")
    letter = connection.getresponse().read().decode()
    connection.close()
    return letter


@contextmanager
def _nginx(program: str, folder: Path, away: Path) -> Iterator[int]:
    ports = _free_ports(6)
    config = folder / "nginx.conf"
    config.write_text(_config(folder, ports, away))
    process = subprocess.Popen([program, "-c", str(config), "-p", str(folder), "-e", str(folder / "error.log")])
    try:
        for port in ports:
            _wait_for(port)
        yield ports[0]
    finally:
        process.terminate()
        process.wait(10)


def _config(folder: Path, ports: list[int], away: Path) -> str:
    peers = dict(zip("abcde", ports[1:], strict=True))
    groups = [_group(place, weights, peers, "max_fails=0") for place, weights in enumerate(FIXED)]
    groups.append(_group(len(FIXED), RETURNING, peers, f"max_fails=1 fail_timeout={FAIL_TIMEOUT_S}s"))
    servers = "".join(
        f'server {{ listen 127.0.0.1:{port}; location / {{ return 200 "{letter}"; }}'
        + (
            f" location /{len(FIXED)} {{ if (-f {away}) {{ return 503; }} return 200 a; }}"
            if letter == "a"
            else ""
        )
        + " }\n"
        for letter, port in peers.items()
    )
    doors = "".join(
        f"location /{place} {{ proxy_pass http://g{place}; proxy_next_upstream error timeout http_503; }}\n"
        for place in range(len(FIXED) + 1)
    )
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"daemon off;\nworker_processes 1;\npid {folder}/pid;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}{''.join(groups)}{servers}"
        f"server {{ listen 127.0.0.1:{ports[0]}; {doors} }}\n}}\n"
    )


def _group(place: int, weights: str, peers: dict[str, int], rule: str) -> str:
    servers = "".join(
        f"server 127.0.0.1:{port} weight={weight} {rule};\n"
        for weight, port in zip(weights.split(","), peers.values(), strict=False)
    )
    return f"upstream g{place} {{\n{servers}}}\n"


def _free_ports(count: int) -> list[int]:
    listening = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in listening]
    for one in listening:
        one.close()
    return ports


def _wait_for(port: int) -> None:
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            threading.Event().wait(0.05)
        else:
            return


if __name__ == "__main__":
    sys.exit(main())
