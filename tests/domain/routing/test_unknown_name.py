"""Names that lead nowhere."""

from ktms.domain.errors import ErrorCode
from ktms.domain.routing.unknown_name import NAME_SHOWN_MAX, NAMES_COMPARED_MAX, unknown_model

HOUSES = ("house", "house-patient")


def test_the_likeliest_name_is_suggested() -> None:
    found = unknown_model("hous", HOUSES)
    assert (found.code, found.param) == (ErrorCode.MODEL_NOT_FOUND, "model")
    assert found.message == (
        "There is no model named 'hous' for this key (did you mean 'house'?); GET /v1/models lists them."
    )


def test_without_a_likely_name_nothing_is_suggested() -> None:
    expected = "There is no model named 'gpt-4' for this key; GET /v1/models lists them."
    assert unknown_model("gpt-4", HOUSES).message == expected


def test_a_long_name_is_not_repeated_whole() -> None:
    assert "x" * (NAME_SHOWN_MAX + 1) not in unknown_model("x" * 1000, ()).message


def test_among_very_many_names_none_is_looked_for() -> None:
    names = [f"model-{number}" for number in range(NAMES_COMPARED_MAX + 1)]
    assert "did you mean" in unknown_model("model-1x", names[:-1]).message
    assert "did you mean" not in unknown_model("model-1x", names).message
