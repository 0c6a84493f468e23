"""The data that others publish, read as they publish it: labelled conversations, and texts with the relevant ones.

| In the folder | from |
|---|---|
| `locomo10.json` | github.com/snap-research/locomo, `data/` |
| `BEAM/chats/SIZE/N/chat.json` and `probing_questions/` beside it | a copy of github.com/mohammadtavakoli78/BEAM |
| `timelineqa/db-NAME.json` | github.com/facebookresearch/TimelineQA: what `create_qa_data.py` writes into `QA/` |
| `NAME.corpus.jsonl.gz` and `NAME.questions.jsonl.gz` | conversations of your own, see `bench.conversations` |
| `NAME.ranking.jsonl` | lists of your own: `{"docs": [...], "queries": [{"text", "relevant": {doc: gain}}]}` a line |
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bench.conversations import ASSISTANT, Turn, before, read_set

LOCOMO_KINDS = {1: "several answers", 2: "time", 3: "open domain", 4: "one answer", 5: "wrong person"}
WRONG_PERSON = ("adversarial", LOCOMO_KINDS[5])
_TURN_SECONDS = 30
_BEAM_MARK = re.compile(r"\s*->->\s*[\d,\s-]+$")
"""What BEAM writes behind a user's message to say where in its plan the message belongs."""


@dataclass(frozen=True)
class Question:
    """A question, and the ids of the turns that answer it."""

    text: str
    evidence: tuple[str, ...]
    kind: str
    answer: tuple[str, ...] = ()
    by_session: bool = False
    """The ids are those of sessions: a turn counts for the session it is in."""


@dataclass(frozen=True)
class Conversation:
    """The turns of one conversation, oldest first, and what is asked after the last."""

    turns: Sequence[Turn]
    questions: Sequence[Question]

    def list_units(self, turn_ids: Sequence[str], question: Question) -> set[str]:
        """Return what the evidence of a question is compared with: the ids of turns, or of their sessions."""
        if not question.by_session:
            return set(turn_ids)
        return {str(turn["session"]) for turn in self.turns if turn["id"] in turn_ids}


@dataclass(frozen=True)
class Ranking:
    """Texts, and for each question the places of the relevant ones with what each is worth."""

    texts: Sequence[str]
    queries: Sequence[tuple[str, Mapping[int, float]]]


def read_locomo(path: Path) -> Iterator[Conversation]:
    """Yield the conversations of `locomo10.json`; the ids of the evidence stay as they are written there."""
    for sample in json.loads(path.read_text(encoding="utf-8")):
        talk, turns = sample["conversation"], list[Turn]()
        sessions = sorted(int(name[8:]) for name in talk if re.fullmatch(r"session_\d+", name))
        for number in sessions:
            began = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")  # noqa: DTZ007
            for place, said in enumerate(talk[f"session_{number}"]):
                picture = f" [image: {said['blip_caption']}]" if said.get("blip_caption") else ""
                at = began + timedelta(seconds=_TURN_SECONDS * place)
                text = said.get("text", "") + picture
                turns.append(_turn(sample["sample_id"], number, said["dia_id"], said["speaker"], text, at))
        asked = [Question(qa["question"], tuple(qa["evidence"]), LOCOMO_KINDS[qa["category"]]) for qa in sample["qa"]]
        yield Conversation(turns, asked)


def read_beam(folder: Path) -> Iterator[Conversation]:
    """Yield the conversations of one size; questions that nothing in the conversation answers are left out."""
    for path in sorted(folder.glob("*/chat.json"), key=lambda path: (len(path.parent.name), path.parent.name)):
        turns, at = list[Turn](), datetime(2024, 1, 1)  # noqa: DTZ001
        for batch in json.loads(path.read_text(encoding="utf-8")):
            for said in (message for exchange in batch["turns"] for message in exchange):
                anchor = said.get("time_anchor")
                at = datetime.strptime(anchor, "%B-%d-%Y") if anchor else at + timedelta(minutes=1)  # noqa: DTZ007
                text = _BEAM_MARK.sub("", said["content"])
                name = f"{folder.name}-{path.parent.name}"
                turns.append(_turn(name, batch["batch_number"], str(said["id"]), said["role"], text, at))
        ids = {turn["id"] for turn in turns}
        kinds = json.loads((path.parent / "probing_questions" / "probing_questions.json").read_text(encoding="utf-8"))
        asked = []
        for kind, probes in kinds.items():
            for probe in probes:
                named = dict.fromkeys(each for each in _flatten(probe.get("source_chat_ids")) if each in ids)
                if named:
                    asked.append(Question(probe["question"], tuple(named), kind))
        yield Conversation(turns, asked)


def read_prepared(folder: Path, name: str) -> Iterator[Conversation]:
    """Yield conversations of the form of `bench.conversations`, one for each point in time that is asked at."""
    corpus, questions = read_set(folder, name)
    groups: dict[tuple[str, str | None], list[Question]] = {}
    for row in questions:
        question = Question(
            row["question"], tuple(row["evidence"]), row["category"], by_session=row.get("level") == "session"
        )
        groups.setdefault((row["conversation"], row.get("until")), []).append(question)
    size = {key: len(before(corpus[key[0]], key[1])) for key in groups}
    for key in sorted(groups, key=lambda key: (key[0], size[key])):
        yield Conversation(before(corpus[key[0]], key[1]), groups[key])


def read_timeline(path: Path) -> Conversation:
    """Return one life of TimelineQA: an episode is a line that the person says, at the day it is of."""
    life = json.loads(path.read_text(encoding="utf-8"))
    turns: dict[str, Turn] = {}
    for day, _, episode, text in sorted(life["text"], key=lambda row: row[0]):
        at = datetime.strptime(day, "%Y/%m/%d") + timedelta(hours=12)  # noqa: DTZ007
        words = text if isinstance(text, str) else " ".join(text)
        turns.setdefault(episode, _turn(life["name"], 1, episode, "me", words, at))
    asked = []
    for source in ("atomic-questions", "multihop-questions"):
        for row in life[source]:
            evidence = tuple(dict.fromkeys(each[2] for each in row["evidence_list"]))
            answer = tuple(dict.fromkeys(str(cell).strip() for cells in row["answer"] for cell in cells))
            if evidence and answer:
                kind = "one episode" if source.startswith("atomic") else _timeline_kind(row["question"])
                asked.append(Question(row["question"], evidence, kind, answer))
    return Conversation(list(turns.values()), asked)


def _timeline_kind(question: str) -> str:
    asked = question.lower()
    if asked.startswith("how many"):
        return "other" if "average" in asked else "count"
    is_list = "most" not in asked and re.match(r"list|which places|what did i eat", asked)
    return "list" if is_list else "other"


def read_rankings(path: Path) -> Iterator[Ranking]:
    """Yield the lists of a file; a document is a text, or an object with `id` and `text`.

    `relevant` names documents by id, or by their place from 0 where they have none.
    """
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip():
            continue
        row = json.loads(line)
        docs = [each if isinstance(each, dict) else {"text": each} for each in row["docs"]]
        places = {str(each.get("id", place)): place for place, each in enumerate(docs)}
        queries = [
            (each["text"], {places[str(doc)]: float(gain) for doc, gain in each["relevant"].items()})
            for each in row["queries"]
        ]
        yield Ranking([each["text"] for each in docs], queries)


def _flatten(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _flatten(each)
    elif value is not None:
        yield str(value)


def _turn(conversation: str, session: object, turn_id: str, speaker: str, text: str, at: datetime) -> dict[str, Any]:
    return {
        "conversation": conversation,
        "session": f"S{session}",
        "id": turn_id,
        "timestamp": at.isoformat(),
        "speaker": ASSISTANT if speaker.lower() == ASSISTANT else speaker,
        "text": text,
    }
