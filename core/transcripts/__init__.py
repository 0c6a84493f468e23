"""Store the new messages of a list that a front end sends whole with every request.

The list may be edited, cut, or end with a new answer. It is compared with the stored lines (`rules`): new lines are
saved, changed lines edited; another answer to the same line becomes an alternative; missing lines stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple, Unpack

from .. import chat_history_cache, short_term, stories
from ..access import tombstones
from ..access.external_rows import participant_of
from ..calls.call import Call, CallOptions, GivenSettings, load_viewer, open_call
from ..database import rows
from ..database.engine import Database
from ..errors import MessageError
from ..memories.rules import find_mark
from ..messages import table_lines
from ..messages.table_lines import Line
from ..scope import Scope
from ..shapes import PERSONA_SENDER, WriteResult
from ..text.folding import clean
from ..text.hits import name_persona
from . import rules
from .rules import Spoken

__all__ = ["TranscriptSaved", "save_transcript"]

MOST_LINES, LEAST_STORED = 1000, 200
"""Maximum number of lines of a list, and minimum number of stored lines with which it is compared."""
ANSWER_WITHIN = timedelta(minutes=10)
"""Time in which a line sent again is the same line, waiting for its answer; later it is stored as a new line."""
ALONE = "after "
"""Prefix of `before` in `make_message_id` for a line sent alone, followed by the row id of the newest stored line."""
_ROLES: Mapping[str, rules.LineRole] = {
    "user": "user", "character": "user", "assistant": "persona", "persona": "persona",
}  # fmt: skip


class TranscriptSaved(NamedTuple):
    saved: int = 0
    edited: int = 0
    alternatives: int = 0
    """Number of answers stored as alternatives of an earlier answer, plus earlier alternatives chosen again."""


def save_transcript(
    messages: Sequence[Mapping[str, Any]],
    answer: str | None = None,
    *,
    name: str | None = None,
    persona_name: str | None = None,
    after: str = "",
    **options: Unpack[CallOptions],
) -> TranscriptSaved:
    """Store the new lines of a list of messages and the answer to its last line, and return the counts.

    Args:
        messages: `{role, content}` each, oldest first; content is a text. Roles user, assistant and character (with
            a `name`: another character of a group) are lines; other roles and blank texts are skipped. A message's
            `name` is its speaker, if that is not the scope's participant.
        answer: the persona's answer to the last line; None or blank if there is none.
        name, persona_name: names of the speaker and the persona, as history lines show them.
        after: id of the preceding response, if the list holds only new lines (`previous_response_id` of the Responses
            API). The same list after the same id is stored once; the list may be empty if there is an answer.
        scope: must name the conversation of the list.

    Raises:
        MessageError: the scope names no conversation, or a text is over 16 MB.
        StoreError: not everything was stored; sending the same list again stores the rest.

    >>> from prompt_engine import Scope, open_database, transcripts
    >>> db, scope = open_database("sqlite://"), Scope("iris", "web/ann", "web/ann", privacy="direct")
    >>> said = [{"role": "user", "content": "Is there tea?"}]
    >>> transcripts.save_transcript(said, "Green tea.", db=db, scope=scope)
    TranscriptSaved(saved=2, edited=0, alternatives=0)
    >>> transcripts.save_transcript(said, "Black tea.", db=db, scope=scope)
    TranscriptSaved(saved=0, edited=0, alternatives=1)
    >>> db.close()
    """
    call = open_call(**options)
    if not call.scope.conversation:
        raise MessageError("The scope names no conversation. A list of messages is of one.", fields=("conversation",))
    lines = _read_lines(messages)
    text = "" if answer is None else rows.text(answer, "answer")
    return _Transcript(call, lines, name, persona_name, after).save(clean(text))


def find_replaced(messages: Sequence[Mapping[str, Any]], **options: Unpack[CallOptions]) -> frozenset[int]:
    """Return the row ids of stored lines that the list edits, or lacks although they follow its last user line."""
    call = open_call(**options)
    lines = _read_lines(messages)
    return _Transcript(call, lines).find_replaced() if call.scope.conversation and lines else frozenset()


def build_reply(
    text: str, conversation: str, persona: str, *, name: str | None = None, at: Any = None, message_id: Any = None
) -> dict[str, Any]:
    sender = {"sender_id": PERSONA_SENDER, "sender_name": name or name_persona(persona)}
    return {"text": text, "message_id": message_id, "date": at, "interface_path": conversation, **sender}


def save_turn(
    message: Mapping[str, Any],
    reply: Mapping[str, Any],
    *,
    name: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope,
) -> list[WriteResult]:
    """Store a message and the persona's reply in one transaction, then one short-term entry for both."""
    asking: dict[str, Any] = {"db": db, "settings": settings}
    results = chat_history_cache.save_together([(message, scope), (reply, scope)], **asking)
    text = message.get("text") or ""
    if any(each.stored for each in results) and scope.participant and text.strip():
        said = [{"role": find_mark(message) or "user", "content": text}]
        replies = [{"text": reply["text"], "persona_name": name}]
        place = replace(scope, conversation=reply["interface_path"])
        short_term.write_turn({"messages": said}, replies, **asking, scope=place)
    return results


class _Said(NamedTuple):
    spoken: Spoken
    name: str
    is_character: bool = False


def _read_lines(messages: Sequence[Mapping[str, Any]]) -> list[_Said]:
    is_list = isinstance(messages, Sequence) and not isinstance(messages, (str, bytes))
    if not is_list or not all(isinstance(each, Mapping) for each in messages):
        raise MessageError("messages must be a list of objects with role and content.", fields=("messages",))
    lines = []
    for message in messages:
        role, content, name = _ROLES.get(str(message.get("role"))), message.get("content"), message.get("name")
        text = clean(content) if isinstance(content, str) else ""
        if role is not None and text.strip():
            is_character = message.get("role") == "character"
            lines.append(_Said(Spoken(role, text), name if isinstance(name, str) else "", is_character))
    return lines[-MOST_LINES:]


class _Transcript:
    def __init__(
        self, call: Call, lines: list[_Said], name: str | None = None, persona_name: str | None = None, after: str = ""
    ) -> None:
        self._asking: dict[str, Any] = {"db": call.db, "settings": call.settings, "scope": call.scope}
        self._call = call
        self._lines = lines
        self._after = after
        self._names = {"user": name, "persona": persona_name or name_persona(call.persona)}
        self._now = call.db.clock()
        self._latest: datetime | None = None
        """Time of the previous line; a new line is never older."""
        self._saved = self._edited = self._alternatives = 0
        people = [at for at, line in enumerate(lines) if line.spoken.role == "user" and not line.is_character]
        self._turn = people[-1] if people else None
        """Index of the last line by a person."""
        self._cutoffs: dict[str | None, int] = {}
        self._stored = self._read_stored()
        spoken = [Spoken("persona" if line.role == "persona" else "user", line.text) for line in self._stored]
        if after and self._stored:
            spoken, self._latest = [], self._stored[-1].at
        place, who = call.scope.conversation or "", call.scope.participant
        self._is_named = bool(who) and place.startswith(f"{who}/")
        """Whether the front end named the conversation. If so, each list holds the whole conversation."""
        said = [line.spoken for line in lines]
        self._matches = rules.match_lines(said, spoken, is_whole=self._is_named and not self._is_single_line())
        self._changed: set[int] = set()
        for at, index in enumerate(self._matches):
            if index is None or said[at] == spoken[index]:
                continue
            line, before = self._stored[index], str(self._stored[index - 1].row_id) if index else ""
            if said[at].role == "user" and self._is_after_other(line, before, "user", line.text):
                self._matches[at] = None
            else:
                self._changed.add(at)

    def _read_stored(self) -> list[Line]:
        call, viewer = self._call, load_viewer(self._call)
        most = min(2 * MOST_LINES, max(LEAST_STORED, 4 * len(self._lines)))
        # a front end may send an answer again that was withdrawn since
        kinds: dict[str, Any] = {"conversation": call.scope.conversation, "local": True, "withdrawn": True}
        return table_lines.read_newest(call.db, call.persona, viewer.audiences, most, **kinds)

    def find_replaced(self) -> frozenset[int]:
        last = None if self._turn is None else self._find_answered(self._turn)
        kept = {index for at, index in enumerate(self._matches) if index is not None and at not in self._changed}
        changed = {self._matches[at] for at in self._changed} | self._find_cut()
        return frozenset(
            line.row_id
            for index, line in enumerate(self._stored)
            if index in changed or (last is not None and index > last and index not in kept)
        )

    def _find_cut(self) -> set[int | None]:
        """Return the indexes of abandoned lines: lines stored between a kept line and the line that it follows."""
        kept = {each for at, each in enumerate(self._matches) if each is not None and at not in self._changed}
        cut, index = set[int | None](), max(kept, default=0) if self._is_named else 0
        while index > 0:
            before = self._find_preceding(index)
            cut.update(range(before + 1, index))
            index = before
        return cut - kept

    def _find_preceding(self, index: int) -> int:
        """Return the index of the stored line that line `index` follows; if unknown, of the line stored before it."""
        line, above = self._stored[index], self._stored[index - 1]
        if line.message_id == rules.make_message_id(str(above.row_id), "answer", ""):
            return index - 1
        for before in range(index - 1, -1, -1) if (line.message_id or "").startswith(rules.ID_PREFIX) else ():
            if line.message_id == rules.make_message_id(str(self._stored[before].row_id), line.role, line.text):
                return before
        return index - 1

    def _find_answered(self, at: int) -> int | None:
        """Return the stored index of line `at`, or if that line is new, of the line before it; None if unknown."""
        before = next((each for each in range(at, -1, -1) if self._matches[each] is not None), at)
        index = self._matches[before]
        if before == at or index is None:
            return index
        return index + at - before - 1 if self._is_named else None

    def _is_single_line(self) -> bool:
        """Return whether the front end sends single lines: the list has one line, and a line sent alone is stored."""
        return len(self._lines) == 1 and any(
            line.message_id == rules.make_message_id(f"{ALONE}{before.row_id}", "user", line.text)
            for before, line in pairwise(self._stored)
        )

    def _find_waiting(self, said: Spoken) -> int | None:
        """Return the index of a stored line equal to `said` that has no answer, though other lines follow; or None."""
        for index, (line, following) in enumerate(pairwise(self._stored)):
            is_same = (line.role, line.text) == said and line.at and self._now - line.at < ANSWER_WITHIN
            answer_id = rules.make_message_id(str(line.row_id), "answer", "")
            if is_same and following.role != "persona" and all(each.message_id != answer_id for each in self._stored):
                return index
        return None

    def save(self, answer: str) -> TranscriptSaved:
        before, index = self._after, None
        if len(self._lines) == 1 and self._matches == [None] and self._stored and not before:
            # the same words after other turns are a new line, unless the first ones wait for their answer
            before, self._matches = f"{ALONE}{self._stored[-1].row_id}", [self._find_waiting(self._lines[0].spoken)]
        sender: str | None = None
        for at, line in enumerate(self._lines):
            index, (role, text) = self._matches[at], line.spoken
            sender = sender if role == "persona" else self._choose_sender(line)
            if index is None and self._may_be_deleted(at, sender, before):
                continue
            if index is None:
                who = PERSONA_SENDER if role == "persona" else sender
                name = line.name if who not in (None, PERSONA_SENDER) else self._names[role]
                more: dict[str, Any] = {"role": role}
                if line.is_character:  # a character's words are not a standing instruction
                    more["settings"] = self._call.settings.replace(record_wishes=False)
                message_id = rules.make_message_id(before, role, text)
                done = self._insert(text, name, who, self._choose_time(at), message_id, **more)
                before = str(done.id)
                continue
            stored = self._stored[index]
            before, self._latest = str(stored.row_id), stored.at or self._latest
            if at in self._changed and not (role == "persona" and self._choose(stored.row_id, text)):
                done = chat_history_cache.edit_chat_message(stored.row_id, text, **self._asking)
                self._edited += done.stored
        if answer.strip() and (self._lines or self._after):
            following = self._stored[index + 1] if index is not None and index + 1 < len(self._stored) else None
            self._answer(answer, before, following)
        return TranscriptSaved(self._saved, self._edited, self._alternatives)

    def _may_be_deleted(self, at: int, sender: str | None, before: str) -> bool:
        """Return whether a new line may have been deleted before: it precedes the last turn, and rows of its sender or
        conversation were deleted after the preceding stored line was made.
        """
        if self._after or self._turn is None or at >= self._turn:
            return False
        if sender not in self._cutoffs:
            place, scope = self._call.scope.conversation or "", self._call.scope
            person = scope.participant if sender is None else participant_of(place, sender, "")
            self._cutoffs[sender] = tombstones.find_cutoff(self._call.db, self._call.persona, person, place)
        return int(before or 0) < self._cutoffs[sender]

    def _insert(
        self, text: str, name: str | None, sender: str | None, moment: datetime, message_id: str, **more: Any
    ) -> WriteResult:
        if self._latest is not None and moment <= self._latest:
            moment = self._latest + timedelta(microseconds=1)
        self._latest = moment
        place, asking = self._call.scope.conversation, {**self._asking, **more}
        done = chat_history_cache.save_chat_message(place, text, name, sender, moment, message_id=message_id, **asking)
        self._saved += done.stored
        return done

    def _choose_time(self, at: int) -> datetime:
        """Choose the time of a new line: just before the next stored line of the list, or now if none follows."""
        for later in range(at + 1, len(self._matches)):
            if (index := self._matches[later]) is not None:
                following = self._stored[index].at
                return self._now if following is None else following - timedelta(microseconds=later - at)
        return self._now + timedelta(microseconds=at - len(self._matches))

    def _choose_sender(self, line: _Said) -> str | None:
        """Return the sender id of a line by another character or person; None for the current speaker."""
        if line.is_character:  # no participant's id begins with this prefix
            return "%char-" + line.name.replace("%", "%25").replace("/", "%2F")
        current = "" if self._turn is None else self._lines[self._turn].name
        return line.name if line.name and current and line.name != current else None

    def _choose(self, row_id: int, text: str) -> bool:
        """Make the alternative of `row_id` with this text current; return False if no alternative has this text."""
        for each in stories.list_alternatives(row_id, **self._asking):
            if each["text"] == text:
                self._alternatives += stories.choose_alternative(row_id, each["number"], **self._asking).stored
                return True
        return False

    def _is_after_other(self, line: Line, before: str, role: str = "answer", text: str = "") -> bool:
        """Return whether another chat or request stored the line, so that it follows another line than `before`."""
        others = {f"{prefix}{each.row_id}" for each in self._stored for prefix in ("", ALONE)} - {before}
        return any(line.message_id == rules.make_message_id(other, role, text) for other in others)

    def _answer(self, answer: str, before: str, following: Line | None) -> None:
        if following is not None and following.role == "persona" and not self._is_after_other(following, before):
            row_id: int | None = following.row_id
            text = following.text
        else:
            message_id = rules.make_message_id(before, "answer", "")
            done = self._insert(answer, self._names["persona"], PERSONA_SENDER, self._now, message_id)
            if done.stored or done.reason != "duplicate":
                return
            row_id = done.id  # another request stored an answer to this line meanwhile
            text = next((line.text for line in self._read_stored() if line.row_id == row_id), "")
        if row_id is None or text == answer or self._choose(row_id, answer):
            return
        number = stories.add_alternative(row_id, answer, **self._asking)
        stories.choose_alternative(row_id, number, **self._asking)
        self._alternatives += 1
