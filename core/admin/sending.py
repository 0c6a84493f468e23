"""Answers on their way out: the headers that a guard sets, and whether an answer has begun."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send


class Sending:
    """Sends an answer with these headers on it where it does not say otherwise, and knows whether it has begun."""

    def __init__(self, send: Send, headers: Mapping[str, str]) -> None:
        self._send, self._headers = send, headers
        self.begun: bool = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in self._headers.items():
                headers.setdefault(name, value)
        await self._send(message)
