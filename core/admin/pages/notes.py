"""What a persona keeps beside its items: standing wishes, its diary, its vocabulary of tags."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.responses import Response

from ... import ai_diary, lifelong, synth_tagging
from ... import wishes as wishes_door
from ...ai_diary import table as diary_table
from ...memories.rules import WISH
from . import form_values
from .names import name_items
from .page import Page, PageError

MOST_WISHES = 200
SIZE = 25
MOST_TAGS = 200


# Wishes


def wishes(page: Page) -> Response:
    """Return the standing wishes of everybody, and those that hold no more."""
    holding = lifelong.search_items(kinds=[WISH], limit=MOST_WISHES, **page.operating())["items"]
    former = lifelong.search_items(kinds=[WISH], limit=MOST_WISHES, archived=True, **page.operating())["items"]
    return page.render(
        "wishes.html.j2",
        title="Wishes",
        screen="wishes",
        holding=holding,
        former=former,
        names=name_items(page.db, page.persona, [*holding, *former]),
        flash=_SAID.get(page.query("note")),
    )


_SAID = {
    "added": "Stored: it is in every prompt for them from now on.",
    "deleted": "Deleted: it holds no more. It can be brought back below.",
    "restored": "Restored. What held about the same topic is a former one now.",
    "unchanged": "Nothing changed: it is so already, or is gone.",
    "duplicate": "Nothing changed: that is wished already.",
    "empty": "Nothing was stored: the text is blank.",
    "too_long": "Nothing was stored: the text is too long.",
    "privacy": "Nothing was stored: this person asked not to be remembered.",
    "entry": "Written into the diary.",
    "brought_back": "Brought back: it can be read again.",
    "tag": "Stored.",
    "refused": "Nothing was stored: a tag cannot stand for itself, nor another spelling be a tag already.",
}


def change_wish(page: Page) -> Response:
    """Add a wish for somebody, let one hold no more, or bring one back."""
    asking = page.asking()
    if page.field("text").strip() or not (page.field("delete") or page.field("restore")):
        asking["scope"] = replace(
            asking["scope"], participant=_key(page, "participant"), conversation=_key(page, "conversation") or None
        )
        done = wishes_door.add_wish(page.field("text").replace("\r\n", "\n"), **asking)
        return _say(page, "wishes", "added" if done.stored else done.reason)
    for action, door in (("delete", wishes_door.delete_wish), ("restore", wishes_door.restore_wish)):
        for row_id in form_values.parse_ids([page.field(action)]):
            item = lifelong.get_item(row_id, **page.operating())
            # A wish is seen where it was said; an operator acts as whoever said it.
            asking["scope"] = replace(
                asking["scope"],
                conversation=item["conversation"],
                participant=item["participant"],
                destination="local",
            )
            done = door(row_id, **asking)
            return _say(page, "wishes", f"{action}d" if done.stored else done.reason)
    raise PageError("No wish was named. Press a button beside one.")


def _key(page: Page, name: str) -> str:
    given = page.field(name).strip()
    if name == "participant" and not given:
        raise PageError("No person was named. Write the key of whose wish it is, such as discord/ann.")
    return given


def _say(page: Page, screen: str, note: str) -> Response:
    return page.redirect(page.url(screen, note=note or "unchanged"))


# The diary


def diary(page: Page) -> Response:
    """Return a page of the diary, newest entry first, or of its archive."""
    offset = form_values.parse_offset(page.query("offset"))
    archived = page.query("archived") == "1"
    entries = diary_table.read_all(page.db, page.persona, most=SIZE + 1, skip=offset, archived=archived)
    return page.render(
        "diary.html.j2",
        title="Diary",
        screen="diary",
        entries=entries[:SIZE],
        has_older=len(entries) > SIZE,
        offset=offset,
        size=SIZE,
        archived=archived,
        flash=_SAID.get(page.query("note")),
    )


def change_diary(page: Page) -> Response:
    """Write an entry, or bring one back from the archive."""
    if chosen := form_values.parse_ids([page.field("restore")]):
        done = ai_diary.unarchive_entries(chosen, **page.asking())
        return _say(page, "diary", "brought_back" if done else "unchanged")
    texts: dict[str, Any] = {
        "content": page.field("content").replace("\r\n", "\n"),
        "personal_thought": page.field("thought").replace("\r\n", "\n") or None,
        "context_tags": form_values.parse_words(page.field("tags")),
    }
    stored = ai_diary.add_diary_entry(**texts, **page.asking())
    return _say(page, "diary", "entry" if stored.stored else stored.reason)


# Tags


def tags(page: Page) -> Response:
    """Return the vocabulary, most used first, with other spellings and links."""
    words = page.query("q").strip().lower()
    known = synth_tagging.list_tags(**page.asking())
    shown = [tag for tag in known if words in tag["tag"] or any(words in alias for alias in tag["aliases"])]
    return page.render(
        "tags.html.j2",
        title="Tags",
        screen="tags",
        q=words,
        tags=shown[:MOST_TAGS],
        total=len(shown),
        most=MOST_TAGS,
        flash=_SAID.get(page.query("note")),
    )


def change_tags(page: Page) -> Response:
    """Add a tag, another spelling of one, or a link between two."""
    one, other, asking = page.field("tag"), page.field("other"), page.asking()
    action = page.field("action")
    if action == "alias":
        done = synth_tagging.add_alias(other, one, **asking)
    elif action == "link":
        done = synth_tagging.link_tags(
            one, other, form_values.parse_fraction(page.field("weight"), "weight") or 1, **asking
        )
    elif action == "add":
        done = synth_tagging.add_tag(one, **asking)
    else:
        raise PageError("The form named no action. Press one of its buttons.")
    return _say(page, "tags", "tag" if done.stored else done.reason)
