"""KTMS: Keystone. The Model Switchboard. An open LLM gateway."""
