"""Rules that one catalogue entry must keep by itself: forms of names, URLs and headers, ranges of numbers.

Each `_…` function yields complaints with a path inside its entry; the caller moves them to where the entry stands.
"""

import math
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TypeVar

from ktms.domain.access.key_form import KeyKind, read_key
from ktms.domain.access.limits import DOLLARS_MAX_MICROS, LIMIT_MAX, Limits
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    ANY_CERTIFICATE,
    Catalogue,
    ChainSpec,
    ClientKeySpec,
    ModelSpec,
    NodeSpec,
    PolicySpec,
    PriceSpec,
    TenantSpec,
    TimeoutSpec,
    VendorKind,
    VendorSpec,
)
from ktms.domain.complaint import Complaint, Path, prefixed
from ktms.domain.ids import CACHE, LOCAL
from ktms.domain.placement import placement_named
from ktms.domain.price_form import price_complaints
from ktms.domain.url import Url, UrlInvalid, read_url

SERVED_KINDS = frozenset({VendorKind.OPENAI, VendorKind.AZURE_OPENAI})
"""Kinds with a shape in `ktms.vendors` (a test holds the two together): others are refused here, not at a call."""

SLOTS_MAX = 10_000
WEIGHT_MAX = 10_000
"""Far above any real ratio; keeps the sums of the round robin small."""

WINDOW_MAX_TOKENS = 1_000_000_000
"""Only typing errors lie above."""

QUEUE_TIMEOUT_MAX_MS = 600_000
"""No client waits longer than the whole request may take."""

CACHE_TTL_MAX_S = 30 * 24 * 3600
"""Answers older than a month are stale by any measure."""

TIMEOUT_MAX_S = 3600.0
"""Above an hour a timer no longer protects anybody."""

ATTEMPTS_MAX = 6
"""Routing: at most six attempts per call."""

HEADERS_MAX = 32
"""Static headers of one vendor; keeps heads small."""

VALUE_MAX = 4096
"""Longest header value or credential."""

Entry = TypeVar("Entry")

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PUBLIC_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._:/-]{0,126}[A-Za-z0-9._-])?")
_VENDOR_MODEL = re.compile(r"[!-~](?:[ -~]{0,254}[!-~])?")
_REGION = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TIER = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
_HEADER_VALUE = re.compile(rf"(?:[!-~](?:[ -~]{{0,{VALUE_MAX - 2}}}[!-~])?)?")
_CREDENTIAL = re.compile(rf"[!-~]{{1,{VALUE_MAX}}}")

_OWN_HEADERS = frozenset(
    {"accept", "accept-encoding", "content-encoding", "content-length", "content-type", "expect", "host"}
)
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"})
_CREDENTIAL_HEADERS = frozenset({"api-key", "authorization", "cookie", "x-api-key", "x-goog-api-key"})


def entry_complaints(catalogue: Catalogue) -> Iterator[Complaint]:
    """Find what is wrong with each entry by itself, section by section."""
    yield from _section("vendors", catalogue.vendors, _vendor)
    yield from _section("models", catalogue.models, _model)
    yield from _section("chains", catalogue.chains, _chain)
    yield from _section("nodes", catalogue.nodes, _node)
    yield from _section("prices", catalogue.prices, _price)
    yield from _section("tenants", catalogue.tenants, _tenant)
    yield from _section("client_keys", catalogue.client_keys, _client_key)
    yield from prefixed(("policy",), _policy(catalogue.policy))


def _section(
    name: str, entries: Sequence[Entry], check: Callable[[Entry], Iterator[Complaint]]
) -> Iterator[Complaint]:
    for index, entry in enumerate(entries):
        yield from prefixed((name, index), check(entry))


def _vendor(vendor: VendorSpec) -> Iterator[Complaint]:
    yield from _label(vendor.name)
    if vendor.name == LOCAL:
        yield Complaint(("name",), "is reserved: `local` stands for your own nodes")
    if vendor.name == CACHE:
        yield Complaint(("name",), "is reserved: `cache` stands for answers that are given again")
    if vendor.kind not in SERVED_KINDS:
        yield Complaint(
            ("kind",),
            f"{vendor.kind.value} is not served yet: use the vendor's OpenAI-compatible URL with kind openai",
        )
    url = yield from _url(("base_url",), vendor.base_url)
    if url is not None and url.is_private and not vendor.private:
        yield Complaint(("base_url",), "is a private address: set `private: true` if that is meant")
    yield from _region(("region",), vendor.region)
    for index, key in enumerate(vendor.keys):
        yield from _credential(("keys", index), key)
    yield from _timeouts(vendor.timeouts)
    yield from _headers(vendor.headers)


def _model(model: ModelSpec) -> Iterator[Complaint]:
    yield from _public_name(("name",), model.name)
    for index, alias in enumerate(model.aliases):
        yield from _public_name(("aliases", index), alias)
    if not model.targets:
        yield Complaint(("targets",), "is empty: name at least one place where the model is served")
    for index, target in enumerate(model.targets):
        yield from _vendor_model(("targets", index, "model"), target.model)
        yield from _between(("targets", index, "weight"), target.weight, 1, WEIGHT_MAX)
    yield from _between(("context_window",), model.context_window, 1, WINDOW_MAX_TOKENS)
    yield from _between(("queue_timeout_ms",), model.queue_timeout_ms, 0, QUEUE_TIMEOUT_MAX_MS)
    yield from _between(("cache", "ttl_s"), model.cache_ttl_s, 0, CACHE_TTL_MAX_S)
    yield from _regions(model.allowed_regions)
    yield from _timeouts(model.timeouts)


def _chain(chain: ChainSpec) -> Iterator[Complaint]:
    yield from _public_name(("name",), chain.name)
    if not chain.tiers:
        yield Complaint(("tiers",), "is empty: a chain needs at least one tier")
    elif chain.default_tier not in chain.tiers:
        yield Complaint(("default_tier",), f"must be one of the chain's tiers: {', '.join(chain.tiers)}")
    for tier, models in chain.tiers.items():
        if not _TIER.fullmatch(tier) or placement_named(tier) is not None:
            yield Complaint(("tiers", tier), "must be lower-case letters, digits, - or _, and no placement's name")
        if not models:
            yield Complaint(("tiers", tier), "is empty: name at least one model")


def _node(node: NodeSpec) -> Iterator[Complaint]:
    yield from _label(node.name)
    url = yield from _url(("url",), node.url)
    if url is not None and node.certificate is not None:
        yield from _certificate(url, node.certificate)
    for index, model in enumerate(node.models):
        yield from _vendor_model(("models", index, "name"), model.name)
        yield from _between(("models", index, "context_window"), model.context_window, 1, WINDOW_MAX_TOKENS)
    if node.token is not None:
        yield from _credential(("token",), node.token)
    yield from _region(("region",), node.region)
    yield from _between(("slots",), node.slots, 1, SLOTS_MAX)
    yield from _between(("base_weight",), node.base_weight, 1, WEIGHT_MAX)
    if node.cloud_model is not None:
        yield from _vendor_model(("cloud_model",), node.cloud_model)


def _certificate(url: Url, certificate: str) -> Iterator[Complaint]:
    if url.scheme != "https":
        yield Complaint(("certificate",), "means nothing for a URL without https")
    elif certificate != ANY_CERTIFICATE and not _SHA256.fullmatch(certificate):
        yield Complaint(("certificate",), f"must be a SHA-256 as 64 lower-case hex digits, or {ANY_CERTIFICATE}")


def _price(price: PriceSpec) -> Iterator[Complaint]:
    yield from _vendor_model(("model",), price.model)
    yield from price_complaints(price)


def _tenant(tenant: TenantSpec) -> Iterator[Complaint]:
    yield from _label(tenant.name)
    yield from _limits(tenant.limits)


def _client_key(key: ClientKeySpec) -> Iterator[Complaint]:
    yield from _label(key.name)
    if key.placements is not None and not key.placements:
        yield Complaint(("placements",), "allows nothing: leave it out to allow every placement")
    if key.placement is not None and key.placements and key.placement not in key.placements:
        yield Complaint(("placement",), "is not among the placements this key may use")
    yield from _regions(key.allowed_regions)
    yield from _limits(key.limits)
    yield from _between(("cache_ttl_s",), key.cache_ttl_s, 0, CACHE_TTL_MAX_S)
    if key.expires_at is not None and not (math.isfinite(key.expires_at) and key.expires_at > 0):
        yield Complaint(("expires_at",), "must be a moment in seconds since 1970")
    if key.secret is not None:
        text = read_key(key.secret.reveal())
        if text is None or text.kind is not KeyKind.CLIENT:
            yield Complaint(("secret",), "must be a complete client key (ktms_sk_…) with a right checksum")


def _policy(policy: PolicySpec) -> Iterator[Complaint]:
    for index, region in enumerate(policy.allowed_regions):
        yield from _region(("allowed_regions", index), region)
    if not policy.band >= 1:  # also true for NaN
        yield Complaint(("band",), "must be 1 or more (inf switches the band off)")
    yield from _between(("attempts_max",), policy.attempts_max, 1, ATTEMPTS_MAX)


def _label(name: str) -> Iterator[Complaint]:
    if not _LABEL.fullmatch(name):
        yield Complaint(("name",), "must be 1 to 64 letters, digits, . _ or -, beginning with a letter or digit")


def _public_name(at: Path, name: str) -> Iterator[Complaint]:
    if not _PUBLIC_NAME.fullmatch(name):
        yield Complaint(at, "must be 1 to 128 letters, digits, . _ : / or -, not beginning or ending with : or /")


def _vendor_model(at: Path, name: str) -> Iterator[Complaint]:
    if not _VENDOR_MODEL.fullmatch(name):
        yield Complaint(at, "must be 1 to 256 printable ASCII characters without spaces at the ends")


def _url(at: Path, text: str) -> Generator[Complaint, None, Url | None]:
    try:
        url = read_url(text)
    except UrlInvalid as error:
        yield Complaint(at, str(error))
        return None
    if url.is_undiallable:
        yield Complaint(at, "is a link-local, metadata, multicast or unspecified address, which is never dialled")
    return url


def _region(at: Path, region: str | None) -> Iterator[Complaint]:
    if region is not None and not _REGION.fullmatch(region):
        yield Complaint(at, "must be 1 to 32 lower-case letters, digits or -, as in `fr` or `eu-west`")


def _regions(regions: Sequence[str] | None) -> Iterator[Complaint]:
    if regions is not None and not regions:
        yield Complaint(("allowed_regions",), "allows nothing: leave it out to allow every region")
    for index, region in enumerate(regions or ()):
        yield from _region(("allowed_regions", index), region)


def _credential(at: Path, secret: Secret) -> Iterator[Complaint]:
    if not _CREDENTIAL.fullmatch(secret.reveal()):
        yield Complaint(at, f"must be 1 to {VALUE_MAX} visible ASCII characters without spaces or line ends")


def _headers(headers: Mapping[str, str]) -> Iterator[Complaint]:
    if len(headers) > HEADERS_MAX:
        yield Complaint(("headers",), f"has more than {HEADERS_MAX} entries")
    for name, value in headers.items():
        lowered = name.lower()
        if not _HEADER_NAME.fullmatch(name):
            yield Complaint(("headers", name), "must be a header name of letters, digits and -")
        elif lowered in _CREDENTIAL_HEADERS:
            yield Complaint(("headers", name), "carries a credential: give it under `keys`, where it is encrypted")
        elif lowered in _OWN_HEADERS or lowered in _HOP_BY_HOP or lowered.startswith("proxy-"):
            yield Complaint(("headers", name), "is set by the gateway itself and cannot be given")
        if not _HEADER_VALUE.fullmatch(value):
            yield Complaint(("headers", name), "must have a value of visible ASCII characters on one line")


def _timeouts(timeouts: TimeoutSpec) -> Iterator[Complaint]:
    for timer in fields(timeouts):
        seconds: float | None = getattr(timeouts, timer.name)
        if seconds is not None and not 0 < seconds <= TIMEOUT_MAX_S:  # also true for NaN
            yield Complaint(("timeouts", timer.name), f"must be above 0 and at most {TIMEOUT_MAX_S:.0f} seconds")


def _limits(limits: Limits) -> Iterator[Complaint]:
    for limit in fields(limits):
        amount: int | None = getattr(limits, limit.name)
        name = limit.name.removesuffix("_micros")
        most = LIMIT_MAX if name == limit.name else DOLLARS_MAX_MICROS
        if amount is not None and not 0 <= amount <= most:
            yield Complaint(("limits", name), f"must be 0 to {LIMIT_MAX}")


def _between(at: Path, value: int | None, lowest: int, highest: int) -> Iterator[Complaint]:
    if value is not None and not lowest <= value <= highest:
        yield Complaint(at, f"must be {lowest} to {highest}")
