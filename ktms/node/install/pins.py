"""The programs that are installed where they are missing: version, address, SHA-256 for each system and CPU.

Rules: nothing is unpacked that has another hash, and no entry stands here without one. Each hash was found in
several public places that pin the same file (of Ollama: a Homebrew formula and build scripts; of cloudflared:
Dockerfiles and download tables), and they agree. Beware of those that give the hash of the program in a Mac's
cloudflared for that of the archive. Not here: Python, which is needed before this can run (`install.sh`), the
agent's own packages (`requirements.txt`).
"""

from dataclasses import dataclass

OLLAMA_VERSION = "0.32.9"
CLOUDFLARED_VERSION = "2026.8.2"

_OLLAMA = f"https://github.com/ollama/ollama/releases/download/v{OLLAMA_VERSION}"
_CLOUDFLARED = f"https://github.com/cloudflare/cloudflared/releases/download/{CLOUDFLARED_VERSION}"

GIB = 1 << 30
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Pin:
    """One file to fetch. `program`: where the program lies once it is unpacked.

    `needs_bytes`: of the disk, archive and all, at most; `program_sha256`: of the program itself, where that is
    known beside the archive's.
    """

    name: str
    version: str
    url: str
    sha256: str
    program: str
    needs_bytes: int
    program_sha256: str | None = None

    @property
    def is_zstd(self) -> bool:
        """Whether unpacking wants zstd, which Python has since 3.14."""
        return self.url.endswith(".zst")


def _ollama(file: str, sha256: str, program: str, needs_bytes: int) -> Pin:
    return Pin("ollama", OLLAMA_VERSION, f"{_OLLAMA}/{file}", sha256, program, needs_bytes)


def _cloudflared(file: str, sha256: str, program_sha256: str | None = None) -> Pin:
    url = f"{_CLOUDFLARED}/{file}"
    return Pin("cloudflared", CLOUDFLARED_VERSION, url, sha256, "cloudflared", 200 * MIB, program_sha256)


# One archive for both CPUs of a Mac.
_OLLAMA_DARWIN = _ollama(
    "ollama-darwin.tgz", "17a5b096d4515d00a6415012db847a2b353b389ed7ab33d025e3b98c2f05b49c", "ollama", GIB
)

OLLAMA = {
    ("darwin", "arm64"): _OLLAMA_DARWIN,
    ("darwin", "amd64"): _OLLAMA_DARWIN,
    ("linux", "amd64"): _ollama(
        "ollama-linux-amd64.tar.zst",
        "5d747a43369f61e38f20b5a39fcc5c90647e562cdc61e2e56034f1c5b113d540",
        "bin/ollama",
        6 * GIB,
    ),
    ("linux", "arm64"): _ollama(
        "ollama-linux-arm64.tar.zst",
        "79617139521db251c716d6229505d7530171ff4d68e476d0c22dabc15726a237",
        "bin/ollama",
        6 * GIB,
    ),
}
"""By system and CPU. Ollama 0.32.9 needs macOS 14 or a Linux with glibc."""

CLOUDFLARED = {
    ("darwin", "arm64"): _cloudflared(
        "cloudflared-darwin-arm64.tgz",
        "9042c2c5d8b2de78e60f313d5fb31b6c5c1cebde787a3caf1f2c9588084ac442",
        "b61054d3d6326ea558cb49826eebf5676e0d0a36d51b546975096ca3e0e3c89d",
    ),
    ("darwin", "amd64"): _cloudflared(
        "cloudflared-darwin-amd64.tgz",
        "f1727723c586500e2092368ae21871b3df7ddfd2cb097f22d81bee4a9c458bb4",
        "b0f770e1e0b281399a57219b840fd8eef1cc25387a404124248157ea2073727a",
    ),
    ("linux", "amd64"): _cloudflared(
        "cloudflared-linux-amd64", "fcfb02b575a52ca1af2e3267af4e1517bcdeb30ac48c834c69abaed3c0576ad2"
    ),
    ("linux", "arm64"): _cloudflared(
        "cloudflared-linux-arm64", "7747d94570fb390cf47dcb4f9555c193c6355cda9793f0d878d9049e5d6a7790"
    ),
}
"""By system and CPU; what is served for Linux is the program itself."""
