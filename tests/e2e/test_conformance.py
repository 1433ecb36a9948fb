"""The score of a judge of others, with and without the gateway, and whether docs/conformance.md tells it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import declared
from tests.e2e.conftest import Gateway
from tests.e2e.engine.llama_process import prove
from tests.e2e.program import KTMS, ROOT, run

pytestmark = [pytest.mark.engine, pytest.mark.service]

Statuses = Mapping[str, str]
"""By the name of the check: passed, failed or skipped."""

MISSING = {"choices.0: 'logprobs' is a required property", "choices.0.message: 'refusal' is a required property"}


def judged(gateway: Gateway, url: str, key: str, model: str) -> list[Any]:
    command: list[str | Path] = [KTMS.parent / "llm-comply", "run", "--format", "openai-chat", "--json"]
    done = run([*command, "-u", f"{url}/v1", "-m", model, "-k", key], gateway.up.home.env())
    results = json.loads(done.out)["results"]
    assert isinstance(results, list)
    return results


def statuses(results: list[Any]) -> Statuses:
    return {result["name"]: result["status"] for result in results}


@pytest.fixture(scope="module")
def direct(gateway: Gateway) -> list[Any]:
    prove(gateway.llama)
    return judged(gateway, gateway.llama.url, "none", gateway.llama.model)


@pytest.fixture(scope="module")
def through(gateway: Gateway) -> list[Any]:
    return judged(gateway, gateway.url, gateway.key, f"{declared.HOUSE}:nodes-only")


@pytest.fixture(scope="module")
def document() -> str:
    return (ROOT / "docs" / "conformance.md").read_text()


def told(document: str) -> list[tuple[str, str, str]]:
    """Rows of the table: check, status of the engine, status of the gateway."""
    return re.findall(
        r"^\| ([\w -]+) \| (passed|failed|skipped) \| (passed|failed|skipped) \|", document, re.MULTILINE
    )


def test_what_the_engine_does_right_stays_right_behind_the_gateway(direct: list[Any], through: list[Any]) -> None:
    right = {name for name, status in statuses(direct).items() if status == "passed"}
    assert right
    assert {name for name in right if statuses(through)[name] != "passed"} == set()


def test_the_document_tells_the_scores_as_they_are(direct: list[Any], through: list[Any], document: str) -> None:
    assert told(document) == [(name, status, statuses(through)[name]) for name, status in statuses(direct).items()]


def test_the_document_tells_the_sums(direct: list[Any], through: list[Any], document: str) -> None:
    sums = [
        f"{sum(result['status'] == 'passed' for result in results)} of {len(results)}"
        for results in (direct, through)
    ]
    assert re.findall(r"\d of \d", document.replace("\n", " ")) == sums


def test_whole_answers_fail_for_the_two_fields_the_document_names_alone(through: list[Any]) -> None:
    names = ("Basic Text Response", "System Prompt", "Multi-turn Conversation", "Tool Calling")
    found = {result["name"]: set(result["errors"]) for result in through if result["name"] in names}
    assert found == dict.fromkeys(names, MISSING)


@pytest.mark.parametrize("package", ["openai", "llm-comply", "xllamacpp"])
def test_the_document_names_the_versions_that_are_measured(document: str, package: str) -> None:
    locked = (ROOT / "release/requirements/dev.txt").read_text()
    pin = re.search(rf"^{package}==(\S+)", locked, re.MULTILINE)
    assert pin
    assert pin[1] in document


def test_the_document_names_the_version_of_the_sdk_for_javascript(document: str) -> None:
    wanted = json.loads((ROOT / "tests/e2e/node/package.json").read_text())["devDependencies"]["openai"]
    assert f"| JavaScript `openai` | {wanted} |" in document
