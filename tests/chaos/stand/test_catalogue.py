"""The file that a stand declares is one that the product takes."""

from pathlib import Path

from chaos.services.service import Address
from chaos.stand.catalogue import catalogue, write_catalogue
from chaos.stand.settings import StandSettings
from ktms.config.gateway_file import load_gateway
from ktms.domain.catalogue import Catalogue

SETTINGS = StandSettings(slots=3, first_token_timeout_s=7.0)
AT = {
    name: Address("127.0.0.1", 20_000 + number) for number, name in enumerate((*SETTINGS.nodes, *SETTINGS.clouds))
}


def read(folder: Path, settings: StandSettings = SETTINGS) -> Catalogue:
    file = load_gateway(write_catalogue(folder / "gateway.yaml", catalogue(settings, AT)))
    file.check()
    return file.catalogue


def test_the_product_takes_the_file(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert [node.name for node in found.nodes] == list(SETTINGS.nodes)
    assert [vendor.name for vendor in found.vendors] == list(SETTINGS.clouds)


def test_nodes_come_before_vendors_and_vendors_in_order(tmp_path: Path) -> None:
    (model,) = read(tmp_path).models
    assert [target.vendor for target in model.targets] == ["local", *SETTINGS.clouds]


def test_a_stand_without_nodes_has_vendors_alone(tmp_path: Path) -> None:
    (model,) = read(tmp_path, StandSettings(nodes=())).models
    assert [target.vendor for target in model.targets] == list(SETTINGS.clouds)
