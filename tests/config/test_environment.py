import os

import pytest

from ktms.config.environment import process_environment


def test_the_environment_is_the_live_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KTMS_TEST_CANARY", "here")
    del process_environment()["KTMS_TEST_CANARY"]
    assert os.getenvb(b"KTMS_TEST_CANARY") is None
