"""The few sentences that the generated model learns by counting, and the words it fills JSON strings with.

Full stops and commas stand apart, so that each is a word of its own.
"""

SENTENCES = """
the switchboard connects one caller to one machine . a machine answers word by word until the answer is done .
the caller hears every word as soon as it is spoken . when a line breaks the switchboard says so .
a busy machine keeps its callers in order , and a quiet one takes the next call . every call has a price .
the bill shows what was spoken , and nothing else . a patient caller waits , an impatient one hangs up .
our own machines come first and the rented ones come after . some mornings all lines are quiet .
the switchboard never hides a broken line . it tells the caller the truth .
a long answer costs more than a short one , so the bill is checked before the call .
"""

VALUES = ("Bergen", "Lagos", "Quito", "Hanoi")
"""Names of places; a JSON string that the grammar leaves open gets one of them."""

SENTENCES_MEAN = 3
"""Sentences per answer on average: answers end by themselves, most of them within a hundred tokens."""


def words() -> list[str]:
    """Give the corpus as a sequence of words."""
    return SENTENCES.split()


def is_mark(word: str) -> bool:
    """Whether a word is punctuation, which is written without a space before it."""
    return word in {".", ","}
