"""A small OpenAI-compatible node for the first minute: where no engine is found, something must answer.

Its text is fixed, says that it comes from a demo, and never repeats a word of the prompt. It has no clock and no
chance: the same request gives the same bytes. Not here: any real model, any limit of slots (the gateway's leases
keep it), any authentication (it listens on loopback only).
"""

from ktms.adapters.demo_node.node import DemoNode

__all__ = ["DemoNode"]
