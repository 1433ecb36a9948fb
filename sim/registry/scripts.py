"""The world scripts S01 to S47: situations that a scenario must play, besides the rows of the failure matrix.

S01 to S40 are those of the research; the others are ours.
"""

from dataclasses import dataclass

from sim.registry.due import Due


@dataclass(frozen=True, slots=True)
class Script:
    """One script; `due` is when its scenario is. None needs a chaos test of its own."""

    id: str
    title: str
    due: Due


SCRIPTS: dict[str, Script] = {
    f"S{number:02}": Script(f"S{number:02}", title, due)
    for number, (title, due) in enumerate(
        (
            ("Redis hangs for a minute", Due.NOW),
            ("Redis comes back empty", Due.NOW),
            ("Redis fails over and forgets the last writes", Due.NOW),
            ("Redis is almost too slow", Due.NOW),
            ("a reply of Redis is lost after it took effect", Due.NOW),
            ("Redis refuses with each of its own errors", Due.NOW),
            ("Postgres is down at the start", Due.NOW),
            ("Postgres is down for half an hour", Due.NOW),
            ("no connection to Postgres is free", Due.NOW),
            ("Redis hangs, Postgres is down and a node flaps", Due.NOW),
            ("a target dies before its first byte", Due.NOW),
            ("a target dies in the middle of a stream", Due.NOW),
            ("a target is gone without a word in a long answer", Due.NOW),
            ("a node is slow, not dead", Due.NOW),
            ("every node of a model is down", Due.NOW),
            ("vendors are busy, overloaded and failing in turn", Due.NOW),
            ("a lease ends during a long answer", Due.NOW),
            ("a renewal races the end of its lease", Due.NOW),
            ("the wall clock of one replica jumps", Due.NOW),
            ("replicas disagree about the time", Due.NOW),
            ("a gateway stands still for five seconds", Due.NOW),
            ("usage events come twice", Due.NOW),
            ("usage events come out of order", Due.NOW),
            ("nobody takes usage events for hours", Due.NOW),
            ("a gateway is killed before it settles", Due.NOW),
            ("a gateway shuts down under 200 streams", Due.NOW),
            ("two releases run side by side", Due.RELEASES),
            ("the schema changes in traffic", Due.RELEASES),
            ("a key is revoked in traffic and nobody is told", Due.NOW),
            ("a catalogue that does not compile is pushed", Due.NOW),
            ("hundreds of calls wait for a target that heals", Due.NOW),
            ("what everybody asks ends in the cache under load", Due.NOW),
            ("clients leave early, leave midway, or never read", Due.NOW),
            ("a client asks again with the same idempotency key", Due.NOW),
            ("ten times the load for half a minute", Due.NOW),
            ("a hundred calls on the last of a budget", Due.NOW),
            ("half of the replicas lose Redis", Due.NOW),
            ("output of a node is broken in every way", Due.NOW),
            ("fifty nodes join at once", Due.NOW),
            ("everything at random for a day", Due.NOW),
            ("equals share the work and nobody starves", Due.NOW),
            ("calls of the nodes alone meet every fault", Due.NOW),
            ("models of a chain fail one after another", Due.NOW),
            ("no node has its model in memory", Due.NOW),
            ("hundreds of waits against their forecasts", Due.NOW),
            ("a replica is killed while it runs lines of a batch", Due.NOW),
            ("idle machines do lines of a batch until people come", Due.NOW),
        ),
        1,
    )
}
"""By id, in their order."""
