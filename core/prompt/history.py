"""Reads the stored history of a prompt, with the names of its people, and merges it with live messages."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from .. import hooks
from ..access.rules import plain_key, split_key
from ..access.table_participants import is_full, read_persons
from ..access.view import Recent
from ..base.groups import group
from ..context import context as context_rules
from ..context import table as context_table
from ..context.context import CURRENT, RECENT
from ..context.history import HistoryBuilder, HistoryLists, Replaced, entry_id
from ..context.incoming import describe_reply, read_reply, read_role
from ..context.lines import NameLabels, People, read_persona_name
from ..context.live import read_line
from ..context.section_base import Built
from ..context.table import HistoryWanted, StoredLines
from ..conversations import section_saved
from ..database.compiled import Branch
from ..database.sources import BY_NUMBER, CHAT, MEMORIES
from ..index.shapes import RowId, RowTime
from ..messages import table_hidden, table_lines
from ..shapes import HistoryEntry, Hit, LeftOut, ReplyNote
from ..text.folding import name_form
from ..text.hits import known_name
from .access import count_recent, may_see
from .call import PromptCall, VisibleContext

MARGIN = 6
"""Number of rows read beyond the wanted lines, to replace blank, hidden and echoed rows and copies of live messages."""
REPLACED_ROWS = 40
"""Minimum number of rows read of a conversation with a replaced message, to find the answers to that message."""
MOST_HIDDEN = 1000
"""Maximum number of rows loaded of a conversation if the oldest rows are hidden, but not by a scene."""
DEEPER, ROUNDS = 4, 6
"""Factor by which each further read asks for more rows, and maximum number of further reads in a call."""


def read_stored(call: PromptCall, seeing: VisibleContext, parts: Sequence[Branch] = ()) -> StoredLines:
    """Read the stored lines of the history and the rows of all sections; a source that fails gives no rows."""
    s, caps = call.settings, call.caps
    assert call.db is not None and seeing.viewer is not None
    current = caps.history + MARGIN if s.enable_history_current_chat and caps.history else 0
    wanted = HistoryWanted(
        conversation=call.message.interface_path,
        current=current if call.replacing is None else max(current, REPLACED_ROWS),
        recent=_list_chats(seeing)[: min(caps.recent, count_recent(call))],
        recent_rows=caps.recent + 2,
        recent_most=2 * caps.recent + MARGIN,
    )
    lines = context_table.read(call.db, seeing.viewer, wanted, call.guard.ask, parts)
    if call.is_down:
        call.guard.lose_stored()
    return lines


def build_history(call: PromptCall, seeing: VisibleContext, lines: StoredLines, persona_text: str = "") -> HistoryLists:
    """Return the two history lists; older rows are read until the lists are full."""
    builder = HistoryBuilder(
        message=call.message,
        live=call.live,
        settings=call.settings,
        caps=call.caps,
        may_see=may_see(call, seeing),
        zone=call.zone,
        persona=call.scope.persona,
        persona_text=persona_text,
        replacing=find_replaced(call, lines),
        replaced_rows=call.request.replaced_rows,
        identities=() if seeing.viewer is None else seeing.viewer.identities,
        people=StoredPeople(call, seeing),
    )
    lists = builder.build(lines.current, lines.recent)
    for _ in range(ROUNDS):
        if (further := _read_more(call, seeing, lines, lists)) is None:
            break
        lines = further
        lists = builder.build(lines.current, lines.recent)
    return lists


def _read_more(call: PromptCall, seeing: VisibleContext, lines: StoredLines, lists: HistoryLists) -> StoredLines | None:
    """Return the stored lines with older lines added; None if the lists are full or there are no older lines."""
    asked, chats = lines.wanted, _list_chats(seeing)
    if lines.is_from_host or call.db is None or seeing.viewer is None or call.is_down:
        return None
    has_older = 0 < asked.current <= len(lines.current) and not _ends_hidden(lines.current)
    read_chats = group((entry.conversation, entry) for entry in lines.recent).values()
    may_go_on = (len(each) >= asked.recent_rows and not _ends_hidden(each) for each in read_chats)
    is_cut = len(lines.recent) >= asked.recent_most or any(may_go_on)
    current = asked.current * DEEPER if has_older and CURRENT not in lists.full else 0
    recent: Sequence[Recent] = ()
    if asked.recent and RECENT not in lists.full and (is_cut or len(asked.recent) < len(chats)):
        recent = chats[: len(asked.recent) * DEEPER]
    if not current and not recent:
        return None
    rows, most = asked.recent_rows * DEEPER, asked.recent_most * DEEPER
    wanted = replace(asked, current=current, recent=recent, recent_rows=rows, recent_most=most)
    # the first failure is raised
    read = partial(context_table.read, call.db, seeing.viewer, wanted, lambda _, work, __: work())
    if (more := call.guard.ask("chat_history_cache", read, None)) is None:
        return None
    wanted = replace(wanted, current=current or asked.current, recent=recent or asked.recent)
    newest = more.current if current else lines.current
    return replace(lines, current=newest, recent=more.recent if recent else lines.recent, wanted=wanted)


def _list_chats(seeing: VisibleContext) -> list[Recent]:
    viewer = seeing.viewer
    return [c for c in seeing.chats if viewer is not None and (viewer.sees_local_only or not c.local_only)]


def _ends_hidden(entries: Sequence[HistoryEntry]) -> bool:
    """Return whether to stop: the oldest MARGIN rows are hidden, one by a scene or after MOST_HIDDEN loaded rows."""
    oldest = entries[-MARGIN:]
    if len(oldest) < MARGIN or not all(entry.hidden for entry in oldest):
        return False
    return len(entries) >= MOST_HIDDEN or any(entry.hidden == table_hidden.BY_SCENES for entry in oldest)


def compose(
    call: PromptCall, lists: HistoryLists, sections: Mapping[str, Built], memories: Sequence[Hit]
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Return the context with at most `caps.memories` memories, and the item ids of each section."""
    s, most = call.settings, call.caps.memories
    parts: dict[str, Any] = {CURRENT: lists.current, RECENT: lists.recent}
    names = [f"{hit['source']}/{hit['id']}" for hit in memories]
    if s.enable_memories:
        parts["memories"] = list(memories[:most])
    if s.enable_tags_placeholder and not s.prompt_lite_mode:
        parts["tags_placeholder"] = []
    parts |= {key: built.value for key, built in sections.items()}
    ids = {"memories": names[:most]} | {key: list(built.ids) for key, built in sections.items() if built.ids}
    lines, count = [entry_id(entry) for entry in lists.visible], len(lists.current)
    ids |= {CURRENT: lines[:count], RECENT: lines[count:]}
    of_sections = [item for built in sections.values() for item in built.left_out]
    over = [LeftOut("memories", "limit", name) for name in names[most:]]
    call.report.leave_out([*lists.left_out, *of_sections, *over])
    return context_rules.order_context(parts), ids


def place_items(best: Sequence[RowId], lists: HistoryLists, saved: Sequence[str]) -> dict[tuple[str, str | int], int]:
    """Return the rank of each memory, by (section, id), and of each matching line, by (section, index)."""
    at = {row: n for n, row in enumerate(best)}
    places: dict[tuple[str, str | int], int] = {}
    for (source, row), n in at.items():
        places["memories", f"{BY_NUMBER[source].name}/{row}"] = n
    for n, entry in enumerate(lists.visible):
        place = None if entry.row_id is None else at.get((CHAT.number, entry.row_id))
        if place is not None:
            index = n - len(lists.current)
            places[(CURRENT, n) if index < 0 else (RECENT, index)] = place
    rows = ((n, at.get((MEMORIES.number, int(row)))) for n, row in enumerate(saved))
    return places | {(section_saved.KEY, n): place for n, place in rows if place is not None}


def find_replaced(call: PromptCall, lines: StoredLines) -> Replaced | None:
    """Return the message that the incoming one replaces (`replacing`), None if the caller named none."""
    path, message_id, db = call.message.interface_path, call.replacing, call.db
    if path is None or message_id is None:
        return None
    replaced = Replaced(path, message_id)
    for entry in (*lines.current, *call.live.chats.get(path, ())):
        if entry.message_id == message_id:
            live = entry.order if entry.row_id is None else replaced.order
            time, row_id = replaced.time or entry.time, replaced.row_id or entry.row_id
            replaced = replace(replaced, time=time, row_id=row_id, order=live)
    if replaced.time is None and db is not None and not call.is_down:
        find = partial(table_lines.find_message_or_row, db, call.scope.persona, path, message_id)
        stored = call.guard("chat_history_cache", find, None)
        replaced = replaced if stored is None else replace(replaced, time=stored.at, row_id=stored.row_id)
    if replaced.time is None and replaced.order is None:
        call.report.note("replacing: this conversation has no message of that id; nothing is left out")
    return replaced


def describe_replied(call: PromptCall, names: NameLabels) -> dict[str, Any]:
    """Return text, time and name of the replied-to message, as far as known; {} if there is no such message to show."""
    facts, reply = describe_reply(call.message.raw), read_reply(call.message.raw)
    if reply is None:
        return facts
    db, path, is_persona = call.db, call.message.interface_path, reply.is_persona
    if db is not None and path is not None and isinstance(reply.message_id, (str, int)) and not is_persona:
        find = partial(table_lines.find_quoted, db, call.scope.persona, path, reply.message_id)
        stored = call.guard.ask("chat_history_cache", find, None)
        is_persona = stored is not None and stored["role"] == "persona"
    key, default = f"{split_key(path or call.message.interface)[0]}/{reply.sender.id}", call.settings.privacy_default
    is_of_other = bool(reply.sender.id) and not is_persona and key != call.scope.participant
    if db is not None and is_of_other and call.guard.ask("participants", partial(is_full, db, key, default), False):
        return {}
    note = ReplyNote(facts.get("from", ""), reply.text, is_persona, reply.sender.id)
    name = names.label_reply(note, path or call.message.interface)
    return facts | ({"from": name} if name else {})


def ask_history_hook(call: PromptCall, lines: StoredLines) -> StoredLines:
    function, path = hooks.get_hook("history"), call.message.interface_path
    if function is None:
        return lines
    arguments = {"interface_path": path and plain_key(path), "limit": call.caps.history + 2 * call.caps.recent + MARGIN}
    given = call.guard(
        "history", lambda: _entries(call.ask_hook(function, arguments), path or ""), list[HistoryEntry]()
    )
    here = [entry for entry in given if entry.conversation == path]
    elsewhere = [entry for entry in given if entry.conversation != path]
    return replace(lines, current=here, recent=elsewhere, is_from_host=True)


def _entries(rows: Any, path: str) -> list[HistoryEntry]:
    entries = []
    for order, row in enumerate(rows if isinstance(rows, (list, tuple)) else ()):
        key = str(row.get("interface_path", path) if isinstance(row, Mapping) else path)
        entry = read_line(row, path if key == plain_key(path) else key, order)
        if entry is not None:
            entries.append(entry)
    return entries[::-1]


class StoredPeople(People):
    """Speakers of the index, which is in memory: the database is read only if several people share a name."""

    def __init__(self, call: PromptCall, seeing: VisibleContext) -> None:
        self._call, self._persons, self._ranks = call, dict[str, str](), dict[str, dict[str, int]]()
        self._views = [] if seeing.index is None else [one.view for one in seeing.index.audiences.values()]
        viewer, sender = seeing.viewer, call.message.sender
        self._sees_local_only = viewer is not None and viewer.sees_local_only
        asker = "" if read_role(call.message.raw) == "persona" else known_name(sender.name, sender.username)
        self._present = dict.fromkeys(viewer.identities, asker) if viewer and asker else {}

    def find_name(self, key: str, name: str) -> str:
        names = {view.speakers[n].name for view in self._views for n in view.find_speakers("key", [key])} - {""}
        is_old = len(names) > 1 and name_form(name) in map(name_form, names)
        is_id = name == key.partition("/")[2]  # of a line without a name
        present = [shown for _, shown in self._read_names([key]).values()] if is_old or (is_id and names) else []
        return known_name(*present, name)

    def count_before(self, key: str, name: str) -> int:
        form = name_form(name)
        if form not in self._ranks:
            speakers = (view.speakers[n] for view in self._views for n in view.find_speakers("name_form", [form]))
            keys = {who.key for who in speakers} - {""}
            if keys <= {key}:
                return 0
            persons, firsts = self._read_persons(keys), dict[str, RowTime]()
            for other, (first, present) in self._read_names(keys).items():
                if name_form(present) == form:
                    firsts[persons[other]] = min(first, firsts.get(persons[other], first))
            self._ranks[form] = {person: n for n, person in enumerate(sorted(firsts, key=firsts.__getitem__))}
        ranks = self._ranks[form]
        return ranks.get(self._read_persons({key})[key], len(ranks))

    def are_linked(self, one: str, other: str) -> bool:
        persons = self._read_persons({one, other})
        return persons[one] == persons[other]

    def list_persona_names(self, conversation: str, known: Collection[str]) -> list[str]:
        persona, lasts = self._call.scope.persona, list[tuple[bool, RowTime, str]]()
        for view in self._views:
            own = view.find_speakers("role", ("persona", "thought"))
            named = [n for n in own if read_persona_name(persona, view.speakers[n].name) not in ("", *known)]
            for thread in (conversation, None) if named else ():
                spans = view.find_spans(named, self._sees_local_only, thread)
                lasts += [(thread is not None, last, who.name) for _, last, who in spans]
        return [known_name(name) for *_, name in sorted(lasts, reverse=True)]

    def _read_names(self, keys: Collection[str]) -> dict[str, tuple[RowTime, str]]:
        """Return the time of the first message and the name in the newest one, by participant key."""
        spans: dict[str, list[tuple[RowTime, RowTime, str]]] = {}
        for view in self._views:
            for first, last, who in view.find_spans(view.find_speakers("key", keys), self._sees_local_only):
                if who.name:
                    spans.setdefault(who.key, []).append((last, first, who.name))
        return {key: (min(at for _, at, _ in own), self._present.get(key, max(own)[2])) for key, own in spans.items()}

    def _read_persons(self, keys: Collection[str]) -> dict[str, str]:
        """Return the person of each of these keys, and of keys asked for before."""
        db, new = self._call.db, set(keys) - self._persons.keys()
        self._persons |= {key: key for key in new}
        if db is not None and new:
            persona, ask = self._call.scope.persona, self._call.guard.ask
            self._persons |= ask("participants", lambda: read_persons(db, persona, new), self._persons)
        return self._persons
