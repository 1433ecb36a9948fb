"""What both ends of the admin plane agree on besides the protocol itself."""

SERVICE = "ktms.admin.v1.AdminService"

MESSAGE_MAX_BYTES = 4 * 1024 * 1024
"""A catalogue of 20,000 nodes fits; more is refused before it is parsed."""
