from ktms.api.admin_grpc.gen import admin_pb2
from ktms.app.cli.key_listing import COLUMNS, key_facts, key_row

KEY = admin_pb2.ClientKey(
    id="4f9KqT0aZx",
    name="app",
    tenant="team",
    models=["a", "b"],
    all_placements=True,
    all_regions=True,
    placement=admin_pb2.PLACEMENT_NODES_ONLY,
    limits=admin_pb2.Limits(rpm=0, usd_per_day_micros=20_500_000),
    revoked=True,
)


def test_no_restriction_and_an_empty_list_are_told_apart() -> None:
    facts = key_facts(admin_pb2.ClientKey(all_models=True))
    assert (facts["models"], facts["placements"]) == (None, [])


def test_a_limit_of_nothing_is_not_unlimited() -> None:
    assert key_facts(KEY)["limits"] == {
        "rpm": 0,
        "tpm": None,
        "concurrent": None,
        "usd_per_day": "20.5",
        "usd_per_month": None,
    }


def test_a_row_says_in_words_what_the_key_is() -> None:
    assert dict(zip(COLUMNS, key_row(key_facts(KEY)), strict=True)) == {
        "id": "4f9KqT0aZx",
        "name": "app",
        "tenant": "team",
        "models": "a, b",
        "limits": "rpm=0 usd_per_day=20.5",
        "expires": "never",
        "state": "revoked",
    }


def test_a_key_that_ends_says_when() -> None:
    key = admin_pb2.ClientKey()
    key.expires_at.FromSeconds(1_800_000_000)
    assert key_facts(key)["expires_at"] == "2027-01-15T08:00:00Z"


def test_a_key_whose_dollars_must_be_counted_says_so() -> None:
    facts = key_facts(
        admin_pb2.ClientKey(limits=admin_pb2.Limits(usd_per_day_micros=1_000_000), dollars_closed=True)
    )
    assert facts["dollars_closed"] is True
    assert dict(zip(COLUMNS, key_row(facts), strict=True))["limits"] == "usd_per_day=1 closed"
