"""`sometimes` marks: rare situations that the random worlds must reach now and then, or they test nothing.

The catalogue is closed: a mark that is not in it is refused, and `sim coverage` names those never hit.
"""

SOMETIMES: dict[str, str] = {
    "call.retried": "a second target was asked for one call",
    "call.all_failed": "no target of a call answered",
    "call.left_early": "a client left before anything visible came",
    "call.left_midway": "a client left in the middle of a stream",
    "stream.interrupted": "a stream broke after something visible",
    "stream.stalled": "a stream fell silent after something visible",
    "stream.choked": "a client read so slowly that the upstream was held back",
    "breaker.opened": "a breaker opened",
    "breaker.trial": "a trial passed a half-open breaker",
    "breaker.trial_lost": "a trial failed and the breaker opened again",
    "rest.told": "a vendor told us how long to rest",
    "key.refused": "a key that does not exist was refused",
    "key.window_used": "a key counted although Postgres was away",
    "key.window_closed": "a key no longer counted because Postgres was away for too long",
    "key.revoked_midway": "a key was revoked while it was in use",
    "postgres.away": "a look-up met a database that refused",
    "postgres.hung": "a look-up met a database that never answered",
    "snapshot.refused": "a catalogue that does not compile was refused",
    "snapshot.swapped": "a newer snapshot came into force while calls were under way",
    "lease.full": "all slots of the nodes that would do were taken",
    "node.answered": "a node of ours answered a call",
    "cloud.answered": "a cloud vendor answered a call",
    "drain.waited": "a drain waited for calls under way",
    "drain.cut": "a drain ended calls with a last word",
    "host.crashed": "a gateway died without a word",
    "wall.jumped": "a wall clock jumped",
    "loop.lagged": "a gateway stood still for a while",
    "redis.away": "a probe met a Redis that did not answer",
}
