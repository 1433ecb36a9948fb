"""The operator's document: a row and a page for each id, links that lead somewhere, lines of one width."""

import re

import pytest

from sim.registry.alerts import ALERTS
from sim.registry.failures import FAILURES
from sim.registry.handbook import GROUPS, WIDTH, document

PROVES = {"mine": ("FR1", "FG5"), "another": ("FR1",)}

TEXT = document(PROVES)


def row(name: str) -> str:
    return next(line for line in TEXT.splitlines() if line.startswith(f"| [{name}](#{name.lower()}) |"))


def page(name: str) -> str:
    return TEXT.split(f"\n### {name}\n", 1)[1].split("\n### ", 1)[0]


def test_every_id_has_one_page_whose_heading_is_its_anchor() -> None:
    assert re.findall(r"^### (.+)$", TEXT, re.MULTILINE) == list(FAILURES)


def test_every_id_has_its_row_in_the_table_of_its_group() -> None:
    assert re.findall(r"^\| \[(F\w+)\]", TEXT, re.MULTILINE) == list(FAILURES)
    assert all(f"\n## {heading}\n" in TEXT for heading in GROUPS.values())


def test_a_row_names_its_proofs() -> None:
    assert row("FR1").endswith("| scenarios `mine`, `another`; experiment `redis-down` |")


def test_where_nothing_real_is_involved_no_experiment_is_spoken_of() -> None:
    assert row("FG5").endswith("| scenario `mine` |")


def test_a_proof_that_comes_with_a_part_of_the_product_is_told_as_such() -> None:
    assert row("FG4").endswith("| scenario comes with releases; experiment comes with releases |")


def test_a_proof_that_should_be_there_is_told_as_missing() -> None:
    assert row("FR2").split(" | ")[-1].startswith("scenario is missing")


def test_links_inside_of_the_document_lead_to_its_headings() -> None:
    anchors = {heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", TEXT, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", TEXT)) - anchors == set()


def test_every_alert_stands_in_the_table_and_on_its_page() -> None:
    for alert in (alert for alerts in ALERTS.values() for alert in alerts):
        assert TEXT.count(f"| `{alert.name}` | {alert.severity.value} |") == 1
        assert f"`{alert.name}`" in page(alert.page)


def test_running_text_is_broken_into_lines() -> None:
    lines = [line for line in TEXT.splitlines() if not line.startswith("|")]
    assert [line for line in lines if len(line) > WIDTH + 2] == []


@pytest.mark.parametrize("name", FAILURES)
def test_no_line_ends_inside_of_code(name: str) -> None:
    assert [line for line in page(name).splitlines() if line.count("`") % 2] == []
