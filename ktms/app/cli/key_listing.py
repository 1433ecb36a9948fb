"""Client keys as they are shown: as JSON and as rows of a table; never a token, which nobody has any more."""

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.messages import placement_name
from ktms.config.moment import write_moment
from ktms.config.money import write_dollars

NANOS_PER_S = 1_000_000_000

COLUMNS = ("id", "name", "tenant", "models", "limits", "expires", "state")


def key_facts(key: admin_pb2.ClientKey) -> dict[str, object]:
    """What is shown of a key; null means no restriction."""
    limits = key.limits
    expires_at = key.expires_at.seconds + key.expires_at.nanos / NANOS_PER_S
    return {
        "id": key.id,
        "name": key.name,
        "tenant": key.tenant,
        "models": None if key.all_models else list(key.models),
        "placements": None if key.all_placements else [placement_name(each) for each in key.placements],
        "allowed_regions": None if key.all_regions else list(key.allowed_regions),
        "placement": placement_name(key.placement) or None,
        "placement_lock": key.placement_lock,
        "tier": key.tier or None,
        "interactive": key.interactive,
        "limits": {
            "rpm": limits.rpm if limits.HasField("rpm") else None,
            "tpm": limits.tpm if limits.HasField("tpm") else None,
            "concurrent": limits.concurrent if limits.HasField("concurrent") else None,
            "usd_per_day": _dollars(limits.usd_per_day_micros) if limits.HasField("usd_per_day_micros") else None,
            "usd_per_month": (
                _dollars(limits.usd_per_month_micros) if limits.HasField("usd_per_month_micros") else None
            ),
        },
        "dollars_closed": key.dollars_closed,
        "cache_ttl_s": key.cache_ttl_s or None,
        "expires_at": write_moment(expires_at) if key.HasField("expires_at") else None,
        "revoked": key.revoked,
    }


def _dollars(micros: int) -> str:
    return str(write_dollars(micros))


def _limited(limits: dict[str, object], *, closed: bool) -> str:
    """Say what is limited; `closed` where it matters: among limits of dollars."""
    words = [f"{name}={value}" for name, value in limits.items() if value is not None]
    return " ".join([*words, "closed"] if closed else words) or "none"


def key_row(plain: dict[str, object]) -> list[str]:
    """Give the cells of one row, from `key_facts`."""
    limits = plain["limits"]
    assert isinstance(limits, dict), "made above"
    models = plain["models"]
    return [
        str(plain["id"]),
        str(plain["name"]),
        str(plain["tenant"]),
        ", ".join(models) if isinstance(models, list) else "all",
        _limited(limits, closed=plain["dollars_closed"] is True),
        str(plain["expires_at"] or "never"),
        "revoked" if plain["revoked"] else "live",
    ]
