"""When a pause ends a session of a conversation. Called by the search and by what it keeps of conversations."""

from __future__ import annotations

MINUTE = 60_000_000
LEAST_GAP, MOST_GAP = 30 * MINUTE, 6 * 60 * MINUTE
"""A pause shorter than the first never ends a session, one longer than the second always does; in microseconds."""
USUAL_STEPS = 20
"""Between the two, a pause of so many usual steps ends one."""
