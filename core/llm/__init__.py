"""Asking a language model for a text: who is asked, how long, and what counts as a failure.

| name | what it is |
|---|---|
| `Model` | what can be asked: a function taking the list of messages, or an object with `complete(messages, ...)` |
| `resolve` | the model of one call: that passed, else that of the process, else the server of LLM_BASE_URL, else None |
| `ask` | its answer, a text; or ModelError |
| `ChatClient` | a server in the OpenAI dialect |
| `close` | ends the connections to such servers |

Importing this loads no HTTP package; a client does, when it is asked.
"""

from .calls import Completes, Model, ask, resolve
from .client import ChatClient, close

__all__ = ["ChatClient", "Completes", "Model", "ask", "close", "resolve"]
