"""The demo node inside this process: one small model that says always the same."""

from ktms.vendors.shape import Shape, bearer, below_version

DEMO = Shape(
    name="demo",
    path=below_version,
    auth_headers=bearer,
    names_model=True,  # it has one model, and refuses to be asked for another
    stops_for_leavers=True,  # its handler ends with the connection
)
