"""G2, G3, P5: how functions of the host are registered and what they get."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from core.hooks import HOOK_NAMES, call, clear_hooks, get_hook, set_hook

ARGUMENTS = {"text": "hi", "settings": 1, "db": 2}


@pytest.fixture(autouse=True)
def none_registered() -> Iterator[None]:
    clear_hooks()
    yield
    clear_hooks()


def test_g2_hooks_are_registered_by_name() -> None:
    for name in HOOK_NAMES:
        assert get_hook(name) is None
        set_hook(name, len)
        assert get_hook(name) is len
    set_hook("context", None)
    assert get_hook("context") is None
    clear_hooks()
    assert get_hook("actions") is None


def test_g3_p5_what_is_no_plain_function_and_no_known_name_is_refused() -> None:
    """An async hook would never be awaited: it is refused where it is set."""

    async def later() -> None: ...

    class Later:
        async def __call__(self) -> None: ...

    for hook in (later, Later()):
        with pytest.raises(TypeError, match="context is async"):
            set_hook("context", hook)
    with pytest.raises(TypeError, match="context is of type int"):
        set_hook("context", 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"'action' is no hook.*Did you mean 'actions'"):
        set_hook("action", print)


class WithCall:
    def __call__(self, text: str) -> str:
        return text

    def method(self, text: str, db: int) -> Any:
        return text, db


@pytest.mark.parametrize(("function", "answer"), [
    (lambda: "none", "none"), (lambda text: text, "hi"),
    (lambda db, text="", unknown=9: (db, text, unknown), (2, "hi", 9)), (lambda **given: given, ARGUMENTS),
    (lambda limit=3, *, text: (limit, text), (3, "hi")), (WithCall(), "hi"), (WithCall().method, ("hi", 2)),
])  # fmt: skip
def test_g3_a_hook_gets_the_keywords_it_accepts(function: Any, answer: Any) -> None:
    assert call(function, ARGUMENTS) == answer


def test_g3_a_hook_runs_in_the_callers_thread_and_raises_what_it_raises() -> None:
    assert call(threading.get_ident, {}) == threading.get_ident()
    with pytest.raises(KeyError, match="own"):
        call(lambda: {}["own"], {})
