"""The typed document -> the domain's `Catalogue`: secrets opened, dollars and dates read; all mistakes collected.

Not here: whether the entries fit together (`domain/catalogue_rules.py`).
"""

from collections.abc import Sequence
from decimal import Decimal

from ktms.config.gateway_entries import (
    ChainEntry,
    ClientKeyEntry,
    GatewayDocument,
    LimitsEntry,
    ModelEntry,
    NodeEntry,
    PolicyEntry,
    PriceEntry,
    SecretSource,
    TenantEntry,
    TimeoutsEntry,
    VendorEntry,
)
from ktms.config.gateway_shape import Mistake
from ktms.config.moment import MomentInvalid, read_moment
from ktms.config.money import DollarsInvalid, read_micros
from ktms.config.secret_sources import SecretMissing, SecretSources
from ktms.config.yaml_tree import Path
from ktms.domain.access.limits import Limits
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    Catalogue,
    ChainSpec,
    ClientKeySpec,
    ModelSpec,
    NodeModelSpec,
    NodeSpec,
    PolicySpec,
    PriceSpec,
    TargetSpec,
    TenantSpec,
    TimeoutSpec,
    VendorSpec,
)
from ktms.domain.price_form import amount_fault, moment_fault

NO_PRICE = Decimal(0)


def build_catalogue(document: GatewayDocument, secrets: SecretSources) -> Catalogue | tuple[Mistake, ...]:
    """Give the catalogue a document declares, or all mistakes in its values."""
    builder = _Builder(secrets)
    catalogue = builder.catalogue(document)
    return tuple(builder.mistakes) or catalogue


class _Builder:
    """One pass over a document."""

    def __init__(self, secrets: SecretSources) -> None:
        self._secrets = secrets
        self.mistakes: list[Mistake] = []

    def catalogue(self, document: GatewayDocument) -> Catalogue:
        """Build everything; where a value is wrong, a mistake is kept and a stand-in used."""
        return Catalogue(
            vendors=tuple(self._vendor(each, ("vendors", n)) for n, each in enumerate(document.vendors)),
            models=tuple(_model(each) for each in document.models),
            chains=tuple(_chain(each) for each in document.chains),
            nodes=tuple(self._node(each, ("nodes", n)) for n, each in enumerate(document.nodes)),
            prices=tuple(self._price(each, ("prices", n)) for n, each in enumerate(document.prices)),
            tenants=tuple(self._tenant(each, ("tenants", n)) for n, each in enumerate(document.tenants)),
            client_keys=tuple(
                self._client_key(each, ("client_keys", n)) for n, each in enumerate(document.client_keys)
            ),
            policy=_policy(document.policy),
        )

    def _vendor(self, entry: VendorEntry, path: Path) -> VendorSpec:
        opened = [self._secret(key, (*path, "keys", n)) for n, key in enumerate(entry.keys)]
        return VendorSpec(
            name=entry.name,
            kind=entry.kind,
            base_url=entry.base_url,
            region=entry.region,
            keys=tuple(key for key in opened if key is not None),
            timeouts=_timeouts(entry.timeouts),
            headers=dict(entry.headers),
            private=entry.private,
        )

    def _node(self, entry: NodeEntry, path: Path) -> NodeSpec:
        return NodeSpec(
            name=entry.name,
            url=entry.url,
            models=tuple(NodeModelSpec(model.name, model.context_window) for model in entry.models),
            engine=entry.engine,
            token=self._secret(entry.token, (*path, "token")),
            region=entry.region,
            enabled=entry.enabled,
            slots=entry.slots,
            base_weight=entry.base_weight,
            cloud_model=entry.cloud_model,
            certificate=entry.certificate,
        )

    def _price(self, entry: PriceEntry, path: Path) -> PriceSpec:
        return PriceSpec(
            vendor=entry.vendor,
            model=entry.model,
            input=self._dollars(entry.input, (*path, "input")) or NO_PRICE,
            cached_input=self._dollars(entry.cached_input, (*path, "cached_input")),
            cache_write=self._dollars(entry.cache_write, (*path, "cache_write")),
            output=self._dollars(entry.output, (*path, "output")) or NO_PRICE,
            valid_from=self._beginning(entry.valid_from, (*path, "valid_from")),
        )

    def _tenant(self, entry: TenantEntry, path: Path) -> TenantSpec:
        return TenantSpec(entry.name, self._limits(entry.limits, (*path, "limits")), entry.dollar_limit_mode)

    def _client_key(self, entry: ClientKeyEntry, path: Path) -> ClientKeySpec:
        return ClientKeySpec(
            name=entry.name,
            tenant=entry.tenant,
            models=_tuple_or_none(entry.models),
            placements=tuple(entry.placements) if entry.placements is not None else None,
            allowed_regions=_tuple_or_none(entry.allowed_regions),
            placement=entry.placement,
            placement_lock=entry.placement_lock,
            tier=entry.tier,
            interactive=entry.interactive,
            limits=self._limits(entry.limits, (*path, "limits")),
            dollar_limit_mode=entry.dollar_limit_mode,
            cache_ttl_s=entry.cache_ttl_s,
            expires_at=self._date(entry.expires_at, (*path, "expires_at")),
            secret=self._secret(entry.secret, (*path, "secret")),
        )

    def _limits(self, entry: LimitsEntry, path: Path) -> Limits:
        return Limits(
            rpm=entry.rpm,
            tpm=entry.tpm,
            concurrent=entry.concurrent,
            usd_per_day_micros=self._micros(entry.usd_per_day, (*path, "usd_per_day")),
            usd_per_month_micros=self._micros(entry.usd_per_month, (*path, "usd_per_month")),
        )

    def _secret(self, source: SecretSource | None, path: Path) -> Secret | None:
        if source is None:
            return None
        try:
            return self._secrets.open(source)
        except SecretMissing as error:
            self.mistakes.append(Mistake(path, str(error)))
            return None

    def _micros(self, dollars: Decimal | None, path: Path) -> int | None:
        try:
            return read_micros(dollars) if dollars is not None else None
        except DollarsInvalid as error:
            self.mistakes.append(Mistake(path, str(error)))
            return None

    def _dollars(self, dollars: Decimal | None, path: Path) -> Decimal | None:
        fault = None if dollars is None else amount_fault(dollars)
        if fault is not None:
            self.mistakes.append(Mistake(path, fault))
        return dollars

    def _beginning(self, text: str | None, path: Path) -> float | None:
        at_s = self._date(text, path)
        fault = None if at_s is None else moment_fault(at_s)
        if fault is not None:
            self.mistakes.append(Mistake(path, fault))
        return at_s

    def _date(self, text: str | None, path: Path) -> float | None:
        if text is None:
            return None
        try:
            return read_moment(text)
        except MomentInvalid as error:
            self.mistakes.append(Mistake(path, str(error)))
            return None


def _model(entry: ModelEntry) -> ModelSpec:
    return ModelSpec(
        name=entry.name,
        targets=tuple(TargetSpec(target.vendor, target.model, target.weight) for target in entry.targets),
        aliases=tuple(entry.aliases),
        context_window=entry.context_window,
        queue_timeout_ms=entry.queue_timeout_ms,
        placement=entry.placement,
        placement_lock=entry.placement_lock,
        selection=entry.selection,
        cache_ttl_s=entry.cache.ttl_s,
        allowed_regions=_tuple_or_none(entry.allowed_regions),
        timeouts=_timeouts(entry.timeouts),
    )


def _chain(entry: ChainEntry) -> ChainSpec:
    tiers = {tier: tuple(models) for tier, models in entry.tiers.items()}
    return ChainSpec(name=entry.name, tiers=tiers, default_tier=entry.default_tier)


def _policy(entry: PolicyEntry) -> PolicySpec:
    return PolicySpec(
        placement=entry.placement,
        placement_lock=entry.placement_lock,
        force_cloud=entry.force_cloud,
        allowed_regions=tuple(entry.allowed_regions),
        band=float(entry.band),
        attempts_max=entry.retry.attempts_max,
    )


def _timeouts(entry: TimeoutsEntry) -> TimeoutSpec:
    """Written-out floats: msgspec leaves an exact decimal as it is."""
    connect_s, first_token_s, idle_s, total_s = (
        float(seconds) if seconds is not None else None
        for seconds in (entry.connect_s, entry.first_token_s, entry.idle_s, entry.total_s)
    )
    return TimeoutSpec(connect_s, first_token_s, idle_s, total_s)


def _tuple_or_none(items: Sequence[str] | None) -> tuple[str, ...] | None:
    return tuple(items) if items is not None else None
