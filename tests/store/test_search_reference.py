"""What a message finds is what scoring every row by itself finds (T27), on tables of random talk."""

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from core import search as searching
from core.database.engine import Database
from core.messages import new_message as messages
from core.messages import table_batches as chat_batches
from core.scope import Scope
from core.search import match, rank
from core.search.ranking import ranking as all_rows
from tests.store import search_reference as reference
from tests.store.search_world import DEFAULTS, ago, viewer_of
from tests.store.test_search_packed import pack

WORDS = [f"word{n}" for n in range(15)]
PEOPLE = {"tg/1": "Ada Lovelace", "tg/2": "Ben", "tg/3": "Clara"}
ASKED = (
    "What did we say about {0} and {1}?", "What did Ada say about {0}?", "Did I like {0}, {1} or {2}?",
    "What do you think of {0} and {1}?", "What happened with {0} two weeks ago?",
    "What did I say two days ago about {0}?", "What happened with {0} last month?", "{0} {1} {2}",
)  # fmt: skip


def talk(db: Database, scope: Scope, rng: random.Random, rows: int) -> None:
    """Store random talk: short and long turns, in bursts and alone, of people and of the persona."""
    for conversation, size in (("tg/a", rows // 2), ("tg/b", rows // 3), ("tg/c", rows - rows // 2 - rows // 3)):
        at, made = ago(days=60), []
        for n in range(size):
            at += timedelta(seconds=rng.choice((20, 40, 90, 400, 9_000, 90_000)), microseconds=rng.randrange(10**6))
            participant = rng.choice((*PEOPLE, None))
            length = rng.choice((2, 4, 9, 30)) if conversation != "tg/c" else rng.choice((40, 90, 150))
            own = " ".join(f"own{rng.randrange(400)}" for _ in range(length))
            text = " ".join([*rng.choices(WORDS, k=1 + length // 4), own])
            who: dict[str, Any] = {"role": "persona"}
            if participant:
                who = {"sender_id": participant, "sender_name": PEOPLE[participant], "participant": participant}
            message = messages.NewMessage(conversation, text, min(at, ago(minutes=size - n)), message_id=f"m{n}", **who)
            made.append(message)
        chat_batches.insert_messages(db, replace(scope, conversation=conversation), made, privacy_default="none")


@pytest.mark.parametrize("rows", [40, 1100])
def test_t27_a_message_finds_what_scoring_every_row_finds(db: Database, scope: Scope, rows: int) -> None:
    rng = random.Random(rows)
    talk(db, scope, rng, rows)
    pack(db, scope)
    assert (reference.LEADING, reference.REACH, reference.BEST) == (all_rows.LEADING, all_rows.REACH, rank.BEST)
    lines, matched = reference.read_lines(db, scope.persona), 0
    for text in ASKED:
        asker = replace(scope, conversation=rng.choice(("tg/a", "tg/d")), participant="tg/1")
        request = searching.SearchRequest(query=text.format(*rng.choices(WORDS, k=3)), limit=10)
        query = searching.prepare(request, DEFAULTS)
        search = searching.build_search(query, viewer_of(db, asker), DEFAULTS, db)
        question = rank.limit_question(search, rank.question_of(search, db.clock()))
        spans = {"every": True, "question": question} if question.is_limited else {}
        asked, ranking = rank.rank_best(rank.Round(search, question), match.match(search, (), **spans))
        wanted = reference.rank(lines, search, asked, rank.CONTEXT_REACH if asked.has_answers else 0)
        around_best = ranking.around
        given = all_rows.build_candidates(ranking.seen, around_best, ranking.best) if around_best else []
        assert len(given) == len(wanted) and (wanted or question.spans), query.text
        scores = {line.id: line.score for line in wanted}
        for row, line in zip(given, wanted, strict=True):
            # Arrays count with 7 digits: rows of one score may change places, and the last one with its like.
            assert row.score == pytest.approx(line.score, abs=2e-4), query.text
            assert scores.get(row.id, wanted[-1].score) == pytest.approx(row.score, abs=2e-4), query.text
        matched = max(matched, sum(ranking.considered.values()))
    assert matched > reference.LEADING or rows < 1000
