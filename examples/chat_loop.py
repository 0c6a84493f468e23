"""A chat in the terminal that remembers: pip install prompt-engine openai, then python examples/chat_loop.py

MODEL_URL (an OpenAI-compatible server, such as http://127.0.0.1:11434/v1), MODEL_NAME, MODEL_KEY and DATABASE_URL come
from the environment. An empty line ends it; what was said is there the next time.
"""

from __future__ import annotations

import os
from contextlib import suppress

from openai import OpenAI
from prompt_engine import Scope, build_messages, parse_answer
from prompt_engine.chat_history_cache import save_chat_message

SCOPE = Scope("iris", "terminal/me", "terminal/me", privacy="direct")


def main() -> None:
    """Ask, answer, remember."""
    model = OpenAI(base_url=os.environ["MODEL_URL"], api_key=os.environ.get("MODEL_KEY", "none"))
    with suppress(EOFError):  # Ctrl-D ends it too
        while text := input("> ").strip():
            message = {"message_id": None, "date": None, "text": text, "interface_path": SCOPE.conversation}
            messages = build_messages(message, scope=SCOPE)
            reply = model.chat.completions.create(model=os.environ["MODEL_NAME"], messages=messages)
            answer = parse_answer(reply.choices[0].message.content or "")["text"]
            save_chat_message(SCOPE.conversation, text, scope=SCOPE)
            save_chat_message(SCOPE.conversation, answer, "Iris", "self", scope=SCOPE)
            print(answer)


if __name__ == "__main__":
    main()
