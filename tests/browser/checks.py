"""What is measured in the browser: contrast of every text, names of controls, overflow, visible focus."""

from __future__ import annotations

from typing import Any

# Every visible text with the colour behind it, layer by layer; large text needs 3, other text 4.5.
CONTRAST = """
() => {
  const read = (value) => {
    const numbers = (value.match(/-?[\\d.]+(e-?\\d+)?/g) || []).map(Number);
    if (!numbers.length) return [0, 0, 0, 0];
    const unit = value.startsWith("color(") ? 255 : 1; // `color(srgb 0.1 0.2 0.3)`
    const [r, g, b, a = 1] = numbers;
    return [r * unit, g * unit, b * unit, a];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const behind = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      const colour = read(getComputedStyle(each).backgroundColor);
      layers.push(colour);
      if (colour[3] === 1) break;
    }
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    return layers.reverse().reduce((below, top) => over(top, below), dark ? [0, 0, 0, 1] : [255, 255, 255, 1]);
  };
  const light = (colour) => {
    const part = (value) => { const v = value / 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * part(colour[0]) + 0.7152 * part(colour[1]) + 0.0722 * part(colour[2]);
  };
  const ratio = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const bad = [];
  let texts = 0;
  const look = (element, style, text) => {
    const back = behind(element);
    const ink = over(read(element instanceof SVGElement ? style.fill : style.color), back);
    const size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 700;
    const least = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
    const found = ratio(ink, back);
    texts += 1;
    if (found < least) bad.push(`${found.toFixed(2)} ${style.color}: ${text.slice(0, 40)}`);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
    if (!text || !element.getClientRects().length || element.closest(".hidden-label, .skip, title, thead")) continue;
    const style = getComputedStyle(element);
    if (style.visibility !== "hidden") look(element, style, text);
  }
  for (const box of document.querySelectorAll("[placeholder]")) {
    if (box.getClientRects().length) look(box, getComputedStyle(box, "::placeholder"), box.placeholder);
  }
  return { texts, bad };
}
"""

# What a person who cannot see the screen would miss.
STRUCTURE = """
() => {
  const bad = [];
  const say = (element, what) => bad.push(`${what}: ${element.outerHTML.slice(0, 110)}`);
  for (const box of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    const named = [...(box.labels ?? [])].some((label) => label.textContent.trim());
    if (!named && !box.getAttribute("aria-label")) say(box, "no label");
  }
  for (const link of document.querySelectorAll("a, button, summary")) {
    if (!link.textContent.trim() && !link.getAttribute("aria-label")) say(link, "no name");
  }
  for (const image of document.querySelectorAll("svg")) {
    if (!image.getAttribute("aria-label") && image.getAttribute("aria-hidden") !== "true") say(image, "no name");
  }
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  for (const id of ids.filter((each, place) => ids.indexOf(each) !== place)) bad.push(`id twice: ${id}`);
  for (const [selector, count] of [["h1", 1], ["main", 1], ["header", 1], ["html[lang]", 1], ["[aria-live]", null]]) {
    const found = document.querySelectorAll(selector).length;
    if (count === null ? !found : found !== count) bad.push(`${found} of ${selector}`);
  }
  for (const each of document.querySelectorAll("[style], [onclick], style, script:not([src])")) say(each, "inline");
  for (const each of document.querySelectorAll("[src], link[href]")) {
    const address = new URL(each.src || each.href, location.href);
    if (address.origin !== location.origin && address.protocol !== "data:") say(each, "elsewhere");
  }
  return bad;
}
"""

OVERFLOW = """
() => {
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= wide) return [];
  return [...document.querySelectorAll("body *")]
    .filter((each) => each.getBoundingClientRect().right > wide + 1)
    .map((each) => `${each.getBoundingClientRect().right}: ${each.outerHTML.slice(0, 110)}`);
}
"""

FOCUS = """
() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const style = getComputedStyle(element), box = element.getBoundingClientRect();
  return {
    is_visible: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    is_in_sight: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    html: element.outerHTML.slice(0, 110),
  };
}
"""


def look_at(page: Any) -> None:
    """Fail where a text is too faint, a control has no name, or the screen is wider than the window."""
    page.wait_for_load_state()
    found = page.evaluate(CONTRAST)
    assert found["texts"] > 5, "no texts were measured"
    assert not found["bad"], found["bad"]
    problems = page.evaluate(STRUCTURE)
    assert not problems, problems
    wide = page.evaluate(OVERFLOW)
    assert not wide, wide


def tab_through(page: Any, stops: int) -> int:
    """Press Tab and fail where it cannot be seen where one is; return how many stops there were."""
    places = []
    for _ in range(stops):
        page.keyboard.press("Tab")
        if (found := page.evaluate(FOCUS)) is None:
            break
        assert found["is_visible"] and found["is_in_sight"], found
        places.append(found["html"])
    return len(places)
