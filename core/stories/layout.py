"""Where the scenes of a conversation lie: their indexes, worked out from the order of its messages."""

from __future__ import annotations

from dataclasses import dataclass

from ..database.readers import Reader
from ..messages import table_lines, table_scenes
from ..messages.table_scenes import Scene
from .rules_scenes import BEFORE_ALL


@dataclass(frozen=True, slots=True)
class Layout:
    """A conversation as its scenes divide it."""

    rows: tuple[int, ...] = ()
    """Messages, oldest first: a message's index is its position."""
    scenes: tuple[Scene, ...] = ()
    """Oldest first."""
    ends: tuple[int, ...] = ()
    """Index of the message that each scene ends with."""

    def find(self, break_row: int) -> Scene | None:
        """Return the scene that ends with a message, None without a break."""
        return next((scene for scene in self.scenes if scene.break_row == break_row), None)

    def range_of(self, scene: Scene) -> tuple[int, int]:
        """Return the indexes of a scene's first and last message; it begins after the nearest earlier recap."""
        last = self.ends[self.scenes.index(scene)]
        earlier = (
            end for each, end in zip(self.scenes, self.ends, strict=True) if each.recap_index is not None and end < last
        )
        return max(earlier, default=BEFORE_ALL) + 1, last

    def rows_of(self, scene: Scene) -> tuple[int, ...]:
        """Return the messages of a scene, oldest first."""
        first, last = self.range_of(scene)
        return self.rows[first : last + 1]

    @property
    def last_break(self) -> int:
        """Return the index of the newest break, BEFORE_ALL without one."""
        return max(self.ends, default=BEFORE_ALL)


def read_layout(reader: Reader, persona: str, conversation: str) -> Layout:
    """Return a conversation's messages and scenes in order."""
    rows = table_lines.read_order(reader, persona, conversation)
    at = {row_id: index for index, row_id in enumerate(rows)}
    scenes = [scene for scene in table_scenes.read_scenes(reader, persona, conversation) if scene.break_row in at]
    scenes.sort(key=lambda scene: (at[scene.break_row], scene.id))
    return Layout(rows, tuple(scenes), tuple(at[scene.break_row] for scene in scenes))
