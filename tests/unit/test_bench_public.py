"""The measures that anybody can repeat, on small files in the forms in which the data is published (R36)."""

import gzip
import json
import re
import xml.etree.ElementTree as ET
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from bench import plots, public, retrievers
from bench.public_data import LOCOMO_KINDS, Question, read_beam, read_locomo, read_rankings, read_timeline
from bench.retrievers import BeirSearch, MtebSearch

SAID = [("Ann", "My grey cat Tofu sleeps in the garden shed every single night."),
        ("Bob", "We rode our bicycles along the river on Saturday."),
        ("Ann", "The baker sold me a rye bread with walnuts.")]  # fmt: skip
DOCUMENTS = {"d1": {"title": "Cats", "text": "A grey cat sleeps in the shed."},
             **{name: {"title": "", "text": "Tea is grown in the hills."} for name in ("d2", "d3")}}  # fmt: skip


def write_locomo(folder: Path) -> None:
    turns = [{"speaker": who, "dia_id": f"D1:{n}", "text": text} for n, (who, text) in enumerate(SAID, 1)]
    later = {"speaker": "Bob", "dia_id": "D10:1", "text": "Look!", "blip_caption": "a red kite over the beach"}
    asked = [
        {"question": "Where does the cat Tofu sleep?", "answer": "shed", "evidence": ["D1:1"], "category": 4},
        {"question": "What flies over the beach?", "answer": "a kite", "evidence": ["D10:1", "D9:99"], "category": 1},
        {"question": "What did nobody say?", "evidence": [], "category": 5},
    ]
    dates = {10: "9:05 am on 2 March, 2024", 2: "1:00 pm on 1 March, 2024", 1: "1:56 pm on 8 May, 2023"}
    talk: dict[str, Any] = {"speaker_a": "Ann", "session_10": [later], "session_1": turns}
    talk |= {f"session_{number}_date_time": date for number, date in dates.items()}
    sample = {"sample_id": "conv-1", "conversation": talk, "qa": asked}
    (folder / "locomo10.json").write_text(json.dumps([sample]), encoding="utf-8")


def write_beam(folder: Path) -> None:
    chat = folder / "BEAM" / "chats" / "100K" / "1"
    (chat / "probing_questions").mkdir(parents=True)
    user = {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "I repair old radios. ->-> 1,1"}
    turns = [[user, {"role": "assistant", "id": 1, "content": "Which radios do you repair?"}]]
    (chat / "chat.json").write_text(json.dumps([{"batch_number": 1, "turns": turns}]), encoding="utf-8")
    probes = {
        "abstention": [{"question": "What is my age?"}],
        "knowledge_update": [{"question": "What do I repair?", "source_chat_ids": {"first": [0], "then": [0]}}],
    }
    (chat / "probing_questions" / "probing_questions.json").write_text(json.dumps(probes), encoding="utf-8")


def write_timeline(folder: Path) -> None:
    rows = [["2020/03/02", "travel", "e2", "I visited the castle in Prague with Chloe."],
            ["2020/01/01", "daily_meal", "e1", "I had pancakes for breakfast with Chloe."],
            ["2020/03/03", "travel", "e3", "I visited the old bridge in Prague with Chloe."]]  # fmt: skip
    asked = [
        {"question": "Which places in Prague did I visit with Chloe?", "answer": [["castle"], ["old bridge"]]},
        {"question": "How many places did I visit in Prague?", "answer": [["2"]]},
        {"question": "What are my top N destinations?", "answer": [["Prague"]]},
    ]
    eaten = {"question": "What did I eat?", "answer": [["pancakes"]], "evidence_list": [rows[1]]}
    life = {"name": "one", "text": rows, "atomic-questions": [eaten],
            "multihop-questions": [row | {"evidence_list": [rows[0], rows[2]]} for row in asked]}  # fmt: skip
    (folder / "timelineqa").mkdir()
    (folder / "timelineqa" / "db-one.json").write_text(json.dumps(life), encoding="utf-8")


def write_ranking(folder: Path) -> None:
    documents = [{"id": name, "text": row["text"]} for name, row in DOCUMENTS.items()]
    tea, cat = ("Where is tea grown?", {"d2": 2, "d3": 1}), ("Which cat purrs?", {"0": 1})
    lists = ((documents, tea), (["A dog barks.", "A cat purrs."], cat))
    lines = [{"docs": docs, "queries": [{"text": text, "relevant": ids}]} for docs, (text, ids) in lists]
    (folder / "own.ranking.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")


def write_prepared(folder: Path) -> None:
    def write(name: str, rows: list[dict[str, Any]]) -> None:
        with gzip.open(folder / f"chat.dev.{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)

    common = {"conversation": "c1", "timestamp": "2024-03-01T10:00:00"}
    turns = [common | {"session": f"S{n}", "id": str(n), "speaker": who, "text": t} for n, (who, t) in enumerate(SAID)]
    write("corpus", turns)
    asked = {"conversation": "c1", "question": "Who rode bicycles?", "category": "x", "level": "session"}
    write("questions", [asked | {"evidence": ["S1"], "until": "S2"}])


def find_row(figures: dict[str, Any], table: str, *names: str) -> dict[str, Any]:
    return next(row for row in figures[table] if set(names) <= {str(value) for value in row.values()})


def test_r36_one_command_measures_the_same_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for write in (write_locomo, write_beam, write_timeline, write_ranking, write_prepared):
        write(tmp_path)
    texts = []
    for name in ("first.json", "second.json"):
        assert public.main([str(tmp_path), "--json", str(tmp_path / name)]) == 0
        texts.append((tmp_path / name).read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    figures = json.loads(texts[0])
    names = "locomo10.json BEAM/chats/100K timelineqa/db-one.json own.ranking.jsonl chat.dev.corpus.jsonl.gz"
    assert figures["missing"] == [] and set(figures["files"]) == {*names.split()}
    recall = find_row(figures, "recall", "LoCoMo", "all", "prompt-engine")
    assert (recall["questions"], recall["recall@5"]) == (3, 83.3)  # one turn that nobody can find, one question without
    assert find_row(figures, "recall", "LoCoMo", LOCOMO_KINDS[1], "BM25")["recall@50"] == 50
    assert find_row(figures, "recall", "chat.dev", "prompt-engine")["recall@5"] == 100

    for method in ("prompt-engine", "BM25"):
        # A question without evidence is left out, and a turn that nobody can find names no session.
        expected = {"set": "LoCoMo", "method": method, "questions": 2, "Hit@1": 100.0, "nDCG@5": 100.0}
        assert find_row(figures, "sessions", "LoCoMo", method) == expected
        expected |= {"set": "own", "Hit@1": 50.0, "nDCG@5": 50.0}
        assert find_row(figures, "ranking", method) == expected
    assert find_row(figures, "sessions", "chat.dev", "prompt-engine")["Hit@1"] == 100

    prompts = find_row(figures, "evidence in the prompt", "LoCoMo", "prompt-engine")
    assert (prompts["questions"], prompts["8,000 tokens"]) == (2, 100)
    assert find_row(figures, "evidence in the prompt", "BEAM 100K", "newest first")["500 tokens"] == 100
    for kind in ("list", "count", "one episode"):
        row = find_row(figures, "lists and counts", kind, "prompt-engine")
        assert (row["questions"], row["episodes"], row["answers"]) == (1, 100, 100)
    printed = capsys.readouterr().out
    assert printed.count("| LoCoMo | all | prompt-engine | 3 | 83.3 |") == 2
    assert not re.search(r"\d ?ms\b", printed + texts[0])


def test_r36_what_is_missing_is_said_by_name_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_ranking(tmp_path)
    assert public.main([str(tmp_path), "--json", str(tmp_path / "out.json")]) == 0
    printed = capsys.readouterr().out
    for said in ("LoCoMo is left out: DATA has no locomo10.json", "### ranking, in percent",
                 "TimelineQA is left out: DATA has no timelineqa/db-NAME.json"):  # fmt: skip
        assert said in printed
    assert "### recall" not in printed
    with pytest.raises(SystemExit):
        public.main([str(tmp_path / "nowhere")])
    assert "nowhere is no folder" in capsys.readouterr().err


def test_r36_published_files_are_read_as_they_are_written(tmp_path: Path) -> None:
    for write in (write_locomo, write_beam, write_timeline, write_ranking):
        write(tmp_path)
    (locomo,) = read_locomo(tmp_path / "locomo10.json")
    assert [turn["id"] for turn in locomo.turns] == ["D1:1", "D1:2", "D1:3", "D10:1"]
    assert locomo.turns[1]["timestamp"] == "2023-05-08T13:56:30"
    assert locomo.turns[3]["text"] == "Look! [image: a red kite over the beach]"
    (beam,) = read_beam(tmp_path / "BEAM" / "chats" / "100K")
    assert [turn["text"] for turn in beam.turns] == ["I repair old radios.", "Which radios do you repair?"]
    assert beam.questions == [Question("What do I repair?", ("0",), "knowledge_update")]
    life = read_timeline(tmp_path / "timelineqa" / "db-one.json")
    assert [turn["id"] for turn in life.turns] == ["e1", "e2", "e3"]
    assert [question.kind for question in life.questions] == ["one episode", "list", "count", "other"]
    rankings = read_rankings(tmp_path / "own.ranking.jsonl")
    assert [ranking.queries[0][1] for ranking in rankings] == [{1: 2, 2: 1}, {0: 1}]


@pytest.mark.parametrize(("turn", "prompt", "shown"), [
    ("Yes, of course!", "Ann: yes of course.", True), ("Yes, of course!", "Ann: yes of courses.", False),
    (" ".join(f"w{n}" for n in range(40)), " ".join(f"w{n}" for n in range(24)), True),
    (" ".join(f"w{n}" for n in range(40)), " ".join(f"w{n}" for n in range(18)), False),
    (" ".join(f"w{n}" for n in range(900)), "... " + " ".join(f"w{n}" for n in range(300, 340)), True),
    ("🎉", "Ann: 🎉", False),
])  # fmt: skip
def test_r36_a_turn_counts_where_enough_of_its_words_stand_in_the_prompt(turn: str, prompt: str, shown: bool) -> None:
    assert public.Shown(prompt).holds(turn) is shown


def test_r36_a_harness_of_beirs_form_searches_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrievers, "BATCH_BYTES", 1)  # the documents do not fit into one import
    results = BeirSearch().search(DOCUMENTS, {"q1": "Where does the cat sleep?", "q2": "xylophone"}, 2, "cos_sim")
    assert results == {"q1": {"d1": 1.0}, "q2": {}}
    tea = BeirSearch().search(DOCUMENTS, {"q": "Who grows tea in the hills?"}, top_k=1)
    assert tea["q"] in ({"d2": 1.0}, {"d3": 1.0})


def test_r36_a_harness_of_mtebs_form_searches_here() -> None:
    model = MtebSearch()
    task: dict[str, Any] = {"task_metadata": None, "hf_split": "test", "hf_subset": "default", "encode_kwargs": {}}
    rows = [{"id": name, **row} for name, row in DOCUMENTS.items()]
    asked = [{"id": "q", "text": [{"role": "user", "content": text} for text in ("Hi", "Where is tea grown?")]}]
    with pytest.raises(RuntimeError, match="before index"):
        model.search(asked, top_k=5, **task)
    model.index(rows, **task)
    assert model.search(asked, top_k=5, **task) == {"q": {"d2": 1.0, "d3": 0.5}}
    assert model.search(asked, top_k=5, top_ranked={"q": ["d3", "d1"]}, **task) == {"q": {"d3": 1.0}}
    model.index(rows[:1], **task)
    assert model.search([{"id": "q", "text": "tea"}], top_k=5, **task) == {"q": {}}


def test_r36_figures_become_plots(tmp_path: Path) -> None:
    evidence = {"set": "LoCoMo", "questions": 7, "500 tokens": 10.0, "1,000 tokens": 99.6}
    other = evidence | {"set": "a", "method": "BM25"}
    figures = {"evidence in the prompt": [other, evidence | {"method": "mine & yours"}]}
    (tmp_path / "evidence.json").write_text(json.dumps(figures), encoding="utf-8")
    measured = product(("search, relevance", "search, recency", "whole prompt"), ("sqlite", "mariadb"), (10**4, 10**6))
    names = ("what", "engine", "memories", "p50", "p95")
    times = [dict(zip(names, (*each, 3.0, 9.0), strict=True)) for each in measured]
    (tmp_path / "cost.json").write_text(json.dumps({"about": "two cores", "cost": times}), encoding="utf-8")
    plots.main([str(tmp_path / "evidence.json"), str(tmp_path / "cost.json")])
    drawn = {}
    for name in ("evidence", "cost"):
        tree = ET.parse(tmp_path / f"{name}.svg")
        drawn[name] = [each.text for each in tree.iter("{http://www.w3.org/2000/svg}text")]
        drawn[f"{name} lines"] = [each.get("points") for each in tree.iter("{http://www.w3.org/2000/svg}polyline")]
    named = {"500 tokens", "mine & yours 100", "7 questions of LoCoMo; a token is four characters"}
    assert named <= set(drawn["evidence"]) and len(drawn["evidence lines"]) == 1
    assert {"1,000,000 memories", "prompt, sqlite 3", "search, mariadb 3", "two cores"} <= set(drawn["cost"])
    assert len(drawn["cost lines"]) == 4
