"""The session towards the gateway: by the proxies of the environment, and with no secrets but our own.

aiohttp takes proxies and `~/.netrc` from the environment together: a password for the gateway's host would stand
against the node key, and it refuses to send both; a file that it cannot read would keep the node away, or fill the
log. Not here: what is asked (`announcer.py`, `doctor/`).
"""

import os

import aiohttp


def far_session() -> aiohttp.ClientSession:
    """Make one; `.netrc` is not read from here on."""
    os.environ["NETRC"] = os.devnull  # noqa: TID251 - the only way to say so
    return aiohttp.ClientSession(trust_env=True)
