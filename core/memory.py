"""`Memory`: one object for hosts that need only users and messages."""

from __future__ import annotations

from typing import Any

from . import chat_history_cache, db, forgetting, lifelong, prompt_engine, synth_core_memory
from .calls import defaults
from .context.incoming import ID_BYTES, IncomingMessage, read_role
from .database.engine import Database
from .errors import MessageError
from .forgetting import Forgotten
from .prompt.messages import Messages
from .scope import KEY_BYTES, Scope, key_text
from .shapes import Hit, ProfileStatement, Sender, WriteResult

__all__ = ["Memory"]


class Memory:
    """The memory of one persona, separate for each user.

    A user's messages and memories belong to a private conversation of the user, such as `web/ann`. A message that names
    a conversation belongs to that conversation instead.

    Args:
        database: a connection string, or an open database; None uses the process's database.
        persona: the persona that remembers; None is PERSONA_ID.
        interface: prefix of user ids, such as `discord`.

    >>> from prompt_engine import Memory
    >>> memory = Memory("sqlite://", persona="iris")
    >>> _ = memory.remember("My cat is called Tofu.", user="ann")
    >>> [hit["snippet"] for hit in memory.search("Who is my cat?", user="ann")], memory.search("cat", user="eve")
    (['My cat is called Tofu.'], [])
    """

    def __init__(
        self, database: Database | str | None = None, *, persona: str | None = None, interface: str = "web"
    ) -> None:
        self.persona = Scope(defaults.settings_for().persona_id if persona is None else persona).persona
        self.db: Database = db.open_database(database) if isinstance(database, str) else defaults.handle(database)
        self.interface = key_text(interface, "interface", ID_BYTES["interface"], required=True)

    def remember(self, text: str, *, user: str | int, tags: Any = None) -> int:
        """Save a memory about a user, and return its id."""
        scope = self.scope(user)
        return db.insert_memory(text, str(user), self.interface, tags, scope=scope, db=self.db)

    def save(self, message: Any, *, user: str | int | None = None) -> WriteResult:
        """Store a message: a text, a message as `build_messages` takes it, or the last of a list of chat messages."""
        return chat_history_cache.save_message(**self._place(message, user))

    def messages(
        self, message: Any, *, user: str | int | None = None, max_chars: int | None = None, **more: Any
    ) -> Messages | dict[str, Any]:
        """Build the chat messages for a model; `more` takes the other arguments of `build_messages`."""
        return prompt_engine.build_messages(**self._place(message, user), max_chars=max_chars, **more)

    def search(self, text: str, *, user: str | int, limit: int = 5) -> list[Hit]:
        """Search the rows that the user may see for `text`; return the hits, newest first."""
        return synth_core_memory.search_memories(query=text, limit=limit, db=self.db, scope=self.scope(user))

    def forget(self, user: str | int) -> Forgotten:
        """Delete everything about a user, and return the number of rows deleted or changed in each table."""
        scope = self.scope(user)
        return forgetting.forget(participant=scope.participant, db=self.db, scope=scope)

    def profile(self, user: str | int, *, limit: int = 50) -> list[ProfileStatement]:
        """Return a user's statements about themselves, as `lifelong.profile` does."""
        return lifelong.profile(limit=limit, db=self.db, scope=self.scope(user))

    def scope(self, user: str | int) -> Scope:
        """Return the scope of a user's private conversation, for other functions."""
        user = key_text(user, "user", KEY_BYTES["participant"])
        if not user.strip() or "/" in user:
            raise MessageError(
                f"user is {user[:40]!r}. It must be an id without a slash. Where users come from several "
                "platforms, make a Memory for each, with its interface.",
                fields=("user",),
            )
        own = f"{self.interface}/{user}"
        return Scope(self.persona, own, own, privacy="direct")

    def _place(self, message: Any, user: str | int | None) -> dict[str, Any]:
        """Return the arguments for a message, in its own conversation or else in the user's private conversation."""
        message = {"text": message} if isinstance(message, str) else message
        read = IncomingMessage.read(message, now=self.db.clock())
        who = Sender() if read_role(read.raw) == "persona" else read.sender  # the persona answers a user
        user = who.id or (who.identity if user in (None, "") else user)
        if read.interface_path:
            return {"message": message, "db": self.db, "scope": Scope(self.persona)}
        if user == "":
            raise MessageError(
                "The message says neither who speaks nor where. Pass user=, or a message with from_user or "
                "interface_path.",
                fields=("user",),
            )
        scope = self.scope(user)
        place = {"interface_path": scope.conversation, "user_id": user}
        return {"message": message, "context_memory": place, "db": self.db, "scope": scope}
