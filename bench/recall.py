"""Recall of `search_memories` on the labelled conversations, measured by the harness that lies outside of the project.

`python -m bench.recall [--engines sqlite,mariadb] [--sets ...] [--categories] [--ladder] [--json FILE]`. The
harness `retrieval.py` is looked for in `BENCH_HARNESS`, else in `../shared/bench` beside the checkout. `Sqlite` and
`MariaDB` are retrievers in its sense: a conversation becomes chat history, a question is searched in it with a limit
of 20, and the hits come best first, by the rank that `explain_search` gives. `--ladder` searches the same database
again and again, with one more of the reasons each time.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from bench.conversations import SETS, Imported, Turn, data_folder, load_harness
from core import synth_core_memory
from core.config import Settings
from core.search.ranking.weights import WEIGHTS, Weight
from tests.servers import SERVERS, Server

LIMIT = 20
LADDER = (
    ("words of the row: own, turn, share", ("own", "turn", "share")),
    ("+ person", ("person",)),
    ("+ context, beside", ("context", "beside")),
    ("+ length, first", ("length", "first")),
    ("+ session", ("session",)),
    ("+ days", ("day", "days_after", "month")),
    ("+ time, number", ("time", "number")),
)
"""Reasons that are switched on one after another; `meaning` takes an embedder."""
OWN_WITHOUT_CONTEXT = 6.0
"""Weight of a row's own words among short turns while `context`, which holds them, is off."""
CACHE_ENGINES = ("sqlite", "mariadb")


class Retriever:
    """One conversation in a database; conversations that go on from one `index` to the next are not imported again."""

    engine: ClassVar[str]
    settings: ClassVar[Settings] = Settings()
    _imported: ClassVar[Imported | None] = None
    _server: ClassVar[Server | None] = None
    _folder: ClassVar[Any] = None

    def index(self, turns: Sequence[Turn]) -> None:
        """Have these turns in the database."""
        kind = type(self)
        if kind._imported is None:
            kind._imported = Imported(kind._url())
        kind._imported.show(turns)

    def search(self, question: str, k: int) -> list[str]:
        """Return the ids of at most `k` turns, best first."""
        imported = type(self)._imported
        assert imported is not None
        _, report = synth_core_memory.explain_search(
            query=question, limit=LIMIT, db=imported.db, settings=self.settings, scope=imported.scope
        )
        ranked = sorted(report["hits"], key=lambda hit: hit["rank"])
        turns = (imported.turn_of(hit["source"], hit["id"]) for hit in ranked)
        return list(dict.fromkeys(turn for turn in turns if turn is not None))[:k]

    @classmethod
    def _url(cls) -> str:
        if cls.engine == "sqlite":
            cls._folder = tempfile.TemporaryDirectory(prefix="recall-")
            return f"sqlite:///{cls._folder.name}/recall.db"
        cls._server = SERVERS[cls.engine](options={"innodb_buffer_pool_size": "512M"}).start()
        return cls._server.create_database("recall")

    @classmethod
    def end(cls) -> None:
        """Close what was opened."""
        if cls._imported is not None:
            cls._imported.close()
        if cls._server is not None:
            cls._server.stop()
        if cls._folder is not None:
            cls._folder.cleanup()
        cls._imported = cls._server = cls._folder = None


class Sqlite(Retriever):
    """The search on SQLite."""

    engine = "sqlite"


class MariaDB(Retriever):
    """The search on MariaDB."""

    engine = "mariadb"


class MySQL(Retriever):
    """The search on MySQL."""

    engine = "mysql"


RETRIEVERS: dict[str, type[Retriever]] = {kind.engine: kind for kind in (Sqlite, MariaDB, MySQL)}


def rung(names: set[str]) -> dict[str, Weight]:
    """Return the weights with no other reasons than these."""
    made = {name: weight if name in names else Weight(0.0, 0.0) for name, weight in WEIGHTS.items()}
    if "context" not in names:
        made["own"] = Weight(OWN_WITHOUT_CONTEXT, made["own"].long)
    return made


def ladder(retrieval: ModuleType, folder: Path, sets: Sequence[str], engine: str, limit: int | None) -> None:
    """Print what a search finds with more and more of its reasons, and with all but one."""
    whole, names = dict(WEIGHTS), set[str]()
    steps = [(label, set(names := names | set(more))) for label, more in LADDER]
    steps += [(f"all but {name}", names - {name}) for name in sorted(names)]
    for name in sets:
        print(f"\n### {name}\n\n{retrieval.head(engine)}", flush=True)
        for label, chosen in steps:
            try:
                WEIGHTS.update(rung(chosen))
                result = retrieval.run(RETRIEVERS[engine], folder, name, limit)
            finally:
                WEIGHTS.update(whole)
            print(retrieval.line(label, result["overall"]), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table for each data set, one line an engine."""
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description=__doc__)
    parser.add_argument("--engines", default=",".join(CACHE_ENGINES), help="of " + ", ".join(RETRIEVERS))
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--limit", type=int, help="the first questions of each set only")
    parser.add_argument("--categories", action="store_true", help="also a table by kind of question")
    parser.add_argument("--ladder", action="store_true", help="what each reason is worth, on the first engine")
    parser.add_argument("--json", type=Path, help="write figures and the ids found here")
    given = parser.parse_args(arguments)
    return _measure(given)


def _measure(given: argparse.Namespace) -> int:
    retrieval, folder = load_harness("retrieval"), data_folder()
    engines = [name.strip() for name in given.engines.split(",")]
    results: list[dict[str, Any]] = []
    try:
        if given.ladder:
            ladder(retrieval, folder, given.sets, engines[0], given.limit)
            return 0
        for name in given.sets:
            print(f"\n### {name}\n\n{retrieval.head('search_memories on')}", flush=True)
            for engine in engines:
                result = retrieval.run(RETRIEVERS[engine], folder, name, given.limit)
                results.append(result | {"retriever": engine})
                print(retrieval.line(engine, result["overall"]), flush=True)
            for result in results[-len(engines) :] if given.categories else ():
                print(f"\n{retrieval.head(result['retriever'])}")
                for category, summed in result["categories"].items():
                    print(retrieval.line(category, summed))
            _compare(results[-len(engines) :])
    finally:
        for kind in RETRIEVERS.values():
            kind.end()
    if given.json:
        given.json.write_text(json.dumps(results), encoding="utf-8")
    return 0


def _compare(results: Sequence[dict[str, Any]]) -> None:
    """Tell where the engines do not find the same."""
    first, *others = results
    for other in others:
        pairs = zip(first["rows"], other["rows"], strict=True)
        unlike = [a["qid"] for a, b in pairs if a["ids"] != b["ids"]]
        if unlike:
            names = f"{first['retriever']} and {other['retriever']}"
            print(f"\n{names} answer {len(unlike)} questions differently, such as {', '.join(unlike[:3])}")


if __name__ == "__main__":
    sys.exit(main())
