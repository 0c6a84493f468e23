"""R13: a client that goes away in the middle of its request is one quiet line of the log, whatever it asked."""

from __future__ import annotations

import logging
import socket
import struct
import time
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("mcp", reason="needs the extra `mcp`")

from core import tokens
from core.config import Settings
from core.scope import Scope
from core.web import create_app
from tests.spec.proxy_world import PATIENCE_SECONDS, serving, wait_until

pytestmark = pytest.mark.engines("sqlite")


BROKEN = b'{"messages": ['
WHOLE = b'{"model": "tiny", "messages": [{"role": "user", "content": "hi"}]}'


@pytest.mark.parametrize("ending", ["closed", "reset"])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", BROKEN),
        ("/v1/chat/completions", WHOLE),  # goes while the model thinks
        ("/v1/turns", BROKEN),
        ("/v1/messages", BROKEN),
        ("/mcp", BROKEN),
    ],
)
def test_r13_a_client_that_goes_is_one_quiet_line(
    db: Any, stage: Any, caplog: pytest.LogCaptureFixture, path: str, body: bytes, ending: str
) -> None:
    """A traceback for each browser tab that is closed hides the one that matters."""
    token = tokens.add_token("scope", db=db, scope=Scope(stage.persona, participant="web/ann"))["token"]
    with socket.create_server(("127.0.0.1", 0)) as silent, caplog.at_level(logging.INFO):
        settings = Settings(llm_base_url=f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        app = create_app(db=db, settings=settings, admin=False, proxy=True, mcp=True)
        with serving(app) as url:
            address = urlsplit(url)
            with socket.create_connection((address.hostname, address.port), timeout=PATIENCE_SECONDS) as client:
                client.sendall(
                    f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                    "Accept: application/json, text/event-stream\r\n"
                    f"Content-Length: {len(body) if body is WHOLE else 1000}\r\n"
                    f"Authorization: Bearer {token}\r\n\r\n".encode()
                    + body
                )
                time.sleep(0.5)  # the rest is being waited for
                if ending == "reset":
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            assert wait_until(lambda: "request_cut_off" in caplog.text, 20), caplog.text
    told = [record for record in caplog.records if record.name.startswith("prompt_engine")]
    assert [record.getMessage().split()[0] for record in told] == ["request_cut_off"]
    assert not [record for record in caplog.records if record.exc_info or record.levelno > logging.INFO], caplog.text
