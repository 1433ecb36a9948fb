"""Every engine that can stand behind an agent is there."""

import aiohttp
import pytest

from ktms.domain.catalogue import EngineKind
from ktms.node.engines.all_of_them import engine_of

NO_ENGINES = {EngineKind.AGENT, EngineKind.DEMO}


@pytest.mark.parametrize("kind", sorted(set(EngineKind) - NO_ENGINES))
async def test_an_engine_says_its_kind(session: aiohttp.ClientSession, kind: EngineKind) -> None:
    engine = engine_of(kind, "http://127.0.0.1:1", session, None)
    assert engine.kind is kind
    assert not engine.is_settling


@pytest.mark.parametrize("kind", sorted(NO_ENGINES))
async def test_an_agent_stands_behind_no_agent(session: aiohttp.ClientSession, kind: EngineKind) -> None:
    with pytest.raises(ValueError, match="before an engine"):
        engine_of(kind, "http://127.0.0.1:1", session, None)
