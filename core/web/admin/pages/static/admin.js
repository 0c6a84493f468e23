// What is comfortable; everything essential works without. Texts from the server are only ever moved as parsed
// elements or as textContent, never put together as HTML.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const one = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  // Times, in the zone of whoever looks; the exact one stays in the title.
  const zone = new Intl.DateTimeFormat(undefined, {
    year: "numeric", month: "short", day: "2-digit", hour: "2-digit", minute: "2-digit", hourCycle: "h23",
  });
  const showTimes = (from) => {
    for (const element of all("time[datetime]", from)) {
      const at = new Date(element.dateTime);
      if (!Number.isNaN(at.valueOf())) element.textContent = zone.format(at);
    }
  };
  showTimes(document);

  // The note after a change stands in the address once: reloading does not say it again.
  const address = new URL(location.href);
  if (address.searchParams.has("note")) {
    for (const name of ["note", "count", "undo"]) address.searchParams.delete(name);
    history.replaceState(null, "", address);
  }
  const closeToast = () => one("[data-toast]")?.remove();
  one("[data-close-toast]")?.addEventListener("click", closeToast);
  if (one("[data-toast]") && !one("[data-undo]")) setTimeout(closeToast, 8000);

  // A live region speaks when it changes, not when the screen opens with it.
  const box = one("[data-toast]");
  if (box) requestAnimationFrame(() => { box.remove(); one("#toast").append(box); });

  // Rows
  const rows = () => all("[data-row]").filter((row) => row.offsetParent !== null || row.getClientRects().length);
  const currentRow = () => document.activeElement?.closest?.("[data-row]") ?? null;
  const REMEMBERED = "prompt-engine-row";
  const remember = (row) => {
    const list = rows();
    try {
      sessionStorage.setItem(REMEMBERED, JSON.stringify({ path: location.pathname, place: list.indexOf(row) }));
    } catch { /* without storage the focus begins at the top */ }
  };
  const goTo = (row) => {
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
  };
  const step = (by) => {
    const list = rows();
    if (!list.length) return;
    const place = list.indexOf(currentRow());
    goTo(list[place < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(Math.max(place + by, 0), list.length - 1)]);
  };
  document.addEventListener("submit", (event) => {
    const row = event.submitter?.closest("[data-row]");
    if (row) remember(row);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-edit], [data-cancel]");
    if (link?.closest("[data-row]")) remember(link.closest("[data-row]"));
  });
  try {
    const kept = JSON.parse(sessionStorage.getItem(REMEMBERED) ?? "null");
    sessionStorage.removeItem(REMEMBERED);
    if (!one("textarea[autofocus]") && kept && kept.path === location.pathname) {
      const list = rows();
      goTo(list[Math.min(Math.max(kept.place, 0), list.length - 1)]);
    }
  } catch { /* as above */ }

  // Choosing several
  const picks = () => all("input[form='bulk'][name='ids']");
  const allBox = one("[data-select-all]");
  const countChosen = () => {
    const list = picks();
    const chosen = list.filter((box) => box.checked).length;
    const shown = one("[data-chosen]");
    if (shown) shown.textContent = chosen ? `${chosen} chosen` : "";
    if (allBox) {
      allBox.checked = chosen > 0 && chosen === list.length;
      allBox.indeterminate = chosen > 0 && chosen < list.length;
    }
  };
  allBox?.addEventListener("change", () => {
    for (const box of picks()) box.checked = allBox.checked;
    countChosen();
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches?.("input[form='bulk'][name='ids']")) countChosen();
  });
  countChosen();

  // Keys
  const dialog = one("#keys");
  const openKeys = () => dialog && !dialog.open && dialog.showModal();
  one("[data-open='keys']")?.addEventListener("click", openKeys);
  const SWITCH = "prompt-engine-keys";
  const keysBox = one("#keys-on");
  if (keysBox) {
    try { keysBox.checked = localStorage.getItem(SWITCH) !== "off"; } catch { /* it is on */ }
    keysBox.addEventListener("change", () => {
      try { localStorage.setItem(SWITCH, keysBox.checked ? "on" : "off"); } catch { /* it holds for this screen */ }
    });
  }
  let isGoing = false;
  const press = (selector) => {
    const row = currentRow() ?? (rows().length === 1 ? rows()[0] : null);
    const target = row && one(selector, row);
    target?.click();
    return Boolean(target);
  };
  const KEYS = {
    "/": () => { const box = one("[data-search]"); box?.focus(); box?.select?.(); return Boolean(box); },
    j: () => { step(1); return true; },
    k: () => { step(-1); return true; },
    e: () => press("[data-edit]"),
    d: () => press("[data-delete]"),
    o: () => press("[data-open-row]"),
    x: () => press("input[type='checkbox']"),
    u: () => { const form = one("[data-undo]"); form?.requestSubmit(); return Boolean(form); },
    "?": () => { openKeys(); return true; },
  };
  const isTyping = (element) =>
    element?.isContentEditable || element?.matches?.("textarea, select, input:not([type='checkbox'])");
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape" && isTyping(event.target)) {
      const cancel = one("[data-cancel]");
      if (cancel && event.target.matches("textarea")) cancel.click();
      else event.target.blur();
      return;
    }
    if (isTyping(event.target) || dialog?.open || (keysBox && !keysBox.checked)) return;
    if (isGoing) {
      isGoing = false;
      const link = all("[data-key]").find((each) => each.dataset.key === event.key);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    if (event.key === "g") {
      isGoing = true;
      setTimeout(() => { isGoing = false; }, 1500);
    } else if (KEYS[event.key]?.()) event.preventDefault();
  });

  // The queue is read anew while it is looked at
  const queue = one("[data-live]");
  let original = "";
  const refresh = async () => {
    if (document.hidden || queue.matches(":has(button:active)")) return;
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
    if (!answer.ok || answer.redirected) return;
    const fresh = one("[data-live]", new DOMParser().parseFromString(await answer.text(), "text/html"));
    if (!fresh || fresh.innerHTML === original) return;
    original = fresh.innerHTML;
    const focused = queue.contains(document.activeElement) ? document.activeElement : null;
    const id = focused?.closest("[data-row]")?.dataset.id;
    const isRow = focused?.matches("[data-row]");
    const label = focused?.getAttribute("name") ?? focused?.getAttribute("href");
    showTimes(fresh);
    queue.replaceChildren(...[...fresh.childNodes].map((node) => document.importNode(node, true)));
    if (!focused) return;
    const row = id === undefined ? null : all("[data-row]", queue).find((each) => each.dataset.id === id);
    const inside = isRow ? row : all("a, button", row ?? queue).find(
      (each) => (each.getAttribute("name") ?? each.getAttribute("href")) === label);
    (inside ?? row)?.focus({ preventScroll: true });
  };
  if (queue) {
    const again = () => refresh().catch(() => { /* the next time */ });
    setInterval(again, 10_000);
    document.addEventListener("visibilitychange", again);
  }

  for (const button of all("[data-copy]")) {
    button.addEventListener("click", async () => {
      const text = one(`#${button.dataset.copy}`)?.textContent ?? "";
      const said = button.textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch { // without https there is no clipboard: what is chosen can be copied by hand
        getSelection().selectAllChildren(one(`#${button.dataset.copy}`));
        button.textContent = "Chosen: press Ctrl+C";
      }
      setTimeout(() => { button.textContent = said; }, 2500);
    });
  }

  // After the way back to a form that was refused, what was written is seen.
  addEventListener("pageshow", () => {
    for (const part of all("details.adding")) part.open ||= Boolean(one("textarea", part).value);
  });

  // The prompt is below its form.
  one("#result")?.focus();
  for (const link of all("[data-back]")) {
    link.addEventListener("click", (event) => {
      if (history.length > 1 && document.referrer.startsWith(location.origin)) { event.preventDefault(); history.back(); }
    });
  }
})();
