"""Random histories: several processes, kills, a model (F40, F51, G16). `make histories` runs more of them."""

from __future__ import annotations

import pytest

from tests.histories.__main__ import WrongError, run_history
from tests.histories.model import ROOMS, Model, Text

pytestmark = [pytest.mark.engines("sqlite"), pytest.mark.slow]


def test_g16_a_random_history_of_three_processes_ends_as_the_model_says() -> None:
    done = run_history(8, 30)
    assert done["killed"] and done["say"] and done["edit"] and done["delete"]


def test_g16_a_history_notices_what_the_model_does_not_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that takes nothing away finds the deleted lines missing."""
    monkeypatch.setattr(Model, "remove", lambda self, mark: None)
    with pytest.raises(WrongError, match="seed 3"):
        run_history(3, 12)


def test_g16_the_model_keeps_private_texts_private() -> None:
    rooms = {room.key: room for room in ROOMS}
    model = Model()
    for key, kind in (("web/ann", "line"), ("web/hall", "line"), ("web/staff", "line"), ("web/bob", "saved")):
        model.add(Text(key, kind, rooms[key], rooms[key].people[0]))
    seen = {key: [mark for mark in model.texts if model.is_seen(mark, rooms[key], "bob")] for key in rooms}
    assert seen["web/bob"] == ["web/bob"] and seen["web/lobby"] == [] and seen["web/ann"] == []
    assert seen["web/kitchen"] == ["web/hall"] and seen["web/staff"] == ["web/hall", "web/staff"]
