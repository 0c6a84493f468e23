"""Exports with anything wrong in them: every reader tells it and goes on, whatever stands where (R23)."""

import copy
import io
import json
import random
import signal
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from core.errors import TransferError
from core.text.replies import strip_thoughts
from core.transfer import cards, files, json_values, original, survey
from core.transfer.fields import said_without_thoughts
from core.transfer.files import Export
from core.transfer.formats import PROGRAMS, ChatFiles, branches, declared
from core.transfer.formats.whatsapp import ATTACHED, EDITED
from core.transfer.items.formats import read_items
from core.transfer.json_values import BadJson, JsonPart, read_parts
from core.transfer.shapes import Fault, Line, Read, Reading, Speaker
from core.transfer.survey import count_export

SAMPLES = Path(__file__).parents[2] / "samples" / "exports"
FILES = sorted(path for path in SAMPLES.rglob("*") if path.suffix in (".json", ".txt"))
BROKEN = BadJson("from here on the file is broken or cut off")
ODD = (
    None, [], {}, "", "x", 0, -1, 1e308, float("nan"), True, [None], {"a": None}, [[]], "\ud800", "\x00", 10**40, [{}],
)  # fmt: skip


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from _places(inner, (*path, key))


def _with(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    made = copy.copy(value)
    made[path[0]] = _with(value[path[0]], path[1:], odd)
    return made


def _read_all(path: Path, program: str) -> int:
    export = Export(path)
    return sum(isinstance(read, Line) for read in PROGRAMS[program][1](export.members, Reading()))


@pytest.mark.parametrize("sample", [path for path in FILES if path.suffix == ".json"], ids=lambda path: path.stem)
def test_r23_a_value_of_another_type_anywhere_ends_nothing(tmp_path: Path, sample: Path) -> None:
    content = sample.read_text(encoding="utf-8")
    try:
        whole = json.loads(content)
    except ValueError:  # one value a line
        whole = [json.loads(line) for line in content.splitlines()]
    program, rng = sample.relative_to(SAMPLES).parts[0], random.Random(11)
    path = tmp_path / sample.parent.name / sample.name
    path.parent.mkdir()
    for place in list(_places(whole)):
        for odd in rng.sample(ODD, 2):
            path.write_text(json.dumps(_with(whole, place, odd)), encoding="utf-8")
            _read_all(path, program)
            ChatFiles(Export(path))


@pytest.mark.parametrize("sample", FILES, ids=lambda path: path.stem)
def test_r23_bytes_gone_wrong_anywhere_end_nothing(tmp_path: Path, sample: Path) -> None:
    content, rng, path = sample.read_bytes(), random.Random(12), tmp_path / sample.name
    program = sample.relative_to(SAMPLES).parts[0]
    for _ in range(30):
        at, size = rng.randrange(len(content)), rng.randrange(1, 40)
        junk = bytes(rng.randrange(256) for _ in range(rng.randrange(8)))
        path.write_bytes(content[:at] + junk + content[at + size :])
        count_export(ChatFiles(Export(path)), Reading(day_first=program == "whatsapp" or None), None)
        if program != "whatsapp":
            _read_all(path, program)


def test_parts_are_the_same_whole_and_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = [{"id": n, "t": 'a"\\b\u00e9', "f": -1.5e3, "l": [1, [2]]} for n in range(5)]
    value = {"name": "c", "messages": messages, "chats": {"list": [{"name": "x", "messages": [1, {"a": []}]}, 7, []]},
             "x": 12345, "none": []}  # fmt: skip
    text = json.dumps(value)
    whole = list(read_parts(io.StringIO(text)))
    monkeypatch.setattr(json_values, "WHOLE_CHARS", 10)
    assert list(read_parts(io.StringIO("\ufeff" + text))) == whole
    assert JsonPart(("messages", 1), messages[1]) in whole and JsonPart(("x",), 12345) in whole
    assert JsonPart(("chats", "list", 0, "messages", 1), {"a": []}) in whole


def test_what_stands_before_the_broken_place_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = list(read_parts(io.StringIO('[{"a": "}]"}, {"d": 1}, {"b": tru}, {"e": 2}]')))
    assert [part.value for part in parts] == [{"a": "}]"}, {"d": 1}, BROKEN]
    assert [part.value for part in read_parts(io.StringIO('[{"a": 1}, {"d"'))] == [{"a": 1}, BROKEN]
    monkeypatch.setitem(sys.modules, "ijson", None)
    (part,) = read_parts(io.StringIO('[{"a": 1}, {"d"'))
    assert isinstance(part.value, BadJson) and "prompt-engine[import]" in part.value.reason


def _zip(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def test_r23_the_list_of_an_archive_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _zip(tmp_path / "export.zip", {f"chat {n}/messages.json": f"[{n}]" for n in range(40)} | {"a.json": ""})
    lists: list[Any] = []
    once = zipfile.ZipFile._RealGetContents  # type: ignore[attr-defined]
    monkeypatch.setattr(zipfile.ZipFile, "_RealGetContents", lambda self: (lists.append(self), once(self)))
    texts = []
    for member in Export(path).members:
        with member.guarded([]) as text:
            texts.append(text.read())
    assert sorted(texts) == sorted(f"[{n}]" for n in range(40)) and len(lists) == 1, "an empty file is not opened"


def test_r23_files_are_counted_before_one_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_MEMBERS", 3)
    archive = _zip(tmp_path / "export", dict.fromkeys(("0.json", "1.json", "2.json", "3.json"), ""))
    for number in range(4):
        (tmp_path / "folder" / str(number)).mkdir(parents=True)
    for path, said in ((archive, "holds 4 files; at most 3 are"), (tmp_path / "folder", "holds more than 3 files")):
        with pytest.raises(TransferError, match=said):
            Export(path)


@pytest.mark.parametrize("value", [[[]] * 12, "x" * 200])
def test_r23_a_value_of_too_many_parts_is_listed(monkeypatch: pytest.MonkeyPatch, value: Any) -> None:
    monkeypatch.setattr(json_values, "WHOLE_CHARS", 10)
    monkeypatch.setattr(json_values, "MAX_VALUES", 20)
    parts = read_parts(io.StringIO(json.dumps([{"a": value}, {"b": 1}])))
    assert [part.value for part in parts] == [BadJson("it holds too many values"), {"b": 1}]
    assert json_values.read_value(json.dumps([0] * 40)) == BadJson("not usable: it holds too many values")


def test_r23_a_document_that_is_read_whole_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chat.json").write_text(json.dumps([{"speaker": "Ann", "text": "x" * 99, "timestamp": "2026-03-10"}]))
    member = Export(tmp_path / "chat.json").members[0]
    assert declared.find_format(member) == "table"
    monkeypatch.setattr(declared, "MAX_CHARS", 100)
    (fault,) = declared.read("table", [member], Reading())
    assert isinstance(fault, Fault) and "more than 100 characters" in fault.reason


@pytest.mark.parametrize(("dates", "read"), [
    (["01.02.2026 20:00", "14.02.2026, 21:05"], ["02-01 20:00", "02-14 21:05"]), (["1.2.26"], ["02-01 00:00"]),
    (["03/04/2026 10:00", "25/06/2026 10:00"], ["04-03 10:00", "06-25 10:00"]),
    (["3/25/2026 3:05 PM", "4/1/2026 4:00 pm"], ["03-25 15:05", "04-01 16:00"]),
    (["2026/03/04 10:00", "2026-03-05"], ["03-04 10:00", "03-05 00:00"]),
    (["Mar 5, 2026 3:00 PM", ""], ["03-05 15:00", "03-05 15:00"]),
    (["2026-03-04", "today"], ["03-04 00:00", "timestamp cannot be read"]),
    (["01.03.2026", "31.02.2026"], ["03-01 00:00", "timestamp cannot be read"]),
])  # fmt: skip
def test_r26_dates_of_a_table_are_read_or_refused(tmp_path: Path, dates: list[str], read: list[str]) -> None:
    """A date in another form than ISO 8601 gave its row the time of the import."""
    found = _read_table(tmp_path, dates, Reading())
    assert [f"{each.at:%m-%d %H:%M}" if isinstance(each, Line) else each.reason[:24] for each in found] == read


def test_r26_the_order_of_a_table_is_asked_for_if_it_does_not_tell(tmp_path: Path) -> None:
    for date in ("03/04/2026 10:00", "03-04-2026"):
        with pytest.raises(TransferError, match="Say --day-first or --month-first"):
            _read_table(tmp_path, [date], Reading())
        days = [_read_table(tmp_path, [date], Reading(day_first=is_first))[0] for is_first in (True, False)]
        assert [each.at.month for each in days if isinstance(each, Line)] == [4, 3]


def _read_table(folder: Path, dates: list[str], reading: Reading) -> list[Read]:
    rows = "".join(f'"{date}",Ann,tea\n' for date in dates)
    (folder / "chat.csv").write_text(f"timestamp,speaker,text\n{rows}")
    return list(declared.read("table", Export(folder / "chat.csv").members, reading))


@pytest.mark.parametrize("bound", ["MAX_ROOMS", "MAX_LINES"])
def test_r23_rooms_and_lines_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    """A hostile file of a gigabyte holds millions of them, each of which an import remembers."""
    row = {"speaker": "Ann", "text": "x", "timestamp": "2026-03-10"}
    rows = [json.dumps({**row, "conversation": str(number)}) for number in range(4)]
    (tmp_path / "chat.jsonl").write_text("\n".join(rows))
    chats = ChatFiles(Export(tmp_path / "chat.jsonl"))
    monkeypatch.setattr(survey, bound, 4)
    assert count_export(chats, Reading(), None).lines == 4
    monkeypatch.setattr(survey, bound, 3)
    with pytest.raises(TransferError, match=r"more than .*\. Import it in parts"):
        count_export(chats, Reading(), None)


@contextmanager
def _ending() -> Iterator[None]:
    """Refuse what takes over 20 seconds: linear reading takes less than one, quadratic some minutes."""

    def refuse(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, refuse)
    signal.alarm(20)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


ANN = Speaker("ann", "Ann")
SIZE = 300_000
BLANKS = "  \n" * (SIZE // 3)
TEXT, THOUGHT = {"content_type": "text"}, {"type": "thinking", "thinking": "ab"}
HOSTILE: dict[str, Callable[[], object]] = {
    "a list with a day and blanks": lambda: read_items(b"[2026-03-10]" + b" " * SIZE),
    "a heading and blanks": lambda: list(branches._notes("m", "# a" + " " * SIZE + "b", ANN, None, {})),
    "a heading of signs": lambda: list(branches._notes("m", "# a" + "#" * SIZE + "b", ANN, None, {})),
    "marks that do not end": lambda: branches._chatgpt_words({"content": {**TEXT, "parts": ["\ue200" * SIZE + "x"]}}),
    **{f"names of files {name!r}": lambda name=name: ATTACHED.sub("", name * (5 * SIZE))
       for name in ("x.ab (", "[", "a.", "a (")},
    "a line that was edited": lambda: EDITED.sub("", " " * SIZE + "x"),
    **{f"{begin!r} and {end!r}": lambda text=begin, end=end: strip_thoughts(text * (SIZE // 9) + end)
       for begin in ("<think>", "<details ", '<details type="reasoning">')
       for end in ("", "</think>", "</reasoning></details>")},
    **{f"calls {mark!r}": lambda mark=mark: said_without_thoughts(mark * (SIZE // 7) + "x")
       for mark in ("<tool_call></tool_call>", "<tool_call>", "[TOOL_CALLS]")},
    "examples of a card": lambda: cards._build_card({"name": "Mira", "mes_example": f"x{BLANKS}x"}),
    "words of a list": lambda: original._read_words(f"{BLANKS}x"),
    "a label of Google": lambda: declared._LABEL.match("prompt" * SIZE),
    "thoughts": lambda: branches._claude_words({"text": "a" * SIZE, "content": [THOUGHT] * SIZE}),
    "files": lambda: branches._claude_node("", {"files": [{"name": str(at)} for at in range(SIZE // 3)]}, "", "m"),
}  # fmt: skip


@pytest.mark.parametrize("read", HOSTILE.values(), ids=HOSTILE.keys())
def test_r23_hostile_texts_are_read_in_time_that_grows_with_their_length(read: Callable[[], object]) -> None:
    with _ending(), suppress(TransferError):
        read()
