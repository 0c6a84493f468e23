"""Data of the recap extension in a chat of SillyTavern, beside a message and in the header: taken out, and put back."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from ....errors import MessageError
from ....stories import rules_recaps
from ....stories.table_imported import Recap, Scene
from ....text.folding import clean
from ....text.strict_json import make_strict
from ...fields import TEXT_BYTES
from .json_text import keep

NAMESPACES = ("auto_recap", "auto_recap_memory")
"""Names under which versions of the extension keep their data in `extra`; new data is put under the first."""
OF_RECAP = ("memory", "edited", "stale", *rules_recaps.IN_DATA)
"""Keys of the recap that every alternative has of its own; `stale` is known to us alone."""
OF_MESSAGE = (*OF_RECAP, "include", "exclude", *sorted(rules_recaps.SCENE))
_ORDER = (*rules_recaps.KINDS, "stale")
_OF_VERSIONS = ("scene_recap_versions", "scene_recap_current_index", "scene_recap_metadata")
_LONG_NUMBER = re.compile(r"[:\[,]-?\d{19}")
"""A whole number that servers may round."""
_MOST_CHARS = {"include": 40, "scene_break_name": 200}


def split_extra(extra: Any, keys: Collection[str]) -> tuple[Any, dict[str, Any]]:
    """Return `extra` without the values of those keys that are recognised, and the values."""
    name = _namespace(extra)
    if name is None:
        return extra, {}
    held = extra[name]
    read = {key: _read(key, held[key]) for key in held if key in keys}
    taken = {key: value for key, value in read.items() if value is not None and key in _allowed(read)}
    if not taken:
        return extra, {}
    left = {key: None if key in taken else value for key, value in held.items()}
    return {**extra, name: left}, taken


def _namespace(extra: Any) -> str | None:
    if not isinstance(extra, dict):
        return None
    return next((name for name in NAMESPACES if isinstance(extra.get(name), dict)), None)


def has_place(info: Mapping[str, Any]) -> bool:
    """Return whether the extension has data beside an alternative."""
    return _namespace(info.get("extra")) is not None


def _read(key: str, value: Any) -> Any:
    """Return a value as it is stored, None where it is none of its key's."""
    if key == "scene_break_visible":
        return value if isinstance(value, bool) else None
    if key == "stale" or rules_recaps.KINDS[key] == "switch":
        return True if value is True else None
    try:
        made = rules_recaps.read_value(key, value)
    except MessageError:
        return None
    if isinstance(made, str):
        text = clean(made)
        fits = len(text) <= _MOST_CHARS.get(key, len(text)) and len(text.encode("utf-8")) <= TEXT_BYTES
        return text if fits and text.strip() else None
    if key == "scene_recap_versions":
        return [clean(text) for text in made] if made else None
    if isinstance(made, dict):
        return make_strict(made)[0] if _is_exact(made) else None
    return made


def _is_exact(value: dict[str, Any]) -> bool:
    """Return whether an object that is not empty comes back from every server as it was."""
    text = keep(value)
    if not value or text is None or make_strict(value)[1]:
        return False
    return not _LONG_NUMBER.search(text)


def _allowed(read: Mapping[str, Any]) -> Collection[str]:
    """Return the keys that may be taken: those of a scene where there is a break, of its versions where there are."""
    found = {key for key in read if key not in rules_recaps.SCENE}
    if read.get("memory") is None:
        found.discard("stale")
    if not read.get("scene_break"):
        return found
    found |= {"scene_break", "scene_break_visible", "scene_break_name", "scene_recap_memory"} & read.keys()
    if "scene_recap_versions" in read and read["scene_recap_versions"] is None:
        return found  # versions of another shape: what belongs to them stays with them
    has_text = read.get("scene_recap_versions") is not None or read.get("scene_recap_memory") is not None
    return found | set(_OF_VERSIONS) if has_text else found


def merge_extra(extra: Any, values: Mapping[str, Any]) -> Any:
    """Return `extra` with values of the extension in their places; those without one stand in the extension's order."""
    new = {key: values[key] for key in _ORDER if values.get(key) is not None}
    if not new:
        return extra
    name = _namespace(extra) or NAMESPACES[0]
    held = extra[name] if _namespace(extra) else {}
    if held.get("scene_recap_versions") is not None:
        new = {key: value for key, value in new.items() if key not in _OF_VERSIONS}
    if "scene_recap_memory" in held and "scene_recap_versions" not in held and len(new.get(_OF_VERSIONS[0], ())) == 1:
        new = {key: value for key, value in new.items() if key not in _OF_VERSIONS[:2]}  # the text says it all
    if new.get("scene_break_visible") and "scene_break" in held and "scene_break_visible" not in held:
        del new["scene_break_visible"]  # visible is what a break is that does not say
    made = {key: new.get(key, value) for key, value in held.items()}
    made |= {key: value for key, value in new.items() if key not in held}
    return {**(extra if isinstance(extra, dict) else {}), name: made}


def recap_of(taken: Mapping[str, Any]) -> Recap | None:
    """Return the recap that values taken make, None where they make none."""
    if not any(key in taken for key in (*OF_RECAP, "include")):
        return None
    data = {key: taken[key] for key in rules_recaps.IN_DATA if key in taken}
    return Recap(
        taken.get("memory"), taken.get("include"), bool(taken.get("edited")), bool(taken.get("stale")), data
    )  # fmt: skip


def values_of(recap: Recap | None) -> dict[str, Any]:
    """Return the values of a recap as the extension keeps them."""
    if recap is None:
        return {}
    flags = {"edited": recap.edited or None, "stale": recap.stale or None}
    return {"memory": recap.memory, "include": recap.include, **flags, **recap.data}


def scene_of(taken: Mapping[str, Any]) -> Scene | None:
    """Return the scene that values taken make, None where there is no break."""
    if not taken.get("scene_break"):
        return None
    versions = list(taken.get("scene_recap_versions", ()))
    text, number = taken.get("scene_recap_memory"), taken.get("scene_recap_current_index", len(versions) - 1)
    if text is not None and (not 0 <= number < len(versions) or versions[number] != text):
        if text not in versions:
            versions.append(text)
        number = len(versions) - 1 - versions[::-1].index(text)
    current = min(number, len(versions) - 1) if versions else None
    metadata = taken.get("scene_recap_metadata") if current is not None else None
    return Scene(
        taken.get("scene_break_name", ""), taken.get("scene_break_visible", True), tuple(versions), current, metadata
    )


def scene_values(scene: Scene | None) -> dict[str, Any]:
    """Return the values of a scene as the extension keeps them."""
    if scene is None:
        return {}
    return {
        "scene_break": True,
        "scene_break_visible": scene.visible,
        "scene_break_name": scene.name or None,
        "scene_recap_memory": None if scene.current is None else scene.versions[scene.current],
        "scene_recap_versions": list(scene.versions) or None,
        "scene_recap_current_index": scene.current,
        "scene_recap_metadata": _sorted(scene.metadata) if scene.metadata else None,
    }


def _sorted(value: Any) -> Any:
    """Return a value with the keys of its objects sorted: servers do not keep their order."""
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
