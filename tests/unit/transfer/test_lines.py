"""Files as such: what is read line by line and what is refused as a whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.errors import TransferError
from core.transfer import files, json_values
from core.transfer.files import Export
from core.transfer.json_values import BadJson, JsonLine


def read(path: Path, max_bytes: int = files.MAX_BYTES) -> list[JsonLine]:
    (member,) = Export(path, max_bytes).members
    return list(json_values.read_lines(member))


def _file(folder: Path, content: bytes, name: str = "chat.jsonl") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_lines_keep_their_numbers_and_a_separator_inside_a_text_ends_none(tmp_path: Path) -> None:
    """U+2028 and U+0085 are letters of a text in JSON, though Python's splitlines sees lines."""
    path = _file(tmp_path, b'\xef\xbb\xbf{"a": 1}\r\n\n  \n[2]\n')
    assert [(line.row, line.value) for line in read(path)] == [(1, {"a": 1}), (4, [2])]
    path = _file(tmp_path, json.dumps({"text": "a\u2028b\u0085c"}, ensure_ascii=False).encode())
    assert [line.value for line in read(path)] == [{"text": "a\u2028b\u0085c"}]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{broken", "not JSON: Expecting property name"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"n": ' + b"9" * 5000 + b"}", "a number is too long"),
    ],
)
def test_f76_a_line_that_is_no_json_is_a_bad_row(tmp_path: Path, content: bytes, reason: str) -> None:
    path = _file(tmp_path, b'{"a": 1}\n' + content + b'\n{"a": 2}\n')
    first, bad, last = [line.value for line in read(path)]
    assert (first, last) == ({"a": 1}, {"a": 2})
    assert isinstance(bad, BadJson)
    assert reason in bad.reason


def test_f76_not_utf8_names_the_line_and_the_byte(tmp_path: Path) -> None:
    path = _file(tmp_path, b'{"a": 1}\n{"text": "caf\xe9"}\n')
    with pytest.raises(TransferError, match=r"Line 2 of .* is not UTF-8 \(byte 14 of the line\)") as caught:
        read(path)
    assert caught.value.row == 2


def test_f76_a_file_or_line_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _file(tmp_path, b'{"a": 1}\n' * 100)
    assert len(read(path, max_bytes=900)) == 100
    with pytest.raises(TransferError, match="larger than 899 bytes"):
        read(path, max_bytes=899)
    monkeypatch.setattr(json_values, "MAX_LINE_BYTES", 1000)
    with pytest.raises(TransferError, match=r"Line 1 of .* is longer than 1000 bytes"):
        read(_file(tmp_path, b'{"a": "' + b"x" * 2000 + b'"}'))
    with pytest.raises(TransferError, match="does not exist"):
        read(tmp_path / "nothing")
