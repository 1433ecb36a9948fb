"""llama.cpp's server."""

from ktms.vendors.shape import METRICS_PATH, Shape, bearer, below_version

LLAMACPP = Shape(
    name="llamacpp",
    path=below_version,
    auth_headers=bearer,
    names_model=False,  # outside of router mode the name in a request is not looked at
    metrics_path=METRICS_PATH,  # 501 unless it was started with --metrics
    stops_for_leavers=False,  # not wired in a range of builds (N23, llama.cpp#24496)
    shares_window=True,  # automatic slots have one cache: each tells the whole of it (N20, llama.cpp#23652)
)
