"""What the methods of the admin plane do: read the request, ask a port, write the answer.

Each takes the actor that the door authenticated. Errors of the ports pass through; the door turns them into
statuses.
Not here: roles (`rights.py`), statuses and deadlines (`door.py`).
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from ktms.api.admin_grpc.batch_service import BatchService
from ktms.api.admin_grpc.document import decode_catalogue, encode_catalogue
from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.messages import change_message, key_message, spec_of
from ktms.api.admin_grpc.method import Method, NotFound, method
from ktms.api.admin_grpc.node_service import NodeService
from ktms.api.admin_grpc.usage_service import UsageService
from ktms.domain.access.actor import Actor
from ktms.domain.capacity.fleet_status import FleetStatus
from ktms.domain.catalogue import Catalogue
from ktms.domain.catalogue_rules import CatalogueInvalid, warnings
from ktms.domain.complaint import Complaint
from ktms.domain.ids import KeyId
from ktms.domain.joined_node import served_after
from ktms.ports.batch_store import BatchStore
from ktms.ports.config_store import ConfigStore
from ktms.ports.key_admin import KeyAdmin
from ktms.ports.node_registry import NodeRegistry
from ktms.ports.policy_store import PolicyStore
from ktms.ports.usage_reports import UsageReports

PAGE_SIZE = 500
"""Keys per page where the caller names no number: far below what one message carries."""

ID_SHOWN_MAX = 16
"""An id has 10 characters; what is longer may be a whole key, which no error repeats."""

PAGE_SIZE_MAX = 1000
"""About 300 kB: a page stays a small part of what one message may hold."""


HEAVY_BYTES = 64 * 1024
"""Larger documents are read beside the loop, which calls of clients share (10,000 nodes take 0.2 s)."""


class Versions(Protocol):
    """Tells the version of the stored catalogue (ports/catalogue.py: CatalogueStore)."""

    async def version(self) -> int:
        """Give the newest version; 0 when nothing was ever applied.

        Raises:
            StoreAway: the database did not answer in time.
        """
        ...


@dataclass(frozen=True, slots=True)
class AdminPorts:
    """What the admin plane needs of the world. `fleet` gives this replica's live view of the nodes."""

    config: ConfigStore
    keys: KeyAdmin
    versions: Versions
    nodes: NodeRegistry
    policies: PolicyStore
    fleet: Callable[[], FleetStatus]
    reports: UsageReports
    batches: BatchStore


class AdminService:
    """The methods, over the ports; those about nodes, usage and batches stand in modules of their own."""

    def __init__(self, ports: AdminPorts, server_version: str) -> None:
        self._config = ports.config
        self._keys = ports.keys
        self._versions = ports.versions
        self._nodes = ports.nodes
        self._about_nodes = NodeService(ports.config, ports.nodes, ports.policies, ports.fleet)
        self._about_usage = UsageService(ports.reports)
        self._about_batches = BatchService(ports.batches)
        self._server_version = server_version

    def methods(self) -> Mapping[str, Method]:
        """Give all methods by the names of the protocol."""
        return {
            "ApplyConfig": method(admin_pb2.ApplyConfigRequest, self.apply_config),
            "ExportConfig": method(admin_pb2.ExportConfigRequest, self.export_config),
            "CreateClientKey": method(admin_pb2.CreateClientKeyRequest, self.create_client_key),
            "ListClientKeys": method(admin_pb2.ListClientKeysRequest, self.list_client_keys),
            "RevokeClientKey": method(admin_pb2.RevokeClientKeyRequest, self.revoke_client_key),
            "GetVersion": method(admin_pb2.GetVersionRequest, self.get_version),
            **self._about_nodes.methods(),
            **self._about_usage.methods(),
            **self._about_batches.methods(),
        }

    async def apply_config(
        self, request: admin_pb2.ApplyConfigRequest, actor: Actor
    ) -> admin_pb2.ApplyConfigResponse:
        """Apply a document."""
        wanted = await _read(request.document)
        known = await self._nodes.list()
        applied = await self._config.apply(wanted, actor=actor, prune=request.prune, dry_run=request.dry_run)
        return admin_pb2.ApplyConfigResponse(
            version=applied.version,
            changes=[change_message(each) for each in applied.changes],
            warnings=warnings(wanted, tuple(served_after(wanted, known, prune=request.prune))),
            new_keys=[admin_pb2.NewKey(name=each.name, token=each.token) for each in applied.new_keys],
        )

    async def export_config(
        self, _request: admin_pb2.ExportConfigRequest, _actor: Actor
    ) -> admin_pb2.ExportConfigResponse:
        """Give the stored catalogue."""
        return admin_pb2.ExportConfigResponse(document=encode_catalogue(await self._config.export()))

    async def create_client_key(
        self, request: admin_pb2.CreateClientKeyRequest, actor: Actor
    ) -> admin_pb2.CreateClientKeyResponse:
        """Make a client key."""
        try:
            key, token = await self._keys.create(spec_of(request), actor=actor)
        except CatalogueInvalid as error:
            raise CatalogueInvalid(tuple(_of_request(each) for each in error.complaints)) from error
        return admin_pb2.CreateClientKeyResponse(key=key_message(key), token=token)

    async def list_client_keys(
        self, request: admin_pb2.ListClientKeysRequest, _actor: Actor
    ) -> admin_pb2.ListClientKeysResponse:
        """Give one page of keys; the token of a page is the id of the last key before it."""
        keys = await self._keys.list()
        start = _position_after(request.page_token, [key.id for key in keys])
        size = min(request.page_size if request.page_size > 0 else PAGE_SIZE, PAGE_SIZE_MAX)
        page = keys[start : start + size]
        more = start + size < len(keys)
        return admin_pb2.ListClientKeysResponse(
            keys=[key_message(key) for key in page], next_page_token=page[-1].id if more else ""
        )

    async def revoke_client_key(
        self, request: admin_pb2.RevokeClientKeyRequest, actor: Actor
    ) -> admin_pb2.RevokeClientKeyResponse:
        """Revoke a key."""
        if not await self._keys.revoke(KeyId(request.id), actor=actor):
            shown = request.id if request.id.isalnum() and len(request.id) <= ID_SHOWN_MAX else "given"
            raise NotFound(f"no client key has the id {shown} (ktms admin keys list)")
        return admin_pb2.RevokeClientKeyResponse()

    async def get_version(
        self, _request: admin_pb2.GetVersionRequest, _actor: Actor
    ) -> admin_pb2.GetVersionResponse:
        """Tell the versions."""
        return admin_pb2.GetVersionResponse(
            server_version=self._server_version, catalogue_version=await self._versions.version()
        )


async def _read(document: bytes) -> Catalogue:
    heavy = len(document) > HEAVY_BYTES
    return await asyncio.to_thread(decode_catalogue, document) if heavy else decode_catalogue(document)


def _of_request(complaint: Complaint) -> Complaint:
    """Leave out `client_keys.0`, which the caller never wrote."""
    return Complaint(complaint.path[2:], complaint.message)


def _position_after(token: str, ids: list[KeyId]) -> int:
    if not token:
        return 0
    if token not in ids:
        raise NotFound("page_token: no client key has this id")
    return ids.index(KeyId(token)) + 1
