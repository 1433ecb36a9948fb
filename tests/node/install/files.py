"""A server of files on loopback, and archives for it."""

import io
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def served(files: Mapping[str, bytes], lines: Mapping[str, bytes] | None = None) -> Iterator[str]:
    """Serve GET of `files` and POST of `lines` by path; gives the URL. What is neither is 404."""
    posted = lines or {}

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._give(files.get(self.path))

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            self._give(posted.get(self.path))

        def _give(self, body: bytes | None) -> None:
            self.send_response(404 if body is None else 200)
            said = b'{"error": "nothing there"}' if body is None else body
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def packed(**files: bytes) -> bytes:
    """Pack files into a .tgz; `__` in a name is a folder."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as archive:
        for name, body in files.items():
            entry = tarfile.TarInfo(name.replace("__", "/"))
            entry.size = len(body)
            archive.addfile(entry, io.BytesIO(body))
    return whole.getvalue()
