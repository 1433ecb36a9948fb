"""A node that joined with a key: what an operator permits it, what it announced, and the node that follows.

Rules: the key names the node; a model outside of the permit is ignored, whatever the machine says; what the file
declares about a node of the same name stays where an announcement says nothing (region, weight, switched off). Not
here: what an announcement may say (`announcement.py`), the whole catalogue (`catalogue_overlay.py`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace

from ktms.domain.announcement import AnnouncedModel, Announcement
from ktms.domain.capacity.serving import with_tag
from ktms.domain.catalogue import Catalogue, ModelSpec, NodeModelSpec, NodeSpec
from ktms.domain.catalogue_rules import complaints
from ktms.domain.complaint import Complaint
from ktms.domain.ids import LOCAL, KeyId

_ASSUMED_URL = "http://10.0.0.1"
"""Stands where a rule of the catalogue wants the URL, which only the announcement brings."""


@dataclass(frozen=True, slots=True)
class NodePermit:
    """What the key of a node is good for. `models` empty: those declared for it, or all where none is declared."""

    name: str
    models: tuple[str, ...] = ()
    region: str | None = None
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class NodeKey:
    """The key of a node, as the door verifies it.

    `epoch_ms`: the start of the agent that counts, None where none was heard.
    """

    id: KeyId
    digest: bytes
    permit: NodePermit
    epoch_ms: int | None = None

    def fences_off(self, said: Announcement) -> bool:
        """Whether an agent that started later has announced with this key."""
        return self.epoch_ms is not None and said.epoch_ms < self.epoch_ms


@dataclass(frozen=True, slots=True)
class JoinedNode:
    """A node that was heard."""

    permit: NodePermit
    announcement: Announcement


@dataclass(frozen=True, slots=True)
class KnownNode:
    """All that is known of one node: declared, joined or both; the moment is in seconds since 1970.

    `heard_ago_s` is by the store's clock. Tokens are absent.
    """

    name: str
    declared: NodeSpec | None = None
    key_id: KeyId | None = None
    permit: NodePermit | None = None
    announcement: Announcement | None = None
    heard_at: float | None = None
    heard_ago_s: float | None = None

    @property
    def enabled(self) -> bool:
        """Whether an operator leaves it switched on; the file decides where it declares the node."""
        if self.declared is not None:
            return self.declared.enabled
        return self.permit is None or self.permit.enabled

    @property
    def region(self) -> str | None:
        """Where it stands; the file decides where it says so."""
        declared = None if self.declared is None else self.declared.region
        return declared if declared is not None or self.permit is None else self.permit.region

    @property
    def served(self) -> NodeSpec | None:
        """The node as calls meet it, without its token; None where nobody knows its URL."""
        if self.permit is None or self.announcement is None:
            return self.declared
        return as_served(JoinedNode(self.permit, self.announcement), self.declared)


@dataclass(frozen=True, slots=True)
class Admitted:
    """The models of an announcement: those that are served, and the names of those that are not permitted."""

    accepted: tuple[NodeModelSpec, ...]
    ignored: tuple[str, ...]


def permit_complaints(permit: NodePermit) -> Iterator[Complaint]:
    """Find what is wrong with a permit."""
    models = tuple(NodeModelSpec(name) for name in permit.models)
    spec = NodeSpec(permit.name, _ASSUMED_URL, models, region=permit.region)
    for complaint in complaints(Catalogue(nodes=(spec,))):
        yield Complaint(complaint.path[2:], complaint.message)


def admitted(joined: JoinedNode, declared: NodeSpec | None) -> Admitted:
    """Sort the announced models by what the node may serve."""
    windows = {} if declared is None else {with_tag(model.name): model.context_window for model in declared.models}
    allowed = {with_tag(name) for name in joined.permit.models} or set(windows)
    accepted: list[NodeModelSpec] = []
    ignored: list[str] = []
    for model in joined.announcement.models:
        if allowed and with_tag(model.name) not in allowed:
            ignored.append(model.name)
        else:
            accepted.append(_model(model, windows.get(with_tag(model.name))))
    return Admitted(tuple(accepted), tuple(ignored))


def as_served(joined: JoinedNode, declared: NodeSpec | None) -> NodeSpec:
    """Give the node as calls meet it; one that drains keeps its place, and nothing new is sent there."""
    permit, said = joined.permit, joined.announcement
    spec = declared or NodeSpec(permit.name, said.url, (), enabled=permit.enabled)
    served = replace(
        spec,
        url=said.url,
        token=said.token,
        engine=said.engine,
        slots=said.slots,
        region=permit.region if spec.region is None else spec.region,
        models=admitted(joined, declared).accepted,
        certificate=said.certificate,
    )
    return leaving(served) if said.draining else served


class LeavingNode(NodeSpec):
    """A node whose agent has announced that it takes nothing new: the same in all else."""

    __slots__ = ()

    @property
    def draining(self) -> bool:
        """It does."""
        return True


def leaving(node: NodeSpec) -> LeavingNode:
    """Give the node as one that drains."""
    return LeavingNode(*(getattr(node, one.name) for one in fields(node)))


def served_after(wanted: Catalogue, known: Iterable[KnownNode], *, prune: bool) -> Iterator[NodeSpec]:
    """Give the nodes known so far as calls meet them once `wanted` is applied.

    With `prune` those that it does not declare are left to what they announce.
    """
    declared = {node.name: node for node in wanted.nodes}
    for node in known:
        kept = None if prune else node.declared
        served = replace(node, declared=declared.get(node.name, kept)).served
        if served is not None:
            yield served


def serving(nodes: Iterable[KnownNode], model: ModelSpec) -> tuple[str, ...]:
    """Name the nodes that take calls for a model."""
    wanted = {with_tag(target.model) for target in model.targets if target.vendor == LOCAL}
    taking = (one for node in nodes if (one := node.served) is not None and one.enabled and not one.draining)
    return tuple(node.name for node in taking if any(with_tag(one.name) in wanted for one in node.models))


def _model(model: AnnouncedModel, declared: int | None) -> NodeModelSpec:
    return NodeModelSpec(model.name, declared if model.context_window is None else model.context_window)
