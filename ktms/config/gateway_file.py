"""`gateway.yaml` -> `Catalogue`, with errors that name file, line, column and field.

A broken file never gives a catalogue: all mistakes of the first stage that finds any (text, shape, values, rules)
are raised together.
Not here: the fields (`gateway_entries.py`), writing a file (`gateway_dump.py`), sending it (`app/cli`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ktms.config.environment import process_environment
from ktms.config.gateway_catalogue import build_catalogue
from ktms.config.gateway_shape import Mistake, shape_document
from ktms.config.secret_file import ReadFile, read_secret_file
from ktms.config.secret_sources import SecretSources
from ktms.config.yaml_tree import Path as TreePath
from ktms.config.yaml_tree import Position, Tree, YamlInvalid, read_tree
from ktms.domain.catalogue import Catalogue
from ktms.domain.catalogue_rules import complaints
from ktms.domain.complaint import Complaint

GATEWAY_FILE_MAX_BYTES = 4 * 1024 * 1024
"""Room for about 20,000 nodes, and what one message to the admin plane may carry."""

LINES_MAX = 50
"""Mistakes shown at once: more do not fit a screen, and usually have one cause."""


class GatewayFileInvalid(Exception):
    """The file cannot be used; `lines` holds one readable line per mistake."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


@dataclass(frozen=True, slots=True)
class GatewayFile:
    """A readable file: what it declares, and where."""

    path: Path
    catalogue: Catalogue
    tree: Tree = field(repr=False)

    @property
    def states_policy(self) -> bool:
        """Whether the file has a `policy` at all; without one the catalogue holds the defaults."""
        return ("policy",) in self.tree.values

    def line(self, complaint: Complaint) -> str:
        """Say a complaint of the domain with its place in the file."""
        return _line(self.path, self.tree, Mistake(_tree_path(complaint.path), complaint.message))

    def check(self) -> None:
        """Check the file as a whole: for `up --config`, where nothing else is stored.

        Raises:
            GatewayFileInvalid: the entries do not fit together.
        """
        found = complaints(self.catalogue)
        if found:
            raise GatewayFileInvalid(_bounded(self.line(each) for each in found))


def load_gateway(path: Path) -> GatewayFile:
    """Read a gateway file of this machine, with the environment and the files of this process.

    Raises:
        GatewayFileInvalid: with one line per mistake.
    """
    return read_gateway(path, read_gateway_text(path), process_environment(), read_secret_file)


def read_gateway_text(path: Path) -> str:
    """Read the text of a gateway file.

    Raises:
        GatewayFileInvalid: missing, forbidden, too large or not text.
    """
    try:
        with path.open("rb") as file:
            data = file.read(GATEWAY_FILE_MAX_BYTES + 1)
    except OSError as error:
        raise GatewayFileInvalid((f"{path}: cannot be read: {error.strerror or error}",)) from error
    if len(data) > GATEWAY_FILE_MAX_BYTES:
        raise GatewayFileInvalid((f"{path}: larger than {GATEWAY_FILE_MAX_BYTES} bytes",))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise GatewayFileInvalid((f"{path}:{line}:1: not UTF-8 text",)) from error


def read_gateway(path: Path, text: str, environ: Mapping[str, str], read_file: ReadFile) -> GatewayFile:
    """Read a gateway file from its text; secrets come from `environ` and `read_file`. Does not `check` it.

    Raises:
        GatewayFileInvalid: with one line per mistake.
    """
    try:
        tree = read_tree(text)
    except YamlInvalid as error:
        raise GatewayFileInvalid((_placed(path, error.position, error.reason),)) from error
    document = shape_document(tree.value)
    if isinstance(document, tuple):
        raise GatewayFileInvalid(_lines(path, tree, document))
    catalogue = build_catalogue(document, SecretSources(environ, read_file, path.parent))
    if isinstance(catalogue, tuple):
        raise GatewayFileInvalid(_lines(path, tree, catalogue))
    return GatewayFile(path, catalogue, tree)


def _lines(path: Path, tree: Tree, mistakes: Iterable[Mistake]) -> tuple[str, ...]:
    """In the order of the file."""
    placed = sorted(mistakes, key=lambda mistake: _position(tree, mistake))
    return _bounded(_line(path, tree, mistake) for mistake in placed)


def _bounded(lines: Iterable[str]) -> tuple[str, ...]:
    every = tuple(lines)
    rest = len(every) - LINES_MAX
    return every if rest <= 0 else (*every[:LINES_MAX], f"and {rest} more")


def _line(path: Path, tree: Tree, mistake: Mistake) -> str:
    where = _written(mistake.path)
    text = f"{where}: {mistake.message}" if where else mistake.message
    return _placed(path, Position(*_position(tree, mistake)), text)


def _position(tree: Tree, mistake: Mistake) -> tuple[int, int]:
    position = tree.keys.get(mistake.path) if mistake.at_key else None
    found = position or tree.position(mistake.path)
    return found.line, found.column


def _placed(path: Path, position: Position, text: str) -> str:
    return f"{path}:{position.line}:{position.column}: {text}"


def _written(path: TreePath) -> str:
    """`("models", 0, "targets")` as `models[0].targets`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


_FILE_NAMES: dict[str | int, TreePath] = {
    "cache_ttl_s": ("cache", "ttl_s"),
    "attempts_max": ("retry", "attempts_max"),
    "usd_per_day_micros": ("usd_per_day",),
    "usd_per_month_micros": ("usd_per_month",),
}
"""Fields that the domain names otherwise than the file."""


def _tree_path(path: TreePath) -> TreePath:
    """`("models", 0, "cache_ttl_s")` of the domain as `("models", 0, "cache", "ttl_s")` of the file."""
    return tuple(step for each in path for step in _FILE_NAMES.get(each, (each,)))
