"""Who may see what, written from the table of F12 alone: it knows nothing of how the library works it out."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

Kind = Literal["persona", "public", "direct", "restricted", "person", "operator"]
"""persona: said in no conversation. public, direct, restricted: F10. person: about one person, shown where they speak
(L31). operator: of the persona as a whole, shown by listings for an operator alone."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a text was said."""

    persona: str
    kind: Kind
    server: str = ""
    conversation: str | None = None
    person: str | None = None
    """Whose direct message it is, or whom it is about; one name for all linked identities."""
    local_only: bool = False


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, and where: the left column of the table."""

    persona: str
    kind: Literal["public", "direct", "restricted", "none"]
    server: str = ""
    conversation: str | None = None
    person: str | None = None
    """The person of a direct message."""
    speaker: str | None = None
    """Who speaks, by the name of the person."""
    local: bool = False


def server_of(asker: Asker) -> str:
    """Return the one server a scope sees: a direct message that of hosts without servers.

    >>> server_of(Asker("p", "direct", "s1")), server_of(Asker("p", "none", "s1"))
    ('', 's1')
    """
    return "" if asker.kind == "direct" else asker.server


def may_see(asker: Asker, row: Origin, *, stays_private: bool = True, spoken_on: Collection[str] = frozenset()) -> bool:
    """Return whether a row may be shown to who asks (F1, F2, F12, F14, F16, F18).

    `spoken_on` are the servers where they have spoken, with SERVER_IN_DIRECT.

    >>> c9 = Origin("p", "restricted", "s1", "d/c9")
    >>> may_see(Asker("p", "restricted", "s1", "d/c9"), c9), may_see(Asker("p", "public", "s1", "d/c1"), c9)
    (True, False)
    >>> may_see(Asker("p", "public", "s1", "d/c1"), c9, stays_private=False), may_see(Asker("q", "none"), c9)
    (True, False)
    """
    if row.persona != asker.persona or row.kind == "operator":
        return False
    if row.local_only and not asker.local:
        return False
    if row.kind == "persona":
        return True
    if row.kind == "person":
        return row.person is not None and row.person == asker.speaker
    if row.kind == "public":
        return row.server == server_of(asker) or (asker.kind == "direct" and row.server in spoken_on)
    if row.kind == "direct":
        own = asker.kind == "direct" and row.person == asker.person
        return own or (not stays_private and server_of(asker) == "")
    own = asker.kind == "restricted" and row.conversation == asker.conversation and row.server == asker.server
    return own or (not stays_private and row.server == server_of(asker))
