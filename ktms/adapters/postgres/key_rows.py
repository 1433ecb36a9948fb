"""Client keys between rows and values."""

import asyncpg

from ktms.adapters.postgres.specs import decode
from ktms.domain.access.client_key import ClientKey
from ktms.domain.catalogue import ClientKeySpec, TenantSpec
from ktms.domain.ids import KeyId
from ktms.domain.issued_key import issued_key

FIND = """
select client_key.key_id, client_key.digest, client_key.name, client_key.spec,
    client_key.revoked_at is not null as revoked, tenant.name as tenant, tenant.spec as tenant_spec
from client_key join tenant on tenant.id = client_key.tenant_id
where client_key.key_id = any($1)
"""

LIST = """
select client_key.key_id, client_key.digest, client_key.name, client_key.spec,
    client_key.revoked_at is not null as revoked, tenant.name as tenant, tenant.spec as tenant_spec
from client_key join tenant on tenant.id = client_key.tenant_id
order by client_key.created_at, client_key.position, client_key.id
"""


def client_key_of(row: asyncpg.Record) -> ClientKey:
    """Make the verified form of a key from its row, as FIND and LIST give it."""
    spec = decode(ClientKeySpec, row["spec"], name=row["name"], tenant=row["tenant"])
    tenant = decode(TenantSpec, row["tenant_spec"], name=row["tenant"])
    return issued_key(spec, tenant, KeyId(row["key_id"]), row["digest"], revoked=row["revoked"])
