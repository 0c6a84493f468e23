"""Fits the weights of the ranking on the labelled conversations.

`python -m tests.bench.fit [--sets ...]`. Every question is searched on SQLite, the reasons of all rows read are kept,
and weights are fitted so that the evidence comes first: a soft-max over the rows of each question, with a small penalty
on large weights. One conversation is left out at a time and judged with the weights of the others. Conversations of
short turns and of long ones give a column of `core.search.ranking.weights` each. It needs numpy. What each reason is
worth tells `python -m tests.bench.recall --ladder`.

What is printed is recall@10, hit@10 and recall within 2,000 characters, in percent.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core import search as searching
from core.audience import view as viewing
from core.audience import view_statement as looking
from core.config import Settings
from core.database import sources
from core.search import choice
from core.search.asked import build_asked
from core.search.ranking import ranking, relevance, scores
from core.search.ranking.rows import Row
from core.search.ranking.weights import WEIGHTS, share_of_long
from tests.bench.conversations import SETS, Imported, before, data_folder, read_set
from tests.bench.minilm import embedding

LIMIT = 20
PENALTY = 0.002
STEPS = 400
NOT_FITTED = {"adversarial"}
"""Questions about the wrong person stand in no overall figure."""


@dataclass(slots=True)
class Found:
    """A row that was read for a question."""

    row: Row
    unit: str
    """What the evidence is compared with: the turn, or its session."""
    chars: int
    at_us: int
    context: bool


@dataclass(slots=True)
class Asked:
    """A question with the rows read for it."""

    conversation: str
    long: float
    evidence: frozenset[str]
    found: list[Found]
    by_meaning: float = 0.0
    """How far meaning stands beside the words."""

    def ordered(self, weights: Mapping[str, float] | None) -> list[Found]:
        """Return the hits, best first, as a search gives them: with the weights of today where none are given."""
        today = scores.weights_by_length([one.row for one in self.found], self.by_meaning)
        for one in self.found:
            relevance.weigh(one.row, weights or today[one.row.long])
        best = sorted(self.found, key=lambda one: (-one.row.score, -one.at_us))
        placed = [best[n] for n in relevance.spaced([one.row for one in best])]
        made = [ranking.Candidate(2, n, 0, context=one.context) for n, one in enumerate(placed)]
        most = max(1, round(relevance.CONTEXT_SHARE * LIMIT))
        return [placed[c.id] for c in ranking.without_many_contexts(made, most)][:LIMIT]

    def judged(self, weights: Mapping[str, float] | None = None) -> tuple[float, float, float]:
        """Return recall@10, hit@10 and recall within 2,000 characters."""
        ordered = self.ordered(weights)
        ten = self.evidence & {one.unit for one in ordered[:10]}
        within: set[str] = set()
        spent = 0
        for one in ordered:
            spent += one.chars
            if spent > 2000:
                break
            within |= self.evidence & {one.unit}
        return len(ten) / len(self.evidence), float(bool(ten)), len(within) / len(self.evidence)


def collect(name: str) -> list[Asked]:
    """Return the questions of a set with the rows read for each and all their reasons."""
    conversations, questions = read_set(data_folder(), name)
    groups: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
    for question in questions:
        if question["category"] not in NOT_FITTED:
            groups.setdefault((question["conversation"], question.get("until")), []).append(question)
    order = {key: len(before(conversations[key[0]], key[1])) for key in groups}
    made: list[Asked] = []
    scores.READ_CLOSELY = 10**6  # every reason of every row, whatever its weight is today
    with tempfile.TemporaryDirectory(prefix="fit-") as folder:
        imported = Imported(f"sqlite:///{folder}/fit.db")
        for key in sorted(groups, key=lambda key: (key[0], order[key])):
            turns = before(conversations[key[0]], key[1])
            imported.show(turns)
            by_id = {str(turn["id"]): turn for turn in turns}
            made += [_asked(imported, by_id, question) for question in groups[key]]
        imported.close()
    return made


def _asked(imported: Imported, by_id: Mapping[str, Mapping[str, Any]], question: Mapping[str, Any]) -> Asked:
    settings = Settings()
    made = Asked(question["conversation"], 0.0, frozenset(question["evidence"]), [])
    query = searching.prepare(query=question["question"], limit=LIMIT, settings=settings)
    if query.is_empty:
        return made
    request = viewing.Request(fragments=query.fragments, tags=query.tags)
    viewer = looking.look(imported.db, imported.scope, request, destination="remote").viewer
    search = searching.resolve(query, viewer, settings)
    gathered = searching.gather(search, imported.db)
    rows, _ = searching.read_rows(search, imported.db, searching.rows_wanted(gathered))
    by_meaning = choice.share_of(gathered.meaning)
    asked = build_asked(search, gathered.question, [row.speaker.name for row in rows.values()], by_meaning)
    pairs, ranked = choice.rank_candidates(search, asked, gathered.gathered, rows, gathered.meaning)
    for candidate, found in pairs:
        said = imported.turn_of(sources.BY_NUMBER[found.source].name, found.id)
        if said is None:
            continue
        turn = by_id[said]
        unit = str(turn["session"] if question.get("level") == "session" else turn["id"])
        row, size = ranked[candidate.source, candidate.id], len(str(turn["text"]))
        made.found.append(Found(row, unit, size, found.at_us, candidate.context))
    made.long, made.by_meaning = share_of_long(asked.mean_turn_words), by_meaning
    return made


def figures(asked: Sequence[Asked], weights: Mapping[str, float] | None = None) -> str:
    """Return the three figures of some questions; with the weights of today where none are given."""
    judged = [one.judged(weights) for one in asked]
    return " / ".join(f"{100 * sum(each) / max(len(judged), 1):.1f}" for each in zip(*judged, strict=True))


def fit(asked: Iterable[Asked]) -> dict[str, float]:
    """Return the weights with which the evidence of these questions comes first."""
    try:
        np: Any = importlib.import_module("numpy")
    except ImportError:
        raise SystemExit("Fitting needs numpy: install it beside the project.") from None
    names = list(WEIGHTS)
    cases = []
    for one in asked:
        gold = np.array([found.unit in one.evidence for found in one.found], bool)
        if gold.any() and not gold.all():
            parts = [relevance.parts(found.row, dict.fromkeys(names, 1.0)) for found in one.found]
            cases.append((np.array([[part.get(name, 0.0) for name in names] for part in parts]), gold))
    weights, first, second = np.zeros(len(names)), np.zeros(len(names)), np.zeros(len(names))
    for step in range(1, STEPS + 1):
        slope = PENALTY * weights
        for values, gold in cases:
            scores = values @ weights
            shares = np.exp(scores - scores.max())
            shares /= shares.sum()
            right = shares * gold
            slope = slope - values.T @ (right / max(right.sum(), 1e-12) - shares) / len(cases)
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        weights = weights - 0.1 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-9)
    return dict(zip(names, (float(weight) for weight in weights), strict=True))


def left_out(asked: Sequence[Asked]) -> str:
    """Return the figures where each conversation is judged with weights fitted on the others."""
    judged: list[tuple[float, float, float]] = []
    for conversation in sorted({one.conversation for one in asked}):
        weights = fit([one for one in asked if one.conversation != conversation])
        judged += [one.judged(weights) for one in asked if one.conversation == conversation]
    return " / ".join(f"{100 * sum(each) / len(judged):.1f}" for each in zip(*judged, strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures of today and the fitted weights of both columns."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fit", description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--meaning", action="store_true", help="with MiniLM as the embedder, see tests.bench.minilm")
    given = parser.parse_args(arguments)
    with embedding(given.meaning):
        sets = {name: collect(name) for name in given.sets}
    for name, asked in sets.items():
        print(f"{name}: {len(asked)} questions, today {figures(asked)}", flush=True)
    for kind, is_long in (("short", False), ("long", True)):
        asked = [one for each in sets.values() for one in each if (one.long > 0.5) is is_long and one.found]
        if asked:
            weights = fit(asked)
            print(f"\n{kind} turns: " + ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items()))
            print(f"fitted {figures(asked, weights)}, each conversation left out {left_out(asked)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
