"""Recent conversations, saved memories, the memory tool, and the memory prompt.

There are two lists: summaries of the latest conversations, added when a conversation ends, and facts, saved only when a
person asks for it. Functions return only entries that the scope may see. They raise MessageError for a value that
cannot be used, StoreReadError if nothing could be read, and StoreWriteError if nothing was changed.

>>> from prompt_engine import Scope, conversations, open_database
>>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
>>> tea = conversations.add_saved_memory("Ann likes tea", db=db, scope=scope)
>>> conversations.add_saved_memory("Ann likes tea", said="nice weather", db=db, scope=scope).reason
'not_explicit'
>>> "Ann likes tea" in conversations.get_user_memory_prompt(db=db, scope=scope)
True
>>> conversations.delete_saved_memory(tea.id, db=db, scope=scope).stored
True
>>> conversations.load_memory(db=db, scope=scope)
{'recent': [], 'saved': []}
>>> conversations.add_recent_conversation(["We fly to Rome on Friday."], wait=True, db=db, scope=scope).stored
True
>>> [one["summary"] for one in conversations.list_recent_conversations(db=db, scope=scope)]
['We fly to Rome on Friday.']
"""

from .memory_files import MarkdownResult, export_markdown, import_markdown
from .memory_prompt import get_system_prompt_with_memory, get_user_memory_prompt, load_memory
from .memory_tool import memory_tools, parse_tool_call, run_tool_call
from .recent import add_recent_conversation, close_conversation, list_recent_conversations
from .saved import add_saved_memory, delete_saved_memory, list_saved_memories

__all__ = ["MarkdownResult", "add_recent_conversation", "add_saved_memory", "close_conversation",
           "delete_saved_memory", "export_markdown", "get_system_prompt_with_memory", "get_user_memory_prompt",
           "import_markdown", "list_recent_conversations", "list_saved_memories", "load_memory", "memory_tools",
           "parse_tool_call", "run_tool_call"]  # fmt: skip
