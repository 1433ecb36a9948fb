import pytest

from ktms.node.filter.engine_request import chat_request

URLS = {
    "http://127.0.0.1:11434": ("http://127.0.0.1:11434/v1/chat/completions", "127.0.0.1:11434"),
    "http://127.0.0.1:11434/": ("http://127.0.0.1:11434/v1/chat/completions", "127.0.0.1:11434"),
    "http://[::1]:8000": ("http://[::1]:8000/v1/chat/completions", "[::1]:8000"),
    "https://engine.local/base/": ("https://engine.local/base/v1/chat/completions", "engine.local"),
}


@pytest.mark.parametrize("url", URLS)
def test_where_it_goes_follows_from_the_settings_alone(url: str) -> None:
    request = chat_request(url, streams=True)
    assert (request.url, dict(request.headers)["Host"]) == URLS[url]


def test_who_streams_accepts_events_and_who_does_not_accepts_json() -> None:
    kinds = [dict(chat_request("http://x", streams=streams).headers)["Accept"] for streams in (True, False)]
    assert kinds == ["text/event-stream", "application/json"]
