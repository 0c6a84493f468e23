"""Where the messages of a conversation stand in a chat file, whose lines that hold no message here count too."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Places:
    """Indexes in a file and in the conversation that was made of it, or that it is made of."""

    lines: Sequence[int] = ()
    """Indexes in the file, rising."""
    own: Sequence[int] = ()
    """The index in the conversation of the message at each of them, rising."""

    @classmethod
    def of(cls, stored: Iterable[tuple[int, int]], order: Iterable[int]) -> Places:
        """Return where messages stand that were stored from a file."""
        at = {row_id: index for index, row_id in enumerate(order)}
        found = sorted((line, at[row_id]) for line, row_id in stored if row_id in at)
        return cls([line for line, _ in found], [index for _, index in found])

    def to_own(self, index: int) -> int:
        """Return the index in the conversation of the newest message that stands at an index of the file or before it;
        -1 where none does."""
        at = bisect_right(self.lines, index) - 1
        return -1 if at < 0 else self.own[at]

    def to_file(self, index: int) -> int:
        """Return the index in the file of a message of the conversation; those outside stay as far outside
        as they are.
        """
        at = bisect_right(self.own, index) - 1
        return index if at < 0 else self.lines[at] + index - self.own[at]
