"""The log-in form, and the style and script that it and every other screen use; open to who has no token."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from starlette.responses import Response

from .html import STATIC
from .page import Page

FILES = {"admin.css": "text/css; charset=utf-8", "admin.js": "text/javascript; charset=utf-8"}
"""The only files there are: nothing of a request's path reaches the file system."""


def show(page: Page) -> Response:
    """Return the log-in form; who came from a wrong token is told so."""
    return page.render(
        "sign_in.html.j2",
        is_signed_in=False,
        title="Sign in",
        is_wrong=bool(page.query("failed")),
    )


def file(name: str, page: Page) -> Response:
    """Return the style sheet or the script; asked for anew each time, and sent when it is another one."""
    content, sign = _content(name)
    headers = {"Cache-Control": "no-cache", "ETag": sign}
    if page.request.headers.get("if-none-match") == sign:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=FILES[name], headers=headers)


@lru_cache(maxsize=4)
def _content(name: str) -> tuple[bytes, str]:
    content = (STATIC / name).read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:20]}"'
