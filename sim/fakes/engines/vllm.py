"""vLLM: a window per request that it checks, numbers as error codes, and usage on every chunk for who asks.

Its `/health` and `/v1/models` say nothing about generation; what is asked beyond its slots waits inside. Sources:
the fleet research, section 2.2.
"""

from sim.draft import Habit
from sim.fakes import asking
from sim.fakes.dialect import Break, Dialect, Machine, Page, Saying
from sim.fakes.steps import Asked
from sim.fakes.wire_text import HOLE, Json, Write, card, compact, told, usage

METRICS = """\
vllm:num_requests_running{{engine="{engine}",model_name="{model}"}} {running}.0
vllm:num_requests_waiting{{engine="{engine}",model_name="{model}"}} {waiting}.0
vllm:{cache}_cache_usage_perc{{engine="{engine}",model_name="{model}"}} {share}
"""
"""The series of one of its engines; real ones are sorted by name, and have hundreds of lines in between."""

_TYPES = {400: "BadRequestError", 404: "NotFoundError", 429: "TooManyRequestsError"}
_HOLE_COUNT = 123_456_789
"""Stands for the running count while a chunk is encoded."""


class Vllm(Dialect):
    """vLLM's server."""

    head_first = True
    keep_alive_s = 5.0

    def refuses(self, asked: Asked, machine: Machine) -> Page | None:
        """Refuse unknown models, and what does not fit its window: prompt alone, or with the answer."""
        if not self.knows(asked.model, machine):
            return self.refusal(404, f"The model `{asked.model}` does not exist.", param="model")
        window, prompt = machine.window, asking.prompt_tokens(asked)
        if window is None:
            return None
        if prompt >= window:
            text = f"This model's maximum context length is {window} tokens. Your request has {prompt}"
            return self.refusal(400, f"{text} input tokens.", param="input_tokens")
        if prompt + (asked.max_tokens or 0) > window:
            text = f"'max_tokens' or 'max_completion_tokens' is too large: {asked.max_tokens}."
            return self.refusal(400, f"{text} There is room for {window - prompt} tokens.", param="max_tokens")
        return None

    def tokens(self, saying: Saying, *, thinking: bool = False) -> Write:
        """Make the writer of text chunks, with the counts so far where `continuous_usage_stats` asks."""
        if not _counts_on(saying):
            return super().tokens(saying, thinking=thinking)
        choice = self.choice(saying, HOLE, thinking=thinking)
        prompt = saying.prompt_tokens
        counts = usage(prompt, _HOLE_COUNT) | {"total_tokens": -_HOLE_COUNT}
        before, _, rest = told(self.chunk(saying, [choice], usage=counts)).partition(HOLE.encode())
        rest, _, after = rest.partition(b"-%d" % _HOLE_COUNT)
        between, _, then = rest.partition(b"%d" % _HOLE_COUNT)
        return lambda nth, text: b"%b%b%b%d%b%d%b" % (before, text, between, nth, then, prompt + nth, after)

    def last_choice(self, saying: Saying) -> Json:
        """Finish with an empty text, and say what stopped it."""
        if saying.legacy:
            return {**super().last_choice(saying), "stop_reason": None}
        return {"index": 0, "delta": {"content": ""}, "finish_reason": saying.finish, "stop_reason": None}

    def breaks(self, saying: Saying, page: Page, machine: Machine) -> Break:  # noqa: ARG002  # the same everywhere
        """Write the error as an event, and the end mark all the same."""
        return Break(b"data: %b\n\n%b" % (page.body, self.end_mark))

    def refusal(self, status: int, message: str, *, param: str | None = None) -> Page:
        """Write an error with the status as its code."""
        kind = _TYPES.get(status, "InternalServerError")
        return Page(status, compact({"error": {"message": message, "type": kind, "param": param, "code": status}}))

    def failing(self, status: int) -> Page:
        """Write a 5xx."""
        return self.refusal(status, "EngineCore encountered an issue. See stack trace (above) for the root cause.")

    def not_json(self) -> Page:
        """Write what its framework says to a body that is no JSON."""
        detail = {"type": "json_invalid", "loc": ["body", 0], "msg": "JSON decode error"}
        return Page(422, compact({"detail": [detail]}))

    def page(self, method: str, path: str, machine: Machine) -> Page:
        """Answer what vLLM says about itself."""
        match method, path:
            case "GET", "/health" | "/ping":
                return Page(200, b"")
            case "GET", "/version":
                return Page(200, compact({"version": "0.32.0"}))
            case "GET", "/load":
                return Page(200, compact({"server_load": machine.running + machine.waiting}))
            case "GET", "/metrics":
                return Page(200, _metrics(machine).encode(), "text/plain; version=0.0.4")
            case "GET", "/v1/models":
                return super().page(method, path, machine)
            case _:
                return Page(404, compact({"detail": "Not Found"}))

    def cards(self, machine: Machine) -> list[Json]:
        """Describe the models with the window of a request."""
        return [
            card(name, "vllm", root=name, parent=None, max_model_len=machine.window) for name in machine.models
        ]


class OldVllm(Vllm):
    """vLLM before 0.9, whose errors lie flat."""

    def refusal(self, status: int, message: str, *, param: str | None = None) -> Page:
        """Write an error without a member `error`."""
        kind = _TYPES.get(status, "InternalServerError")
        fields = {"object": "error", "message": message, "type": kind, "param": param, "code": status}
        return Page(status, compact(fields))


def _metrics(machine: Machine) -> str:
    """Write one series per engine, which share the slots."""
    cache = "gpu" if Habit.OLD_METRICS in machine.quirks.habits else "kv"
    engines = machine.gauges.told()
    return "".join(
        METRICS.format(
            engine=number,
            model=machine.models[0],
            running=running,
            waiting=waiting,
            cache=cache,
            share=round(running * len(engines) / machine.slots, 3),
        )
        for number, (running, waiting) in enumerate(engines)
    )


def _counts_on(saying: Saying) -> bool:
    options = saying.asked.members.get("stream_options")
    return isinstance(options, dict) and options.get("continuous_usage_stats") is True
