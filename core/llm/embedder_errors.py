"""How an embedder fails."""

from __future__ import annotations

from ..base.vectors import MOST_DIMENSIONS
from ..errors import CoreError


class EmbedderError(CoreError):
    """An embedder gave no vectors that can be used. `reason` is timeout, auth, config, error, count or vector."""

    def __init__(self, reason: str, *, error: str = "", told: str = "") -> None:
        super().__init__((told or _REASONS[reason]) + (f" [{error}]" if error else ""))
        self.reason = reason
        self.error = error


_REASONS = {
    "timeout": "The embedder gave no answer in time. Make it faster, or raise LLM_TIMEOUT_SECONDS (for rows).",
    "auth": "The server of EMBEDDER refuses the key. Set EMBEDDER_API_KEY, or EMBEDDER_API_KEY_FILE to the path of "
    "a file that holds it.",
    "config": "The embedder is configured wrongly. Run prompt-engine config check.",
    "error": "The embedder failed. Look at what serves it.",
    "count": "The embedder did not return one vector for each text. It must return as many vectors as it gets texts.",
    "vector": f"The embedder returned something that is no vector. It must return 1 to {MOST_DIMENSIONS} finite "
    "numbers for each text, the same number for all.",
}
