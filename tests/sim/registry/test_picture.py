"""The picture has a cell for each id, in the colour of its proofs."""

import re
import xml.etree.ElementTree as ET

from sim.registry.failures import FAILURES
from sim.registry.picture import COLOURS, picture
from sim.registry.proofs import Standing

TEXT = picture({"mine": ("FR1", "FG5")})


def colour(name: str) -> str:
    found = re.search(rf'fill="(#\w+)"><title>[^<]*</title></rect><text[^>]*>{name}<', TEXT)
    assert found is not None, name
    return found[1]


def test_every_id_has_its_cell() -> None:
    assert re.findall(r">(F[RPLVNG]\d+)<", TEXT) == list(FAILURES)


def test_a_cell_has_the_colour_of_its_proofs() -> None:
    assert colour("FR1") == COLOURS[Standing.TWICE][0]
    assert colour("FG5") == COLOURS[Standing.ONCE][0]
    assert colour("FG4") == COLOURS[Standing.LATER][0]
    assert colour("FR2") == COLOURS[Standing.MISSING][0]


def test_it_is_well_formed_and_nothing_lies_outside() -> None:
    root = ET.fromstring(TEXT)  # noqa: S314  # our own text
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for shape in root.iter("{http://www.w3.org/2000/svg}rect"):
        right = float(shape.attrib.get("x", 0)) + float(shape.attrib["width"])
        assert right <= width
        assert float(shape.attrib.get("y", 0)) + float(shape.attrib["height"]) <= height


def test_each_colour_is_explained() -> None:
    assert all(f">{text}</text>" in TEXT for _, text in COLOURS.values())
