"""Hugging Face's text-generation-inference."""

from ktms.vendors.shape import METRICS_PATH, Shape, bearer, below_version

TGI = Shape(
    name="tgi",
    path=below_version,
    auth_headers=bearer,
    names_model=False,  # `model` in a request is ignored
    metrics_path=METRICS_PATH,
    stops_for_leavers=False,  # in maintenance mode, and nothing promises it
)
