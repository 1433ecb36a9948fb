"""llama.cpp's server."""

from ktms.vendors.shape import Shape, bearer, below_version

LLAMACPP = Shape(
    name="llamacpp",
    path=below_version,
    auth_headers=bearer,
    names_model=False,  # outside of router mode the name in a request is not looked at
    stops_for_leavers=False,  # not wired in a range of builds (N23, llama.cpp#24496)
    shares_window=True,  # automatic slots have one cache: each tells the whole of it (N20, llama.cpp#23652)
)
