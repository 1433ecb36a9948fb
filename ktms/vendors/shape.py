"""What differs between the APIs that speak our dialect: where paths lie, how a credential is sent, a few habits.

A shape is data and pure functions; bodies stay with the dialects. One file per kind, found through `registry.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ktms.domain.access.secret import Secret
from ktms.domain.call import Route

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of API.

    `path(base_path, route)` gives the request target; `auth_headers(secret)` the headers that carry a credential.
    `asks_usage`: whether `stream_options.include_usage` is understood. `withholds`: members of a client's body
    that are not passed on. The rest is asked about engines only:
    `names_model`: the `model` of its answers tells who answered; `serves_one`: all names it serves are one model,
    and any of them may answer. `stops_for_leavers`: a generation ends with its client's connection.
    `cuts_long_prompts`: a prompt beyond the window may be shortened in silence. `shares_window`: the window that
    it tells may be that of all its slots together. `tells_load`: its list of models says what is loaded and how
    busy it is. `metrics_path`: where at its root a bare engine tells that as metrics; None: nowhere.
    """

    name: str
    path: Callable[[str, Route], str]
    auth_headers: Callable[[Secret], Headers]
    asks_usage: bool = True
    withholds: frozenset[str] = frozenset()
    names_model: bool = False
    serves_one: bool = False
    stops_for_leavers: bool = True
    cuts_long_prompts: bool = False
    shares_window: bool = False
    tells_load: bool = False
    metrics_path: str | None = None

    def models_path(self, base_path: str) -> str:
        """Request target of the list of models; it lies beside the routes."""
        return self.path(base_path, Route.CHAT).removesuffix(Route.CHAT.value) + MODELS_PATH

    def metrics_target(self, base_path: str) -> str | None:
        """Request target of the metrics: at the root of the engine, whether or not its URL ends in /v1."""
        return None if self.metrics_path is None else base_path.removesuffix(VERSION_PATH) + self.metrics_path


LOAD_OPTIONS = frozenset({"options", "num_ctx", "keep_alive"})
"""By these Ollama is told how a model lies in memory. That is its operator's to say: another window than the one
that is loaded costs every caller minutes of silence while the model is loaded anew (N26)."""

VERSION_PATH = "/v1"
MODELS_PATH = "/models"
METRICS_PATH = "/metrics"


def below_base(base_path: str, route: Route) -> str:
    """Path right below the base URL: it names the version itself, as vendors document it."""
    return base_path + route.value


def below_version(base_path: str, route: Route) -> str:
    """Path below /v1, whether or not the URL ends in it: people write engine URLs both ways."""
    return base_path.removesuffix(VERSION_PATH) + VERSION_PATH + route.value


def bearer(secret: Secret) -> Headers:
    """Credential as a bearer token (RFC 6750, 2.1)."""
    return (("Authorization", f"Bearer {secret.reveal()}"),)
