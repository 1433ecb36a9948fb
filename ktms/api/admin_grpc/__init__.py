"""The admin plane over gRPC: ktms.admin.v1."""
