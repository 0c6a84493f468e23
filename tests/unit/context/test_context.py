"""The frame of `context`: key order and caps."""

from core.context.context import CONTEXT_KEYS, order_context


def test_p8_bracketed_keys_are_there_only_when_there_is_something_in_them() -> None:
    always: dict[str, list[str]] = {"history_current_chat": [], "history_recent": [], "thoughts": []}
    empty: dict[str, list[str]] = {name: [] for name, _ in CONTEXT_KEYS}
    assert order_context({}) == always
    assert order_context(empty) == {**always, "memories": [], "tags_placeholder": []}
    assert order_context({"short_term": "", "relationship": None, "running_recap": "x"}) == {
        **always,
        "running_recap": "x",
    }
    assert order_context({"mood": None, "tags": []}) == {**always, "mood": None, "tags": []}, "those of the host stay"
