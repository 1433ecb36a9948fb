"""Ollama by its OpenAI route."""

from ktms.vendors.shape import LOAD_OPTIONS, Shape, bearer, below_version

OLLAMA = Shape(
    name="ollama",
    path=below_version,
    auth_headers=bearer,
    withholds=LOAD_OPTIONS,
    names_model=True,  # it loads what it is asked for or answers 404; the name comes back as it was asked
    stops_for_leavers=True,  # the context of a request ends with its connection, and the runner's task with that
    cuts_long_prompts=True,  # to ctx - (ctx - keep) / 2 tokens, without a word (N24, ollama#17889)
)
