"""The gateway's way to the accounting service over gRPC (`ktms.ledger.v1`)."""
