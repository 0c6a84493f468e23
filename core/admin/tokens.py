"""What ADMIN_TOKEN must be. Pure, and without the web framework: `config check` asks it too."""

from __future__ import annotations

LEAST = 16
"""Characters of ADMIN_TOKEN: fewer could be guessed."""
HOW_TO = "Make one with `python -c 'import secrets; print(secrets.token_urlsafe(32))'` and set it in the environment."


def problem_of(token: str) -> str:
    """Return why the admin server does not start with a token, blank where it does; the token itself is not quoted.

    Source: L34.

    >>> problem_of("0123456789abcdef"), problem_of("short")[:55]
    ('', 'ADMIN_TOKEN has 5 characters. It must have at least 16.')
    """
    if not token:
        return f"ADMIN_TOKEN is unset. The admin server does not start without one. {HOW_TO}"
    if len(token) < LEAST:
        return f"ADMIN_TOKEN has {len(token)} characters. It must have at least {LEAST}. {HOW_TO}"
    return ""
