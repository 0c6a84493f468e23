"""What the tests of SillyTavern's files share: the sample, and chats made up at random."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "tavern_chat.jsonl"

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=20).filter(
    lambda text: bool(text.strip())
)
_NAMES = st.sampled_from(["mood", "metadata", "hidden", "sillytavern", "persona_id", "role", "é"])
PLAIN_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES | TEXTS, inner, max_size=3),
    max_leaves=6,
)
"""What JSON can hold."""


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@st.composite
def recaps(draw: st.DrawFn, *, of_message: bool) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, values in (
        ("memory", TEXTS), ("reasoning", TEXTS), ("prefill", TEXTS), ("error", TEXTS | st.none()),
        ("edited", st.booleans()), ("auto_scene_break_checked", st.booleans()), ("theirs", PLAIN_JSON),
        ("include", st.sampled_from([None, "Recap of message(s)"])),
    ):  # fmt: skip
        if draw(st.booleans()):
            made[name] = draw(values)
    if of_message and draw(st.booleans()):
        made["exclude"] = draw(st.booleans())
    if of_message and draw(st.booleans()):
        made["scene_break"] = True
        if draw(st.booleans()):
            made["scene_break_visible"] = draw(st.booleans())
        if draw(st.booleans()):
            made["scene_break_name"] = draw(TEXTS)
        versions = draw(st.lists(TEXTS, max_size=3, unique=True))
        if versions:
            index = draw(st.integers(0, len(versions) - 1))
            made |= {"scene_recap_memory": versions[index], "scene_recap_versions": versions}
            made |= {"scene_recap_current_index": index}
    return made


@st.composite
def extras(draw: st.DrawFn, *, of_message: bool) -> dict[str, Any]:
    made: dict[str, Any] = draw(st.dictionaries(_NAMES, PLAIN_JSON, max_size=2))
    if draw(st.booleans()):
        made[draw(st.sampled_from(["auto_recap", "auto_recap_memory"]))] = draw(recaps(of_message=of_message))
    return made


@st.composite
def lines(draw: st.DrawFn) -> dict[str, Any]:
    user = draw(st.booleans())
    date = draw(st.sampled_from(["June 19, 2023 4:13pm", "2023-06-19T16:14:00.000Z", 1687191300000, "1687191205120"]))
    made: dict[str, Any] = {"name": draw(st.sampled_from(["Ann", "Iris"])), "is_user": user}
    made |= {"is_system": draw(st.booleans()), "send_date": date, "mes": draw(TEXTS)}
    if draw(st.booleans()):
        made["extra"] = draw(extras(of_message=True))
    if not user and draw(st.booleans()):
        others = draw(st.lists(TEXTS, max_size=2))
        chosen = draw(st.integers(0, len(others)))
        made["swipe_id"] = chosen
        made["swipes"] = [*others[:chosen], made["mes"], *others[chosen:]]
        if draw(st.booleans()):
            infos = [{"send_date": date, "extra": draw(extras(of_message=False))} for _ in made["swipes"]]
            # the current one has what the message has, or nothing of the recap extension
            own = deepcopy(made.get("extra", {})) if draw(st.booleans()) else {}
            made["swipe_info"] = [*infos[:chosen], {"send_date": date, "extra": own}, *infos[chosen + 1 :]]
    return {**made, **draw(st.dictionaries(_NAMES, PLAIN_JSON, max_size=2))}


def versions_of(numbers: list[int]) -> list[dict[str, Any]]:
    return [
        {"version": n, "timestamp": 1762107000000 + n, "content": f"So far {n}.", "scene_count": 1, "excluded_count": 0,
         "prev_scene_index": 0, "new_scene_index": n, "theirs": {"b": 1, "a": 2}}
        for n in numbers
    ]  # fmt: skip
