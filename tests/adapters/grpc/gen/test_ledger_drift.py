from pathlib import Path

import pytest

from tests.generated_code import GeneratedCode

LEDGER = GeneratedCode("ktms/adapters/grpc", "ledger")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return LEDGER.generate(tmp_path_factory.mktemp("proto"))


@pytest.mark.parametrize("name", LEDGER.names)
def test_the_committed_code_is_what_the_protocol_gives(fresh: Path, name: str) -> None:
    assert LEDGER.committed(name) == (fresh / name).read_text(), "run: make proto"


def test_nothing_else_is_committed_as_generated() -> None:
    assert LEDGER.all_committed() == {"__init__.py", *LEDGER.names}
