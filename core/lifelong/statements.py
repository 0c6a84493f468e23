"""`profile`: what people have said about themselves, as data."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Unpack

from .. import search as searching
from ..access import overview
from ..access import table as audience_table
from ..access.rules import plain_key
from ..access.table_participants import checked_key
from ..calls.call import CallOptions, load_viewer, open_call
from ..database import sources
from ..database.dialects import from_microseconds
from ..database.rows import yes_no
from ..errors import MessageError
from ..memories import rules
from ..search.profile import StatementRow, read_person
from ..shapes import ProfileStatement, StatementKind
from ..text.hits import content_digest
from ..text.times import iso_text

_ABOUT: dict[str, StatementKind] = {"facts": "fact", "preferences": "taste", "wishes": "instruction"}


def profile(
    participant: str | None = None, *, limit: int = 50, operator: bool = False, **options: Unpack[CallOptions]
) -> list[ProfileStatement]:
    """Return a person's statements about themselves that the scope sees: memories first, then messages, newest first.

    Nothing is stored: the call searches 300 candidates of each audience, the newest rows and those with the rarest
    words. Among these, memories are returned, and messages with a phrase of `prompts/remember` for a fact, a taste or
    an instruction. Equal texts of one conversation are returned once.

    Args:
        participant: key of the person, `interface/id`; None for the scope's own.
        limit: maximum number of statements, 1 to 200.
        operator: read all audiences of the persona.

    Raises:
        MessageError: nobody is named, or the limit is out of range.
        StoreReadError: the search index cannot be read.

    >>> from prompt_engine import Scope, lifelong, open_database, save_message
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/1", "tg/ann")
    >>> for text in ("I play the cello in a quartet.", "I am on my way."):
    ...     message = {"text": text, "interface_path": "tg/1", "from_user": {"id": "ann"}}
    ...     _ = save_message(message, db=db, scope=scope)
    >>> [(one["text"], one["about"]) for one in lifelong.profile(db=db, scope=scope)]
    [('I play the cello in a quartet.', ['fact'])]
    """
    call = open_call(**options)
    who = call.scope.participant if participant is None else checked_key(participant)
    if not who:
        raise MessageError("participant is missing. Give `interface/id` (HTTP: about).", fields=("participant",))
    most = rules.read_number(limit, "limit", 1, 200, 50)
    query = searching.prepare(searching.SearchRequest(ranking="relevance"), call.settings)
    viewer, keys = load_viewer(call), audience_table.read_keys(call.db, call.persona)
    if yes_no(operator, "operator"):
        viewer = replace(viewer, audiences=tuple(keys), destination="local")
    search = searching.build_search(query, viewer, call.settings, call.db)
    if search.index_error is not None:
        raise search.index_error
    identities = {who, *(each.key for each in overview.read_identities(call.db, call.persona, who))}
    rows: dict[tuple[str | None, bytes], StatementRow] = {}
    for one in read_person(search, call.db, identities):  # line, instruction and item may share a text
        rows.setdefault((one.row.conversation, content_digest(one.text)), one)
    return [
        {
            "source": sources.BY_NUMBER[one.row.source].name,
            "id": one.row.id,
            "text": one.text,
            "about": [name for group, name in _ABOUT.items() if group in one.groups],
            "timestamp": iso_text(from_microseconds(one.row.at_us)),
            "conversation": plain_key(one.row.conversation),
            "seen_by": keys[one.audience].kind,
        }
        for one in islice(rows.values(), most)
        if one.audience in keys
    ]
