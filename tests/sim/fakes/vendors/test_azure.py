"""Azure's habits, by name."""

from collections.abc import Callable

from sim.draft import VENDOR_MODEL
from tests.sim.fakes.desk import Desk, chat, whole
from tests.sim.fakes.targets import AZURE

Make = Callable[..., Desk]

PATH = "/openai/v1/chat/completions"
CLASSIC = f"/openai/deployments/{VENDOR_MODEL}/chat/completions?api-version=2024-10-21"


def test_the_key_has_a_header_of_its_own(desk: Make) -> None:
    at = desk(AZURE)
    seen = at.post(whole(), path=PATH, headers=(("Authorization", "Bearer k"),))
    assert (seen.status, seen.json["error"]["code"]) == (401, "401")
    at.target.quirks.refused_keys = ("old",)
    assert at.post(whole(), path=PATH, headers=(("api-key", "old"),)).status == 401


def test_the_older_paths_name_the_deployment(desk: Make) -> None:
    at = desk(AZURE)
    seen = at.post(chat(model=""), path=CLASSIC)
    assert (seen.text, seen.chunks[1]["model"]) == ("1.1 1.2 1.3 ", VENDOR_MODEL)
    assert at.post(whole(), path=CLASSIC.replace(VENDOR_MODEL, "other")).status == 404


def test_an_unknown_deployment_is_404(desk: Make) -> None:
    seen = desk(AZURE).post(whole(model="other"), path=PATH)
    assert (seen.status, seen.error.code) == (404, "DeploymentNotFound")


def test_a_stream_begins_with_the_verdict_on_the_prompt(desk: Make) -> None:
    first, *rest = desk(AZURE).post(path=PATH).chunks
    assert (first["choices"], first["model"], bool(first["prompt_filter_results"])) == ([], "", True)
    assert all("content_filter_results" in choice for chunk in rest for choice in chunk["choices"])


def test_429_has_its_status_as_text_for_a_code(desk: Make) -> None:
    at = desk(AZURE)
    at.target.fault("rate_limited", 7.0, on=True)
    seen = at.post(whole(), path=PATH)
    assert (seen.status, seen.json["error"]["code"], seen.error.status) == (429, "429", 429)


def test_models_are_listed_below_its_own_version(desk: Make) -> None:
    at = desk(AZURE)
    assert at.get("/openai/v1/models").json["data"][0]["status"] == "succeeded"
    assert at.get("/v1/models").status == 404
