"""Hits of what a person said in public channels of servers, for a prompt of their own direct messages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..context.history import HistoryLists
from ..database import sources
from ..database.row_shapes import Branch
from ..messages import table_cross_channel
from ..messages.table_cross_channel import OwnRow
from ..search.table_rows import name_author
from ..shapes import Hit
from ..text import hits as text_hits
from ..text.folding import collapsed, fold
from ..text.hits import content_digest, entry_digest, known_name, snippet
from .call import PromptCall, VisibleContext
from .search import Recalled


def plan(call: PromptCall, seeing: VisibleContext) -> list[Branch]:
    """Return what brings the rows; none without SERVER_IN_DIRECT, or outside of direct messages."""
    s = call.settings
    if seeing.viewer is None or not s.enable_memories:
        return []
    words = [fold(word) for word in (*seeing.keywords, *seeing.tags.expanded)]
    return table_cross_channel.branches(seeing.viewer, words, server_in_direct=s.server_in_direct)


def choose(
    call: PromptCall,
    seeing: VisibleContext,
    brought: Mapping[int, Sequence[Any]],
    lists: HistoryLists,
    recalled: Recalled,
) -> Sequence[Hit]:
    """Return the hits of the search, and in the place of the lowest ranked what the person said elsewhere."""
    rows: Sequence[OwnRow] = table_cross_channel.SHOWN.rows_in(brought)
    if not rows:
        return recalled.hits
    words = [fold(word) for word in (*seeing.keywords, *seeing.tags.expanded)]
    own = _rank(rows, words, {entry_digest(entry) for entry in lists.visible})
    known = {collapsed(hit["snippet"]) for hit in recalled.hits}
    new = [hit for row in own if collapsed((hit := _hit(call, row))["snippet"]) not in known]
    most = max(1, call.caps.memories // 3)
    kept = new[: max(most, call.caps.memories - len(recalled.hits))]
    rank = {(one.hit["source"], one.hit["id"]): one.rank for one in recalled.chosen}
    best = sorted(recalled.hits, key=lambda hit: rank.get((hit["source"], hit["id"]), 0))
    stays = {id(hit) for hit in best[: max(0, call.caps.memories - len(kept))]}
    return [*(hit for hit in recalled.hits if id(hit) in stays), *kept]


def _rank(rows: Sequence[OwnRow], words: Sequence[str], visible: Collection[bytes]) -> list[OwnRow]:
    """Return the rows that are not visible elsewhere, each text once: more of the words first, then the newest."""
    by_text: dict[str, OwnRow] = {}
    ordered = sorted(rows, key=lambda row: (row.at is not None, row.at, row.id), reverse=True)
    for row in sorted(ordered, key=lambda row: -sum(word in (row.folded or "") for word in words)):
        if content_digest(row.text or "") not in visible:
            by_text.setdefault(collapsed(row.text or ""), row)
    return list(by_text.values())


def _hit(call: PromptCall, row: OwnRow) -> Hit:
    source = sources.BY_NUMBER[row.source]
    is_chat = source is sources.CHAT
    who = (row.participant or "").partition("/")[2]
    speaker = known_name(row.name or "", who) if is_chat else name_author(row.name or "", call.message.sender.name, who)
    return text_hits.hit(
        source.name, row.id, row.at, snippet(row.text or "", call.settings.snippet_chars), row.tags, speaker
    )
