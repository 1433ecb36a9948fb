"""Messages of the admin plane to and from values of the domain; nothing is decided here.

Not here: the catalogue's document (`document.py`).
"""

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.domain.access.client_key import ClientKey
from ktms.domain.access.limits import Limits
from ktms.domain.catalogue import DEFAULT_TENANT, ClientKeySpec, DollarLimitMode
from ktms.domain.catalogue_diff import Change
from ktms.domain.placement import Placement

NANOS_PER_S = 1_000_000_000

MOMENT_MAX_S = 253_402_300_799
"""End of the year 9999, the last a Timestamp may say."""

PLACEMENTS = {
    Placement.NODES_FIRST: admin_pb2.PLACEMENT_NODES_FIRST,
    Placement.NODES_ONLY: admin_pb2.PLACEMENT_NODES_ONLY,
    Placement.CLOUD_FIRST: admin_pb2.PLACEMENT_CLOUD_FIRST,
    Placement.CLOUD_ONLY: admin_pb2.PLACEMENT_CLOUD_ONLY,
}
MODES = {
    DollarLimitMode.OPEN: admin_pb2.DOLLAR_LIMIT_MODE_OPEN,
    DollarLimitMode.CLOSED: admin_pb2.DOLLAR_LIMIT_MODE_CLOSED,
}
ACTIONS = {
    "add": admin_pb2.CHANGE_ACTION_ADD,
    "change": admin_pb2.CHANGE_ACTION_CHANGE,
    "remove": admin_pb2.CHANGE_ACTION_REMOVE,
}
_PLACEMENT_OF: dict[int, Placement] = {number: placement for placement, number in PLACEMENTS.items()}
_MODE_OF: dict[int, DollarLimitMode] = {number: mode for mode, number in MODES.items()}
_ACTION_OF: dict[int, str] = {number: action for action, number in ACTIONS.items()}


class MessageInvalid(Exception):
    """A field of a request has a value that means nothing; the message names the field."""


def spec_of(request: admin_pb2.CreateClientKeyRequest) -> ClientKeySpec:
    """Read the key that is wanted.

    Raises:
        MessageInvalid: an unknown placement or mode, or an impossible date.
    """
    return ClientKeySpec(
        name=request.name,
        tenant=request.tenant or DEFAULT_TENANT,
        models=tuple(request.models) or None,
        placements=tuple(placement_of(each, "placements") for each in request.placements) or None,
        allowed_regions=tuple(request.allowed_regions) or None,
        placement=placement_of(request.placement, "placement") if request.placement else None,
        placement_lock=request.placement_lock,
        tier=request.tier or None,
        interactive=request.interactive,
        limits=_limits_of(request.limits),
        dollar_limit_mode=_mode(request.dollar_limit_mode),
        cache_ttl_s=request.cache_ttl_s,
        expires_at=_moment_of(request),
    )


def request_for(spec: ClientKeySpec) -> admin_pb2.CreateClientKeyRequest:
    """Write the key that is wanted; the other way round of `spec_of`. A secret of its own is not sent."""
    request = admin_pb2.CreateClientKeyRequest(
        name=spec.name,
        tenant=spec.tenant,
        models=spec.models or (),
        placements=[PLACEMENTS[each] for each in spec.placements or ()],
        allowed_regions=spec.allowed_regions or (),
        placement_lock=spec.placement_lock,
        tier=spec.tier or "",
        interactive=spec.interactive,
        limits=_limits_message(spec.limits),
        cache_ttl_s=spec.cache_ttl_s,
    )
    if spec.placement is not None:
        request.placement = PLACEMENTS[spec.placement]
    if spec.dollar_limit_mode is not None:
        request.dollar_limit_mode = MODES[spec.dollar_limit_mode]
    if spec.expires_at is not None:
        request.expires_at.FromNanoseconds(round(spec.expires_at * NANOS_PER_S))
    return request


def key_message(key: ClientKey) -> admin_pb2.ClientKey:
    """Write a stored key, without its digest; sets in a fixed order."""
    message = admin_pb2.ClientKey(
        id=key.id,
        name=key.name,
        tenant=key.tenant,
        models=sorted(key.models or ()),
        all_models=key.models is None,
        placements=[number for placement, number in PLACEMENTS.items() if placement in (key.placements or ())],
        all_placements=key.placements is None,
        allowed_regions=sorted(key.allowed_regions or ()),
        all_regions=key.allowed_regions is None,
        placement_lock=key.placement_lock,
        tier=key.tier or "",
        interactive=key.interactive,
        limits=_limits_message(key.limits),
        cache_ttl_s=key.cache_ttl_s,
        dollars_closed=key.dollars_closed,
        revoked=key.revoked,
    )
    if key.placement is not None:
        message.placement = PLACEMENTS[key.placement]
    if key.expires_at is not None:
        message.expires_at.FromNanoseconds(round(key.expires_at * NANOS_PER_S))
    return message


def change_message(change: Change) -> admin_pb2.Change:
    """Write one difference."""
    return admin_pb2.Change(
        action=ACTIONS[change.action], kind=change.kind, name=change.name, fields=change.fields
    )


def change_of(message: admin_pb2.Change) -> Change:
    """Read one difference; an action of a newer server counts as a change."""
    return Change(_ACTION_OF.get(message.action, "change"), message.kind, message.name, tuple(message.fields))


def placement_name(number: int) -> str:
    """Name of a placement in a listing; empty when it is not set."""
    return _PLACEMENT_OF[number].value if number in _PLACEMENT_OF else ""


def placement_of(number: int, field: str) -> Placement:
    """Read a placement.

    Raises:
        MessageInvalid: there is none of this number.
    """
    if number not in _PLACEMENT_OF:
        raise MessageInvalid(f"{field}: unknown placement {number}")
    return _PLACEMENT_OF[number]


def _mode(number: int) -> DollarLimitMode | None:
    if number == admin_pb2.DOLLAR_LIMIT_MODE_UNSPECIFIED:
        return None
    if number not in _MODE_OF:
        raise MessageInvalid(f"dollar_limit_mode: unknown mode {number}")
    return _MODE_OF[number]


def _limits_of(message: admin_pb2.Limits) -> Limits:
    def given(field: str) -> int | None:
        return getattr(message, field) if message.HasField(field) else None  # type: ignore[arg-type]  # own names

    return Limits(
        given("rpm"),
        given("tpm"),
        given("concurrent"),
        given("usd_per_day_micros"),
        given("usd_per_month_micros"),
    )


def _limits_message(limits: Limits) -> admin_pb2.Limits:
    return admin_pb2.Limits(
        rpm=limits.rpm,
        tpm=limits.tpm,
        concurrent=limits.concurrent,
        usd_per_day_micros=limits.usd_per_day_micros,
        usd_per_month_micros=limits.usd_per_month_micros,
    )


def _moment_of(request: admin_pb2.CreateClientKeyRequest) -> float | None:
    if not request.HasField("expires_at"):
        return None
    moment = request.expires_at
    if not (0 < moment.seconds <= MOMENT_MAX_S and 0 <= moment.nanos < NANOS_PER_S):
        raise MessageInvalid("expires_at: not a date between 1970 and 9999")
    return moment.seconds + moment.nanos / NANOS_PER_S
