"""The proxy among strangers (R13, R16, R20): hostile headers and ids, and keys that are kept nowhere."""

from __future__ import annotations

import json
import logging
import socket

import pytest
from sqlalchemy import select

from core.upkeep import ddl
from tests.spec.proxy_world import PATIENCE_SECONDS, ProxyWorld, chat, post

pytestmark = pytest.mark.engines("sqlite")


def test_r20_keys_are_neither_stored_nor_logged(proxy: ProxyWorld, caplog: pytest.LogCaptureFixture) -> None:
    """The model server's, from the environment or the request, and the token."""
    with caplog.at_level(logging.DEBUG):
        proxy.ask(proxy.client(X_User_Id="ann", X_Upstream_Key="key-of-the-request"), "hello")
        proxy.ask(proxy.client(X_User_Id="ann"), "hello again")
        proxy.wait_for_lines(4, "proxy/ann")
    assert [each.headers["authorization"] for each in proxy.model.requests] == [
        "Bearer key-of-the-request", "Bearer upstream-key",
    ]  # fmt: skip
    ours = "".join(record.getMessage() for record in caplog.records if record.name.startswith("prompt_engine"))
    rows = repr([tuple(row) for t in ddl.list_tables().values() for row in proxy.db.read(select(t), source=t.name)])
    for secret in ("key-of-the-request", "upstream-key", proxy.host):
        assert secret not in ours and secret not in rows and secret not in json.dumps(proxy.model.last.body)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-User-Id", "a" * 300), ("X-User-Id", "../../admin"), ("X-User-Id", "' OR 1=1 --"), ("X-User-Id", "%00"),
        ("X-Conversation-Id", "c" * 600), ("X-Conversation-Id", "../bob"), ("X-Conversation-Id", "/"),
        ("X-Interface", "web/ann"), ("X-Server-Id", "s" * 300), ("X-User-Name", "%FF%00"),
        ("X-OpenWebUI-User-Id", "u" * 5000),
    ],
)  # fmt: skip
def test_r16_a_hostile_id_is_a_name_or_costs_the_memory(proxy: ProxyWorld, name: str, value: str) -> None:
    """It never reaches another's conversation, and the chat goes on."""
    proxy.ask(proxy.client(X_User_Id="ann", X_Conversation_Id="c"), "My pin is 7321, keep it.")
    proxy.wait_for_lines(2, "proxy/ann/c")
    head = {"Authorization": f"Bearer {proxy.host}", "X-User-Id": "bob", name: value}
    body = {"model": "tiny", "messages": chat("What is my pin, to keep it?")}
    answer = post(proxy.url, json=body, headers=head)
    assert answer.status_code == 200 and "7321" not in str(proxy.model.last.body)
    assert len(proxy.lines("proxy/ann/c")) == 2


@pytest.mark.parametrize(
    "lines",
    [
        b"X-User-Id: ann\r\nX-User-Id: bob\r\n",
        b"X-User-Id: \xff\xfe\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        b"X-Bad\r\n",
        b"Host: evil.example\r\n",
    ],
)
def test_r13_a_request_that_is_no_http_is_refused_and_the_next_one_served(proxy: ProxyWorld, lines: bytes) -> None:
    host, port = proxy.url.removeprefix("http://").split(":")
    start = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {proxy.host}\r\n"
    with socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS) as client:
        client.sendall(start.encode() + lines + b"Connection: close\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        got = b""
        while part := client.recv(65_536):
            got += part
    assert not got or b" 500 " not in got.partition(b"\r\n")[0]
    assert proxy.ask(proxy.client(X_User_Id="ann"), "hello").startswith("ok")
