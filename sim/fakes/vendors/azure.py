"""Azure OpenAI: an own header for the key, two kinds of path, content filters, and statuses as text for codes."""

from collections.abc import Sequence

from sim.fakes.asking import header_of
from sim.fakes.dialect import Dialect, Machine, Page, Route, Saying
from sim.fakes.steps import Asked
from sim.fakes.wire_text import CREATED, Json, compact, told

CLASSIC_PATH = "/openai/deployments/"

_FILTERS = {name: {"filtered": False, "severity": "safe"} for name in ("hate", "self_harm", "sexual", "violence")}
_CODES = {401: "401", 404: "DeploymentNotFound", 429: "429", 500: "InternalServerError", 503: "ServiceUnavailable"}


class Azure(Dialect):
    """OpenAI's models in Azure's house."""

    version_path = "/openai/v1"

    def route(self, path: str) -> Route | None:
        """Take the v1 paths, and the older ones with the model's deployment in them."""
        path = path.partition("?")[0]
        if path.startswith(CLASSIC_PATH):
            _, _, rest = path[len(CLASSIC_PATH) :].partition("/")
            return next((route for route in Route if route.value == f"/{rest}"), None)
        return super().route(path)

    def refuses(self, asked: Asked, machine: Machine) -> Page | None:
        """Want a key, then the model."""
        key = header_of(asked, "api-key")
        if machine.keys and (not key or key in machine.quirks.refused_keys):
            return self.refusal(401, "Access denied due to invalid subscription key or wrong API endpoint.")
        return (
            None
            if self.knows(_model(asked), machine)
            else self.refusal(404, "The API deployment for this resource does not exist.")
        )

    def name_of(self, asked: Asked, machine: Machine) -> str:
        """Give the deployment's name."""
        return machine.quirks.answers_as or _model(asked)

    def headers(self, asked: Asked) -> tuple[tuple[str, str], ...]:
        """Number the request."""
        return (("apim-request-id", f"apim-{asked.exchange}"), ("x-ms-region", "France Central"))

    def cards(self, machine: Machine) -> list[Json]:
        """Describe the models."""
        return [
            {"id": name, "object": "model", "created_at": CREATED, "status": "succeeded"}
            for name in machine.models
        ]

    def opening(self, saying: Saying) -> bytes:
        """Begin with the verdict on the prompt, which names no model and has no choice."""
        results = [{"prompt_index": 0, "content_filter_results": _FILTERS}]
        verdict = self.chunk(saying, [], prompt_filter_results=results) | {"id": "", "model": "", "created": 0}
        return told(verdict) + super().opening(saying)

    def chunk(self, saying: Saying, choices: Sequence[Json], **more: object) -> dict[str, object]:
        """Add the content filters to every choice."""
        filtered = [{**choice, "content_filter_results": _FILTERS} for choice in choices]
        return super().chunk(saying, filtered, system_fingerprint="fp_ded0d14823") | more

    def refusal(self, status: int, message: str, *, param: str | None = None) -> Page:  # noqa: ARG002  # none is named
        """Write an error: a code, mostly the status as text, and a message."""
        fields = {"code": _CODES.get(status, str(status)), "message": message}
        return Page(status, compact({"error": fields}))

    def busy(self, machine: Machine) -> Page:  # noqa: ARG002  # a vendor's limits are not the machine's
        """Write the 429."""
        return self.refusal(
            429, "Requests to the ChatCompletions_Create Operation have exceeded call rate limit of your tier."
        )


def _model(asked: Asked) -> str:
    if asked.path.startswith(CLASSIC_PATH):
        return asked.path[len(CLASSIC_PATH) :].partition("/")[0]
    return asked.model
