"""The agent as files for other machines: its wheel, made from the code that runs here, and the installer.

The wheel is the same byte by byte wherever the same release makes it. It holds the room `node`, the domain and
nothing else, so a machine gets no part of the gateway. Not here: what the installer does (`node/install.sh`), how
they are served (`api/node/downloads.py`).
"""

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from ktms.api.node.downloads import AGENT, INSTALLER, Download
from ktms.app.release import release

PACKAGE = Path(__file__).parents[1]
ROOMS = ("domain", "node")
KEPT = frozenset({".py", ".sh", ".txt"})

DATE = (2026, 1, 1, 0, 0, 0)
"""Of every file in the wheel: when it was unpacked here must not change its hash."""


def agent_files() -> Mapping[str, Download]:
    """Make both files.

    Raises:
        OSError: the code of the agent cannot be read.
    """
    wheel = agent_wheel()
    installer = installer_text(hashlib.sha256(wheel).hexdigest())
    return {
        INSTALLER: Download("text/x-shellscript; charset=utf-8", installer.encode()),
        AGENT: Download("application/octet-stream", wheel),
    }


def wheel_name() -> str:
    """Give the name under which an installer takes the wheel."""
    return f"ktms_node-{release()}-py3-none-any.whl"


def installer_text(wheel_sha256: str) -> str:
    """Write what this release knows into the installer."""
    text = (PACKAGE / "node" / "install.sh").read_text()
    known = {
        "VERSION": release(),
        "WHEEL": wheel_name(),
        "WHEEL_SHA256": wheel_sha256,
    }
    for name, value in known.items():
        text = text.replace(f"@{name}@", value)
    return text


def agent_wheel() -> bytes:
    """Pack the wheel (PEP 427)."""
    info = f"ktms_node-{release()}.dist-info"
    files = {
        **dict(_code()),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: ktms-node\nVersion: {release()}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: ktms\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": b"[console_scripts]\nktms-node = ktms.node.cli:main\n",
    }
    record = "".join(f"{name},sha256={_digest(body)},{len(body)}\n" for name, body in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            entry = zipfile.ZipInfo(name, DATE)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, body, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _code() -> Iterator[tuple[str, bytes]]:
    yield "ktms/__init__.py", (PACKAGE / "__init__.py").read_bytes()
    for room in ROOMS:
        for path in sorted((PACKAGE / room).rglob("*")):
            if path.suffix in KEPT:
                yield f"ktms/{path.relative_to(PACKAGE).as_posix()}", path.read_bytes()


def _digest(body: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
