from dataclasses import replace

import pytest

from ktms.domain.access.secret import Secret
from ktms.domain.announcement import (
    EPOCH_AHEAD_MAX_MS,
    EPOCH_MAX_MS,
    MODELS_MAX,
    SLOTS_MAX,
    WINDOW_MAX_TOKENS,
    AnnouncedModel,
    Announcement,
    announcement_complaints,
    epoch_complaint,
    routes_alike,
)
from ktms.domain.catalogue import EngineKind
from tests.domain.announcements import SAID


def complained(said: Announcement) -> list[str]:
    return [".".join(map(str, complaint.path)) for complaint in announcement_complaints(said)]


def test_a_sensible_announcement_is_fine() -> None:
    assert complained(SAID) == []


def test_an_announcement_without_models_or_version_is_fine() -> None:
    assert complained(replace(SAID, models=(), engine_version=None, token=None)) == []


@pytest.mark.parametrize("slots", [1, SLOTS_MAX])
def test_slots_at_their_bounds_are_fine(slots: int) -> None:
    assert complained(replace(SAID, slots=slots)) == []


@pytest.mark.parametrize("slots", [0, -1, SLOTS_MAX + 1, 10**9])
def test_slots_that_no_machine_has_are_refused(slots: int) -> None:
    assert complained(replace(SAID, slots=slots)) == ["slots"]


@pytest.mark.parametrize("window", [0, -1, WINDOW_MAX_TOKENS + 1])
def test_a_window_that_no_model_has_is_refused(window: int) -> None:
    said = replace(SAID, models=(AnnouncedModel("a"), AnnouncedModel("b", window)))
    assert complained(said) == ["models.1.context_window"]


@pytest.mark.parametrize("epoch_ms", [0, -5, EPOCH_MAX_MS + 1])
def test_an_epoch_that_is_no_moment_is_refused(epoch_ms: int) -> None:
    assert complained(replace(SAID, epoch_ms=epoch_ms)) == ["epoch"]


@pytest.mark.parametrize("token", ["", " ", "a b", "a\n", "é", "x" * 513])
def test_a_token_that_no_header_carries_is_refused(token: str) -> None:
    assert complained(replace(SAID, token=Secret(token))) == ["token"]


@pytest.mark.parametrize("version", ["x" * 65, "0.1\n", "é"])
def test_a_version_that_is_no_word_is_refused(version: str) -> None:
    assert complained(replace(SAID, engine_version=version)) == ["engine_version"]


@pytest.mark.parametrize(
    "url",
    ["", "10.0.0.7", "ftp://10.0.0.7", "http://user:pw@10.0.0.7", "http://10.0.0.7/?q", "http://169.254.169.254"],
)
def test_a_url_that_is_never_dialled_is_refused(url: str) -> None:
    assert complained(replace(SAID, url=url)) == ["url"]


@pytest.mark.parametrize("name", ["", " a", "a\n", "x" * 257, "é"])
def test_a_model_name_that_no_engine_has_is_refused(name: str) -> None:
    assert complained(replace(SAID, models=(AnnouncedModel(name),))) == ["models.0.name"]


@pytest.mark.parametrize("second", ["a", "a:latest"])
def test_a_model_announced_twice_is_refused(second: str) -> None:
    said = replace(SAID, models=(AnnouncedModel("a"), AnnouncedModel(second)))
    assert complained(said) == ["models.1.name"]


def test_more_models_than_a_machine_has_are_one_complaint() -> None:
    models = tuple(AnnouncedModel("") for _ in range(MODELS_MAX + 1))
    assert complained(replace(SAID, models=models)) == ["models"]


def test_a_clock_that_is_a_little_ahead_is_fine() -> None:
    assert epoch_complaint(SAID, SAID.epoch_ms - EPOCH_AHEAD_MAX_MS) is None


def test_a_clock_that_is_far_ahead_is_told_by_how_much() -> None:
    found = epoch_complaint(SAID, SAID.epoch_ms - EPOCH_AHEAD_MAX_MS - 1000)
    assert found is not None
    assert str(found) == "epoch: is 301 s ahead of the gateway's clock: set the clock of the machine"


@pytest.mark.parametrize("certificate", ["ab" * 32, "any"])
def test_a_certificate_of_its_own_is_told_by_its_sha_256_or_not_looked_at(certificate: str) -> None:
    assert complained(replace(SAID, url="https://10.0.0.7:8790", certificate=certificate)) == []


@pytest.mark.parametrize("certificate", ["", "AB" * 32, "ab" * 31, "none"])
def test_a_certificate_that_is_no_sha_256_is_refused(certificate: str) -> None:
    assert complained(replace(SAID, url="https://10.0.0.7:8790", certificate=certificate)) == ["certificate"]


def test_a_certificate_without_tls_is_refused() -> None:
    assert complained(replace(SAID, certificate="any")) == ["certificate"]


def test_what_is_only_told_does_not_change_the_way_of_calls() -> None:
    told = replace(
        SAID,
        epoch_ms=SAID.epoch_ms + 1,
        engine_version="0.33",
        models=(AnnouncedModel("qwen3:4b", 8192, loaded=False), AnnouncedModel("llama3", loaded=True)),
    )
    assert routes_alike(SAID, told)


@pytest.mark.parametrize(
    "other",
    [
        replace(SAID, url="http://10.0.0.8:8790"),
        replace(SAID, token=Secret("another")),
        replace(SAID, engine=EngineKind.VLLM),
        replace(SAID, slots=5),
        replace(SAID, draining=True),
        replace(SAID, models=SAID.models[:1]),
        replace(SAID, url=SAID.url.replace("http:", "https:"), certificate="ab" * 32),
        replace(SAID, models=(AnnouncedModel("qwen3:4b", 4096, loaded=True), AnnouncedModel("llama3"))),
    ],
)
def test_what_leads_calls_elsewhere_makes_a_difference(other: Announcement) -> None:
    assert not routes_alike(SAID, other)
