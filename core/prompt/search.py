"""The search of a prompt: the first round runs before the history is loaded, the hits are chosen after it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter

from .. import hooks
from .. import search as searching
from ..context import section_diary, section_thoughts
from ..context.context import CURRENT, read_hits
from ..context.history import HistoryLists, echo_check
from ..context.section_base import Built
from ..context.table import StoredLines
from ..database import sources
from ..database.dialects import from_microseconds, microseconds
from ..database.rows import read_list
from ..errors import StoreError
from ..index.shapes import RowId
from ..search.query import add_earlier, refers_back
from ..search.question import Question
from ..search.ranking.days import DAY_US
from ..search.ranking.rows import FILLING, FoundRow
from ..shapes import HistoryEntry, Hit, LeftOut
from ..text.folding import collapsed, fold
from ..text.hits import compared_text, content_digest, entry_digest, find_column
from ..text.words import words as plain_words
from .call import PromptCall, Recalled, VisibleContext, with_asker_zone
from .history import build_history

HEAD_CHARS, WORD_CHARS = 40, 6
"""Usual number of characters of a line's time and speaker, and of a word with the space after it."""
LEAST_SHARE = 0.4
"""Minimum share of the question's words, weighted by rarity and relative to the best row, for a row to be counted."""
MOST_TURNS, TALK, LINES_BACK = 6, timedelta(hours=12), 100
"""Maximum number and age of the turns that a question may refer to, and number of lines searched for them."""


def start_search(
    call: PromptCall, visible: VisibleContext, lists: HistoryLists, lines: StoredLines
) -> searching.Ranked | None:
    """Run the first round of the search; None if there is nothing to search for, or it failed."""
    db, viewer, query, s = call.db, visible.viewer, visible.query, with_asker_zone(call).settings
    if not s.enable_memories or db is None or viewer is None or hooks.get_hook("search") is not None:
        return None
    if query is None or query.is_empty:
        return None
    call.report.note(*query.notes)
    # Some of the best rows are in the history lists too: seldom more than half as many as the lists have lines.
    extra = (call.caps.history + call.caps.recent) // 2 + 2

    def start() -> searching.Ranked:
        asked = query
        if visible.index is not None and call.room is not None and not call.is_limit_named:
            rows, words = visible.index.count_rows(query.numbers)
            fitting = call.room.count_lines(HEAD_CHARS + WORD_CHARS * words / max(1, rows))
            asked = replace(query, limit=min(query.limit, fitting))
        if visible.index is not None and not call.live.skips_history and refers_back(query):
            turns = _list_turns(call, lists)
            if len(turns) < MOST_TURNS and CURRENT in lists.full and 0 < call.caps.history < LINES_BACK:
                longer = replace(s, history_lines=LINES_BACK, context_verbosity=0, prompt_lite_mode=False)
                turns = _list_turns(call, build_history(replace(call, settings=longer), visible, lines))
            names = f"{lists.names.persona} {call.message.sender.name} {call.message.sender.username}"
            asked = add_earlier(asked, turns, plain_words(names), visible.index)
            call.report.search["words"] = list(asked.keywords)
        return searching.start(searching.build_search(asked, viewer, s, db, index=visible.index), db, extra=extra)

    return call.guard("search_index", start, None)


def _list_turns(call: PromptCall, lists: HistoryLists) -> list[HistoryEntry]:
    """Return the last turns of the asker and the persona in this conversation, newest first."""
    asker, here, oldest = call.message.sender, call.message.interface_path, call.message.date - TALK
    turns = [e for e in reversed(lists.visible) if e.conversation == here and (e.time or oldest) >= oldest]
    return [e for e in turns if e.role == "persona" or e.sender_id == asker.id][:MOST_TURNS]


def finish_search(call: PromptCall, read: searching.Ranked, drop: searching.Drop) -> Recalled:
    """Return the hits of the search, without rows for which `drop` gives a reason."""
    db, report = call.db, call.report
    assert db is not None

    def work() -> searching.Selection:
        result = searching.choose_hits(read, drop)
        # No number of memories was asked for, and another search for the last few would cost as much as the first.
        is_enough = not call.is_limit_named and len(result.chosen) >= read.search.query.limit * 9 // 10
        if not (result.is_done or is_enough or call.is_down):
            result = searching.run(read.search, db, drop, after=result)
        report.found = result
        return result

    result = call.guard("memories", work, searching.Selection(read))
    if result.read.meaning_error is not None:
        report.fail("embedder", result.read.meaning_error)
    if result.read.index_error is not None:
        report.fail("search_index", result.read.index_error)
    for number, error in result.read.errors.items():
        table = sources.BY_NUMBER[number].table.name
        report.fail(table, StoreError(str(error), source=table))
    # Rows come unordered, and servers return them in different orders.
    names = ((reason, f"{sources.BY_NUMBER[c.row.source].name}/{c.row.id}") for c, reason in result.left)
    report.leave_out([LeftOut("memories", *each) for each in sorted(names)])
    hits = [one.hit for one in result.chosen]
    return Recalled(hits, result.chosen, _describe_gap(result), _count_matching(result), _list_best(result))


def _count_matching(result: searching.Selection) -> int:
    """Compute `Recalled.matching`: `server` alone does not match `How often did the server crash?`."""
    if not result.read.round.question.wants_list:
        return 0
    rows = [one.scored for one in result.chosen if not one.scored.context and one.scored.tier < FILLING]
    shown = [c for c, reason in result.left if reason == "visible"]
    most = max((c.reasons.get("share", 0.0) for c in (*rows, *shown) if c.matched), default=0.0)
    matched = [c.reasons.get("share", 0.0) >= LEAST_SHARE * most for c in rows if c.matched]
    return sum(matched) if matched else len(rows)


def _list_best(result: searching.Selection) -> list[RowId]:
    """Return the rows of the hits, and of matches and their neighbours that the history shows, best first."""
    ranked = sorted(result.chosen, key=attrgetter("rank"))
    placed = [((n, 1), (one.row.source, one.row.id)) for n, one in enumerate(ranked)]
    for c, reason in result.left:
        if reason == "visible" and (c.matched or c.context):
            n = next((n for n, one in enumerate(ranked) if one.scored.score < c.score), len(ranked))
            placed.append(((n, 0), (c.row.source, c.row.id)))
    return [row for _, row in sorted(placed)]


def _describe_gap(result: searching.Selection) -> str:
    """Return a sentence that nothing is stored for the requested time span, "" if something is."""
    current = result.read.round
    is_alone = not result.chosen and all(reason == "echo" for _, reason in result.left)
    spans = current.missed or (current.question.spans if current.question.is_limited and is_alone else ())
    return " ".join(searching.describe_missed(result, spans))


def ask_search_hook(call: PromptCall, visible: VisibleContext, lists: HistoryLists, drop: searching.Drop) -> Recalled:
    """Return the hits of the hook `search` for which `drop` gives no reason; no hits if the hook is not set."""
    function, s = hooks.get_hook("search"), call.settings
    tags, words = list(visible.tags), list(visible.keywords)
    if function is None or not s.enable_memories or not (tags or words):
        return Recalled()
    shown = {entry.row_id for entry in lists.visible if entry.row_id is not None}
    asked = {"tags": tags, "keywords": words, "query": call.asked_text, "limit": call.hits_wanted}
    arguments = {**asked, "include_chat": True, "exclude": [("chat_history", row) for row in sorted(shown)]}

    def work() -> list[Hit]:
        hits, refused = read_hits(call.ask_hook(function, arguments))
        if refused:
            call.report.note(f"hook search: {refused} things are no hit and are left out")
        return hits

    judged = [(drop(_as_row(hit)), hit) for hit in call.guard("search", work, list[Hit]())]
    call.report.leave_out([LeftOut("memories", why, f"{hit['source']}/{hit['id']}") for why, hit in judged if why])
    hits = [hit for why, hit in judged if not why]
    return Recalled(hits, best=[(sources.BY_NAME[hit["source"]].number, hit["id"]) for hit in hits])


def _as_row(hit: Hit) -> FoundRow:
    text, number = hit["snippet"], sources.BY_NAME[hit["source"]].number
    return FoundRow(number, hit["id"], 0, (text,), fold(text), content_digest(text))


def build_dropper(
    call: PromptCall, lists: HistoryLists, sections: Mapping[str, Built], started: searching.Ranked | None
) -> searching.Drop:
    """Return a function that gives the reason to leave out a row (blank, echo, replaced, visible), "" to keep it."""
    listed = [built for key in ("standing_wishes", "saved_memories") if (built := sections.get(key))]
    memories = {int(each) for built in listed for each in built.ids}
    entries = (sections.get(key, Built()).ids for key in (section_diary.KEY, section_thoughts.KEY))
    diary, thoughts = ({int(each) for each in ids} for ids in entries)
    shows_match = call.settings.snippet_window == "match"
    looked_for = started.search.looked_for[sources.AI_DIARY.number] if started and shows_match and thoughts else ()
    question = started.round.question if started else Question()
    by_day = question.wants_list or question.is_of_days
    said = {content_digest(text) for built in listed for text in built.said}
    is_shown = _text_check(said, lists.visible, call.message.date if by_day else None)
    lines = {e.row_id: e for e in lists.visible if e.row_id is not None}
    replaced, replaced_texts = lists.replacing, {entry_digest(e) for e in lists.replaced}
    replaced_rows = call.request.replaced_rows | lists.replaced_rows
    echo_rows = {e.row_id for e in lists.echoes if e.row_id is not None}
    is_echo = echo_check(call.message)
    asked = content_digest(call.message.text) if call.message.text.strip() else None
    asked_id = call.message.message_id
    chat = sources.CHAT.number

    def drop(row: FoundRow) -> str:
        if row.source == chat:
            if not row.folded.strip():  # an agent's work between two lines does not matter here
                return "blank"
            if row.id in echo_rows:
                return "echo"
            may_echo = row.message_id == asked_id if asked_id else False
            if (may_echo or (asked is not None and row.digest == asked)) and is_echo(_as_entry(row)):
                return "echo"
            if row.id in replaced_rows or (replaced is not None and replaced.takes(_as_entry(row))):
                return "replaced"
            if row.id in lines:
                return "visible"
        elif row.source == sources.AI_DIARY.number:
            if row.id in diary or (row.id in thoughts and _shows_thought(row, looked_for)):
                return "visible"
        elif row.id in memories or _stands_in(row, lines):
            return "visible"
        is_made_of = bool(replaced_rows) and not replaced_rows.isdisjoint(_message_rows(row))
        if is_made_of or (row.digest is not None and row.digest in replaced_texts):
            return "replaced"
        return "visible" if is_shown(row) else ""

    return drop


def _text_check(
    said: Collection[bytes], visible: Iterable[HistoryEntry], now: datetime | None
) -> Callable[[FoundRow], bool]:
    """Return a function that tells whether the prompt shows a row's text elsewhere.

    A stored message of another person does not show it. `now` is given if a message of another day does not either:
    `took my pill`, for a count or a day.
    """
    shown = defaultdict[bytes, set[tuple[str | None, int]]](set)
    for entry in visible:
        sender = None if entry.row_id is None else entry.sender_id
        shown[entry_digest(entry)].add((sender, microseconds(entry.time or now) // DAY_US))

    def is_shown(row: FoundRow) -> bool:
        if row.digest is None or row.digest in said:
            return row.digest is not None
        places = shown.get(row.digest)
        if not places or row.source != sources.CHAT.number:
            return bool(places)
        days = [day for sender, day in places if sender in (None, row.sender)]
        return bool(days) and (now is None or row.at_us // DAY_US in days)

    return is_shown


def _shows_thought(row: FoundRow, looked_for: Sequence[str]) -> bool:
    """Return whether the snippet of a diary entry is from the entry's last text, the thought."""
    found = find_column(row.texts, looked_for)
    return found is not None and found[0] == len(row.texts) - 1


def _message_rows(row: FoundRow) -> list[int]:
    return [each for each in read_list(row.messages) if isinstance(each, int)] if row.messages else []


def _stands_in(row: FoundRow, said_in: Mapping[int, HistoryEntry]) -> bool:
    """Return whether a memory repeats a sentence of its source message, which the prompt shows."""
    lines = [said_in[each] for each in _message_rows(row) if each in said_in]
    if not lines:
        return False
    said = collapsed(row.texts[0])
    return bool(said) and any(said in compared_text(line) for line in lines)


def _as_entry(row: FoundRow) -> HistoryEntry:
    at = from_microseconds(row.at_us)
    return HistoryEntry(row.conversation, row.texts[0], row.sender, message_id=row.message_id, time=at, row_id=row.id)
