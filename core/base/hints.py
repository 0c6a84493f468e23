"""Suggests a known name for a mistyped name."""

from collections.abc import Iterable


def find_nearest(name: object, known: Iterable[str]) -> str | None:
    """Return the known name most similar to `name`, ignoring letter case; None if no name is similar."""
    from difflib import get_close_matches  # noqa: PLC0415 - only mistakes need it

    forms = {each.casefold(): each for each in known}
    near = get_close_matches(name[:80].casefold(), forms, 1) if isinstance(name, str) else []
    return forms[near[0]] if near else None


def hint_name(name: object, known: Iterable[str]) -> str:
    """Return a hint such as ` Did you mean 'limit'?` with the most similar known name; "" if no name is similar."""
    near = find_nearest(name, known)
    return f" Did you mean {near!r}?" if near else ""


_SHOWN_CHARS = 60


def shown(value: object) -> str:
    """Format a value with `repr`, shortened for use in a sentence."""
    if isinstance(value, str):
        return repr(value[:_SHOWN_CHARS] if len(value) <= _SHOWN_CHARS else value[: _SHOWN_CHARS - 1] + "...")
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 128:
        return "a number of more than 38 digits"
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    return f"of type {type(value).__name__}"
