"""Reading the host's message: P2, P9 to P12 as far as facts go, F1, F17, F60 to F62, F64, F70."""

from collections import namedtuple
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest

from core.context.incoming import IncomingMessage, describe_reply, input_facts, read_role
from core.context.live import read_line
from core.errors import MessageError
from core.shapes import Sender
from core.short_term.turns import read_messages
from core.text.times import EARLIEST, LATEST, local_time, parse_time, read_time, zone

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


def read(message: Any = None, /, *, context_memory: Any = None, interface_name: Any = None, **fields: Any) -> Any:
    given = {"message_id": 1, "date": None, **fields} if message is None else message
    return IncomingMessage.read(given, context_memory=context_memory, interface_name=interface_name, now=NOW)


def test_p70_a_role_or_a_sender_says_whether_the_persona_wrote_a_message() -> None:
    said = [({"role": "user"}, "user"), ({"role": "assistant"}, "persona"), ({"role": "system"}, ""),
            ({"role": "text", "sender_id": "self"}, "persona"), ({"role": "user", "sender_id": "self"}, "user"),
            ({"sender_id": "7", "sender_name": "self"}, "user"), ({}, "user")]  # fmt: skip
    assert [read_role(fields) for fields, _ in said] == [role for _, role in said]


def test_p2_the_smallest_message_is_enough_and_objects_and_dicts_nest_in_any_way() -> None:
    found = read(SimpleNamespace(text="hi", message_id=1, date=None))
    assert (found.text, found.message_id, found.date, found.interface_path) == ("hi", "1", NOW, None)
    assert (found.server_id, found.is_private, found.interface, found.notes) == ("", None, "", ())
    plain = {"message_id": "7", "date": "2026-03-10T12:00:00Z", "chat": SimpleNamespace(id=4, type="group")}
    mixed = SimpleNamespace(message_id=7, date=NOW, chat={"id": 4, "type": "group"}, from_user=SimpleNamespace(id=9))
    first, second = read(plain, interface_name="tg"), read(mixed, interface_name="tg")
    assert (first.message_id, first.date, first.interface_path) == ("7", NOW, "tg/4")
    assert (second.message_id, second.date, second.interface_path) == ("7", NOW, "tg/4") and second.sender.id == "9"
    row = namedtuple("row", "message_id date text")
    assert read(row(1, None, "hi")).text == "hi"


@pytest.mark.parametrize(("fields", "said"), [
    ({"txt": "hi"}, "'txt' (did you mean 'text'?)"), ({7: "x"}, "'7'"), ({"x" * 5000: 1}, "'xxx"),
    ({"interface-path": "tg/1"}, "'interface-path' (did you mean 'interface_path'?)"),
    ({"mood": "fine"}, "not known and not read of the message: 'mood'"),
    ({f"k{n}": 1 for n in range(20)}, "and 12 more"),
])  # fmt: skip
def test_p2_what_is_not_read_of_a_dict_is_told_by_name(fields: dict[Any, Any], said: str) -> None:
    """A field that is spelt otherwise would else be missing without a word; what stands in it is never told."""
    (note,) = IncomingMessage.read({"text": "hi", **fields}, now=NOW).notes
    assert said in note and len(note) < 400
    assert IncomingMessage.read(SimpleNamespace(text="hi", mood="fine"), now=NOW).notes == ()


@pytest.mark.parametrize("said", [
    {"text": "hi", "date": NOW, "from_user": {"id": 7, "full_name": "Ann"}, "reply_to_message": {"text": "yo"}},
    {"content": "hi", "created_at": NOW, "author": {"id": 7, "name": "Ann"}, "reply_to": {"content": "yo"}},
    {"messageText": "hi", "timestamp": NOW, "senderId": 7, "sender_name": "Ann", "replyTo": {"message_text": "yo"}},
    SimpleNamespace(content=["hi"], at=NOW, sender=SimpleNamespace(id="7", name="Ann"), replyTo={"text": "yo"}),
])  # fmt: skip
def test_every_reader_of_a_message_knows_the_same_names(said: Any) -> None:
    incoming, line = read(said), read_line(said, "tg/1", 0)
    (item,) = read_messages([said])
    assert line is not None and line.reply is not None and item is not None
    assert (incoming.text, incoming.date, incoming.sender.id, incoming.sender.name) == ("hi", NOW, "7", "Ann")
    assert (line.text, line.time, line.sender_id, line.sender_name, line.reply.text) == ("hi", NOW, "7", "Ann", "yo")
    assert (item.content, item.at, item.who, item.speaker) == ("hi", NOW, "7", "Ann")
    assert describe_reply(incoming.raw) == {"text": "yo"} and incoming.notes == ()


def test_p2_attributes_that_raise_are_absent() -> None:
    assert read(type("Raising", (), {"message_id": 5, "date": None, "text": property(lambda self: 1 / 0)})()).text == ""
    raising = type("Raising", (), {"message_id": property(lambda self: 1 / 0), "date": None})()
    assert read(raising).message_id is None
    with pytest.raises(MessageError):
        read(type("Raising", (), {"message_id": property(lambda self: 1 / 0)})())


@pytest.mark.parametrize(("text", "read_as", "notes"), [
    (None, "", 0), (42, "42", 0), (b"caf\xc3\xa9 \xff", "café \ufffd", 1),
    (["x", {"type": "text", "text": "y"}], "x y", 0), ({"x": 1}, "", 1), (10**5000, "", 1), ("a\x00b", "ab", 0),
    ("\ud800x", "\ufffdx", 0), ("  x \n", "  x \n", 0), ("[" * 10**6, "[" * 10**6, 0),
], ids=map(str, range(10)))  # fmt: skip
def test_p2_text_of_other_types(text: Any, read_as: str, notes: int) -> None:
    found = read(text=text)
    assert (found.text, len(found.notes)) == (read_as, notes)


def test_p2_conversation_key_comes_from_the_first_that_has_one() -> None:
    payload = {"source": {"interface_path": "b/2"}}
    every: dict[str, Any] = {"interface_path": "a/1", "payload": payload, "chat": {"id": 4}}
    memory = {"interface_path": "c/3"}
    assert read(**every, context_memory=memory, interface_name="tg").interface_path == "a/1"
    del every["interface_path"]
    assert read(**every, context_memory=memory).interface_path == "b/2"
    del every["payload"]
    assert read(**every, context_memory=memory).interface_path == "c/3"
    assert read(**every, interface_name="tg").interface_path == "tg/4"
    assert read(**every, message_thread_id=8, interface_name="tg").interface_path == "tg/4/8"
    assert read(**every, thread_id="t", interface_name="tg").interface_path == "tg/4/t"
    assert read(**every).interface_path is None and read(interface_name="tg").interface_path is None
    assert read(interface_path="discord/1/2").interface == "discord"
    assert read(interface_path="discord/1/2", interface_name="webui").interface == "webui"


def test_f17_a_message_holds_the_host_s_own_word_and_the_type_of_its_chat() -> None:
    kinds = (Enum("kind", {"PRIVATE": 3})["PRIVATE"], " Private", "private")
    for said, is_private in ((False, False), (1, True), ("yes", None), (None, None)):
        for kind in kinds:
            found = read(is_private=said, chat={"id": "7", "type": kind}, from_user={"id": 7})
            assert (found.is_private, found.chat_type) == (is_private, "private")
    assert len(read(is_private="yes", chat={"type": "forum"}).notes) == 2


def test_f1_server_and_sender_are_read_as_keys() -> None:
    for names in ({"first_name": "Ann", "last_name": "Lee"}, {"display_name": "Ann Lee"}, {"name": "Ann Lee"}):
        assert read(from_user={"id": 3, "username": "ann", **names}).sender.name == "Ann Lee"
    found = read(server_id=12, from_user={"id": 3, "full_name": "Ann", "username": "ann"})
    assert (found.server_id, found.sender.id, found.sender.name) == ("12", "3", "Ann")
    assert read(from_user="Ann").sender == Sender("", "Ann", "")
    for blank in ("", " "):  # does not hide the person's own
        assert read(text="hi", sender_id=blank, from_user={"id": 5, "name": "Ann"}).sender == Sender("5", "Ann")


@pytest.mark.parametrize("value", [
    "2026-03-10T13:00:00+01:00", "2026-03-10 12:00", "2026-03-10T12:00:00Z", 1773144000, "1773144000",
    NOW.replace(tzinfo=None), datetime(2026, 3, 10, 13, tzinfo=timezone(timedelta(hours=1))),
])  # fmt: skip
def test_g7_forms_of_one_instant(value: Any) -> None:
    assert parse_time(value) == read(date=value).date == NOW and read(date=value).notes == ()


@pytest.mark.parametrize("milliseconds", [1734120512056, 1710101020123, 1772112359059])
def test_g7_milliseconds_as_text_are_not_a_date_of_the_eighteenth_century(milliseconds: int) -> None:
    assert parse_time(str(milliseconds)) == parse_time(milliseconds) != EARLIEST


def test_f61_a_date_that_cannot_be_used_is_now_or_moved_with_a_note() -> None:
    class Broken(tzinfo):
        def utcoffset(self, _moment: datetime | None) -> timedelta:
            raise ValueError("no offset")

        tzname = dst = utcoffset  # type: ignore[assignment]

    for unread in ("soon", "", "x" * 10**6, [], float("nan"), "12:00", datetime(2026, 3, 10, tzinfo=Broken())):
        found = read(date=unread)
        assert found.date == NOW and len(found.notes) == 1 and "cannot be read" in found.notes[0]
    last = datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-14)))
    for far, moved in ((datetime(1, 1, 1, tzinfo=UTC), EARLIEST), (last, LATEST), (1e22, LATEST), (-1, EARLIEST)):
        found = read(date=far)
        assert (found.date, found.notes) == (moved, ("date lies outside 1970 to 9998; the nearest time in it is used",))
    assert read_time(date(2026, 3, 10)) == (datetime(2026, 3, 10, tzinfo=UTC), False)


def facts(image_data: Any = None, attachments: Any = None, **fields: Any) -> dict[str, Any]:
    facts = input_facts(read(**fields).raw, image_data, attachments)
    return {name: value for name, value in facts.items() if value}


BOB = {"username": "bob"}


@pytest.mark.parametrize(("reply", "shown"), [
    ({"text": "see you", "date": NOW, "from_user": BOB}, ("see you", NOW.isoformat(), "bob")),
    ({"caption": "a cat", "date": NOW, "from_user": BOB}, ("a cat", NOW.isoformat(), "bob")),
    ({"text": " ", "sticker": 1, "date": NOW}, ("[Non-text content]", NOW.isoformat(), "")),
    ({"text": "x", "date": "2026-03-10T12:00:00Z"}, ("x", NOW.isoformat(), "")),
    (SimpleNamespace(text="x", from_user=SimpleNamespace(username="bob")), ("x", "", "bob")),
], ids=['text', 'caption', 'sticker', 'without sender', 'without date'])  # fmt: skip
def test_p10_five_replies(reply: Any, shown: tuple[str, ...]) -> None:
    expected = {key: value for key, value in zip(("text", "timestamp", "from"), shown, strict=True) if value}
    assert describe_reply(read(reply_to_message=reply).raw) == expected
    assert describe_reply(read().raw) == describe_reply(read(reply_to_message=77).raw) == {}
    assert describe_reply(read(reply_to_message="see\x00 you").raw) == {"text": "see you"}
    assert facts(voice={"duration": 3}) == {"input_source": "voice"}


def test_p12_the_examples_and_the_part_of_the_day_of_every_hour() -> None:
    moment = datetime(2026, 1, 10, 3, 15, tzinfo=UTC)
    rome = {"weekday": "Saturday", "local_time": "04:15", "local_hour": 4, "time_of_day": "early_morning"}
    assert local_time(moment, "Europe/Rome") == (rome, None)
    midnight = datetime(2026, 1, 10, tzinfo=UTC)
    for unknown in ("Mars/Base", "../etc/passwd", "Europe", "a\x00b", 7, "a/" * 20_000, "Europe/" + "x" * 5_000):
        fields, note = local_time(midnight, unknown)
        assert fields["local_time"] == "00:00" and "UTC is used" in str(note)
    assert local_time(midnight, None)[1] is None
    hours = (datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in range(24))
    lasting = {"night": 4, "early_morning": 3, "morning": 5, "afternoon": 6, "evening": 4}
    expected = [part for part, count in lasting.items() for _ in range(count)] + ["night"] * 2
    assert [local_time(hour, "UTC")[0]["time_of_day"] for hour in hours] == expected
    for moment in (EARLIEST, LATEST):
        assert local_time(moment, "Pacific/Kiritimati")[1] is local_time(moment, "Pacific/Pago_Pago")[1] is None
    assert zone("") is UTC
    assert read(time_zone="Asia/Tokyo", context_memory={"time_zone": "Europe/Rome"}).time_zone == "Asia/Tokyo"
    assert read(context_memory={"time_zone": "Europe/Rome"}).time_zone == "Europe/Rome"


@pytest.mark.parametrize("given", [
    {"text": "", "caption": "my cat"}, {"caption": "my cat", "photo": [{"file_id": "x"}]},
    {"text": None, "attachments": [{"file_name": "a.jpg"}, {"file_name": "b.jpg", "caption": "my cat"}]},
    {"photo": {"caption": "my cat"}}, {"text": "my cat", "caption": "another"},
])  # fmt: skip
def test_p2_a_caption_is_the_text_of_a_picture(given: dict[str, Any]) -> None:
    assert IncomingMessage.read(given, now=NOW).text == "my cat"


def test_f64_attachments_pass_through_and_what_is_no_list_is_left_out() -> None:
    found = input_facts({}, image_data=b"\x89PNG", attachments=[{"a": 1}, "b.png", None, 3])
    assert (found["attachments"], found["image"]) == ([{"a": 1}, "b.png", None, 3], {})
    assert input_facts({}, attachments="x")["attachments"] == []
    assert input_facts({}, image_data={"data": "AA"})["image"] == {"data": "AA"}
