"""The steps of `up` that need no database; the whole of it is told by the tests from outside (e2e)."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ktms.app.failed import StartFailed
from ktms.app.gateway import GatewaySettings
from ktms.app.options import UpOptions
from ktms.app.up import (
    WARNINGS_SHOWN_MAX,
    _has_a_place,
    _open_admin,
    _open_port,
    _read,
    _refuse_taken,
    _warning_notes,
)
from ktms.config.address import Address
from ktms.config.settings import Settings
from ktms.domain.snapshot import Model
from tests.api.house import House
from tests.e2e.ports import any_port, occupied
from tests.engine.rig import CATALOGUE, snapshot


@pytest.fixture
async def house() -> AsyncIterator[House]:
    made = House(GatewaySettings(), CATALOGUE)
    yield made
    await made.gateway.stop()


def settings(port: int) -> Settings:
    return Settings(http_addr=Address("127.0.0.1", port))


async def test_the_usual_port_is_opened_where_it_is_free(house: House) -> None:
    port = any_port()
    assert await _open_port(house.gateway, UpOptions(), settings(port)) == (port, ())


async def test_the_next_free_port_is_opened_where_it_is_taken_and_its_owner_told(house: House) -> None:
    with occupied() as port:
        opened, (note,) = await _open_port(house.gateway, UpOptions(), settings(port))
    assert opened > port
    assert f"{port} is taken by " in note


async def test_a_port_asked_for_is_opened_or_none(house: House) -> None:
    with occupied() as port, pytest.raises(StartFailed, match=f"port {port} is taken by .*: stop it"):
        await _open_port(house.gateway, UpOptions(port=port), settings(any_port()))


@dataclass
class Taker:
    """Opens the admin port, unless somebody was faster the first few times."""

    races_lost: int
    tried: list[Address] = field(default_factory=list)

    async def open(self, address: Address) -> None:
        self.tried.append(address)
        if len(self.tried) <= self.races_lost:
            raise StartFailed(f"the admin port {address} cannot be opened: is it in use?")


async def test_the_admin_port_is_the_next_free_one_after_the_usual() -> None:
    with occupied() as port:
        assert (await _open_admin(port, Taker(0).open)).port > port


async def test_the_admin_port_is_looked_for_again_where_another_start_was_faster() -> None:
    taker = Taker(races_lost=2)
    assert await _open_admin(any_port(), taker.open) == taker.tried[2]


async def test_the_admin_port_is_not_looked_for_without_end() -> None:
    with pytest.raises(StartFailed, match="is it in use"):
        await _open_admin(any_port(), Taker(races_lost=100).open)


def test_a_taken_port_is_told_before_anything_runs() -> None:
    with occupied() as port, pytest.raises(StartFailed, match=f"port {port} is taken"):
        _refuse_taken(port)
    _refuse_taken(None)
    _refuse_taken(any_port())


def test_a_wrong_file_is_told_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text("version: 1\nmodels:\n  - {name: m, targets: [{vendor: nobody, model: x}]}\n")
    with pytest.raises(StartFailed, match=r"gateway.yaml:3:"):
        _read(path)


@pytest.mark.parametrize(("name", "served"), [("cloudy", True), ("homely", True), ("nowhere", False)])
def test_only_models_that_something_serves_are_shown(name: str, served: bool) -> None:
    model = snapshot().names[name]
    assert isinstance(model, Model)
    assert _has_a_place(model) == served


def test_what_an_operator_should_look_at_is_told_and_does_not_push_the_rest_off_the_screen() -> None:
    assert list(_warning_notes(["node b: has the URL of node a"])) == ["warning     node b: has the URL of node a"]
    *shown, rest = _warning_notes(["look"] * (WARNINGS_SHOWN_MAX + 2))
    assert (len(shown), rest.split(":")[0]) == (WARNINGS_SHOWN_MAX, "warning     and 2 more")
