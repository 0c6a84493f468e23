"""A small web service that remembers each user: pip install prompt-engine fastapi uvicorn openai, then

    uvicorn examples.service:app

MODEL_URL (an OpenAI-compatible server, such as http://127.0.0.1:11434/v1), MODEL_NAME, MODEL_KEY and DATABASE_URL come
from the environment. Who is asking must come from your own login: here it is believed as it is sent.
"""

from __future__ import annotations

import os

from fastapi import FastAPI
from openai import AsyncOpenAI
from prompt_engine import Scope, aio, parse_answer
from pydantic import BaseModel

app = FastAPI()


class Said(BaseModel):
    """What a user says."""

    user: str
    text: str


@app.post("/chat")
async def chat(said: Said) -> dict[str, str]:
    """Answer a user, out of what was said with this user alone."""
    who = f"service/{said.user}"
    scope = Scope("iris", who, who, privacy="direct")
    message = {"message_id": None, "date": None, "text": said.text, "interface_path": who}
    messages = await aio.build_messages(message, scope=scope)
    async with AsyncOpenAI(base_url=os.environ["MODEL_URL"], api_key=os.environ.get("MODEL_KEY", "none")) as model:
        reply = await model.chat.completions.create(model=os.environ["MODEL_NAME"], messages=messages)
    answer = parse_answer(reply.choices[0].message.content or "")["text"]
    await aio.save_chat_message(who, said.text, scope=scope)
    await aio.save_chat_message(who, answer, "Iris", "self", scope=scope)
    return {"answer": answer}


@app.delete("/users/{user}")
async def forget(user: str) -> dict[str, int]:
    """Forget everything of a user."""
    done = await aio.forget(participant=f"service/{user}", scope=Scope("iris"))
    return {"rows": done.total}
