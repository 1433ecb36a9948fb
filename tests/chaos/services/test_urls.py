import pytest

from chaos.services.service import Address, Unavailable
from chaos.services.urls import address_in, rerouted

URL = "postgresql://anna:s%40cret@db.internal:5433/books?x=1"


def test_the_address_is_read_out_of_a_url() -> None:
    assert address_in(URL, variable="V", default_port=5432) == Address("db.internal", 5433)


def test_a_url_without_a_port_means_the_usual_one() -> None:
    assert address_in("redis://cache", variable="V", default_port=6379) == Address("cache", 6379)


@pytest.mark.parametrize("url", ["", "db.internal:5432", "postgresql://anna:secret@h:port/x"])
def test_what_names_no_address_is_said_without_the_url(url: str) -> None:
    with pytest.raises(Unavailable, match=r"^V ") as refused:
        address_in(url, variable="V", default_port=1)
    assert "secret" not in refused.value.why


def test_going_by_a_proxy_changes_the_address_alone() -> None:
    assert rerouted(URL, Address("127.0.0.1", 9)) == "postgresql://anna:s%40cret@127.0.0.1:9/books?x=1"


def test_another_database_changes_the_path_alone() -> None:
    assert rerouted(URL, None, database="b") == "postgresql://anna:s%40cret@db.internal:5433/b?x=1"


def test_a_url_without_credentials_goes_by_a_proxy_too() -> None:
    assert rerouted("redis://cache/0", Address("::1", 9)) == "redis://[::1]:9/0"
