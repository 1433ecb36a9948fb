"""How many files this process may open: the soft limit is an old habit, the hard one counts."""

import resource

FILES_WANTED = 65_536
"""Two for each of thirty thousand calls; more than one process can serve."""


def raise_open_files(wanted: int = FILES_WANTED) -> int:
    """Raise the soft limit as far as the hard one lets us, to `wanted` at most; give what it is then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unbound = resource.RLIM_INFINITY
    aim = wanted if hard == unbound else min(wanted, hard)
    if soft == unbound or soft >= aim:
        return wanted if soft == unbound else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (aim, hard))
    return aim
