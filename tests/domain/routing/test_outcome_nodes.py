"""What an answer of a machine of ours means: busy, loading, draining, ill."""

import pytest

from ktms.domain.errors import ErrorCode
from ktms.domain.routing.outcome import Rest, VendorError, judge_answer

TGI_BUSY = VendorError(429, None, "overloaded", "Model is overloaded")
OLLAMA_BUSY = VendorError(
    None, None, "api_error", "server busy, please try again.  maximum pending requests exceeded"
)
LOADING = VendorError(503, None, "unavailable_error", "Loading model")
NO_WORDS = VendorError(message="the upstream gave no message")
CUT_SHORT = VendorError(
    422, None, "validation", "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000"
)
BEYOND = VendorError(500, None, "exceed_context_size_error", "the request exceeds the available context size")


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (429, TGI_BUSY),
        (200, TGI_BUSY),  # inside a stream
        (429, None),
        (503, OLLAMA_BUSY),
        (503, VendorError(code="overloaded")),
        (503, VendorError(type="overloaded_error")),
        (503, VendorError(code="draining")),
    ],
)
@pytest.mark.parametrize("has_retry_after", [False, True])
def test_fn2_a_node_that_is_full_is_busy_and_moves_on(
    status: int, error: VendorError | None, has_retry_after: bool
) -> None:
    verdict = judge_answer(status, error, has_retry_after=has_retry_after, of_node=True)

    assert (verdict.busy, verdict.loading, verdict.word) == (True, False, "busy")
    assert (verdict.ends_call, verdict.breaker_counts, verdict.rest) == (False, False, Rest.NOTHING)
    assert (verdict.problem.code, verdict.problem.status) == (ErrorCode.NO_NODE_AVAILABLE, None)
    assert verdict.problem.retry_after_s is not None


@pytest.mark.parametrize("error", [None, NO_WORDS, LOADING])
def test_fn3_a_node_that_says_beside_its_503_that_it_drains_moves_on(error: VendorError | None) -> None:
    verdict = judge_answer(503, error, has_retry_after=True, of_node=True, draining=True)

    assert (verdict.draining, verdict.busy, verdict.loading, verdict.word) == (True, False, False, "draining")
    assert (verdict.ends_call, verdict.breaker_counts, verdict.rest) == (False, False, Rest.NOTHING)
    assert (verdict.passes, verdict.problem.code) == (True, ErrorCode.NO_NODE_AVAILABLE)


@pytest.mark.parametrize(("status", "of_node"), [(503, False), (500, True)])
def test_nothing_else_drains(status: int, of_node: bool) -> None:
    verdict = judge_answer(status, None, has_retry_after=False, of_node=of_node, draining=True)

    assert (verdict.draining, verdict.passes, verdict.word) == (False, False, str(status))


def test_n17_a_node_that_loads_is_not_broken_and_moves_on() -> None:
    verdict = judge_answer(503, LOADING, has_retry_after=False, of_node=True)

    assert (verdict.busy, verdict.loading, verdict.word) == (False, True, "loading")
    assert (verdict.ends_call, verdict.breaker_counts, verdict.rest) == (False, False, Rest.NOTHING)
    assert verdict.problem.code == ErrorCode.NO_NODE_AVAILABLE


def test_n17_a_node_without_the_model_moves_on() -> None:
    error = VendorError(404, None, "not_found_error", "model 'x' not found")
    verdict = judge_answer(404, error, has_retry_after=False, of_node=True)

    assert (verdict.ends_call, verdict.breaker_counts, verdict.word) == (False, False, "404")
    assert (verdict.problem.code, verdict.problem.status) == (ErrorCode.UPSTREAM_ERROR, None)


@pytest.mark.parametrize("error", [None, NO_WORDS])
def test_a_host_check_of_ollama_refuses_no_credential(error: VendorError | None) -> None:
    verdict = judge_answer(403, error, has_retry_after=False, of_node=True)

    assert (verdict.ends_call, verdict.breaker_counts, verdict.rest) == (False, False, Rest.NOTHING)
    assert verdict.problem.code == ErrorCode.UPSTREAM_ERROR


@pytest.mark.parametrize("status", [401, 403])
def test_a_token_that_a_node_refuses_is_ours(status: int) -> None:
    verdict = judge_answer(status, VendorError(code="invalid_api_key"), has_retry_after=False, of_node=True)

    assert verdict.problem.code == ErrorCode.UPSTREAM_AUTH_ERROR


@pytest.mark.parametrize(("status", "error"), [(503, NO_WORDS), (500, OLLAMA_BUSY), (500, LOADING), (502, None)])
def test_another_5xx_of_a_node_is_its_fault(status: int, error: VendorError | None) -> None:
    verdict = judge_answer(status, error, has_retry_after=False, of_node=True)

    assert (verdict.busy, verdict.loading, verdict.breaker_counts) == (False, False, True)


@pytest.mark.parametrize(
    ("status", "error"),
    [(429, TGI_BUSY), (503, OLLAMA_BUSY), (503, LOADING), (404, VendorError()), (403, NO_WORDS)],
)
def test_a_vendor_is_neither_busy_nor_loading(status: int, error: VendorError) -> None:
    verdict = judge_answer(status, error, has_retry_after=False)

    assert (verdict.busy, verdict.loading, verdict.word) == (False, False, str(status))


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (422, CUT_SHORT),
        (200, CUT_SHORT),
        (500, BEYOND),  # older llama.cpp
        (400, BEYOND),
        (200, BEYOND),
        (400, VendorError(400, None, "BadRequestError", "too long", "input_tokens")),  # vLLM
        (400, VendorError(400, None, "BadRequestError", "This model's maximum context length is 4096 tokens.")),
        (
            400,
            VendorError(None, None, "invalid_request_error", "prompt is longer than the context length"),
        ),  # Ollama
    ],
)
def test_a_request_that_no_slot_holds_is_told_in_one_way(status: int, error: VendorError) -> None:
    verdict = judge_answer(status, error, has_retry_after=False, of_node=True)

    assert (verdict.ends_call, verdict.breaker_counts) == (True, False)
    cause = verdict.problem
    assert (cause.status, cause.code, cause.type) == (400, "context_length_exceeded", "invalid_request_error")


def test_a_validation_error_about_another_thing_keeps_its_status() -> None:
    error = VendorError(422, None, "validation", "Template error: no such filter")
    verdict = judge_answer(422, error, has_retry_after=False, of_node=True)

    assert (verdict.problem.status, verdict.problem.code) == (422, "invalid_request")


@pytest.mark.parametrize("of_node", [False, True])
def test_tgis_424_is_its_own_failure_and_moves_on(of_node: bool) -> None:
    error = VendorError(500, None, "generation", "Request failed during generation")
    verdict = judge_answer(424, error, has_retry_after=False, of_node=of_node)

    assert (verdict.ends_call, verdict.breaker_counts, verdict.word) == (False, True, "502")


def test_n20_generations_that_die_of_a_shared_window_are_the_engines_fault() -> None:
    error = VendorError(500, None, "server_error", "Context size has been exceeded.")
    verdict = judge_answer(500, error, has_retry_after=False, of_node=True)

    assert (verdict.ends_call, verdict.breaker_counts) == (False, True)
