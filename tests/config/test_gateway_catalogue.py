from decimal import Decimal
from pathlib import Path

from ktms.config.gateway_catalogue import build_catalogue
from ktms.config.gateway_entries import (
    ClientKeyEntry,
    GatewayDocument,
    LimitsEntry,
    NodeEntry,
    PriceEntry,
    SecretSource,
    TenantEntry,
    VendorEntry,
)
from ktms.config.gateway_shape import Mistake
from ktms.config.secret_file import read_secret_file
from ktms.config.secret_sources import SecretSources
from ktms.domain.catalogue import Catalogue, ClientKeySpec, VendorKind

SECRETS = SecretSources({}, read_secret_file, Path("/nowhere"))


def test_an_entry_with_nothing_but_its_name_has_the_domain_s_defaults() -> None:
    document = GatewayDocument(version=1, client_keys=[ClientKeyEntry(name="app")])
    assert build_catalogue(document, SECRETS) == Catalogue(client_keys=(ClientKeySpec("app", "default"),))


def test_an_empty_list_of_models_is_kept_apart_from_none() -> None:
    document = GatewayDocument(version=1, client_keys=[ClientKeyEntry(name="app", models=[])])
    catalogue = build_catalogue(document, SECRETS)
    assert isinstance(catalogue, Catalogue)
    assert catalogue.client_keys[0].models == ()


def test_every_wrong_value_is_a_mistake_with_its_path() -> None:
    gone = SecretSource(env="GONE")
    document = GatewayDocument(
        version=1,
        vendors=[VendorEntry(name="a", kind=VendorKind.OPENAI, base_url="b", keys=[gone, gone])],
        nodes=[NodeEntry(name="a", url="b", token=gone)],
        prices=[
            PriceEntry(vendor="a", model="b", output=Decimal(-1)),
            PriceEntry(vendor="a", model="b", input=Decimal("NaN"), valid_from="soon"),
            PriceEntry(vendor="a", model="b", valid_from="2027-01-31T12:00:00.5Z"),
        ],
        tenants=[TenantEntry(name="a", limits=LimitsEntry(usd_per_day=Decimal("Infinity")))],
        client_keys=[ClientKeyEntry(name="a", expires_at="soon", secret=gone)],
    )
    found = build_catalogue(document, SECRETS)
    assert isinstance(found, tuple)
    assert [mistake.path for mistake in found] == [
        ("vendors", 0, "keys", 0),
        ("vendors", 0, "keys", 1),
        ("nodes", 0, "token"),
        ("prices", 0, "output"),
        ("prices", 1, "input"),
        ("prices", 1, "valid_from"),
        ("prices", 2, "valid_from"),
        ("tenants", 0, "limits", "usd_per_day"),
        ("client_keys", 0, "expires_at"),
        ("client_keys", 0, "secret"),
    ]
    assert found[2] == Mistake(("nodes", 0, "token"), "environment variable GONE is not set")
