"""Our own agent in front of any engine: one filter, and what it knows about the engine beside each model."""

from ktms.vendors.shape import LOAD_OPTIONS, Shape, bearer, below_version

AGENT = Shape(
    name="agent",
    path=below_version,
    auth_headers=bearer,
    withholds=LOAD_OPTIONS,  # there may be an Ollama behind it
    names_model=True,  # it serves only the models that it lists, and hands the engine's own name through
    stops_for_leavers=True,  # it closes its connection to the engine, and counts the slot until that is idle
    cuts_long_prompts=True,  # as that does
    tells_load=True,  # `ktms` of each model in GET /v1/models
)
