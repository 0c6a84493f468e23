"""`python -m tests.bench.lifelong_job`: a real conversation, session by session, into memory that lasts.

After each session the stream ends: consolidation, clean-up, deep consolidation on every fifth. Once without a model
(sentences kept as said), once with a scripted model that answers from the messages it is given. Shows what long-term
memory holds in the end, what was archived and why, and that a cycle more changes nothing.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import func, select

from core import lifelong
from core.config import Settings
from core.database import schema
from core.database.engine import Database
from core.lifelong import table_counts
from core.prompt_engine import build_json_prompt
from core.text.sizes import size
from tests.bench.conversations import Imported, Turn, data_folder, read_set
from tests.bench.figures import load, table
from tests.bench.loading import say
from tests.servers import SERVERS

SHOWN = 5
FEELINGS = {"love": 0.8, "happy": 0.7, "excited": 0.6, "sad": -0.6, "scared": -0.5, "worried": -0.4}
_ABOUT = re.compile(r"\b(?:I|my|we)\b[^.!?]{20,}[.!?]", re.IGNORECASE)
_LINE = re.compile(r"^\{.*\}$", re.MULTILINE)


def main() -> int:
    """Read the command line; return 1 where a second cycle changed something."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.lifelong_job", description=__doc__)
    parser.add_argument("--engine", default="mariadb", choices=sorted(SERVERS))
    parser.add_argument("--set", default="locomo.dev")
    parser.add_argument("--conversation", type=int, default=0, help="which one of the set")
    parser.add_argument("--prune-mode", default="any", choices=("any", "all"))
    given = parser.parse_args()
    turns, questions = read_set(data_folder(), given.set)
    name = list(turns)[given.conversation]
    asked = next(q["question"] for q in questions if q["conversation"] == name)
    print(f"# {name} of {given.set} on {given.engine}, PRUNE_MODE {given.prune_mode}; {load()}")
    idle = True
    with SERVERS[given.engine]() as server:
        for number, model in enumerate((None, scripted)):
            url = server.create_database(f"lifelong_{number}")
            idle &= _live(url, turns[name], asked, model, Settings(prune_mode=given.prune_mode))
    return 0 if idle else 1


def scripted(messages: Sequence[Mapping[str, str]]) -> str:
    """Answer as a model would, from nothing but the lines it is given: what people say of themselves, and feelings."""
    lines = [json.loads(line) for line in _LINE.findall(messages[-1]["content"])]
    lines = [line for line in lines if "text" in line]
    about = [f"{line['from']}: {found[0].strip()}" for line in lines if (found := _ABOUT.findall(line["text"]))]
    felt = Counter(word for line in lines for word in FEELINGS if word in line["text"].lower())
    longest = sorted((line["text"] for line in lines), key=len, reverse=True)[:2]
    return json.dumps(
        {
            "facts_about_user": about[:6],
            "past_events": [text for text in about if re.search(r"\b(?:went|was|had|did)\b", text)][:3],
            "objectives": [{"text": text, "temporary": True} for text in about if "going to" in text][:2],
            "emotions": [{"name": word, "score": FEELINGS[word]} for word, _ in felt.most_common(2)],
            "key_facts": [{"text": text, "importance": 0.8, "tags": ["key"]} for text in longest],
        }
    )


def _live(url: str, turns: Sequence[Turn], asked: str, model: Any, settings: Settings) -> bool:
    """Play the conversation; return whether a cycle more changed nothing."""
    imported = Imported(url)
    print(f"\n## {'With a scripted model' if model else 'Without a model'}\n")
    rows, seconds = [], 0.0
    said: list[Turn] = []
    for session, group in itertools.groupby(turns, key=lambda turn: turn["session"]):
        said.extend(group)
        imported.show(said)
        call: dict[str, Any] = {"db": imported.db, "settings": settings, "scope": imported.scope}
        began = time.perf_counter()
        done = lifelong.on_stream_end(imported.conversation, model=model, **call)
        seconds += time.perf_counter() - began
        rows.append([session, len(said), done.stored, done.merged, done.pruned, "yes" if done.deep else ""])
    print(table(["session", "messages", "stored", "merged", "archived", "deep"], rows))
    say(f"{len(rows)} ends of a stream in {seconds:.1f} s")
    _show(call, imported, asked)
    ended = lifelong.run_cycle(reason="the stream is over", model=model, **call)
    print(f"\nA cycle with no stream at hand archives {ended.pruned} session items that have expired.")
    again = lifelong.run_cycle(reason="again", model=model, **call)
    same = (again.stored, again.pruned, again.merged) == (0, 0, 0)
    print("A cycle more changes", "nothing." if same else f"something: {again}.")
    imported.close()
    return same


def _show(call: dict[str, Any], imported: Imported, asked: str) -> None:
    kinds = table_counts.count_kinds(call["db"], imported.persona)
    print(table(["kind", "tier", "items"], [(each.kind, each.tier, each.items) for each in kinds]), "\n")
    print(table(["archived", "items"], _archived(call["db"], imported.persona)))
    for tier in ("long_term", "session"):
        page = lifelong.search_items(tier=tier, limit=SHOWN, operator=True, **call)
        for item in page["items"]:
            print(f"- {tier}, {item['kind']}, {item['importance']:.2f}, {item['timestamp'][:10]}: {item['text']}")
    prompt = build_json_prompt(imported.message("1", asked), **call)
    print(f"\nThe prompt for {asked!r}: {size(prompt)} characters, {len(prompt['context']['memories'])} memories.")


def _archived(db: Database, persona: str) -> list[tuple[str, int]]:
    """Return how many items are archived, by tier and importance."""
    m = schema.memories.c
    chosen = (
        select(m.tier, func.count(), func.min(m.importance), func.max(m.importance))
        .where(m.persona_id == persona, m.archived_at.is_not(None))
        .group_by(m.tier)
        .order_by(m.tier)
    )
    return [
        (f"{tier}, importance {low:.2f} to {high:.2f}", count)
        for tier, count, low, high in db.read(chosen, source="memories")
    ]


if __name__ == "__main__":
    sys.exit(main())
