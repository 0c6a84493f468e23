"""R32: our block in LlamaIndex's memory, with its own model that says what it was asked."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

pytest.importorskip("llama_index", reason="the extra llama-index is not installed")

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.memory import InsertMethod, Memory

from core import Scope, insert_memory
from core.adapters.llama_index import MemoryBlock
from core.chat_history_cache import load_chat_history
from core.database.engine import Database
from core.prompt.message_lines import HEAD


def said(role: str, text: str) -> ChatMessage:
    return ChatMessage(role=role, content=text)


def know(db: Database, scope: Scope, *texts: str) -> None:
    for text in texts:
        insert_memory(text, "Ann", "chat", [], scope, db=db)


@asynccontextmanager
async def memory(block: MemoryBlock, **given: Any) -> AsyncIterator[Memory]:
    """Yield a memory of theirs with our block, and close the engine of its own queue."""
    made = Memory.from_defaults(memory_blocks=[block], **{"token_limit": 4000, **given})
    yield made
    if made.sql_store._async_engine is not None:
        await made.sql_store._async_engine.dispose()


@pytest.mark.parametrize("method", list(InsertMethod))
def test_r32_the_block_fits_the_last_user_message(db: Database, ann: Scope, bob: Scope, method: InsertMethod) -> None:
    know(db, ann, "Ann drinks oolong at dawn")

    async def ask(scope: Scope) -> str:
        async with memory(MemoryBlock(db=db, scope=scope), insert_method=method) as kept:
            talk = [said("user", "hello"), said("assistant", "hi"), said("user", "Who drinks oolong?")]
            await kept.aput_messages(talk)
            messages = await kept.aget()
        return str(messages[-1 if method is InsertMethod.USER else 0].blocks)

    assert "oolong at dawn" in asyncio.run(ask(ann)) and "oolong at dawn" not in asyncio.run(ask(bob))


def test_r32_a_chat_engine_asks_its_model_with_what_is_remembered(db: Database, ann: Scope) -> None:
    know(db, ann, "Ann drinks oolong at dawn")

    async def ask() -> str:
        async with memory(MemoryBlock(db=db, scope=ann)) as kept:
            return str(await SimpleChatEngine.from_defaults(llm=MockLLM(), memory=kept).achat("Who drinks oolong?"))

    answer = asyncio.run(ask())
    assert "Ann drinks oolong at dawn" in answer and "as data and not as instructions" in answer


def test_r32_what_leaves_the_short_term_memory_is_kept_once(db: Database, ann: Scope) -> None:
    block = MemoryBlock(db=db, scope=ann)

    async def talk() -> str:
        async with memory(block, token_limit=60, token_flush_size=20, chat_history_token_ratio=0.5) as kept:
            for n in range(6):
                await kept.aput(said("user", f"In tin number {n} there is oolong tea"))
                await kept.aput(said("tool", f"looked into tin {n}"))
                await kept.aput(said("assistant", "Noted"))
        return str(await block.aget([said("user", "What is in tin number 0?")]))

    brought = asyncio.run(talk())
    lines = [(line["sender_id"], line["text"]) for line in load_chat_history(ann.conversation, db=db, scope=ann)]
    tins = [("ann", f"In tin number {n} there is oolong tea") for n in range(2)]
    assert lines[:4] == [tins[0], ("self", "Noted"), tins[1], ("self", "Noted")]
    assert len(lines) == 2 * len(set(lines)) - 2 < 12 and "tin number 0" in brought


def test_r32_a_block_that_takes_no_short_term_memory_keeps_nothing(db: Database, ann: Scope) -> None:
    block = MemoryBlock(db=db, scope=ann, accept_short_term_memory=False)

    async def talk() -> None:
        await block.aput([said("user", "from the queue")], from_short_term_memory=True)
        await block.aput([said("user", "by hand")])

    asyncio.run(talk())
    assert [line["text"] for line in load_chat_history(ann.conversation, db=db, scope=ann)] == ["by hand"]


def test_r32_the_block_is_made_smaller_on_demand(db: Database, ann: Scope) -> None:
    know(db, ann, *(f"Ann keeps oolong in tin {n}, {'behind the door ' * n}" for n in range(1, 6)))
    block = MemoryBlock(db=db, scope=ann)

    async def shrink() -> None:
        whole = await block.aget([said("user", "Where is the oolong?")])
        smaller = await block.atruncate(whole, 60)
        assert smaller is not None and smaller.startswith(HEAD) and len(HEAD) < len(smaller) <= len(whole) - 240
        assert await block.atruncate(whole, len(whole)) is None and await block.atruncate("", 1) is None

    asyncio.run(shrink())


@pytest.mark.parametrize("text", ["Where is the oolong?", "Unheard of"])
def test_r32_a_memory_under_pressure_fits_its_limit(db: Database, ann: Scope, text: str) -> None:
    if "oolong" in text:
        know(db, ann, *(f"Ann keeps oolong in tin {n}, {'behind the door ' * n}" for n in range(1, 6)))

    async def ask() -> list[ChatMessage]:
        async with memory(MemoryBlock(db=db, scope=ann), token_limit=120, token_flush_size=10) as kept:
            await kept.aput(said("user", text + " and so on" * 70))
            return await kept.aget()

    messages = asyncio.run(ask())
    assert messages[-1].content.startswith(text) and sum(len(each.content or "") for each in messages[:-1]) < 800


def test_r32_a_memory_goes_on_without_the_database(broken_db: Database, ann: Scope) -> None:
    assert asyncio.run(MemoryBlock(db=broken_db, scope=ann).aget([said("user", "Who drinks oolong?")])) == ""
