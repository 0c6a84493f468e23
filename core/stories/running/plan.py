"""What the next version of a running recap is made from. Called by `stories.running.handlers`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..scenes.rules import BEFORE_ALL

Kind = Literal["none", "incremental", "bulk"]
"""none: nothing has changed. incremental: a version is carried on by the scenes after it. bulk: made anew, from all
scenes or from the version before the first one that changed."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene that has a recap."""

    id: int
    index: int
    """Of the message it ends with."""
    version: int
    """Which version of its recap is current."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the running recap that was not deleted."""

    number: int
    new_scene_index: int
    scene_count: int = 0
    scenes: tuple[Scene, ...] | None = None
    """Those in its text, as they were then; None where nobody knows, as with a text of the host."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the next version is made from."""

    kind: Kind
    base: Version | None = None
    """Its text is carried on; None for a new beginning."""
    scenes: tuple[Scene, ...] = ()
    """Their recaps are added, oldest first."""
    excluded_count: int = 0
    """Newest scenes left out."""

    @property
    def scene_count(self) -> int:
        """Return how many scenes the new text covers."""
        return len(self.scenes) + (self.base.scene_count if self.base else 0)

    @property
    def prev_scene_index(self) -> int:
        """Return the index of the newest scene in the text that is carried on; 0 where none is."""
        return self.base.new_scene_index if self.base else 0

    @property
    def new_scene_index(self) -> int:
        """Return the index of the newest scene in the new text."""
        return self.scenes[-1].index if self.scenes else self.prev_scene_index


def plan(
    scenes: Sequence[Scene],
    versions: Sequence[Version],
    current: int | None,
    *,
    exclude_latest: int = 1,
    anew: bool = False,
) -> Plan:
    """Return what the next version of a running recap is made from."""
    ordered = sorted(scenes, key=lambda scene: (scene.index, scene.id))
    base = None if anew else next((v for v in versions if v.number == current), None)
    if base is None:
        return _from_all(ordered, exclude_latest)
    first = _first_changed(ordered, base)
    if first is None:
        new = tuple(scene for scene in ordered if _is_after(scene, base))
        return Plan("incremental", base, new) if new else Plan("none", base)
    former = [v for v in versions if v.new_scene_index < first and _first_changed(ordered, v) is None]
    start = max(former, key=lambda v: (v.new_scene_index, v.number), default=None)
    taken = tuple(scene for scene in ordered if start is None or _is_after(scene, start))
    return Plan("bulk", start, taken) if taken else Plan("none", base)


def _from_all(ordered: Sequence[Scene], exclude_latest: int) -> Plan:
    excluded = exclude_latest if len(ordered) > exclude_latest else 0
    taken = tuple(ordered[: len(ordered) - excluded])
    return Plan("bulk", None, taken, excluded) if taken else Plan("none")


def _is_after(scene: Scene, version: Version) -> bool:
    if version.scenes is not None:
        return scene.id not in {each.id for each in version.scenes}
    return scene.index > version.new_scene_index


def _first_changed(scenes: Sequence[Scene], version: Version) -> int | None:
    """Return the index of the first scene of a version that is not as it was; None where all are."""
    if version.scenes is None:
        return None
    now = {scene.id: scene for scene in scenes}
    then = {scene.id for scene in version.scenes}
    changed = [
        each.index if each.id not in now else min(each.index, now[each.id].index)
        for each in version.scenes
        if each.id not in now or now[each.id].version != each.version
    ]
    end = max((now[each.id].index for each in version.scenes if each.id in now), default=BEFORE_ALL - 1)
    changed += [scene.index for scene in scenes if scene.id not in then and scene.index < end]
    return min(changed, default=None)


def known_scenes(data: object) -> tuple[Scene, ...] | None:
    """Return the scenes in a version's text as `data` holds them, None where it says nothing."""
    held = data.get("scenes") if isinstance(data, Mapping) else None
    if not isinstance(held, list):
        return None
    whole = [each for each in held if isinstance(each, list) and len(each) == 3]
    return tuple(Scene(*each) for each in whole if all(isinstance(number, int) for number in each))
