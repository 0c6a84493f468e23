"""Messages of discord.py as its gateway makes them: its own classes over data of the wire."""

from typing import Any

import discord

BOT, ANN, BEA = 990000000000000099, 700000000000000007, 800000000000000008
VIEW = str(1 << 10)
NAMES = {BOT: "iris", ANN: "ann", BEA: "bea"}


def user(number: int, name: str) -> dict[str, Any]:
    return {"id": str(number), "username": name, "discriminator": "0", "avatar": None, "global_name": name.title(),
            "bot": number == BOT}  # fmt: skip


class World:
    """A client's view: one server with an open and a closed channel, threads (32: of an unknown channel), and a direct
    channel with Ann.
    """

    def __init__(self, client: discord.Client) -> None:
        self.state: Any = client._connection
        self.state.user = discord.ClientUser(state=self.state, data=user(BOT, "iris"))  # type: ignore[arg-type]
        everyone = {"id": "1", "name": "@everyone", "permissions": VIEW, "position": 0, "color": 0, "hoist": False,
                    "managed": False, "mentionable": False}  # fmt: skip
        closed = [{"id": "1", "type": 0, "allow": "0", "deny": VIEW}]
        data: Any = {
            "id": "1", "name": "Tea house", "owner_id": str(BEA), "roles": [everyone], "emojis": [], "features": [],
            "channels": [self._channel(20), self._channel(21, closed)],
            "threads": [self._thread(30, 11), self._thread(31, 12), self._thread(32, 11, "99")],
            "members": [{"user": user(n, name), "roles": [], "joined_at": "2026-01-01T00:00:00+00:00", "deaf": False,
                         "mute": False, "flags": 0} for n, name in NAMES.items()],
        }  # fmt: skip
        self.guild = discord.Guild(data=data, state=self.state)
        self.state._add_guild(self.guild)
        private: Any = {"id": "40", "type": 1, "recipients": [user(ANN, "ann")], "last_message_id": None}
        self.direct = discord.DMChannel(me=self.state.user, state=self.state, data=private)
        self.numbers = iter(range(1000, 2000))

    @staticmethod
    def _channel(number: int, overwrites: Any = ()) -> dict[str, Any]:
        return {"id": str(number), "type": 0, "name": f"room{number}", "position": 0, "parent_id": None, "nsfw": False,
                "permission_overwrites": list(overwrites), "topic": None, "last_message_id": None}  # fmt: skip

    @staticmethod
    def _thread(number: int, kind: int, parent: str = "20") -> dict[str, Any]:
        return {"id": str(number), "type": kind, "name": "thread", "parent_id": parent, "owner_id": str(ANN),
                "guild_id": "1",
                "message_count": 0, "member_count": 1, "rate_limit_per_user": 0, "last_message_id": None,
                "thread_metadata": {"archived": False, "auto_archive_duration": 60, "locked": False,
                                    "archive_timestamp": "2026-01-01T00:00:00+00:00"}}  # fmt: skip

    def wire(self, text: str, channel: Any, who: int = ANN, number: int | None = None, **more: Any) -> Any:
        return {"id": str(number or next(self.numbers)), "channel_id": str(channel.id), "author": user(who, NAMES[who]),
                "content": text, "timestamp": "2026-03-10T12:00:00+00:00", "edited_timestamp": None, "tts": False,
                "mention_everyone": False, "mentions": [], "mention_roles": [], "attachments": [], "embeds": [],
                "pinned": False, "type": 0, "reactions": [], **more}  # fmt: skip

    def message(self, text: str, channel: Any, who: int = ANN, **more: Any) -> discord.Message:
        return discord.Message(state=self.state, channel=channel, data=self.wire(text, channel, who, **more))

    def channel(self, number: int) -> Any:
        return self.guild.get_channel_or_thread(number)
