import json

from ktms.domain.errors import ErrorCode
from ktms.node.filter.refused import refused


def test_a_refusal_is_told_in_the_shape_of_openai() -> None:
    told = refused(ErrorCode.MODEL_NOT_FOUND, "No.", param="model")
    assert told.status == 404
    assert json.loads(told.error) == {
        "error": {"message": "No.", "type": "not_found_error", "param": "model", "code": "model_not_found"}
    }


def test_a_status_may_be_told_with_it() -> None:
    assert refused(ErrorCode.INVALID_REQUEST, "No.", status=403).status == 403
