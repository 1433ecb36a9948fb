"""The `ktms` command."""
