"""What `ktms doctor` looks at before a gateway serves anybody. It changes nothing, anywhere."""
