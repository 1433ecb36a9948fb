"""The catalogue as calls meet it: what was declared, with what the nodes themselves announced laid over it.

Used where a catalogue is read into a snapshot and nowhere else, so no announced value ever becomes a declaration.
Not here: what becomes of one node (`joined_node.py`).
"""

from collections.abc import Sequence
from dataclasses import replace

from ktms.domain.announcement import announcement_complaints
from ktms.domain.catalogue import Catalogue
from ktms.domain.joined_node import JoinedNode, as_served


def overlaid(catalogue: Catalogue, joined: Sequence[JoinedNode]) -> Catalogue:
    """Lay announcements over the catalogue: declared nodes keep their places, others follow in the order given.

    An announcement that breaks a rule (another release may have stored it) is left out: one node must not keep all
    others from being served.
    """
    sound = {one.permit.name: one for one in joined if not any(announcement_complaints(one.announcement))}
    declared = tuple(as_served(sound[node.name], node) if node.name in sound else node for node in catalogue.nodes)
    known = {node.name for node in declared}
    others = tuple(as_served(one, None) for name, one in sound.items() if name not in known)
    return replace(catalogue, nodes=(*declared, *others))
