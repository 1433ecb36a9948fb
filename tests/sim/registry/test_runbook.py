"""Every id has its page, in the order of the matrix, and no page is empty."""

import pytest

from sim.registry.failures import FAILURES
from sim.registry.runbook.all_pages import PAGES


def test_every_id_has_a_page_and_no_other() -> None:
    assert list(PAGES) == list(FAILURES)


@pytest.mark.parametrize("name", FAILURES)
def test_a_page_says_all_that_it_must(name: str) -> None:
    page = PAGES[name]
    texts = (page.sees, page.symptom, page.itself, page.do, page.over, *page.look)
    assert page.look
    assert all(text.strip() == text != "" for text in texts)


@pytest.mark.parametrize("name", FAILURES)
def test_what_is_code_is_between_two_marks(name: str) -> None:
    page = PAGES[name]
    for text in (page.sees, page.symptom, page.itself, page.do, page.over, *page.look):
        assert text.count("`") % 2 == 0, text


@pytest.mark.parametrize("name", FAILURES)
def test_the_line_of_the_table_breaks_no_table(name: str) -> None:
    assert "|" not in PAGES[name].sees
    assert len(PAGES[name].sees) <= 130


@pytest.mark.parametrize("name", FAILURES)
def test_a_page_is_made_of_sentences(name: str) -> None:
    page = PAGES[name]
    assert all(text.endswith(".") for text in (page.symptom, page.itself, page.do, page.over))
    assert not page.sees.endswith(".")
