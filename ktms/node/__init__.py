"""The agent of an own machine: a filter before its engine, a watcher, an announcer, an installer, a doctor.

It is installed by itself, with aiohttp and nothing else, so this room knows the domain and no other of ours.
"""
