"""The admin plane as commands see it: one method per call, errors as lines for a person.

Not here: which gateway and which key (`connection.py`), what is printed.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

import grpc

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.gen.admin_pb2_grpc import AdminServiceStub
from ktms.api.admin_grpc.wire import MESSAGE_MAX_BYTES
from ktms.app.cli.failed import CommandFailed
from ktms.config.settings import ADMIN_ADDR
from ktms.domain.access.secret import Secret

CALL_TIMEOUT_S = 35.0
"""A little more than the server gives itself, so that its own answer arrives."""

OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_MAX_BYTES),
    ("grpc.enable_http_proxy", 0),  # the key goes to the gateway, not to a proxy of the environment
)

AWAY = ("the database is away", "the ledger does not answer")
"""How the server says that it is there and something that it needs is not."""

SPEAKS_HTTP = "http1.x server"
"""How the gRPC library says that an answer was no HTTP/2."""

Request = TypeVar("Request")
Response = TypeVar("Response")


class AdminRefused(CommandFailed):
    """The gateway answered no; `details` is its own text, line by line."""

    def __init__(self, details: str) -> None:
        super().__init__(*details.splitlines())


class AdminClient:
    """Talks to one gateway; closes its channel at the end of the block."""

    def __init__(self, address: str, key: Secret, credentials: grpc.ChannelCredentials | None) -> None:
        self._address = address
        self._key = key
        self._channel = (
            grpc.insecure_channel(address, OPTIONS)
            if credentials is None
            else grpc.secure_channel(address, credentials, OPTIONS)
        )
        self._stub = AdminServiceStub(self._channel)

    @property
    def address(self) -> str:
        """Where the gateway is asked."""
        return self._address

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._channel.close()

    def apply(self, document: bytes, *, dry_run: bool, prune: bool) -> admin_pb2.ApplyConfigResponse:
        """Apply a catalogue document."""
        request = admin_pb2.ApplyConfigRequest(document=document, dry_run=dry_run, prune=prune)
        return self._call(self._stub.ApplyConfig, request)

    def export(self) -> bytes:
        """Give the stored catalogue as a document."""
        return self._call(self._stub.ExportConfig, admin_pb2.ExportConfigRequest()).document

    def create_key(self, request: admin_pb2.CreateClientKeyRequest) -> admin_pb2.CreateClientKeyResponse:
        """Make a client key."""
        return self._call(self._stub.CreateClientKey, request)

    def list_keys(self) -> list[admin_pb2.ClientKey]:
        """Give all client keys, page by page."""
        keys: list[admin_pb2.ClientKey] = []
        page_token = ""
        while True:
            request = admin_pb2.ListClientKeysRequest(page_token=page_token)
            page = self._call(self._stub.ListClientKeys, request)
            keys.extend(page.keys)
            page_token = page.next_page_token
            if not page_token:
                return keys

    def revoke_key(self, key_id: str) -> None:
        """Revoke a client key."""
        self._call(self._stub.RevokeClientKey, admin_pb2.RevokeClientKeyRequest(id=key_id))

    def version(self) -> admin_pb2.GetVersionResponse:
        """Tell which release serves."""
        return self._call(self._stub.GetVersion, admin_pb2.GetVersionRequest())

    def issue_node_key(self, request: admin_pb2.IssueNodeKeyRequest) -> admin_pb2.IssueNodeKeyResponse:
        """Make the key of a node."""
        return self._call(self._stub.IssueNodeKey, request)

    def revoke_node_key(self, name: str) -> None:
        """Revoke the key of a node."""
        self._call(self._stub.RevokeNodeKey, admin_pb2.RevokeNodeKeyRequest(name=name))

    def nodes(self) -> list[admin_pb2.Node]:
        """Give all nodes."""
        return list(self._call(self._stub.ListNodes, admin_pb2.ListNodesRequest()).nodes)

    def switch_node(self, name: str, *, enabled: bool) -> None:
        """Switch a node on or off."""
        request = admin_pb2.SetNodeEnabledRequest(name=name, enabled=enabled)
        self._call(self._stub.SetNodeEnabled, request)

    def policy(self) -> admin_pb2.GetPolicyResponse:
        """Give the policy."""
        return self._call(self._stub.GetPolicy, admin_pb2.GetPolicyRequest())

    def set_policy(self, request: admin_pb2.SetPolicyRequest) -> admin_pb2.SetPolicyResponse:
        """Change settings of the policy."""
        return self._call(self._stub.SetPolicy, request)

    def models(self) -> list[admin_pb2.Model]:
        """Give all models."""
        return list(self._call(self._stub.ListModels, admin_pb2.ListModelsRequest()).models)

    def chains(self) -> list[admin_pb2.Chain]:
        """Give all chains."""
        return list(self._call(self._stub.ListChains, admin_pb2.ListChainsRequest()).chains)

    def usage(self, request: admin_pb2.GetUsageRequest) -> list[admin_pb2.UsageRow]:
        """Give sums of usage."""
        return list(self._call(self._stub.GetUsage, request).rows)

    def fleet(self) -> admin_pb2.GetFleetResponse:
        """Give the live view of the replica that answers."""
        return self._call(self._stub.GetFleet, admin_pb2.GetFleetRequest())

    def batches(self, most: int) -> list[admin_pb2.Batch]:
        """Give the newest batches, page by page."""
        found: list[admin_pb2.Batch] = []
        page_token = ""
        while len(found) < most:
            request = admin_pb2.ListBatchesRequest(page_size=most - len(found), page_token=page_token)
            page = self._call(self._stub.ListBatches, request)
            found.extend(page.batches)
            page_token = page.next_page_token
            if not page_token:
                break
        return found

    def batch(self, batch_id: str) -> admin_pb2.Batch:
        """Give one batch."""
        return self._call(self._stub.GetBatch, admin_pb2.GetBatchRequest(id=batch_id)).batch

    def cancel_batch(self, batch_id: str) -> admin_pb2.Batch:
        """Cancel a batch."""
        return self._call(self._stub.CancelBatch, admin_pb2.CancelBatchRequest(id=batch_id)).batch

    def _call(self, method: Callable[..., Response], request: object) -> Response:
        metadata = (("authorization", f"Bearer {self._key.reveal()}"),)
        try:
            return method(request, timeout=CALL_TIMEOUT_S, metadata=metadata)
        except grpc.RpcError as error:
            raise self._failure(error) from error

    def _failure(self, error: grpc.RpcError) -> CommandFailed:
        code, details = error.code(), error.details() or ""
        if code is grpc.StatusCode.UNAVAILABLE and not details.startswith(AWAY):
            if SPEAKS_HTTP in details:
                return CommandFailed(
                    f"{self._address} speaks HTTP/1, so it is not the admin port (gRPC, {ADMIN_ADDR} by default): "
                    "is it the one of the API?"
                )
            reason = details.rpartition(": ")[2]
            return CommandFailed(
                f"no gateway answers at {self._address} ({reason}): is it running, "
                "and are its address and TLS settings right?"
            )
        if code is grpc.StatusCode.UNAUTHENTICATED:
            return CommandFailed(f"the gateway at {self._address} does not know this admin key, or it was revoked")
        if code is grpc.StatusCode.UNIMPLEMENTED:
            return CommandFailed(f"the gateway at {self._address} is too old for this command")
        return AdminRefused(details or code.name.lower().replace("_", " "))
