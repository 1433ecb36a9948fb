import pytest

from ktms.api.node.address import address_refused
from ktms.domain.url import read_url


@pytest.mark.parametrize(
    ("url", "judged"),
    [
        ("http://10.0.0.7:1", ["10.0.0.7"]),
        ("http://[fd00::7]", ["fd00::7"]),
        ("http://[::ffff:10.0.0.7]", ["10.0.0.7"]),
        ("http://localhost", ["127.0.0.1"]),
        ("http://x.LOCALHOST", ["127.0.0.1"]),
        ("https://node.example", []),
    ],
)
def test_addresses_and_names_that_stand_for_one_are_judged(url: str, judged: list[str]) -> None:
    seen: list[str] = []

    def refusal(address: str) -> str | None:
        seen.append(address)
        return "no"

    assert address_refused(read_url(url), refusal) == ("no" if judged else None)
    assert seen == judged
