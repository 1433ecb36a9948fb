"""The whole catalogue out of its tables, in file order, with the row ids that writing it needs.

Secrets are opened only where asked. One that cannot be opened is left out and told to telemetry: the vendor lives
on its other keys, and the gateway lives in any case.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import asyncpg

from ktms.adapters.postgres.price_tables import read_prices
from ktms.adapters.postgres.sealed_columns import node_token_place, vendor_key_place
from ktms.adapters.postgres.specs import decode
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    Catalogue,
    ChainSpec,
    ClientKeySpec,
    ModelSpec,
    NodeSpec,
    PolicySpec,
    TenantSpec,
    VendorSpec,
)
from ktms.domain.ids import VendorKeyId
from ktms.ports.secrets import DecryptFailed, Place, Secrets
from ktms.ports.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class StoredVendorKey:
    """A credential that could be opened."""

    id: UUID
    secret: Secret


@dataclass(frozen=True, slots=True)
class Stored:
    """What the tables hold. `vendor_keys` are by vendor name, in order; `ids` are row ids by table and name."""

    version: int
    catalogue: Catalogue
    vendor_keys: Mapping[str, Sequence[StoredVendorKey]]
    ids: Mapping[str, Mapping[str, UUID]]

    @property
    def key_ids(self) -> Mapping[str, tuple[VendorKeyId, ...]]:
        """Ids of each vendor's keys, as the compiler of snapshots takes them."""
        return {
            vendor: tuple(VendorKeyId(str(key.id)) for key in keys) for vendor, keys in self.vendor_keys.items()
        }


class Opener:
    """Opens stored secrets and tells which ones it could not."""

    def __init__(self, secrets: Secrets, telemetry: Telemetry) -> None:
        self._secrets = secrets
        self._telemetry = telemetry

    def open(self, sealed: bytes, place: Place, owner_name: str) -> Secret | None:
        """Open one; None, and an event, when that cannot be done."""
        try:
            return Secret(self._secrets.open(sealed, place).decode())
        except (DecryptFailed, UnicodeDecodeError):
            self._telemetry.event(
                "error", "secret_undecryptable", table=place.table, row=place.row, belongs_to=owner_name
            )
            return None


async def lock_catalogue(connection: asyncpg.Connection) -> int:
    """Hold the catalogue until the end of the transaction, and give its version: changes follow each other."""
    version: int = await connection.fetchval("select version from catalogue_version where id = 1 for update")
    return version


async def read_stored(connection: asyncpg.Connection, opener: Opener | None) -> Stored:
    """Read everything but revoked keys and removed tenants; without an opener, secrets are absent.

    Raises:
        CatalogueInvalid: a stored entry cannot be read.
    """
    version = await connection.fetchval("select version from catalogue_version where id = 1")
    vendors = await connection.fetch("select id, name, spec from vendor order by position, name")
    vendor_keys = await _vendor_keys(connection, opener, {row["id"]: row["name"] for row in vendors})
    nodes = await connection.fetch("select id, name, spec, token from node order by position, name")
    tenants = await connection.fetch(
        "select id, name, spec from tenant where removed_at is null order by position, name"
    )
    models = await connection.fetch("select name, spec from model order by position, name")
    chains = await connection.fetch("select name, spec from chain order by position, name")
    prices = await read_prices(connection)
    keys = await connection.fetch(
        "select client_key.name, client_key.spec, tenant.name as tenant from client_key "
        "join tenant on tenant.id = client_key.tenant_id "
        "where client_key.revoked_at is null order by client_key.position, client_key.name"
    )
    policy = await connection.fetchval("select spec from policy where id = 1")
    catalogue = Catalogue(
        vendors=tuple(_vendor(row, vendor_keys) for row in vendors),
        models=tuple(decode(ModelSpec, row["spec"], name=row["name"]) for row in models),
        chains=tuple(decode(ChainSpec, row["spec"], name=row["name"]) for row in chains),
        nodes=tuple(_node(row, opener) for row in nodes),
        prices=prices,
        tenants=tuple(decode(TenantSpec, row["spec"], name=row["name"]) for row in tenants),
        client_keys=tuple(
            decode(ClientKeySpec, row["spec"], name=row["name"], tenant=row["tenant"]) for row in keys
        ),
        policy=decode(PolicySpec, policy),
    )
    tables = {"vendor": vendors, "node": nodes, "tenant": tenants}
    ids = {table: {row["name"]: row["id"] for row in rows} for table, rows in tables.items()}
    return Stored(version, catalogue, vendor_keys, ids)


async def _vendor_keys(
    connection: asyncpg.Connection, opener: Opener | None, names: Mapping[UUID, str]
) -> Mapping[str, Sequence[StoredVendorKey]]:
    opened: dict[str, list[StoredVendorKey]] = {name: [] for name in names.values()}
    if opener is None:
        return opened
    for row in await connection.fetch("select id, vendor_id, secret from vendor_key order by position, id"):
        vendor = names[row["vendor_id"]]
        secret = opener.open(row["secret"], vendor_key_place(str(row["id"]), str(row["vendor_id"])), vendor)
        if secret is not None:
            opened[vendor].append(StoredVendorKey(row["id"], secret))
    return opened


def _vendor(row: asyncpg.Record, keys: Mapping[str, Sequence[StoredVendorKey]]) -> VendorSpec:
    vendor = decode(VendorSpec, row["spec"], name=row["name"])
    return replace(vendor, keys=tuple(key.secret for key in keys[vendor.name]))


def _node(row: asyncpg.Record, opener: Opener | None) -> NodeSpec:
    node = decode(NodeSpec, row["spec"], name=row["name"])
    if opener is None or row["token"] is None:
        return node
    return replace(node, token=opener.open(row["token"], node_token_place(str(row["id"])), node.name))
