"""Every kind of target, and desks that are closed and judged after their test."""

from sim.draft import Engine, NodeDraft, VendorDraft

OPENAI = VendorDraft("cloud-a")
AZURE = VendorDraft("cloud-z", azure=True)
OLLAMA = NodeDraft("node-o", Engine.OLLAMA)
VLLM = NodeDraft("node-v", Engine.VLLM)
LLAMA_CPP = NodeDraft("node-l", Engine.LLAMA_CPP)
TGI = NodeDraft("node-t", Engine.TGI)
AGENT = NodeDraft("node-a", Engine.AGENT)

ALL: dict[str, VendorDraft | NodeDraft] = {
    "openai": OPENAI,
    "azure": AZURE,
    "ollama": OLLAMA,
    "vllm": VLLM,
    "llama_cpp": LLAMA_CPP,
    "tgi": TGI,
}


def path_of(draft: VendorDraft | NodeDraft, route: str = "/chat/completions") -> str:
    """Give the path at which the gateway asks it."""
    return ("/openai/v1" if isinstance(draft, VendorDraft) and draft.azure else "/v1") + route
