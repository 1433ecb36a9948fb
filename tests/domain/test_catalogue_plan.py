import pytest

from ktms.domain.access.key_form import KeyKind, digest_of, make_key, read_key
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import Catalogue, ClientKeySpec, ModelSpec, TargetSpec, TenantSpec
from ktms.domain.catalogue_plan import StoredKey, plan_apply
from ktms.domain.catalogue_rules import CatalogueInvalid

EMPTY = Catalogue(tenants=(TenantSpec("default"),))
TOKEN = make_key(KeyKind.CLIENT, lambda count: bytes(range(count)))
OTHER = make_key(KeyKind.CLIENT, lambda count: bytes(range(1, count + 1)))


def stored_key(token: str, name: str = "app", *, revoked: bool = False) -> StoredKey:
    text = read_key(token)
    assert text is not None
    return StoredKey(text.id, name, text.digest, revoked)


def with_key(secret: str | None, name: str = "app") -> Catalogue:
    return Catalogue(client_keys=(ClientKeySpec(name, "default", secret=Secret(secret) if secret else None),))


def test_a_new_entry_is_an_addition_and_part_of_the_result() -> None:
    model = ModelSpec("m", (TargetSpec("local", "x"),))
    plan = plan_apply(EMPTY, Catalogue(models=(model,)), (), prune=False)
    assert [(change.action, change.kind, change.name) for change in plan.changes] == [("add", "model", "m")]
    assert plan.merged.models == (model,)
    assert plan.merged.tenants == EMPTY.tenants


def test_nothing_wanted_and_nothing_pruned_is_no_change() -> None:
    assert plan_apply(EMPTY, Catalogue(), (), prune=False).changes == ()


def test_the_stored_key_given_again_counts_as_not_given() -> None:
    plan = plan_apply(with_key(None), with_key(TOKEN), (stored_key(TOKEN),), prune=False)
    assert plan.changes == ()
    assert plan.merged.client_keys[0].secret is None


def test_another_key_given_is_a_change_of_the_secret() -> None:
    plan = plan_apply(with_key(None), with_key(OTHER), (stored_key(TOKEN),), prune=False)
    assert [(change.action, change.fields) for change in plan.changes] == [("change", ("secret",))]
    assert plan.merged.client_keys[0].secret == Secret(OTHER)


def test_a_fresh_given_key_is_kept_for_the_writer() -> None:
    plan = plan_apply(EMPTY, with_key(TOKEN), (), prune=False)
    assert plan.merged.client_keys[0].secret == Secret(TOKEN)


def test_the_key_of_another_name_is_refused_where_it_stands() -> None:
    with pytest.raises(CatalogueInvalid, match="belongs to another client key already") as told:
        plan_apply(with_key(None), with_key(TOKEN, "other"), (stored_key(TOKEN),), prune=False)
    assert told.value.complaints[0].path == ("client_keys", 0, "secret")
    assert TOKEN not in str(told.value)


def test_a_revoked_key_never_comes_back() -> None:
    with pytest.raises(CatalogueInvalid, match="was revoked for good"):
        plan_apply(EMPTY, with_key(TOKEN), (stored_key(TOKEN, revoked=True),), prune=False)


def test_a_stored_id_with_another_secret_is_refused() -> None:
    text = read_key(TOKEN)
    assert text is not None
    same_id = StoredKey(text.id, "app", digest_of("something else"), revoked=False)
    with pytest.raises(CatalogueInvalid, match="belongs to another client key"):
        plan_apply(with_key(None), with_key(TOKEN), (same_id,), prune=False)


def test_a_malformed_key_is_told_by_the_rules() -> None:
    with pytest.raises(CatalogueInvalid, match="complete client key"):
        plan_apply(EMPTY, with_key("ktms_sk_nonsense"), (), prune=False)


def test_a_result_that_does_not_hold_together_is_refused() -> None:
    broken = Catalogue(models=(ModelSpec("m", (TargetSpec("nowhere", "x"),)),))
    with pytest.raises(CatalogueInvalid, match="there is no vendor 'nowhere'"):
        plan_apply(EMPTY, broken, (), prune=False)
