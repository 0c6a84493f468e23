"""Suggests a known name for a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable


def find_nearest(name: object, known: Iterable[str]) -> str | None:
    """Return the known name that is most like `name`, whatever its letter case; None where none is like it."""
    from difflib import get_close_matches  # noqa: PLC0415 - only mistakes need it

    forms = {each.casefold(): each for each in known}
    near = get_close_matches(name[:80].casefold(), forms, 1) if isinstance(name, str) else []
    return forms[near[0]] if near else None


def hint_name(name: object, known: Iterable[str]) -> str:
    """Return the name that may have been meant, as a sentence with a blank before it; "" where none is near."""
    near = find_nearest(name, known)
    return f" Did you mean {near!r}?" if near else ""
