"""How limits of a prompt are read: strictly as an argument, leniently from a host's hook."""

from __future__ import annotations


def read_limit_argument(name: str, value: object) -> int | None:
    """Return the limit as a whole number of at least 1, or None when none was given."""
    if value is None:
        return None
    if not _is_limit(value):
        raise ValueError(
            f"{name} is {_shown(value)}. It must be a whole number of at least 1, or None for no limit. "
            "Pass such a number, or leave the argument out."
        )
    return int(value)  # type: ignore[call-overload, no-any-return]


def read_engine_limit(value: object) -> tuple[int | None, str | None]:
    """Return the limit the hook `engine_limit` gave and a note for the report when it was unusable."""
    if value is None:
        return None, None
    if _is_limit(value):
        return int(value), None  # type: ignore[call-overload]
    return (
        None,
        f"engine_limit gave {_shown(value)}, which is no whole number of at least 1; no limit was taken from it",
    )


def _is_limit(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _shown(value: object) -> str:
    """Return a short account of a bad value; foreign objects are named by their type alone."""
    if isinstance(value, int) and value.bit_length() > 64:
        return "a number of more than 19 digits"
    if isinstance(value, int | float) or (isinstance(value, str) and len(value) <= 40):
        return repr(value)
    return f"a text of {len(value)} characters" if isinstance(value, str) else f"of type {type(value).__name__}"
