"""Where the scenes of a conversation lie: their indexes, worked out from the order of its messages."""

from __future__ import annotations

from dataclasses import dataclass

from ..database.readers import Reader
from ..messages import table_lines, table_scenes
from ..messages.table_scenes import Scene
from .rules_scenes import BEFORE_ALL


@dataclass(frozen=True, slots=True)
class PlacedScene:
    """A scene and the index of the message it ends with."""

    scene: Scene
    index: int

    @property
    def has_recap(self) -> bool:
        """Return whether the scene has a recap."""
        return self.scene.recap_index is not None


@dataclass(frozen=True, slots=True)
class Layout:
    """A conversation as its scenes divide it."""

    rows: tuple[int, ...]
    """Messages, oldest first: a message's index is its position."""
    scenes: tuple[PlacedScene, ...]
    """By index."""

    def find(self, break_row: int) -> PlacedScene | None:
        """Return the scene that ends with a message, None without a break."""
        return next((each for each in self.scenes if each.scene.break_row == break_row), None)

    def first_of(self, placed: PlacedScene) -> int:
        """Return the index of the first message of a scene: it begins after the nearest earlier one with a recap."""
        earlier = (each.index for each in self.scenes if each.has_recap and each.index < placed.index)
        return max(earlier, default=BEFORE_ALL) + 1

    def rows_of(self, placed: PlacedScene) -> tuple[int, ...]:
        """Return the messages of a scene, oldest first."""
        return self.rows[self.first_of(placed) : placed.index + 1]

    @property
    def last_break(self) -> int:
        """Return the index of the newest break, BEFORE_ALL without one."""
        return max((each.index for each in self.scenes), default=BEFORE_ALL)


def read_layout(reader: Reader, persona: str, conversation: str) -> Layout:
    """Return a conversation's messages and scenes in order."""
    rows = table_lines.read_order(reader, persona, conversation)
    at = {row_id: index for index, row_id in enumerate(rows)}
    placed = [
        PlacedScene(scene, at[scene.break_row])
        for scene in table_scenes.read_scenes(reader, persona, conversation)
        if scene.break_row in at
    ]
    return Layout(rows, tuple(sorted(placed, key=lambda each: (each.index, each.scene.id))))
