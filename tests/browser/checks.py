"""What is measured in the browser: what axe finds, nothing inline or from elsewhere, overflow, visible focus."""

from typing import Any

from tests.browser import axe

FOREIGN = """
() => {
  const bad = [];
  const say = (element, what) => bad.push(`${what}: ${element.outerHTML.slice(0, 110)}`);
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
  const range = document.createRange();  // a text may be wider than its element
  const right = (each) => { range.selectNodeContents(each); return range.getBoundingClientRect().right; };
  return [...document.querySelectorAll("body *")]
    .filter((each) => right(each) > wide + 1)
    .map((each) => `${right(each)}: ${each.outerHTML.slice(0, 110)}`);
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
    """Fail where axe finds a text too faint or a control without a name, or the screen is wider than the window."""
    page.wait_for_load_state()
    problems = axe.find_problems(page) if axe.FILE.exists() else []
    assert not problems, problems
    for script in (FOREIGN, OVERFLOW):
        problems = page.evaluate(script)
        assert not problems, problems


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
