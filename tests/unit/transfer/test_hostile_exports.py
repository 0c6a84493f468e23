"""Exports with anything wrong in them: every reader tells it and goes on, whatever stands where (R23)."""

from __future__ import annotations

import copy
import io
import json
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.transfer.platforms.archive import Export
from core.transfer.platforms.finding import READERS, Found
from core.transfer.platforms.json_parts import BadPart, read_parts
from core.transfer.platforms.survey import count_export
from core.transfer.platforms.values import Line, Reading

SAMPLES = Path(__file__).parents[2] / "samples" / "exports"
FILES = sorted(path for path in SAMPLES.rglob("*") if path.suffix in (".json", ".txt"))
ODD = (
    None,
    [],
    {},
    "",
    "x",
    0,
    -1,
    1e308,
    float("nan"),
    True,
    [None],
    {"a": None},
    [[]],
    "\ud800",
    "\x00",
    10**40,
    [{}],
)


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
    """Return how many lines a reader finds; it must end without an error."""
    export = Export(path)
    return sum(isinstance(read, Line) for read in READERS[program](export.members, Reading()))


@pytest.mark.parametrize("sample", [path for path in FILES if path.suffix == ".json"], ids=lambda path: path.stem)
def test_r23_a_value_of_another_type_anywhere_ends_nothing(tmp_path: Path, sample: Path) -> None:
    """Every place of every sample, with something odd in it."""
    whole = json.loads(sample.read_text(encoding="utf-8"))
    program = sample.relative_to(SAMPLES).parts[0]
    rng = random.Random(11)
    folder = tmp_path / sample.parent.name
    folder.mkdir()
    path = folder / sample.name
    for place in list(_places(whole)):
        for odd in rng.sample(ODD, 2):
            path.write_text(json.dumps(_with(whole, place, odd)), encoding="utf-8")
            _read_all(path, program)
            Found(Export(path))


@pytest.mark.parametrize("sample", FILES, ids=lambda path: path.stem)
def test_r23_bytes_gone_wrong_anywhere_end_nothing(tmp_path: Path, sample: Path) -> None:
    """Cut, doubled, replaced."""
    content = sample.read_bytes()
    program = sample.relative_to(SAMPLES).parts[0]
    rng = random.Random(12)
    path = tmp_path / sample.name
    for _ in range(60):
        at, size = rng.randrange(len(content)), rng.randrange(1, 40)
        junk = bytes(rng.randrange(256) for _ in range(rng.randrange(8)))
        path.write_bytes(content[:at] + junk + content[at + size :])
        if program == "whatsapp":
            count_export(Found(Export(path)), Reading(day_first=True))
        else:
            _read_all(path, program)
            count_export(Found(Export(path)), Reading())


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_parts_are_the_same_however_little_is_read_at_once(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Where the text is cut between two readings changes nothing."""
    from core.transfer.platforms import json_parts

    value = {
        "name": "c",
        "messages": [{"id": n, "t": 'a"\\b\u00e9', "f": -1.5e3, "l": [1, [2]]} for n in range(5)],
        "x": 12345,
    }
    text = json.dumps(value)
    whole = list(read_parts(io.StringIO(text), lambda path: path in ((), ("messages",))))
    monkeypatch.setattr(json_parts, "_PART", size)
    assert list(read_parts(io.StringIO(text), lambda path: path in ((), ("messages",)))) == whole
    assert whole[-1] == (("x",), 12345)
    assert len(whole) == 7


def test_a_bad_element_is_passed_over_by_its_brackets() -> None:
    """Also where brackets stand inside its texts, or a comma is missing."""
    text = '[{"a": "}]"}, {"b": tru, "c": "]}\\""}, [1, {]}, {"d": 1} {"e": 2}, nonsense, {"f": NaN}]'
    parts = list(read_parts(io.StringIO(text), lambda path: path == ()))
    good = [part.value for part in parts if not isinstance(part.value, BadPart)]
    assert good[:2] == [{"a": "}]"}, {"d": 1}]
    assert {"e": 2} in good


def test_r23_the_list_of_an_archive_is_read_once_for_all_its_members(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read for each of them, an archive of thousands of files takes hours."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for n in range(40):
            archive.writestr(f"chat {n}/messages.json", f"[{n}]")
    lists: list[Any] = []
    once = zipfile.ZipFile._RealGetContents  # type: ignore[attr-defined]
    monkeypatch.setattr(zipfile.ZipFile, "_RealGetContents", lambda self: (lists.append(self), once(self)))
    texts = []
    for member in Export(path).members:
        with member.text() as text:
            texts.append(text.read())
    assert texts == [f"[{n}]" for n in range(40)] and len(lists) == 1
