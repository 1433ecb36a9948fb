"""What a draft says of settings: those of its gateways, and those that a journal tells to its judges.

Limits are told by account, as the documents name accounts, so that a judge need not believe what a gateway says.
"""

from ktms.api.listener import ListenerSettings
from ktms.app.gateway import GatewaySettings
from ktms.domain.access.key_form import read_key
from ktms.domain.catalogue import DEFAULT_TENANT
from ktms.engine.settings import EngineSettings
from sim.catalogue import Tokens
from sim.draft import Draft, LimitsDraft
from sim.fakes.clock import WALL_AT_START
from sim.network.accept_queue import listen_in_world

LEASE_TTL_S = 15.0
"""How long a lease lives that nobody renews (docs: routing, slots), written down apart from the product."""

RESERVATION_TTL_S = 15.0
"""How long what a dead replica had reserved stays reserved (docs: limits), written down likewise."""

Told = dict[str, str | float | bool | None]


def gateway_settings(draft: Draft) -> GatewaySettings:
    """Give the settings of every gateway of a world."""
    knobs = draft.knobs
    engine = EngineSettings(
        key_window_s=knobs.key_window_s,
        reverify_s=knobs.reverify_s,
        refresh_poll_s=knobs.refresh_poll_s,
        call_total_s=knobs.call_total_s,
        hold_status_s=knobs.hold_status_s,
        keepalive_comment_s=knobs.keepalive_comment_s,
        client_stall_s=knobs.client_stall_s,
        dollars_closed=draft.dollars_closed,
        loop_look_s=knobs.loop_look_s,
        inflight_max=int(knobs.inflight_max),
    )
    listener = ListenerSettings(listen=listen_in_world)
    return GatewaySettings(
        engine=engine, listener=listener, drain_delay_s=knobs.drain_delay_s, shutdown_s=knobs.shutdown_s
    )


def told_settings(draft: Draft, tokens: Tokens) -> Told:
    """Give what judges are told, by name."""
    knobs = draft.knobs
    told: Told = {name: getattr(knobs, name) for name in knobs.__slots__}
    told |= {f"slots:{node.name}": node.slots for node in draft.nodes}
    told |= {f"engine:{node.name}": node.engine.value for node in draft.nodes}
    told |= {f"keys:{vendor.name}": vendor.keys for vendor in draft.vendors}
    told |= {
        f"chain:{chain.name}": " ".join(name for _, tier in chain.tiers for name in tier) for chain in draft.chains
    }
    told |= {f"placements:{key.name}": "|".join(key.placements) for key in draft.keys}
    told |= {"attempts_max": draft.attempts_max, "placement": draft.placement}
    told |= {"leases_shared": draft.redis, "spool": draft.spool, "saved": draft.saved}
    if draft.redis:
        told |= {"lease_ttl_s": LEASE_TTL_S}
    return told | _limits(draft, tokens)


def limited_accounts(draft: Draft, tokens: Tokens) -> dict[str, LimitsDraft]:
    """Give the accounts of a world that have limits."""
    both = {account_of(key.name, tokens): key.limits for key in draft.keys} | {TEAM: draft.team}
    return {account: limits for account, limits in both.items() if limits != LimitsDraft()}


TEAM = f"tenant:{DEFAULT_TENANT}"
"""The account of the one team of a world."""


def account_of(key: str, tokens: Tokens) -> str:
    """Give the account of a key by its name."""
    text = read_key(tokens.of(key))
    assert text is not None, "made by us"
    return f"key:{text.id}"


def _limits(draft: Draft, tokens: Tokens) -> Told:
    accounts = limited_accounts(draft, tokens)
    if not accounts:
        return {}
    told: Told = {"reservation_ttl_s": RESERVATION_TTL_S, "begins_at_unix_s": WALL_AT_START}
    for account, limits in accounts.items():
        for name in limits.__slots__:
            if getattr(limits, name) is not None:
                told[f"limit:{name}:{account}"] = getattr(limits, name)
    for key in draft.keys:
        told[f"closed:{account_of(key.name, tokens)}"] = key.closed or draft.dollars_closed
    return told
