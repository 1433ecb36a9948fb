"""What the agent of a sensible machine says."""

from ktms.domain.access.secret import Secret
from ktms.domain.announcement import AnnouncedModel, Announcement
from ktms.domain.catalogue import EngineKind

SAID = Announcement(
    url="http://10.0.0.7:8790",
    token=Secret("canary-node-token"),
    engine=EngineKind.OLLAMA,
    epoch_ms=1_790_000_000_000,
    slots=4,
    models=(AnnouncedModel("qwen3:4b", 8192, loaded=True), AnnouncedModel("llama3")),
    engine_version="0.32.1",
)
