"""The engines there are, by kind."""

import aiohttp

from ktms.domain.catalogue import EngineKind
from ktms.node.engines.llamacpp import LlamaCpp
from ktms.node.engines.look import Engine
from ktms.node.engines.ollama import Ollama
from ktms.node.engines.tgi import Tgi
from ktms.node.engines.vllm import Vllm
from ktms.node.machine import Machine


def engine_of(kind: EngineKind, url: str, session: aiohttp.ClientSession, machine: Machine | None) -> Engine:
    """Give the engine of this kind at a URL; `machine` None: it runs elsewhere, or nobody may look.

    Raises:
        ValueError: nothing of this kind can stand behind an agent.
    """
    match kind:
        case EngineKind.OLLAMA:
            return Ollama(url, session, machine)
        case EngineKind.VLLM:
            return Vllm(url, session, machine)
        case EngineKind.LLAMACPP:
            return LlamaCpp(url, session, machine)
        case EngineKind.TGI:
            return Tgi(url, session, machine)
        case EngineKind.AGENT | EngineKind.DEMO:
            raise ValueError(f"an agent stands before an engine, not before {kind.value}")
