"""When changes that come in bursts are written."""

from __future__ import annotations

MOST_SECONDS = 5.0
"""Longest a change waits for the end of its burst."""


class Debounce:
    """The time of the next write: a pause after the last change, at the latest MOST_SECONDS after the first.

    Times are seconds of any clock that only rises.

    >>> burst = Debounce()
    >>> for n in range(50):
    ...     burst.note(n * 0.018, 1.0)
    >>> round(burst.due or 0, 3), burst.is_due(1.8), burst.is_due(1.9)
    (1.882, False, True)
    """

    __slots__ = ("_first", "due")

    def __init__(self) -> None:
        self._first: float | None = None
        self.due: float | None = None
        """Time of the next write; None while nothing is to be written."""

    def note(self, now: float, pause_seconds: float) -> None:
        """Take note of a change.

        Args:
            now: its time.
            pause_seconds: SAVE_DEBOUNCE_SECONDS; a pause longer than MOST_SECONDS is kept.
        """
        if self._first is None:
            self._first = now
        self.due = min(now + pause_seconds, self._first + max(MOST_SECONDS, pause_seconds))

    def is_due(self, now: float) -> bool:
        """Return whether it is time to write."""
        return self.due is not None and now >= self.due

    def reset(self) -> None:
        """Begin anew: everything is written."""
        self._first = self.due = None
