"""vLLM's OpenAI server."""

from ktms.vendors.shape import METRICS_PATH, Shape, bearer, below_version

VLLM = Shape(
    name="vllm",
    path=below_version,
    auth_headers=bearer,
    names_model=True,  # 404 for what it does not serve
    serves_one=True,  # --served-model-name takes several names, and the first one answers
    metrics_path=METRICS_PATH,
    stops_for_leavers=True,  # a disconnect aborts the request in the engine
)
