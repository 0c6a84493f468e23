"""Whether an ADMIN_TOKEN is long enough for the admin server to start."""

from __future__ import annotations

LEAST_TOKEN = 16


def admin_token(token: str) -> str:
    """Return why the admin server does not start with a token, blank where it does; the token itself is not quoted."""
    how = "Make one with `python -c 'import secrets; print(secrets.token_urlsafe(32))'` and set it in the environment."
    if not token:
        return f"ADMIN_TOKEN is unset. The admin server does not start without one. {how}"
    if len(token) < LEAST_TOKEN:
        return f"ADMIN_TOKEN has {len(token)} characters. It must have at least {LEAST_TOKEN}. {how}"
    return ""
