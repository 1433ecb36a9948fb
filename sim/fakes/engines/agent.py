"""Our own agent in front of an Ollama: one route for chat, one list of models with what it knows, busy answers.

Sources: the node documentation (Agent). Not here: its announcements to the gateway, the filter's finer points.
"""

from sim.fakes.dialect import Machine, Page, Route
from sim.fakes.engines.ollama import Ollama
from sim.fakes.steps import Asked
from sim.fakes.wire_text import Json, compact

STATE_HEADER = "X-KTMS-Node-State"


class Agent(Ollama):
    """The agent: what it lets through is Ollama's."""

    def refuses(self, asked: Asked, machine: Machine) -> Page | None:
        """Refuse all but chat, new work while it drains, and whatever is beyond its slots."""
        if self.route(asked.path) is not Route.CHAT:
            return self.refusal(404, "not found")
        if machine.quirks.draining:
            return self._unavailable(None, "This node is shutting down.", "FN3", state="draining")
        if machine.running + machine.waiting >= machine.slots:
            return self._unavailable("busy", "All slots of this node are taken.", "FN2")
        return super().refuses(asked, machine)

    def _unavailable(self, code: str | None, message: str, means: str, *, state: str | None = None) -> Page:
        """Refuse for a while; that it drains stands in the header alone."""
        fields = {"message": message, "type": "unavailable", "param": None, "code": code}
        told = () if state is None else ((STATE_HEADER, state),)
        return Page(503, compact({"error": fields}), headers=(*told, ("Retry-After", "1")), means=means)

    def page(self, method: str, path: str, machine: Machine) -> Page:
        """Answer the list of models; there is nothing else."""
        if (method, path) != ("GET", "/v1/models"):
            return self.refusal(404, "not found")
        state = "draining" if machine.quirks.draining else "ready"
        body = compact({"object": "list", "data": self.cards(machine)})
        return Page(200, body, headers=((STATE_HEADER, state),))

    def cards(self, machine: Machine) -> list[Json]:
        """Describe the models, with what the agent knows of its engine."""
        told = {
            "loaded": not machine.quirks.cold,
            "context_window": machine.window,
            "slots": machine.quirks.slots_told or machine.slots,
            "busy": machine.running + machine.waiting,
            "engine": "ollama",
            "engine_version": "0.33.0",
            "on_gpu": True,
            "tokens_per_second": None,
        }
        return [{**known, "ktms": told} for known in super().cards(machine)]
