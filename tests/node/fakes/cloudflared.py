"""A cloudflared that opens no tunnel: it takes the real flags, and its metrics server says what a folder says.

`python cloudflared.py FOLDER tunnel …`: FOLDER holds `names`, one for each start of a quick tunnel, and perhaps
`blocked`: then no connection comes up but over `--protocol http2`. It notes each start in `starts`, and ends when
there is an `end`.
"""

import argparse
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

FOLDER = Path(sys.argv[1])


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("tunnel", choices=["tunnel"])
    parser.add_argument("--no-autoupdate", action="store_true", required=True)
    parser.add_argument("--metrics", required=True)
    parser.add_argument("--protocol", choices=["auto", "quic", "http2"])
    parser.add_argument("--grace-period")
    parser.add_argument("--url")
    parser.add_argument("--no-tls-verify", action="store_true")
    commands = parser.add_subparsers(dest="command")
    run = commands.add_parser("run")
    run.add_argument("--token-file", type=Path, required=True)
    return parser.parse_args(sys.argv[2:])


def main() -> None:
    options = parsed()
    starts = FOLDER / "starts"
    earlier = starts.read_text().splitlines() if starts.exists() else []
    starts.write_text("\n".join([*earlier, " ".join(sys.argv[2:])]) + "\n")
    if options.command == "run" and not options.token_file.read_text().strip():
        sys.exit("no token")
    names = (FOLDER / "names").read_text().split() if (FOLDER / "names").exists() else []
    name = names[min(len(earlier), len(names) - 1)] if names else ""
    connected = options.protocol == "http2" or not (FOLDER / "blocked").exists()

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if (FOLDER / "end").exists():
                (FOLDER / "end").unlink()
                os._exit(1)
            pages = {
                "/ready": (200 if connected else 503, {"readyConnections": int(connected), "status": 200}),
                "/quicktunnel": (200, {"hostname": name if options.url else ""}),
            }
            status, page = pages.get(self.path, (404, {}))
            body = json.dumps(page).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    host, _, port = options.metrics.rpartition(":")
    HTTPServer((host, int(port)), Page).serve_forever()


main()
