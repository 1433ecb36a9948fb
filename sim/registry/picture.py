"""Draws the failure matrix: a cell for each id, in the colour of its proofs.

SVG, so that the standard library is enough and a difference can be read.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby

from sim.registry.failures import FAILURES
from sim.registry.proofs import Standing, proof_of

FILE = "docs/failures.svg"

COLOURS = {
    Standing.TWICE: ("#1a7f37", "scenario and experiment"),
    Standing.ONCE: ("#0969da", "one alone shows it"),
    Standing.LATER: ("#9a6700", "product part not built yet"),
    Standing.MISSING: ("#cf222e", "a proof is missing"),
}
"""Fill and legend; white letters are readable on all of them."""

_CELL_WIDTH, _CELL_HEIGHT, _GAP = 52, 26, 4
_MARGIN = 12


def picture(scenarios: Mapping[str, Sequence[str]]) -> str:
    """Give its text; `scenarios` are the ids that each proves, by its name."""
    groups = [list(group) for _, group in groupby(FAILURES.values(), lambda failure: failure.id[:2])]
    width = 2 * _MARGIN + max(map(len, groups)) * (_CELL_WIDTH + _GAP) - _GAP
    shapes, top = [], _MARGIN
    for group in groups:
        for number, failure in enumerate(group):
            colour, _ = COLOURS[proof_of(failure, scenarios).standing]
            shapes.append(_cell(_MARGIN + number * (_CELL_WIDTH + _GAP), top, colour, failure.id, failure.fault))
        top += _CELL_HEIGHT + _GAP
    legend = "".join(_legend(number, top + _GAP) for number in range(len(COLOURS)))
    height = top + _GAP + _CELL_HEIGHT + _MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    )
    style = 'font-family="sans-serif" font-size="12"'
    ground = f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n'
    return f"{head} {style}>\n{ground}{''.join(shapes)}{legend}</svg>\n"


def _cell(left: int, top: int, colour: str, name: str, title: str) -> str:
    middle = f'x="{left + _CELL_WIDTH // 2}" y="{top + _CELL_HEIGHT // 2 + 4}"'
    return (
        f'<rect x="{left}" y="{top}" width="{_CELL_WIDTH}" height="{_CELL_HEIGHT}" rx="4" fill="{colour}">'
        f"<title>{title}</title></rect>"
        f'<text {middle} text-anchor="middle" fill="#ffffff">{name}</text>\n'
    )


def _legend(number: int, top: int) -> str:
    colour, text = tuple(COLOURS.values())[number]
    left = _MARGIN + number * 195
    return (
        f'<rect x="{left}" y="{top + 7}" width="12" height="12" rx="2" fill="{colour}"/>'
        f'<text x="{left + 17}" y="{top + 17}" fill="#1f2328" font-size="11">{text}</text>\n'
    )
