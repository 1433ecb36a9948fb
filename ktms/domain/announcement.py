"""What the agent of a node says about its machine, and what of it is believed.

An announcement overlays what was declared; it never becomes a declaration. Which of two announcements under one
name counts is decided by `epoch_ms`, the start of the agent that sent it: an older agent that is still there is
fenced off. Not here: who may announce what and how it becomes a node (`joined_node.py`), the wire (`api/node`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ktms.domain.access.secret import Secret
from ktms.domain.capacity.serving import with_tag
from ktms.domain.catalogue import Catalogue, EngineKind, NodeModelSpec, NodeSpec
from ktms.domain.catalogue_entries import entry_complaints
from ktms.domain.complaint import Complaint, Path, repeated

ANNOUNCE_EVERY_S = 30
"""How often an agent says that it is there; also at start and on every change."""

ANNOUNCE_FORGOTTEN_S = 100.0
"""Three announcements missed, and some for the way. Shown to operators only: probes judge health, not silence."""

SLOTS_MAX = 1024
"""No engine serves more streams at once; a claim above would pull all traffic to one machine."""

WINDOW_MAX_TOKENS = 10_000_000
"""The largest windows there are, and some; a claim above is a mistake in a unit."""

MODELS_MAX = 256
"""More than any machine keeps on its disks; bounds what one agent can put into every snapshot."""

TOKEN_LENGTH_MAX = 512
"""Keeps heads of requests to nodes small."""

VERSION_LENGTH_MAX = 64
"""A version is a word."""

EPOCH_MAX_MS = 1 << 53
"""What a number in JSON carries exactly."""

EPOCH_AHEAD_MAX_MS = 300_000
"""A clock further ahead would fence off every later agent of its node; smaller errors heal by themselves."""

_TOKEN = re.compile(rf"[!-~]{{1,{TOKEN_LENGTH_MAX}}}")

_ASSUMED = "node"
"""Stands where a rule of the catalogue wants the node's name, which the key gives."""


@dataclass(frozen=True, slots=True)
class AnnouncedModel:
    """One model on the machine, by the engine's name. None: the agent does not know."""

    name: str
    context_window: int | None = None
    loaded: bool | None = None


@dataclass(frozen=True, slots=True)
class Announcement:
    """One announcement. `epoch_ms`: start of the agent, since 1970; `token` None only where it is listed.

    `certificate`: see `NodeSpec`.
    """

    url: str
    token: Secret | None
    engine: EngineKind
    epoch_ms: int
    slots: int
    models: tuple[AnnouncedModel, ...]
    draining: bool = False
    engine_version: str | None = None
    certificate: str | None = None


def announcement_complaints(said: Announcement) -> Iterator[Complaint]:
    """Find what is wrong with an announcement; the path of a complaint is that of the field."""
    if said.token is not None and not _TOKEN.fullmatch(said.token.reveal()):
        yield Complaint(("token",), f"must be 1 to {TOKEN_LENGTH_MAX} visible ASCII characters without spaces")
    if not 1 <= said.slots <= SLOTS_MAX:
        yield Complaint(("slots",), f"must be 1 to {SLOTS_MAX}")
    if not 1 <= said.epoch_ms <= EPOCH_MAX_MS:
        yield Complaint(("epoch",), "must be the start of the agent in milliseconds since 1970")
    if not _is_version(said.engine_version or ""):
        yield Complaint(("engine_version",), f"must be at most {VERSION_LENGTH_MAX} printable ASCII characters")
    if len(said.models) > MODELS_MAX:
        yield Complaint(("models",), f"must be at most {MODELS_MAX}")
        return
    yield from _models(said)
    yield from _entry(said)


def epoch_complaint(said: Announcement, now_ms: float) -> Complaint | None:
    """Say whether the agent's clock is so far ahead of ours that its epoch would lock its successors out."""
    if said.epoch_ms <= now_ms + EPOCH_AHEAD_MAX_MS:
        return None
    ahead_s = round((said.epoch_ms - now_ms) / 1000)
    return Complaint(("epoch",), f"is {ahead_s} s ahead of the gateway's clock: set the clock of the machine")


def routes_alike(a: Announcement, b: Announcement) -> bool:
    """Whether both lead to the same node: what is only told (`loaded`, versions, epoch) is no difference."""
    return _routed(a) == _routed(b)


def _routed(said: Announcement) -> Announcement:
    models = tuple(replace(model, loaded=None) for model in said.models)
    return replace(said, models=models, epoch_ms=0, engine_version=None)


def _is_version(text: str) -> bool:
    return len(text) <= VERSION_LENGTH_MAX and text.isascii() and text.isprintable()


def _models(said: Announcement) -> Iterator[Complaint]:
    for index, model in enumerate(said.models):
        window = model.context_window
        if window is not None and not 1 <= window <= WINDOW_MAX_TOKENS:
            yield Complaint(("models", index, "context_window"), f"must be 1 to {WINDOW_MAX_TOKENS}")
    for index in repeated([with_tag(model.name) for model in said.models]):
        yield Complaint(("models", index, "name"), "was announced before")


def _entry(said: Announcement) -> Iterator[Complaint]:
    """Judge by the rules of the catalogue too: what passes here can always be compiled."""
    spec = NodeSpec(
        _ASSUMED,
        said.url,
        tuple(NodeModelSpec(model.name) for model in said.models),
        engine=said.engine,
        certificate=said.certificate,
    )
    for complaint in entry_complaints(Catalogue(nodes=(spec,))):
        yield Complaint(_bare(complaint.path), complaint.message)


def _bare(path: Path) -> Path:
    """Leave out `nodes.0`, which no agent wrote."""
    return path[2:]
