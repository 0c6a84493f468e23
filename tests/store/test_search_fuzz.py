"""T24: whatever index stands in front, a search finds what the plain predicates and an oracle in Python find."""

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from core import search as searching
from core.config import Settings
from core.database.engine import Database
from core.database.sources import AI_DIARY, MEMORIES
from core.index import indexed
from core.privacy import table_marks as conversation_marks
from core.scope import Scope
from core.search import plain as plain_rows
from core.tags.rules import normal
from tests.store import search_world
from tests.store.search_world import RECENCY, ago, all_rows, find, find_plainly, matching, places, said, tier, viewer_of
from tests.store.world import NOW, own_scope, remove_items

SEEDS = range(int(os.environ.get("FUZZ_SEEDS", "1")))
QUERIES = int(os.environ.get("FUZZ_QUERIES", "25"))

WORDS = [
    "tofu", "Tofu", "cat", "category", "bobcat", "cats", "café", "cafe", "Straße", "strasse", "STRASSE", "ﬁn", "fin",
    "数学の宿題は", "宿題", "数学", "猫", "黒猫がいる", "ตั้งแต่", "สวัสดีครับ", "가나다", "한국어를",
    "👩‍👩‍👧", "👩", "❤️", "❤", "100%", "1000",
    "a_b", "axb", "_under_", "__", "%", "_", "!", "!!", "50!%", "O'B", "\\", "\\n", '"said"', "{brace}", "%s", ":x",
    "é", "e\u0301", "a\u0301\u0302", "٣٤", "Ⅷ", "x" * 170, "y" * 150 + "é" * 40, "İstanbul", "I", "e", "pizza night",
    "pizza", "night", "new\tyork", "new york", "new\nyork", "\u202eabc", "don't", "don’t", "a-b", "3.14", "\u3000",
    "ｶﾞ", "ガ", "ﬀ", "ǅ", "\u0130", "𝔘nicode", "z\u200dz",
]  # fmt: skip
GLUE = [" ", "  ", ", ", "\n", "", " - ", "\u3000", ". "]
TAGS = ["food", "Food", "cat", "pizza night", "宿題", "café", 'say "hi"', "back\\slash", "50%", "a_b", "'", "[]", "{}",
        '["cat"]', "null", "1", "👩‍👩‍👧", "  spaced   out  "]  # fmt: skip


@pytest.fixture(scope="module")
def queries(engine_name: str) -> int:
    """How many searches are compared; fewer on the server that takes four times as long for each."""
    return QUERIES // 3 if engine_name == "seekdb" and "FUZZ_QUERIES" not in os.environ else QUERIES


@dataclass
class World:
    """Rows of one persona in several audiences, and who looks at them."""

    db: Database
    rng: random.Random
    persona: str = ""
    views: list[Scope] = field(default_factory=list)
    conversations: list[str] = field(default_factory=list)

    def text(self) -> str:
        rng = self.rng
        if rng.random() < 0.004:
            return " ".join([*[f"w{n}" for n in range(5100)], rng.choice(WORDS), "beyond" + rng.choice(WORDS)])
        count = rng.choice((1, 1, 2, 3, 5, 8, 13))
        return "".join(rng.choice(WORDS) + rng.choice(GLUE) for _ in range(count)) or "tofu"

    def at(self) -> datetime:
        return ago(minutes=self.rng.randrange(90), microseconds=self.rng.choice((0, 0, 1, 999)))

    def tags(self) -> list[str]:
        return self.rng.sample(TAGS, self.rng.choice((0, 0, 1, 1, 2, 4)))

    def fill(self) -> None:
        base = own_scope()
        self.persona = base.persona
        places_ = [
            base,
            replace(base, conversation="tg/1", participant="tg/7"),
            replace(base, conversation="tg/2", participant="tg/8", privacy="direct"),
            replace(base, conversation="dc/3", participant="dc/9", server="s1", privacy="public"),
            replace(base, conversation="dc/4", participant="dc/9", server="s1", privacy="restricted"),
        ]
        self.views = [*places_, replace(base, server="s1"), replace(places_[1], destination="local")]
        self.conversations = ["tg/1", "tg/2", "dc/3", "dc/4", "tg/none"]
        for place in places_:
            self.fill_place(place)

    def fill_place(self, place: Scope) -> None:
        rng, db = self.rng, self.db
        items: list[dict[str, Any]] = []
        for _ in range(rng.choice((5, 40, 120))):
            more: dict[str, Any] = {}
            if rng.random() < 0.15:
                more["expires_at"] = NOW + timedelta(minutes=rng.choice((-5, 0, 5)))
                more["tier"] = rng.choice(("session", "session", "long_term"))
            more |= {"local_only": rng.random() < 0.1}
            items.append({"content": self.text() or "x", "timestamp": self.at(), "tags": self.tags(), **more})
        search_world.remember(db, place, *(item for item in items if item["content"].strip()))
        for _ in range(rng.choice((2, 6))):
            names = ("personal_thought", "interaction_summary", "user_message")
            fields: dict[str, Any] = {name: rng.choice(("", self.text())) for name in names}
            fields["context_tags"] = tuple(sorted(filter(None, map(normal, self.tags()))))
            search_world.entered(db, place, rng.choice(("tofu", self.text())), self.at(), **fields)
        if place.conversation:
            texts = [(self.text(), self.at()) for _ in range(rng.choice((10, 80, 200)))]
            said(db, place, texts, place.conversation)

    def disturb(self) -> None:
        rng, db = self.rng, self.db
        rows = all_rows(db, self.persona)
        chats = [r for r in rows if r.source == "chat_history"]
        audiences = list(dict.fromkeys(r.audience for r in rows))
        for row in rng.sample(chats, min(12, len(chats))):
            search_world.edited(db, self.views[0], row.id, self.text() or "x", [row.audience])
        items = [r for r in rows if r.source == "memories"]
        remove_items(db, self.persona, [r.id for r in rng.sample(items, min(8, len(items)))])
        moved = [r.id for r in rng.sample(items, min(8, len(items)))]
        target = rng.choice(audiences)
        archived = [r.id for r in rng.sample(items, min(8, len(items)))]
        entries = [r.id for r in rows if r.source == "ai_diary" and rng.random() < 0.1]

        def work(connection: Any) -> None:
            indexed.set_columns(connection, db, MEMORIES, self.persona, moved, audience_id=target)
            indexed.set_columns(connection, db, MEMORIES, self.persona, archived, archived_at=NOW)
            indexed.set_columns(connection, db, AI_DIARY, self.persona, entries, archived_at=NOW)

        db.transaction(work, source="memories")
        if rng.random() < 0.3:
            conversation_marks.set_privacy(db, self.views[0], "tg/1", rng.choice(("restricted", "public")))

    def query(self) -> dict[str, Any]:
        rng, rows = self.rng, self.samples
        words = [self.keyword(rows) for _ in range(rng.choice((0, 1, 1, 2, 3, 6, 20)))]
        made: dict[str, Any] = {"keywords": words, "limit": rng.choice((1, 3, 5, 17, 40, 60))}
        made["tags"] = rng.sample(TAGS, rng.choice((0, 0, 1, 2, 3)))
        if rng.random() < 0.2:
            made["tags"].append(self.keyword(rows))
            made["keywords"].append(made["tags"][-1])
        made["include_chat"] = rng.random() < 0.8
        if rng.random() < 0.3:
            made["since"] = ago(minutes=rng.randrange(90))
        if rng.random() < 0.3:
            made["until"] = ago(minutes=rng.randrange(60))
        if rng.random() < 0.4:
            chosen = [(r.source, r.id) for r in rng.sample(rows, min(len(rows), rng.choice((1, 5, 30))))]
            made["exclude"] = [*chosen, *rng.sample(self.conversations, rng.choice((0, 1, 2)))]
        return made

    def keyword(self, rows: Sequence[Any]) -> str:
        rng = self.rng
        if rng.random() < 0.5:
            return rng.choice(WORDS)
        text = rng.choice(rows).text
        start = rng.randrange(len(text))
        return text[start : start + rng.choice((1, 2, 3, 5, 8, 20))]

    def __post_init__(self) -> None:
        self.fill()
        self.disturb()
        self.samples = [r for r in all_rows(self.db, self.persona) if len(r.text) < 2000]


@pytest.mark.slow
@pytest.mark.dialects
@pytest.mark.parametrize("seed", SEEDS)
def test_t24_recency_mode_gives_what_the_plain_predicates_and_the_oracle_give(
    db: Database, queries: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(db, random.Random(seed))
    rows = all_rows(db, world.persona)
    settings = (search_world.DEFAULTS, Settings(private_stays_private=False))
    for number in range(queries):
        arguments = world.query()
        scope, known = world.rng.choice(world.views), world.rng.choice(settings)
        monkeypatch.setattr(plain_rows, "MOST_WORDS", (2, 400)[number % 2])
        monkeypatch.setattr(plain_rows, "AT_ONCE", (3, 40, 256)[number % 3])
        query = searching.prepare(searching.SearchRequest(**arguments, ranking=RECENCY), known)
        if query.is_empty:
            continue
        wanted = search_world.by_recency(matching(rows, query, viewer_of(db, scope, known)), query)
        found = find(db, scope, settings=known, ranking=RECENCY, **arguments)
        plain = find_plainly(db, scope, known, ranking=RECENCY, **arguments)
        told = (seed, number, scope, arguments)
        assert places(plain) == wanted, told
        assert places(found) == wanted, told


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_t24_relevance_mode_gives_matching_rows_and_as_many_as_there_are(db: Database, queries: int, seed: int) -> None:
    """Which rows are best may be argued about; that they match, and that none is missing below the limit, may not."""
    world = World(db, random.Random(1000 + seed))
    rows = all_rows(db, world.persona)
    for number in range(queries):
        arguments, scope = world.query(), world.rng.choice(world.views)
        query = searching.prepare(searching.SearchRequest(**arguments), search_world.DEFAULTS)
        if query.is_empty:
            continue
        viewer = viewer_of(db, scope)
        wanted = matching(rows, query, viewer)
        told = (seed, number, scope, arguments)
        for look, plain in ((find, False), (find_plainly, True)):
            found, expected = look(db, scope, **arguments), matching(rows, query, viewer, plain=plain)
            assert set(places(found)) <= {(r.source, r.id) for r in expected}, told
            assert len(found) == min(query.limit, len(search_world.distinct(expected))), told
        report = search_world.explain(db, scope, **arguments)[1]
        loose = not any(tier(r, query.tags, query.keywords, ranked=True) for r in wanted)
        tiers = {(r.source, r.id): tier(r, query.tags, query.keywords, ranked=True, loose=loose) for r in wanted}
        long = {(r.source, r.id) for r in rows if len(r.folded) > 4000}
        for one in report["hits"]:
            place = one["source"], one["id"]
            assert one["tags"] or one["words"] or place in long, told
            assert one["tier"] == tiers[place] or place in long, told
