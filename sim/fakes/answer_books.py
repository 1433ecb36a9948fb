"""What one answer of a target has been so far, for the fact that tells of its end."""

from sim.fakes.rests import Wall, told_s
from sim.fakes.steps import Cut, Head, Piece, Silence, Step


class Books:
    """What one answer has been so far. `finished`: its finish reason and its end mark were sent.

    `prompt_cut`: not all of the prompt was read, and nobody was told.
    """

    __slots__ = ("_wall", "finished", "how", "other_model", "prompt_cut", "rest_s", "says", "status", "usage")

    def __init__(self, wall: Wall | None) -> None:
        self._wall = wall
        self.how = "left"
        self.status = 0
        self.says: list[str] = []
        self.finished = self.other_model = self.prompt_cut = False
        self.usage: tuple[int, int] | None = None
        self.rest_s: float | None = None

    def take(self, step: Step) -> None:
        """Note a step that is about to be carried out."""
        if type(step) is Piece:
            if step.says:
                self.says.append(step.says)
        elif type(step) is Head:
            self.status = step.status
            if step.status != 200:
                self.rest_s = told_s(step.headers, self._wall)
        elif type(step) is Cut:
            self.how = "cut"
        elif type(step) is Silence:
            self.how = "silent"
