"""One browser for the session, one server for a module, one window for a test.

A window watches: a dialog, an error of the script, a request that leaves the server, or something that the content
policy had to stop fails the test, whatever else it was about.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import chromium, stage
from tests.store.world import open_db

ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync")  # fmt: skip
Window = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start the browser; it ends with the module, since its driver holds the event loop of the thread."""
    sync_playwright = pytest.importorskip("playwright.sync_api", reason="no package playwright").sync_playwright
    found = chromium.find()
    if found is None:
        pytest.skip("no Chromium: run `python -m tests.browser install`, or name one by CHROMIUM")
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(
            executable_path=found.program, env={**os.environ, **found.environment}, args=list(ARGUMENTS)
        )
        yield made
        made.close()


class Site:
    def __init__(self, address: str, db: Any, ids: dict[str, Any]) -> None:
        self.address, self.db, self.ids = address, db, ids
        self.cookies: list[Any] = []

    def at(self, path: str) -> str:
        return f"{self.address}/admin/page/{path}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    pytest.importorskip("uvicorn", reason="the extra admin is not installed")
    from core.web import create_app
    from tests.spec.proxy_world import serving

    folder: Path = tmp_path_factory.mktemp("page")
    db = open_db(f"sqlite:///{folder / 'page.sqlite3'}")
    ids = stage.fill(db)
    with serving(create_app(db=db, settings=stage.SETTINGS)) as address:
        yield Site(address, db, ids)
    db.close()


@pytest.fixture
def window(browser: Any, site: Site) -> Iterator[Window]:
    """Give `window(**options)`: a window of its own, signed in unless told otherwise."""
    contexts: list[Any] = []
    seen: list[str] = []

    def open_window(*, is_signed_in: bool = True, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, "locale": "en-GB", **options})
        context.set_default_timeout(20_000)
        contexts.append(context)
        if is_signed_in:
            if not site.cookies:
                site.cookies = _sign_in(context, site)
            context.add_cookies(site.cookies)
        page = context.new_page()

        def console(said: Any) -> None:
            if "Content Security Policy" in said.text or "Refused to" in said.text:
                seen.append(f"the content policy stopped something: {said.text}")

        def dialog(opened: Any) -> None:
            seen.append(f"a dialog opened: {opened.message}")
            opened.dismiss()

        is_own = lambda sent: sent.url.startswith((site.address, "data:"))  # noqa: E731
        page.on("request", lambda sent: is_own(sent) or seen.append(f"left the server: {sent.url}"))
        page.on("console", console)
        page.on("dialog", dialog)
        page.on("pageerror", lambda error: seen.append(f"the script failed: {error}"))
        return page

    yield open_window
    for context in contexts:
        context.close()
    assert not seen, seen


def _sign_in(context: Any, site: Site) -> list[Any]:
    page = context.new_page()
    page.goto(f"{site.address}/admin/login")
    page.fill("#token", stage.SETTINGS["ADMIN_TOKEN"])
    page.click("button.main")
    page.wait_for_url("**/admin/page/memory*")
    page.close()
    cookies: list[Any] = context.cookies()
    return cookies
