"""Rules for the running recap: the sources of its next version, and the part of its text that fits a limit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from .rules_scenes import BEFORE_ALL

EXCLUDED_SCENES = 1
"""Number of newest scenes left out of a running recap made from nothing: prompts still show their full text."""


class CoveredScene(NamedTuple):
    """A scene whose recap is part of a running recap."""

    id: int
    last_index: int
    version: int
    """Version of the scene's recap that the running recap used."""


@dataclass(frozen=True, slots=True)
class Version:
    content: str
    scene_count: int = 0
    excluded_count: int = 0
    prev_scene_index: int = 0
    new_scene_index: int = 0
    provenance: str = "model"
    scenes: tuple[CoveredScene, ...] | None = None
    """Scenes in the text, as they were when the text was made; None if unknown, for example if the host wrote it."""
    number: int = -1
    """Assigned when the version is stored."""
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RecapPlan:
    base: Version | None
    """The version to which the scenes are added; None to begin with an empty recap."""
    scenes: tuple[CoveredScene, ...]
    """Scenes whose recaps are added, oldest first."""
    excluded_count: int = 0

    def build_version(self, text: str, provenance: str) -> Version:
        base, scenes = self.base, self.scenes
        previous = base.new_scene_index if base else 0
        return Version(
            text,
            scene_count=len(scenes) + (base.scene_count if base else 0),
            excluded_count=self.excluded_count,
            prev_scene_index=previous,
            new_scene_index=scenes[-1].last_index if scenes else previous,
            provenance=provenance,
            # unknown if it continues a text of the host
            scenes=scenes if base is None else None if base.scenes is None else (*base.scenes, *scenes),
        )


def read_scenes(data: Mapping[str, Any] | None) -> tuple[CoveredScene, ...] | None:
    """Return the scenes listed in a version's `data`, or None if there is no such list."""
    stored = (data or {}).get("scenes")
    if not isinstance(stored, list):
        return None
    whole = [each for each in stored if isinstance(each, list) and len(each) == 3]
    return tuple(CoveredScene(*each) for each in whole if all(isinstance(number, int) for number in each))


def plan_recap(
    scenes: Sequence[CoveredScene], versions: Sequence[Version], current: int | None, *, anew: bool = False
) -> RecapPlan | None:
    """Return the version and the scenes from which to make the next running recap; None if no scene changed.

    Newer scenes are added to the current version. If an earlier scene changed, this and all later scenes are added to
    the latest version before the change. Without such a version, or with `anew`, all scenes go into an empty recap.
    """
    ordered = sorted(scenes, key=lambda scene: (scene.last_index, scene.id))
    base = None if anew else next((v for v in versions if v.number == current), None)
    if base is None:
        excluded = EXCLUDED_SCENES if len(ordered) > EXCLUDED_SCENES else 0
        return RecapPlan(None, tuple(ordered[: len(ordered) - excluded]), excluded) if ordered else None
    start: Version | None = base
    if (first := _first_changed(ordered, base)) is not None:
        earlier = [v for v in versions if v.new_scene_index < first and _first_changed(ordered, v) is None]
        start = max(earlier, key=lambda v: (v.new_scene_index, v.number), default=None)
    new = tuple(scene for scene in ordered if _is_after(scene, start))
    return RecapPlan(start, new) if new else None


def _is_after(scene: CoveredScene, version: Version | None) -> bool:
    if version is None:
        return True
    if version.scenes is not None:
        return scene.id not in {each.id for each in version.scenes}
    return scene.last_index > version.new_scene_index


def _first_changed(scenes: Sequence[CoveredScene], version: Version) -> int | None:
    """Return the last message index of the earliest scene that changed since this version, or None."""
    if version.scenes is None:
        return None
    now = {scene.id: scene for scene in scenes}
    then = {scene.id for scene in version.scenes}
    changed = [
        each.last_index if each.id not in now else min(each.last_index, now[each.id].last_index)
        for each in version.scenes
        if each.id not in now or now[each.id].version != each.version
    ]
    end = max((now[each.id].last_index for each in version.scenes if each.id in now), default=BEFORE_ALL - 1)
    changed += [scene.last_index for scene in scenes if scene.id not in then and scene.last_index < end]
    return min(changed, default=None)


def add_lines(text: str, lines: Sequence[str]) -> str:
    """Return `text` with `lines` appended, except lines that `text` contains already."""
    merged = dict.fromkeys(line for line in (*text.splitlines(), *lines) if line.strip())
    return "\n".join(merged)
