"""What judges are told of a draft: limits stand under the names of accounts, which no gateway says."""

from dataclasses import replace

from sim.catalogue import tokens_of
from sim.draft import Draft, KeyDraft, LimitsDraft
from sim.seed import Seed
from sim.settings import TEAM, account_of, gateway_settings, limited_accounts, told_settings

DRAFT = Draft(
    keys=(KeyDraft("app", limits=LimitsDraft(rpm=3, day=7)), KeyDraft("free")), team=LimitsDraft(month=9)
)
TOKENS = tokens_of(DRAFT, Seed(1))


def test_limits_are_told_by_account() -> None:
    app = account_of("app", TOKENS)
    told = told_settings(DRAFT, TOKENS)
    limits = {name: value for name, value in told.items() if name.startswith("limit:")}
    assert limits == {f"limit:rpm:{app}": 3, f"limit:day:{app}": 7, f"limit:month:{TEAM}": 9}


def test_only_accounts_with_limits_are_looked_at() -> None:
    assert list(limited_accounts(DRAFT, TOKENS)) == [account_of("app", TOKENS), TEAM]


def test_a_world_without_limits_tells_none() -> None:
    assert not any("limit:" in name or "closed:" in name for name in told_settings(Draft(), TOKENS))


def test_whose_dollars_are_closed_is_told() -> None:
    free = f"closed:{account_of('free', TOKENS)}"
    assert told_settings(DRAFT, TOKENS)[free] is False
    assert told_settings(replace(DRAFT, dollars_closed=True), TOKENS)[free] is True
    assert gateway_settings(replace(DRAFT, dollars_closed=True)).engine.dollars_closed
