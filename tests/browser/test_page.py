"""The admin page as people use it, in a real browser (rule L35): by mouse, by keyboard, without its script."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from core import Scope, lifelong, privacy, relationships, tokens
from tests.browser import stage
from tests.browser.checks import OVERFLOW, look_at, tab_through
from tests.browser.conftest import Site, Window
from tests.browser.stage import LONG, PERSONA, SCRIPT

pytestmark = pytest.mark.slow  # a busy machine takes seconds for a handful of screens

IRIS = f"conf_uid={PERSONA}"
TOKEN = str(stage.SETTINGS["ADMIN_TOKEN"])
SCREENS = {
    "memory": f"memory?{IRIS}", "nothing found": f"memory?{IRIS}&q=zebra", "archive": f"memory?{IRIS}&archived=1",
    "filters": f"memory?{IRIS}&limit=25&kinds=KeyFacts&min_importance=0.3&since=2025-01-01",
    "unknown persona": "memory?conf_uid=nobody-of-that-name", "conversations": f"conversations?{IRIS}",
    "conversation": f"conversations/one?{IRIS}&key=discord/4711", "people": f"people?{IRIS}",
    "person": f"people/one?{IRIS}&key=discord/jonas", "no page": f"nothing/here?{IRIS}", "upkeep": f"upkeep?{IRIS}",
    "programs": f"programs?{IRIS}", "why": f"why?{IRIS}", "refused": f"memory?{IRIS}&min_importance=7",
}  # fmt: skip
LOOKS = ((1280, 800, "light"), (1280, 800, "dark"), (390, 844, "light"), (390, 844, "dark"))
PICTURES = os.environ.get("PAGE_PICTURES", "")
"""A folder for four pictures of each screen, for people to look at; without it two are taken and dropped."""


def search(page: Any, site: Site, q: str, **more: str) -> None:
    query = "&".join([IRIS, f"q={q}", *(f"{name}={value}" for name, value in more.items())])
    page.goto(site.at(f"memory?{query}"))


def press(page: Any, name: str) -> None:
    click(page, f'button:text-is("{name}")')


def click(page: Any, selector: str) -> None:
    page.locator(selector).click()
    page.wait_for_load_state()


def keys(page: Any, *pressed: str) -> None:
    for each in pressed:
        (page.keyboard.type if " " in each else page.keyboard.press)(each)


def texts(page: Any) -> list[str]:
    return [each.strip() for each in page.locator(".item .text:not(.whole)").all_inner_texts()]


def asking(site: Site, persona: str = PERSONA) -> dict[str, Any]:
    return {"db": site.db, "settings": stage.SETTINGS, "scope": Scope(persona)}


def test_l35_every_screen_is_readable_named_and_fits_in_light_dark_and_on_a_phone(window: Window, site: Site) -> None:
    relationships.adjust("discord/" + "x" * 90, 3, 3, username="W" * 60, touch=False, **asking(site))
    page = window(reduced_motion="reduce")  # a colour on its way to another one is not measured
    screens = {
        **SCREENS, "item": f"memory/item?{IRIS}&id={site.ids['long']}",
        "former item": f"memory/item?{IRIS}&id={site.ids['ids'][0]}",
        "edit": f"memory?{IRIS}&edit={site.ids['script']}&note=deleted&count=1&undo=1",
        "long name": f"people/one?{IRIS}&key=discord/{'x' * 90}",
    }  # fmt: skip
    for name, path in screens.items():
        assert page.goto(site.at(path)).status == {"refused": 422, "no page": 404}.get(name, 200), name
        look_everywhere(page, name)
    click(page, "button.danger")
    look_everywhere(page, "forgetting a long name")
    _ask(page, site, f"What is the cat called? {'W' * 300}", max_chars="2600")
    look_everywhere(page, "prompt")
    page.click("[data-open=keys]")
    assert page.locator("#keys").is_visible()
    look_everywhere(page, "keys")
    page.goto(site.at(f"upkeep?{IRIS}"))
    press(page, "Deep consolidation")
    look_everywhere(page, "deep consolidation")
    page.goto(site.at(f"people/one?{IRIS}&key=discord/jonas"))
    click(page, "button:has-text('Forget Jonas')")
    look_everywhere(page, "forgetting")
    page.set_viewport_size({"width": 390, "height": 844})
    page.click("text=Menu")
    assert page.locator("#screens").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#screens").is_visible()
    signed_out = window(is_signed_in=False, reduced_motion="reduce")
    signed_out.goto(f"{site.address}/admin/login?failed=1")
    look_everywhere(signed_out, "sign in")


def test_l35_parts_of_a_screen_have_their_own_size(window: Window, site: Site) -> None:
    phone = window(viewport={"width": 390, "height": 844})
    phone.goto(site.at(SCREENS["upkeep"]))
    states = phone.locator("td .state").evaluate_all("all => all.map((each) => each.getBoundingClientRect().width)")
    assert states and max(states) < 120, states
    assert "The harbour" in phone.locator("td[data-label=About]").all_inner_texts()
    for width in (320, 840, 1000, 390):
        phone.set_viewport_size({"width": width, "height": 844})
        assert not phone.evaluate(OVERFLOW), width
    phone.goto(site.at(SCREENS["filters"]))
    right = "getBoundingClientRect().right"
    beyond = f"all => all.map((one) => one.{right} - one.parentElement.{right})"
    fields = phone.locator(".fields input, .fields select").evaluate_all(beyond)
    assert fields and max(fields) < 1, fields
    page = window()
    page.goto(site.at(f"memory/item?{IRIS}&id={site.ids['long']}"))
    facts, after = (page.locator(each).bounding_box() for each in ("#facts + dl", "#origin"))
    assert after["y"] >= facts["y"] + facts["height"] + 8
    assert page.locator('a:text-is("Edit")').bounding_box()["width"] < 100
    assert not re.search(r"^\s*,", page.locator(".versions .facts").first.inner_text(), re.MULTILINE)


def look_everywhere(page: Any, name: str) -> None:
    for width, height, scheme in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": height})
        if (width > 1000) == (scheme == "light"):
            look_at(page)
        elif not PICTURES:
            continue
        file = {"path": Path(PICTURES) / f"{name.replace(' ', '-')}-{width}-{scheme}.png"} if PICTURES else {}
        assert len(page.screenshot(caret="initial", **file)) > 4000, f"{name} is blank"
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 800})


def test_l35_texts_are_seen_as_texts_and_never_run(window: Window, site: Site) -> None:
    page = window()
    search(page, site, "alert")
    assert texts(page) == [SCRIPT] and page.locator(".chips li", has_text="<b>tag</b>").count() == 1
    assert page.locator(".item b, .item img, .item script").count() == 0
    page.goto(site.at(f"memory/item?{IRIS}&id={site.ids['script']}"))
    assert page.locator("main .text").first.inner_text() == SCRIPT
    page.goto(site.at(f"memory?{IRIS}&edit={site.ids['script']}"))
    assert page.locator("#new_content").input_value() == SCRIPT
    hostile = "</textarea><script>alert(2)</script>"
    _ask(page, site, f"{hostile} what about bold alert?")
    assert page.locator("#text").input_value().startswith(hostile)
    page.goto(site.at(f"memory?conf_uid={PERSONA}%22%3E%3Cscript%3Ealert(3)%3C/script%3E"))
    assert page.locator("#conf_uid").input_value().endswith("</script>")


def test_l35_times_are_shown_in_the_zone_of_the_viewer_and_exactly_in_the_title(window: Window, site: Site) -> None:
    page = window(timezone_id="Asia/Tokyo")
    search(page, site, "coffee black")
    shown = page.locator(".item time").first
    assert "21:00" in shown.inner_text() and shown.get_attribute("title") == "2026-03-10 12:00:00 UTC"
    page = window(java_script_enabled=False, timezone_id="Asia/Tokyo")
    search(page, site, "coffee black")
    assert page.locator(".item time").first.inner_text() == "2026-03-10 12:00"


def test_l35_by_keyboard_alone_sign_in_search_edit_delete_undo(window: Window, site: Site) -> None:
    page = window(is_signed_in=False)
    page.goto(f"{site.address}/admin/login")
    for token, url in (("wrong-token-of-no-use", "**/login?failed=1"), (TOKEN, "**/page/memory*")):
        page.wait_for_selector("#token:focus")
        page.keyboard.type(token)
        page.keyboard.press("Enter")
        page.wait_for_url(url)
    page.goto(site.at(f"memory?{IRIS}"))
    assert tab_through(page, 25) == 25
    keys(page, "Escape", "/", "COFFEE tom", "Enter")  # out of a field, where the slash would be a letter
    page.wait_for_url("**q=COFFEE*")
    assert texts(page) == ["Tom drinks his coffee black."]
    page.wait_for_selector("html.js")
    keys(page, "j", "e")
    page.wait_for_selector("textarea:focus")
    keys(page, "Control+A", "Tom drinks coffee with oat milk.", "Tab", "Enter")
    page.wait_for_selector("html.js #toast >> text=Changed")
    page.wait_for_selector("[data-row]:focus")
    assert texts(page) == ["Tom drinks coffee with oat milk."]
    page.keyboard.press("d")
    page.wait_for_selector("html.js #toast >> text=Deleted")
    assert texts(page) == []
    page.keyboard.press("u")
    page.wait_for_selector("html.js #toast >> text=Restored")
    assert texts(page) == ["Tom drinks coffee with oat milk."]
    keys(page, "g", "u")
    page.wait_for_url("**/page/upkeep*")


def test_l35_without_script_search_edit_delete_undo_and_sign_out(window: Window, site: Site) -> None:
    page = window(is_signed_in=False, java_script_enabled=False)
    page.goto(f"{site.address}/admin/login")
    page.fill("#token", TOKEN)
    press(page, "Sign in")
    page.goto(site.at(f"memory?{IRIS}"))
    assert not page.locator("[data-select-all]").is_visible()
    page.fill("#q", "bakery sundays")
    press(page, "Search")
    before = texts(page)
    click(page, "[data-edit] >> nth=0")
    page.fill("#new_content", "The bakery is closed on Sundays, since the sundays are for sleeping.")
    press(page, "Save")
    assert "sleeping" in texts(page)[0] and "note=edited" in page.url
    click(page, "[data-delete] >> nth=0")
    assert len(texts(page)) == len(before) - 1
    click(page, "#toast >> text=Undo")
    assert len(texts(page)) == len(before)
    press(page, "Sign out")
    page.goto(site.at(f"memory?{IRIS}"))
    page.wait_for_selector("#token")


def test_l35_what_was_written_is_kept_where_a_form_is_refused(window: Window, site: Site) -> None:
    privacy.set_privacy("discord/shy", "full", **asking(site))
    page = window()
    page.goto(site.at(f"memory?{IRIS}"))
    click(page, "text=Add an item")
    page.fill("#a-text", "Shy likes pears.")
    page.fill("#a-participant", "discord/shy")
    press(page, "Store")
    assert "asked not to be remembered" in page.inner_text(".problem")
    click(page, "text=Back")
    page.wait_for_selector("#a-text")
    assert page.input_value("#a-text") == "Shy likes pears." and page.input_value("#a-participant") == "discord/shy"
    page.goto(site.at(f"memory/item?{IRIS}&id={site.ids['ids'][40]}&edit=1"))
    page.fill("#new_content", "مرحبا، أحب الشاي!")
    page.context.clear_cookies()  # as twelve hours later
    press(page, "Save")
    assert "Nothing was changed" in page.inner_text("main")
    look_at(page)
    page.context.add_cookies(site.cookies)  # as after a log-in in another tab
    page.reload()
    page.wait_for_selector("#toast >> text=Changed")
    text = page.locator("main .text", has_text="مرحبا، أحب الشاي!").first
    assert text.evaluate("one => getComputedStyle(one).unicodeBidi") == "plaintext", "its end is on the left"


def test_l35_chosen_rows_are_retagged_pinned_deleted_and_brought_back(window: Window, site: Site) -> None:
    page = window()
    search(page, site, "heating")
    assert len(texts(page)) == 3
    page.check("[data-select-all]")
    assert page.inner_text("[data-chosen]") == "3 chosen"
    page.fill("#bulk-tags", "winter, Warm")
    page.keyboard.press("Enter")
    page.wait_for_selector("#toast >> text=3 items: Given other tags")
    assert page.locator(".chips", has_text="winter").count() == 3
    click(page, "[data-pin] >> nth=0")
    page.wait_for_selector("#toast >> text=Pinned")
    page.check("[data-select-all]")
    press(page, "Delete chosen")
    page.wait_for_selector("#toast >> text=3 items: Deleted")
    click(page, "#toast >> text=Undo")
    page.wait_for_selector("#toast >> text=3 items: Restored")
    assert len(texts(page)) == 3
    search(page, site, "", tags="winter")
    assert len(texts(page)) == 3


def test_l35_filters_pages_and_the_total_agree_with_the_door(window: Window, site: Site) -> None:
    page = window()
    page.goto(site.at(f"memory?{IRIS}&limit=25"))
    total = lifelong.search_items(operator=True, limit=1, **asking(site))["total"]
    assert f"of {total} items" in page.inner_text("#count")
    first = texts(page)
    click(page, "text=Older")
    assert page.inner_text("#count").startswith("26–50 of") and not set(first) & set(texts(page))
    page.goto(site.at(f"memory?{IRIS}&kinds=SelfBeliefs&kinds=Objectives&until=2025-12-31&limit=100"))
    asked = {"kinds": ["SelfBeliefs", "Objectives"], "until": "2025-12-31", "limit": 100}
    found = lifelong.search_items(operator=True, **asked, **asking(site))
    assert page.locator(".item").count() == len(found["items"]) == found["total"] > 0
    page.goto(site.at(f"memory?{IRIS}&archived=1"))
    assert page.locator(".item").count() == 12


def test_l6_an_item_shows_everything_known_of_it_and_its_former_texts(window: Window, site: Site) -> None:
    page = window()
    search(page, site, "hut rain")
    folded = page.locator(".item details.long").first
    assert not folded.locator(".whole").is_visible()
    folded.locator("summary").click()
    assert folded.locator(".whole").inner_text().endswith("They slept well.")
    page.goto(site.at(f"memory/item?{IRIS}&id={site.ids['long']}"))
    assert page.locator(".versions .text").all_inner_texts() == [LONG]
    known = page.inner_text("main")
    for part in ("Pinned", "3 messages: 11, 12, 13", '"page": 3', "changed by operator"):
        assert part in known, part
    assert page.goto(site.at(f"memory/item?{IRIS}&id=999")).status == 404 and "_items" not in page.inner_text("main")
    search(page, site, "love sea")
    page.click("[data-open-row] >> nth=0")
    assert "discord/4711" in page.inner_text("section[aria-labelledby=origin] tbody th")
    assert page.inner_text("section[aria-labelledby=origin] tbody .text") == "I love the sea."


def test_l35_jobs_are_counted_cancelled_and_tried_again_and_pruning_is_tried_first(window: Window, site: Site) -> None:
    page = window()
    page.goto(site.at(f"upkeep?{IRIS}"))
    pending = int(page.locator(".states a", has_text="Pending").locator("b").inner_text())
    click(page, "td.buttons a >> nth=-1")
    assert page.locator("text=For good?").count() == 1
    press(page, "Cancel it")
    page.wait_for_selector("#toast >> text=Cancelled")
    assert int(page.locator(".states a", has_text="Pending").locator("b").inner_text()) == pending - 1
    press(page, "Try again")
    page.wait_for_selector("#toast >> text=Put back")
    press(page, "Deep consolidation")
    told = page.inner_text("main")
    taken = re.search(r"(\d+) items would be archived", told)
    assert taken and int(taken[1]) > 0
    reasons = page.locator("td[data-label=Why]").all_inner_texts()
    assert len(reasons) == int(taken[1]) and set(reasons) == {"too old, too unimportant"}
    assert page.locator("text=Leave them").count() == 1
    click(page, "text=Leave them")
    press(page, "Consolidate")
    assert "looked at" in page.inner_text("main")


def _ask(page: Any, site: Site, text: str, **fields: str) -> None:
    page.goto(site.at(f"why?{IRIS}"))
    page.fill("#text", text)
    for name, value in fields.items():
        page.fill(f"[name={name}]", value)
    press(page, "Show the prompt")
    page.wait_for_selector("#result, .problem")


def test_l35_why_shows_the_prompt_what_was_chosen_and_why_and_what_was_cut(window: Window, site: Site) -> None:
    page = window()
    _ask(page, site, "What is the cat called?")
    prompt = json.loads(page.inner_text("#json"))
    kept = page.locator(".hits .item:not(.is-cut) .text:not(.whole)").all_inner_texts()
    assert {each["snippet"] for each in prompt["context"]["memories"]} == set(kept) and kept
    assert "+" in page.locator(".reasons li b").first.inner_text()
    whole = int(page.locator(".tiles dd").first.inner_text().replace(",", ""))
    limit = whole // 2
    _ask(page, site, "What is the cat called?", max_chars=str(limit))
    assert int(page.locator(".tiles dd").first.inner_text().replace(",", "")) <= limit
    assert page.locator(".hits .is-cut").count() > 0
    assert "too large" in page.locator("tr[data-cut=cut]").first.inner_text()
    _ask(page, site, "What is the cat called?", max_chars="20")
    assert "limit" in page.inner_text(".problem")


def test_l35_bad_values_are_told_in_words_and_lead_back(window: Window, site: Site) -> None:
    page = window()
    for path, word in (
        (f"memory?{IRIS}&min_importance=x", "number"),
        (f"memory?{IRIS}&kinds=instructon", "saved, instruction. Did you mean 'instruction'"),
        (f"people/one?{IRIS}", "No person"),
    ):
        assert page.goto(site.at(path)).status == 422, path
        assert word in page.inner_text(".problem"), path
        assert page.locator("text=Back").count() == 1


def test_a_token_is_revoked_after_a_question(site: Site, window: Window) -> None:
    made = tokens.add_token("host", label="kitchen", personas="*", db=site.db, scope=Scope(PERSONA))
    page = window()
    page.goto(site.at(f"programs?{IRIS}"))
    look_at(page)
    assert "for other personas too: *" in page.inner_text("main")
    assert not page.locator('button:text-is("Revoke it")').is_visible()
    click(page, 'summary:text-is("Revoke")')
    assert tokens.find_token(made["token"], db=site.db) is not None
    press(page, "Revoke it")
    assert tokens.find_token(made["token"], db=site.db) is None
