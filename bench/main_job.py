"""The main job on the labelled conversations: import each whole, build a prompt for every question, look what is in it.

`python -m bench.main_job [--engines sqlite,mariadb,mysql] [--sets ...] [--limits 8000] [--hits 15]`. Each
question is asked as a message of its conversation after the last turn; a question with `until` sees the turns before it
alone.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bench.conversations import SETS, Imported, Turn, before, data_folder, read_set
from bench.figures import Times, load, table
from bench.loading import ENGINES, SQLITE, say
from core import prompt_engine
from core.config import Settings
from core.errors import PromptTooLargeError
from core.text.folding import collapsed
from tests.servers import SERVERS

LIMITS = (2_000, 8_000, 50_000)
WRONG_PERSON = "adversarial"
COMPARED = 200
"""Characters of a turn that must stand in a line of the prompt for it to be that turn."""

FIGURES = (
    "asked",
    "built",
    "over limit",
    "too small a limit",
    "with an error",
    "p50 ms",
    "p95 ms",
    "mean characters",
    "with evidence %",
    "share of evidence %",
    "all evidence %",
    "by the search %",
)


@dataclass
class Outcome:
    """What came of the questions of one set, engine and limit."""

    times: Times = field(default_factory=Times)
    asked: int = 0
    over: int = 0
    refused: int = 0
    """What is never cut was over the limit by itself (P56)."""
    failed: int = 0
    """Prompts whose report names an error."""
    with_evidence: int = 0
    whole: int = 0
    share: float = 0.0
    found_by_search: int = 0
    chars: int = 0

    def take(self, question: Mapping[str, Any], shown: set[str], found: set[str]) -> None:
        """Note which evidence is in a prompt; a unit is a turn, or its session where the set says so."""
        evidence = set(question["evidence"])
        held = evidence & (shown | found)
        self.with_evidence += bool(held)
        self.whole += held == evidence
        self.share += len(held) / len(evidence)
        self.found_by_search += bool(evidence & found)

    def figures(self) -> list[object]:
        """Return the values of FIGURES."""
        built = self.asked - self.refused
        if not built:
            return [self.asked, 0, 0, self.refused, 0, *("-" for _ in FIGURES[5:])]
        parts = (self.with_evidence, self.share, self.whole, self.found_by_search)
        percent = [100 * part / built for part in parts]
        times = (self.times.p50, self.times.p95)
        return [self.asked, built, self.over, self.refused, self.failed, *times, self.chars // built, *percent]


def units(question: Mapping[str, Any], turns: Sequence[Turn], ids: set[str]) -> set[str]:
    """Return what the evidence of a question is compared with: turn ids, or the sessions they are in."""
    if question.get("level") != "session":
        return ids
    return {str(turn["session"]) for turn in turns if turn["id"] in ids}


class Reader:
    """Finds the turns in prompts of one conversation."""

    def __init__(self, turns: Sequence[Turn], imported: Imported) -> None:
        self.imported = imported
        self._starts = [(str(turn["id"]), collapsed(str(turn["text"]))[:COMPARED]) for turn in turns]

    def by_row(self, prompt: Mapping[str, Any]) -> set[str]:
        """Return the turns that are memories of the prompt, known by their row."""
        hits = prompt.get("context", {}).get("memories", ())
        return {turn for hit in hits if (turn := self.imported.turn_of(hit["source"], hit["id"]))}

    def by_text(self, prompt: Mapping[str, Any]) -> set[str]:
        """Return the turns whose text stands in a history line, or that were the wish of one of the saved memories."""
        lists = (prompt.get("context", {}).get(name, ()) for name in ("history_current_chat", "history_recent"))
        lines = "\n".join(collapsed(str(line)) for found in lists for line in found)
        wishes = self.imported.turn_of_wish_text
        told = {wishes[text] for text in prompt.get("context", {}).get("saved_memories", ()) if text in wishes}
        return told | ({name for name, start in self._starts if start and start in lines} if lines else set())


def ask(
    imported: Imported,
    reader: Reader,
    turns: Sequence[Turn],
    question: Mapping[str, Any],
    outcome: Outcome,
    limit: int,
    settings: Settings,
) -> None:
    """Build one prompt and note what came of it."""
    message = imported.message(question["qid"], question["question"])
    outcome.asked += 1
    try:
        prompt, report = outcome.times.run(
            lambda: prompt_engine.explain_json_prompt(
                message, max_chars=limit, db=imported.db, settings=settings, scope=imported.scope
            )
        )
    except PromptTooLargeError:
        outcome.refused += 1
        return
    size = len(prompt_engine.to_json(prompt))
    outcome.chars += size
    outcome.over += size > limit
    outcome.failed += bool(report["errors"])
    outcome.take(
        question, units(question, turns, reader.by_text(prompt)), units(question, turns, reader.by_row(prompt))
    )


def run(imported: Imported, name: str, folder: Any, given: argparse.Namespace) -> dict[int, Outcome]:
    """Return the outcome per limit of one set."""
    conversations, questions = read_set(folder, name)
    if given.answered:
        questions = [question for question in questions if question["category"] != WRONG_PERSON]
    settings = Settings(context_verbosity=given.hits)
    outcomes = {limit: Outcome() for limit in given.limits}
    groups: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
    for question in questions[: given.limit]:
        groups.setdefault((question["conversation"], question.get("until")), []).append(question)
    order = {key: len(before(conversations[key[0]], key[1])) for key in groups}
    for key in sorted(groups, key=lambda key: (key[0], order[key])):
        turns = before(conversations[key[0]], key[1])
        imported.show(turns)
        reader = Reader(turns, imported)
        for question in groups[key]:
            for limit, outcome in outcomes.items():
                ask(imported, reader, turns, question, outcome, limit, settings)
    return outcomes


@contextmanager
def database(engine: str) -> Iterator[str]:
    """Yield the URL of an empty database."""
    if engine == SQLITE:
        with tempfile.TemporaryDirectory(prefix="main-job-") as folder:
            yield f"sqlite:///{folder}/main.db"
        return
    with SERVERS[engine](options={"innodb_buffer_pool_size": "512M"}) as server:
        yield server.create_database("main_job")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line for each set, engine and limit."""
    parser = argparse.ArgumentParser(prog="python -m bench.main_job", description=__doc__)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--limit", type=int, help="the first questions of each set only")
    parser.add_argument("--limits", nargs="+", type=int, default=LIMITS, help="MAX_PROMPT_CHARS")
    parser.add_argument("--hits", type=int, default=Settings().context_verbosity, help="CONTEXT_VERBOSITY")
    parser.add_argument("--answered", action="store_true", help="without the questions about the wrong person")
    given = parser.parse_args(arguments)
    return _measure(given)


def _measure(given: argparse.Namespace) -> int:
    folder = data_folder()
    rows = []
    for engine in given.engines.split(","):
        with database(engine) as url:
            imported = Imported(url)
            for name in given.sets:
                say(f"{engine}: {name}")
                for limit, o in run(imported, name, folder, given).items():
                    rows.append([name, engine, limit, *o.figures()])
            imported.close()
    rows.sort(key=lambda row: (given.sets.index(row[0]), row[2], row[1]))
    print(f"# A prompt for every question, {load()}\n")
    print(table(["set", "engine", "limit", *FIGURES], rows))
    return 0 if not any(row[5] or row[7] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
