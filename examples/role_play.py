"""A role play whose scenes end with a recap: pip install prompt-engine openai, then python examples/role_play.py

What is said is the story; `/scene The harbour` ends a scene, whose recap is made and carried on in that of the whole
story; `/story` shows it. An empty line ends the program, and the story goes on where it was the next time. MODEL_URL
(an OpenAI-compatible server), MODEL_NAME, MODEL_KEY and DATABASE_URL come from the environment.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from openai import OpenAI
from prompt_engine import Scope, build_messages, jobs, parse_answer, stories
from prompt_engine.chat_history_cache import save_chat_message

STORY = "play/the-lighthouse"
SCOPE = Scope("iris", STORY, "play/me", privacy="separate")  # another STORY shares no lines with this one
FLAGS = {"running_scene_recap_auto_generate": True}


class Model:
    """The model that plays, and that writes the recaps."""

    def __init__(self) -> None:
        self._client = OpenAI(base_url=os.environ["MODEL_URL"], api_key=os.environ.get("MODEL_KEY", "none"))

    def complete(self, messages: list[Any]) -> str:
        """Return what the model says next."""
        reply = self._client.chat.completions.create(model=os.environ["MODEL_NAME"], messages=messages)
        return reply.choices[0].message.content or ""


def end_scene(model: Model, last: int | None, name: str) -> str:
    """End the scene with the message that was said last, make its recap, and return that of the story."""
    if last is None:
        return "Say something first."
    stories.add_scene_break(last, name, settings=FLAGS, scope=SCOPE)
    jobs.run_pending(model=model, settings=FLAGS, scope=SCOPE)
    return show_story()


def show_story() -> str:
    """Return the recap of the story so far."""
    recap = stories.get_running_recap(conversation=STORY, scope=SCOPE)
    return recap["content"] if recap else "No scene has ended yet."


def play(model: Model, text: str) -> tuple[str, int | None]:
    """Return what the character answers, and the number of that message; both lines are kept."""
    message = {"message_id": None, "date": None, "text": text, "interface_path": STORY}
    answer = parse_answer(model.complete(build_messages(message, scope=SCOPE)))["text"]
    save_chat_message(STORY, text, scope=SCOPE)
    return answer, save_chat_message(STORY, answer, "Iris", "self", scope=SCOPE).id


def main() -> None:
    """Play until an empty line."""
    model, last = Model(), None
    with suppress(EOFError):  # Ctrl-D ends it too
        while text := input("> ").strip():
            if text.startswith("/scene"):
                print(end_scene(model, last, text.removeprefix("/scene").strip()))
            elif text == "/story":
                print(show_story())
            else:
                answer, last = play(model, text)
                print(answer)


if __name__ == "__main__":
    main()
