"""What a dialect decides by itself."""

from collections.abc import Callable

import pytest

from sim.fakes.dialect import Dialect, Route
from sim.fakes.target import dialect_of
from tests.sim.fakes.desk import Desk
from tests.sim.fakes.targets import ALL, OPENAI, path_of


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("route", Route)
def test_every_kind_knows_the_paths_the_gateway_asks(kind: str, route: Route) -> None:
    assert dialect_of(ALL[kind]).route(path_of(ALL[kind], route.value)) is route


@pytest.mark.parametrize("path", ["/", "/v1/chat", "/v2/chat/completions", "/v1/chat/completions/", "/openai"])
@pytest.mark.parametrize("kind", ALL)
def test_other_paths_lead_nowhere(desk: Callable[..., Desk], kind: str, path: str) -> None:
    at = desk(ALL[kind])
    assert dialect_of(ALL[kind]).route(path) is None
    assert at.get(path, "POST").status == 404
    assert at.facts("asked") == []


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_errors_have_a_type_and_the_common_ones_a_code(status: int) -> None:
    page = Dialect().refusal(status, "why", param="model")
    assert page.status == status
    assert b'"type":"' in page.body
    assert (b'"code":null' in page.body) == (status in (400, 500))


def test_a_vendor_lists_its_models(desk: Callable[..., Desk]) -> None:
    at = desk(OPENAI)
    at.target.models.append("another")
    assert [entry["id"] for entry in at.get("/v1/models").json["data"]] == at.target.models
