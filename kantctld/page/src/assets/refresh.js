// Replaces the part of the page that changes, every few seconds while the page is visible. Without
// scripts a page shows the state at the time when it was loaded.
"use strict";

const PERIOD_MS = 10000;

function isBusy(live) {
  // An open form or the text of a field would be lost.
  return live.contains(document.activeElement) || live.querySelector("details[open] form");
}

async function refresh() {
  const live = document.getElementById("live");
  if (!live || document.hidden || isBusy(live)) {
    return;
  }
  const note = document.getElementById("stale");
  try {
    const answer = await fetch(window.location.href, { cache: "no-store" });
    const text = await answer.text();
    const next = new DOMParser().parseFromString(text, "text/html").getElementById("live");
    if (!next) {
      // Signed out.
      window.location.reload();
      return;
    }
    const open = new Set(Array.from(live.querySelectorAll("details[open][id]"), (one) => one.id));
    if (next.innerHTML !== live.innerHTML && !isBusy(live)) {
      for (const one of next.querySelectorAll("details[id]")) {
        one.open = open.has(one.id);
      }
      live.replaceChildren(...next.childNodes);
    }
    note.hidden = true;
  } catch {
    note.hidden = false;
  }
}

setInterval(refresh, PERIOD_MS);
document.addEventListener("visibilitychange", refresh);
