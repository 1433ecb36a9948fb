"""`Catalogue` -> the text of a `gateway.yaml` that declares the same, without any secret.

A secret that the catalogue holds becomes an `{env: NAME}` placeholder; one it does not hold is left out, which
keeps the stored one when the text is applied where it came from. Fields at their defaults are left out.
Not here: reading (`gateway_file.py`).
"""

import io
import re
from collections.abc import Sequence
from decimal import Decimal
from enum import StrEnum

import msgspec
from ruamel.yaml import YAML

from ktms.config.gateway_entries import (
    CacheEntry,
    ChainEntry,
    ClientKeyEntry,
    GatewayDocument,
    LimitsEntry,
    ModelEntry,
    NodeEntry,
    NodeModelEntry,
    PolicyEntry,
    PriceEntry,
    RetryEntry,
    SecretSource,
    TargetEntry,
    TenantEntry,
    TimeoutsEntry,
    VendorEntry,
)
from ktms.config.moment import write_moment
from ktms.config.money import write_dollars
from ktms.domain.access.limits import Limits
from ktms.domain.catalogue import (
    Catalogue,
    ChainSpec,
    ClientKeySpec,
    ModelSpec,
    NodeSpec,
    PolicySpec,
    PriceSpec,
    TenantSpec,
    TimeoutSpec,
    VendorSpec,
)

HEAD = """\
# Secrets are never exported. Applied to the gateway this came from, stored secrets are kept;
# for another gateway add keys, token and secret where they are needed.
"""

LINE_WIDTH = 4096
"""Long texts stay on one line: a folded line reads as if it were two values."""


def dump_gateway(catalogue: Catalogue) -> str:
    """Write a catalogue as YAML."""
    document = GatewayDocument(
        version=1,
        vendors=[_vendor(each) for each in catalogue.vendors],
        models=[_model(each) for each in catalogue.models],
        chains=[_chain(each) for each in catalogue.chains],
        nodes=[_node(each) for each in catalogue.nodes],
        prices=[_price(each) for each in catalogue.prices],
        tenants=[_tenant(each) for each in catalogue.tenants],
        client_keys=[_client_key(each) for each in catalogue.client_keys],
        policy=_policy(catalogue.policy),
    )
    emitter = YAML(pure=True)
    emitter.width = LINE_WIDTH
    emitter.allow_unicode = False  # other line ends of Unicode would come back as spaces
    emitter.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO(HEAD)
    out.seek(0, io.SEEK_END)
    emitter.dump(_lean(document), out)
    return out.getvalue()


def _lean(value: object) -> object:
    """Give plain values without the fields that are at their defaults."""
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        return {
            field.name: _lean(getattr(value, field.name))
            for field in fields
            if field.required or getattr(value, field.name) != _default(field)
        }
    if isinstance(value, list):
        return [_lean(each) for each in value]
    if isinstance(value, dict):
        return {key: _lean(each) for key, each in value.items()}
    return str(value) if isinstance(value, StrEnum | Decimal) else value


def _default(field: msgspec.structs.FieldInfo) -> object:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def _vendor(spec: VendorSpec) -> VendorEntry:
    several = len(spec.keys) > 1
    return VendorEntry(
        name=spec.name,
        kind=spec.kind,
        base_url=spec.base_url,
        region=spec.region,
        keys=[_placeholder(spec.name, f"KEY_{n}" if several else "KEY") for n in range(1, len(spec.keys) + 1)],
        timeouts=_timeouts(spec.timeouts),
        headers=dict(spec.headers),
        private=spec.private,
    )


def _model(spec: ModelSpec) -> ModelEntry:
    return ModelEntry(
        name=spec.name,
        targets=[TargetEntry(vendor=each.vendor, model=each.model, weight=each.weight) for each in spec.targets],
        aliases=list(spec.aliases),
        context_window=spec.context_window,
        queue_timeout_ms=spec.queue_timeout_ms,
        placement=spec.placement,
        placement_lock=spec.placement_lock,
        selection=spec.selection,
        cache=CacheEntry(ttl_s=spec.cache_ttl_s),
        allowed_regions=_list_or_none(spec.allowed_regions),
        timeouts=_timeouts(spec.timeouts),
    )


def _chain(spec: ChainSpec) -> ChainEntry:
    tiers = {tier: list(models) for tier, models in spec.tiers.items()}
    return ChainEntry(name=spec.name, tiers=tiers, default_tier=spec.default_tier)


def _node(spec: NodeSpec) -> NodeEntry:
    return NodeEntry(
        name=spec.name,
        url=spec.url,
        engine=spec.engine,
        token=_placeholder(spec.name, "TOKEN") if spec.token is not None else None,
        region=spec.region,
        enabled=spec.enabled,
        slots=spec.slots,
        base_weight=spec.base_weight,
        models=[NodeModelEntry(name=each.name, context_window=each.context_window) for each in spec.models],
        cloud_model=spec.cloud_model,
        certificate=spec.certificate,
    )


def _price(spec: PriceSpec) -> PriceEntry:
    return PriceEntry(
        vendor=spec.vendor,
        model=spec.model,
        input=spec.input,
        cached_input=spec.cached_input,
        cache_write=spec.cache_write,
        output=spec.output,
        valid_from=write_moment(spec.valid_from) if spec.valid_from is not None else None,
    )


def _tenant(spec: TenantSpec) -> TenantEntry:
    return TenantEntry(name=spec.name, limits=_limits(spec.limits), dollar_limit_mode=spec.dollar_limit_mode)


def _client_key(spec: ClientKeySpec) -> ClientKeyEntry:
    return ClientKeyEntry(
        name=spec.name,
        tenant=spec.tenant,
        models=_list_or_none(spec.models),
        placements=list(spec.placements) if spec.placements is not None else None,
        allowed_regions=_list_or_none(spec.allowed_regions),
        placement=spec.placement,
        placement_lock=spec.placement_lock,
        tier=spec.tier,
        interactive=spec.interactive,
        limits=_limits(spec.limits),
        dollar_limit_mode=spec.dollar_limit_mode,
        cache_ttl_s=spec.cache_ttl_s,
        expires_at=write_moment(spec.expires_at) if spec.expires_at is not None else None,
        secret=_placeholder(spec.name, "SECRET") if spec.secret is not None else None,
    )


def _policy(spec: PolicySpec) -> PolicyEntry:
    return PolicyEntry(
        placement=spec.placement,
        placement_lock=spec.placement_lock,
        force_cloud=spec.force_cloud,
        allowed_regions=list(spec.allowed_regions),
        band=spec.band,
        retry=RetryEntry(attempts_max=spec.attempts_max),
    )


def _limits(limits: Limits) -> LimitsEntry:
    day, month = limits.usd_per_day_micros, limits.usd_per_month_micros
    return LimitsEntry(
        rpm=limits.rpm,
        tpm=limits.tpm,
        concurrent=limits.concurrent,
        usd_per_day=write_dollars(day) if day is not None else None,
        usd_per_month=write_dollars(month) if month is not None else None,
    )


def _timeouts(spec: TimeoutSpec) -> TimeoutsEntry:
    return TimeoutsEntry(
        connect_s=spec.connect_s, first_token_s=spec.first_token_s, idle_s=spec.idle_s, total_s=spec.total_s
    )


def _placeholder(owner: str, purpose: str) -> SecretSource:
    """`{env: OPENAI_KEY}` for the key of vendor `openai`: a name a shell accepts."""
    words = re.sub(r"[^A-Z0-9]+", "_", owner.upper()).strip("_")
    name = f"{words}_{purpose}"
    return SecretSource(env=name if not name[0].isdigit() else f"_{name}")


def _list_or_none(items: Sequence[str] | None) -> list[str] | None:
    return list(items) if items is not None else None
