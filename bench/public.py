"""`python -m bench.public DATA`: measures that others defined, over data that others publish, and BM25 beside them.

DATA is a folder with the files that `bench.public_data` lists; what is not there is said and left out. Everything runs
on SQLite without an embedder, with default settings. The figures hold no times, so the same files give the same table
on every machine. `--json FILE` names where the figures are written, `public.json` by default; `--limit N` measures the
first N questions of each file alone.

All figures are means over the questions, in percent:

- recall: share of a question's evidence among the first k hits of one search for 50. LoCoMo's is over all its
  questions, by its own rule: a question without evidence counts as found.
- sessions: the measure of `opsem`: Hit@1 and nDCG@5 of the sessions with the evidence. A session comes where its best
  turn comes; BM25 ranks the texts of whole sessions. Questions without evidence are left out.
- evidence in the prompt: share of the evidence that stands in a finished prompt of so many tokens, four characters
  each. Questions about the wrong person are left out.
- lists and counts: what a prompt of 8,000 tokens holds for TimelineQA's questions: the share of the episodes, and of
  the answers: a list's items, an episode's answer; a count is answered where every counted episode is there.
- ranking: Hit@1, a relevant document is first; nDCG@5, the gain of the first five, discounted by log2(rank + 1),
  compared with that of the best order.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bench import public_data
from bench.baselines import BM25, count_tokens, fill_prompt
from bench.conversations import ASSISTANT, Imported, Turn
from bench.figures import table
from bench.loading import say
from bench.public_data import WRONG_PERSON, Conversation, Question
from bench.retrievers import Documents
from core import prompt_engine, synth_core_memory
from core.config import Settings
from core.database.engine import Database
from core.errors import PromptTooLargeError

DEPTHS = (5, 10, 25, 50)
LIMITS = (500, 1_000, 2_000, 4_000, 8_000)
ENGINE, BASELINE, NEWEST = "prompt-engine", "BM25", "newest first"
SETTINGS = Settings()
_NO_LIMIT = 10_000_000
_RUN, _RUNS_ENOUGH = 4, 30
"""Words of one run; so many runs of a long turn in a prompt show the turn."""

Samples = dict[tuple[str, ...], list[list[float]]]
"""Rows of a table by their key, each with the values of every question."""


class Shown:
    """Tells which turns stand in a prompt: by half of their runs of four words, by 30 of them where they are long."""

    def __init__(self, prompt: str) -> None:
        self._words = " ".join(_split_words(prompt))
        self._runs = set(_list_runs(self._words.split()))

    def holds(self, text: str) -> bool:
        """Return whether a turn stands in the prompt; a short one has to stand there whole."""
        words = _split_words(text)
        if len(words) < 2 * _RUN:
            return bool(words) and f" {' '.join(words)} " in f" {self._words} "
        runs = list(dict.fromkeys(_list_runs(words)))
        return sum(run in self._runs for run in runs) >= min(len(runs) / 2, _RUNS_ENOUGH)


def _split_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _list_runs(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(_RUN)), strict=False)


class Asked:
    """One conversation in the engine and in the baselines."""

    def __init__(self, imported: Imported, conversation: Conversation) -> None:
        imported.show(conversation.turns)
        if ASSISTANT not in imported.speakers and len(imported.speakers) == 1:
            imported.speakers.append(ASSISTANT)  # who speaks alone is the one who asks
        self.imported, self.conversation = imported, conversation
        self.turns = {str(turn["id"]): turn for turn in conversation.turns}
        self._ids = list(self.turns)
        self._lines = {each: _write_line(turn) for each, turn in self.turns.items()}
        said = [f"{turn['speaker']}: {turn['text']}" for turn in self.turns.values()]
        self._bm25 = BM25(said)
        self._sessions: dict[str, list[str]] = {}
        for turn, text in zip(self.turns.values(), said, strict=True):
            self._sessions.setdefault(str(turn["session"]), []).append(text)
        self._session_bm25 = BM25(["\n".join(texts) for texts in self._sessions.values()])

    def rank(self, method: str, question: Question) -> list[str]:
        """Return the ids of turns, best first."""
        if method == NEWEST:
            return self._ids[::-1]
        if method == BASELINE:
            return [self._ids[place] for place in self._bm25.rank(question.text)]
        imported = self.imported
        _, report = synth_core_memory.explain_search(
            query=question.text, limit=DEPTHS[-1], db=imported.db, settings=SETTINGS, scope=imported.scope
        )
        ranked = sorted(report["hits"], key=lambda hit: hit["rank"])
        turns = (imported.turn_of(hit["source"], hit["id"]) for hit in ranked)
        return list(dict.fromkeys(turn for turn in turns if turn is not None))

    def rank_sessions(self, method: str, question: Question) -> list[str]:
        """Return the sessions, best first."""
        if method == BASELINE:
            sessions = list(self._sessions)
            return [sessions[place] for place in self._session_bm25.rank(question.text)]
        return list(dict.fromkeys(str(self.turns[each]["session"]) for each in self.rank(method, question)))

    def find_sessions(self, question: Question) -> set[str]:
        """Return the sessions that hold a question's evidence."""
        if question.by_session:
            return self._sessions.keys() & set(question.evidence)
        return {str(self.turns[each]["session"]) for each in question.evidence if each in self.turns}

    def build(self, method: str, question: Question, limit: int) -> str:
        """Return a prompt of at most `limit` tokens; a baseline's has no instructions and more room."""
        if method != ENGINE:
            lines = (self._lines[each] for each in self.rank(method, question))
            return fill_prompt(lines, limit - count_tokens(question.text))
        imported = self.imported
        message = imported.message("1", question.text)
        try:
            messages = prompt_engine.build_messages(
                message,
                max_chars=_NO_LIMIT,
                limit_tokens=limit,
                counter=count_tokens,
                db=imported.db,
                settings=SETTINGS,
                scope=imported.scope,
            )
        except PromptTooLargeError:
            return ""
        return "\n".join(each["content"] for each in messages)

    def find_shown(self, prompt: str, question: Question) -> set[str]:
        """Return which of a question's evidence stands in a prompt."""
        wanted = set(question.evidence)
        shown, found = Shown(prompt), set[str]()
        for each, turn in self.turns.items():
            unit = str(turn["session"]) if question.by_session else each
            if unit in wanted and unit not in found and shown.holds(turn["text"]):
                found.add(unit)
        return found


def _write_line(turn: Turn) -> str:
    at = datetime.fromisoformat(turn["timestamp"])
    return f"[{at:%Y-%m-%d %H:%M}] {turn['speaker']}: {turn['text']}"


def measure_recall(asked: Asked, name: str, samples: Samples, *, is_locomo: bool) -> None:
    """Add the recall at each depth of every question."""
    for question in asked.conversation.questions:
        for method in (ENGINE, BASELINE):
            ranked, values = asked.rank(method, question), []
            for depth in DEPTHS:
                units = asked.conversation.list_units(ranked[:depth], question)
                found = sum(each in units for each in question.evidence)
                values.append(found / len(question.evidence) if question.evidence else 1.0)
            kinds = ("all", question.kind) if is_locomo else ("all",)
            for kind in kinds:
                samples.setdefault((name, kind, method), []).append(values)


def measure_sessions(asked: Asked, name: str, samples: Samples) -> None:
    """Add Hit@1 and nDCG@5 of the sessions with each question's evidence."""
    for question in asked.conversation.questions:
        relevant = dict.fromkeys(asked.find_sessions(question), 1.0)
        for method in (ENGINE, BASELINE) if relevant else ():
            values = score_ranking(asked.rank_sessions(method, question), relevant)
            samples.setdefault((name, method), []).append(values)


def measure_prompts(asked: Asked, name: str, samples: Samples) -> None:
    """Add the share of the evidence in prompts of each size, for questions about what was said."""
    sessions = {str(turn["session"]) for turn in asked.conversation.turns}
    for question in asked.conversation.questions:
        known = sessions if question.by_session else asked.turns.keys()
        evidence = set(question.evidence) & known
        if not evidence or question.kind in WRONG_PERSON:
            continue
        for method in (ENGINE, BASELINE, NEWEST):
            values = []
            for limit in LIMITS:
                prompt = asked.build(method, question, limit)
                values.append(len(asked.find_shown(prompt, question)) / len(evidence))
            samples.setdefault((name, method), []).append(values)


def measure_timeline(asked: Asked, samples: Samples) -> None:
    """Add what prompts of the largest size hold of TimelineQA's answers and of the episodes behind them."""
    for question in asked.conversation.questions:
        if question.kind == "other":
            continue
        for method in (ENGINE, BASELINE, NEWEST):
            prompt = asked.build(method, question, LIMITS[-1])
            shown = len(asked.find_shown(prompt, question)) / len(question.evidence)
            words = f" {' '.join(_split_words(prompt))} "
            named = [f" {' '.join(_split_words(each))} " in words for each in question.answer]
            answered = float(shown == 1) if question.kind == "count" else sum(named) / len(named)
            samples.setdefault((question.kind, method), []).append([shown, answered])


def measure_rankings(path: Path, limit: int | None, db: Database, samples: Samples) -> None:
    """Add Hit@1 and nDCG@5 of every question of a file."""
    name = path.name.removesuffix(".ranking.jsonl")
    left = limit
    for number, ranking in enumerate(public_data.read_rankings(path)):
        queries = ranking.queries[:left]
        if not queries:
            break
        left = None if left is None else left - len(queries)
        documents = Documents(((str(n), text) for n, text in enumerate(ranking.texts)), db, f"{name}-{number}")
        bm25 = BM25(ranking.texts)
        for text, relevant in queries:
            for method in (ENGINE, BASELINE):
                ranked = bm25.rank(text) if method == BASELINE else [int(each) for each in documents.rank(text, 5)]
                samples.setdefault((name, method), []).append(score_ranking(ranked, relevant))


def score_ranking(ranked: Sequence[Any], relevant: Mapping[Any, float]) -> list[float]:
    """Return Hit@1 and nDCG@5 of a ranking, best first."""
    gains = [relevant.get(each, 0.0) for each in ranked[:5]]
    best = _discount(sorted(relevant.values(), reverse=True)[:5])
    return [float(bool(gains and gains[0] > 0)), _discount(gains) / best if best else 0.0]


def _discount(gains: Iterable[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def list_sets(folder: Path) -> tuple[dict[str, list[Path]], list[str]]:
    """Return the files of each measured set, and sentences about what is not there."""
    wanted = {
        "LoCoMo": ("locomo10.json", [folder / "locomo10.json"]),
        "BEAM": ("BEAM/chats/SIZE/N/chat.json", sorted(folder.glob("BEAM/chats/*/"))),
        "TimelineQA": ("timelineqa/db-NAME.json", sorted(folder.glob("timelineqa/db-*.json"))),
        "ranking": ("NAME.ranking.jsonl", sorted(folder.glob("*.ranking.jsonl"))),
        "conversations of your own": ("NAME.corpus.jsonl.gz", sorted(folder.glob("*.corpus.jsonl.gz"))),
    }
    sets = {name: [path for path in paths if path.exists()] for name, (_, paths) in wanted.items()}
    return sets, [f"{name} is left out: DATA has no {file}" for name, (file, _) in wanted.items() if not sets[name]]


def measure(folder: Path, limit: int | None = None) -> dict[str, Any]:
    """Return the figures of everything in a folder, and of which files they are."""
    sets, missing = list_sets(folder)
    for sentence in missing:
        say(sentence)
    recall, sessions, curve, timeline, rankings = Samples(), Samples(), Samples(), Samples(), Samples()
    imported = Imported("sqlite://", SETTINGS)
    for name, conversations in _read_conversations(folder, sets):
        for conversation in _take(conversations, limit):
            say(f"{name}: {conversation.turns[0]['conversation']}, {len(conversation.questions)} questions")
            asked = Asked(imported, conversation)
            if name == "TimelineQA":
                measure_timeline(asked, timeline)
                continue
            measure_recall(asked, name, recall, is_locomo=name == "LoCoMo")
            measure_sessions(asked, name, sessions)
            measure_prompts(asked, name, curve)
    for path in sets["ranking"]:
        say(f"ranking: {path.name}")
        measure_rankings(path, limit, imported.db, rankings)
    imported.close()
    return {
        "missing": missing,
        "files": {path.relative_to(folder).as_posix(): _hash(path) for paths in sets.values() for path in paths},
        "questions of each file": limit or "all",
        "recall": _summarize(("set", "questions about", "method"), [f"recall@{k}" for k in DEPTHS], recall),
        "sessions": _summarize(("set", "method"), ["Hit@1", "nDCG@5"], sessions),
        "evidence in the prompt": _summarize(("set", "method"), [f"{k:,} tokens" for k in LIMITS], curve),
        "lists and counts": _summarize(("TimelineQA", "method"), ["episodes", "answers"], timeline),
        "ranking": _summarize(("set", "method"), ["Hit@1", "nDCG@5"], rankings),
    }


def _read_conversations(
    folder: Path, sets: Mapping[str, Sequence[Path]]
) -> Iterator[tuple[str, Iterable[Conversation]]]:
    for path in sets["LoCoMo"]:
        yield "LoCoMo", public_data.read_locomo(path)
    for path in sets["BEAM"]:
        yield f"BEAM {path.name}", public_data.read_beam(path)
    for path in sets["conversations of your own"]:
        name = path.name.removesuffix(".corpus.jsonl.gz")
        yield name, public_data.read_prepared(folder, name)
    for path in sets["TimelineQA"]:
        yield "TimelineQA", [public_data.read_timeline(path)]


def _take(conversations: Iterable[Conversation], limit: int | None) -> Iterator[Conversation]:
    left = limit
    for conversation in conversations:
        questions = conversation.questions[:left]
        if questions:
            yield Conversation(conversation.turns, questions)
        left = None if left is None else left - len(questions)


def _summarize(key: Sequence[str], columns: Sequence[str], samples: Samples) -> list[dict[str, Any]]:
    """Return a row for each key with the number of questions and the means in percent."""
    rows, groups = [], list(dict.fromkeys(names[:-1] for names in samples))
    for names, values in sorted(samples.items(), key=lambda item: groups.index(item[0][:-1])):
        means = [round(100 * math.fsum(column) / len(column), 1) for column in zip(*values, strict=True)]
        rows.append(
            dict(zip(key, names, strict=True)) | {"questions": len(values)} | dict(zip(columns, means, strict=True))
        )
    return rows


def _hash(path: Path) -> str:
    """Return the SHA-256 of a file, or of all JSON files of a folder by their names."""
    digest = hashlib.sha256()
    for each in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
        digest.update(each.relative_to(path.parent).as_posix().encode() + each.read_bytes())
    return digest.hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables, write the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.public", description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of the data")
    parser.add_argument("--json", type=Path, default=Path("public.json"), help="where the figures are written")
    parser.add_argument("--limit", type=int, help="the first questions of each file only")
    given = parser.parse_args(arguments)
    if not given.data.is_dir():
        parser.error(f"{given.data} is no folder. Give the folder that holds the data: {public_data.__doc__}")
    figures = measure(given.data, given.limit)
    for name, rows in figures.items():
        if isinstance(rows, list) and rows and isinstance(rows[0], dict):
            cells = [[f"{v:.1f}" if isinstance(v, float) else v for v in row.values()] for row in rows]
            print(f"\n### {name}, in percent\n\n{table(list(rows[0]), cells)}")
    print("\n" + "\n".join(figures["missing"] or ["nothing is missing"]))
    given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
