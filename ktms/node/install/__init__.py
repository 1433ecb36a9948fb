"""What `install.sh` hands over to: makes this machine a node, changes that, or removes it.

It runs from the wheel before anything is installed, so it imports the standard library, the domain and the plain
modules of this room (settings, home, machine) and nothing that needs aiohttp. First everything is asked
(`facts.py`), then it is decided (`plan.py`, pure), then it is done (`carry_out.py`).
"""
