"""The page's log-in: a signed value that expires, made of the token, never holding it; the pace of wrong tokens."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import deque
from datetime import datetime, timedelta

COOKIE = "prompt_engine_admin"
LIFETIME = timedelta(hours=12)

FREE_TRIES = 5
"""Wrong tokens within WINDOW that are answered at once."""
MOST_TRIES = 30
"""Wrong tokens within WINDOW after which the answer is 429."""
WINDOW = timedelta(minutes=1)
_STEP_SECONDS = 0.1
_MOST_SECONDS = 2.0


def is_token(given: str, token: str) -> bool:
    """Return whether a text is the token, in a time that tells nothing of where it differs."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode("utf-8", "surrogatepass"))


class Sessions:
    """The log-ins of one application."""

    def __init__(self, token: str) -> None:
        self._key = hashlib.sha256(b"prompt-engine admin session\x00" + token.encode("utf-8", "surrogatepass")).digest()
        self._ended: dict[str, int] = {}

    def begin(self, now: datetime) -> str:
        """Return the value of a cookie that holds from now for LIFETIME."""
        expires = int((now + LIFETIME).timestamp())
        body = f"{expires}.{secrets.token_hex(16)}"
        return f"{body}.{self._sign(body)}"

    def holds(self, value: str, now: datetime) -> bool:
        """Return whether a cookie's value was made here, has not expired and was not ended."""
        body, _, signature = value.rpartition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), self._sign(body).encode()):
            return False
        expires, _, name = body.partition(".")
        return int(expires) > now.timestamp() and name not in self._ended

    def end(self, value: str, now: datetime) -> None:
        """Let a value hold no more; in this process, which is the one that serves."""
        if self.holds(value, now):
            expires, name, _ = value.split(".")
            self._ended = {key: until for key, until in self._ended.items() if until > now.timestamp()}
            self._ended[name] = int(expires)

    def _sign(self, body: str) -> str:
        return hmac.new(self._key, body.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


class WrongTokens:
    """How many wrong tokens came lately, and how long the next of them waits."""

    def __init__(self) -> None:
        self._times: deque[datetime] = deque(maxlen=MOST_TRIES + 1)

    def count(self, now: datetime) -> float | None:
        """Count a wrong token and return the seconds its answer waits; None where it is not worth an answer."""
        self._times.append(now)
        while not now - WINDOW < self._times[0] <= now:  # later ones too: a clock may be put back
            self._times.popleft()
        over = len(self._times) - FREE_TRIES
        if len(self._times) > MOST_TRIES:
            return None
        return round(min(max(over, 0) * _STEP_SECONDS, _MOST_SECONDS), 3)
