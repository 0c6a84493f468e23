"""A file that a person and the program both write: C34 and C35 without a database."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from core.base import mirrored_file
from core.errors import TransferError


def test_c30_the_folder_is_made_and_nothing_is_left_beside(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "memory" / "Saved Memories.md"
    assert mirrored_file.read_file(path) is None
    assert mirrored_file.replace_file(path, "- tea\r\n", seen=None)
    assert path.read_bytes() == b"- tea\r\n"
    assert mirrored_file.replace_file(path, "- caf\u00e9\n", seen="- tea\r\n")
    assert mirrored_file.read_file(path) == "- caf\u00e9\n"
    assert [each.name for each in path.parent.iterdir()] == ["Saved Memories.md"]


@pytest.mark.parametrize("exchanging", [True, False])
def test_c34_a_file_that_is_not_what_was_seen_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanging: bool
) -> None:
    if not exchanging:
        monkeypatch.setattr(mirrored_file, "_exchange", lambda one, other: False)
    path = tmp_path / "x.md"
    path.write_text("by hand")
    assert not mirrored_file.replace_file(path, "ours", seen=None)
    assert not mirrored_file.replace_file(path, "ours", seen="before")
    assert path.read_text() == "by hand"
    path.unlink()
    assert not mirrored_file.replace_file(path, "ours", seen="before"), "a file that was removed is not made again"
    assert list(tmp_path.iterdir()) == []


def test_c34_an_edit_right_before_the_files_change_places_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The edit comes after the comparison and before the step that replaces."""
    path = tmp_path / "x.md"
    path.write_text("old")
    real = mirrored_file._exchange
    edits = iter(["edited"])

    def late(one: Path, other: Path) -> bool:
        for edit in edits:
            path.write_text(edit)
        return real(one, other)

    monkeypatch.setattr(mirrored_file, "_exchange", late)
    if mirrored_file._renameat2() is None:
        pytest.skip("files cannot change places on this system")
    assert not mirrored_file.replace_file(path, "ours", seen="old")
    assert path.read_text() == "edited"


def test_c34_of_two_writers_each_edit_is_seen_by_one(tmp_path: Path) -> None:
    """Two programs that count up in one file: no count is lost."""
    path = tmp_path / "x.md"
    path.write_text("0")

    def count() -> None:
        done = 0
        while done < 50:
            seen = mirrored_file.read_file(path)
            assert seen is not None
            done += mirrored_file.replace_file(path, str(int(seen) + 1), seen=seen)

    threads = [threading.Thread(target=count) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == "100"


def test_c35_a_file_that_is_no_utf8_is_refused_and_left(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_bytes(b"ab\xff")
    with pytest.raises(TransferError, match="byte 2") as caught:
        mirrored_file.read_file(path)
    assert caught.value.path == str(path) and path.read_bytes() == b"ab\xff"


def test_c35_a_file_over_10_mb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    with path.open("wb") as file:
        file.truncate(mirrored_file.MAX_BYTES + 1)
    with pytest.raises(TransferError, match="10,000,000"):
        mirrored_file.read_file(path)


def test_c35_what_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("a file where the folder should be")
    with pytest.raises(TransferError, match="cannot be written"):
        mirrored_file.replace_file(tmp_path / "memory" / "x.md", "ours", seen=None)
