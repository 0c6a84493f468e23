"""The five number spaces of the search: mypy tells them apart, and each leads to the next without a loss (T24)."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.index.numbers import PackedRows, ViewRows, find_in, put_in_order
from core.index.visible import FreshOffsets

ROOT = Path(__file__).resolve().parents[3]
SWAPPED = """
from core.index.visible import FreshOffsets
from core.index.numbers import MatchRows, PackedRows, ViewRows, find_in
from core.search.ranking.frame import AudienceMatches, HeldWords
from core.search.ranking.ranking import Around


def lead(offsets: FreshOffsets, packed: PackedRows, held: HeldWords, one: AudienceMatches, around: Around) -> None:
    view = offsets.to_view(packed)
    readable = one.keep_readable(view)
    found, _ = held.find(0, readable)
    local = around.find(0, readable)
    around.list_own(local)
    find_in(view, readable)
    offsets.to_view(view)  # swapped
    held.find(0, packed)  # swapped
    around.list_own(found)  # swapped
    find_in(view, found)  # swapped
    one.keep_readable(view[view > 3])  # swapped: what indexing gives is of no space
"""


@pytest.mark.slow
def test_t24_two_arrays_of_different_spaces_cannot_be_swapped(tmp_path: Path) -> None:
    """Swapped, they found plausible wrong rows, and nothing said so.

    In this process mypy would let calls nest 16 times as deep for all tests after it, and leave what it has read.
    """
    file = tmp_path / "swapped.py"
    file.write_text(SWAPPED)
    where = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    # with the options of `make lint`, whose cache it reads
    ran = subprocess.run([sys.executable, "-m", "mypy", *where, str(file)], capture_output=True, text=True, check=False)
    swapped = {n for n, line in enumerate(SWAPPED.splitlines(), 1) if "# swapped" in line}
    assert {int(n) for n in re.findall(r"swapped\.py:(\d+): error", ran.stdout)} == swapped, ran.stdout + ran.stderr


@given(st.lists(st.integers(0, 20), max_size=12), st.integers(20, 40))
def test_t24_fresh_rows_stand_among_the_packed_ones(before: list[int], packed: int) -> None:
    ids = [(2, n) for n in range(len(before))]
    offsets = FreshOffsets(np.array(sorted(before), np.int64), ids)
    view, count = offsets.to_view(PackedRows(np.arange(packed))), packed + len(before)
    assert sorted([*view.tolist(), *offsets.fresh.tolist()]) == list(range(count))
    assert (np.diff(view) > 0).all() and (np.diff(offsets.fresh) > 0).all()
    values = offsets.insert(np.arange(packed), 100 + np.arange(len(before)))
    assert values[view].tolist() == list(range(packed))
    assert values[offsets.fresh].tolist() == [100 + n for n in range(len(before))]
    for at, fresh in zip(sorted(before), offsets.fresh.tolist(), strict=True):
        assert [n for n in values[fresh:].tolist() if n < 100][:1] == ([at] if at < packed else [])
    assert offsets.by_id == dict(zip(ids, offsets.fresh.tolist(), strict=True))


@given(st.lists(st.integers(0, 30)), st.lists(st.integers(0, 30)))
def test_t24_rows_are_found_among_others_of_their_space(rows: list[int], wanted: list[int]) -> None:
    known = put_in_order(ViewRows(np.array(rows, np.int64)))
    assert known.tolist() == sorted(set(rows))
    at, is_there = find_in(known, ViewRows(np.array(wanted, np.int64)))
    assert is_there.tolist() == [one in rows for one in wanted]
    assert known[at[is_there]].tolist() == [one for one in wanted if one in rows]
