"use strict";
(() => {
  // asks for the page again at intervals, and shows the parts that have changed
  const main = document.getElementById("main");
  const connection = document.getElementById("connection");
  let address = location.href;
  let tag = "";
  let asked = 0; // number of the last request: an answer to an earlier one is out of date

  function swap(from, into) {
    // keeps the rows of a table that have not changed, with their focus and their marks
    const rows = new Map([...into.querySelectorAll("tbody tr[id]")].map((row) => [row.id, row]));
    for (const row of from.querySelectorAll("tbody tr[id]")) {
      const known = rows.get(row.id);
      if (known && known.innerHTML === row.innerHTML) row.replaceWith(known);
    }
    into.replaceChildren(...from.childNodes);
  }

  function show(text) {
    const page = new DOMParser().parseFromString(text, "text/html");
    const fresh = page.getElementById("main");
    const rows = document.getElementById("rows");
    const chosen = new Set([...document.querySelectorAll(".pick input:checked")].map((box) => box.value));
    const focused = document.activeElement;
    const place = focused && { id: focused.id, name: focused.name, value: focused.value, href: focused.getAttribute("href") };
    if (rows && fresh.querySelector("#rows")) swap(fresh.querySelector("#rows"), rows); // the form stays as the reader has it
    else swap(fresh, main);
    for (const box of document.querySelectorAll(".pick input")) box.checked = chosen.has(box.value);
    if (fresh.dataset.every) main.dataset.every = fresh.dataset.every;
    else delete main.dataset.every;
    document.title = page.title;
    if (place && document.activeElement !== focused) {
      const same = focused.isConnected
        ? focused
        : [...main.querySelectorAll("a, input, button, [tabindex]")].find(
            (each) =>
              (place.id && each.id === place.id) ||
              (place.href && each.getAttribute("href") === place.href) ||
              (place.name && each.name === place.name && each.value === place.value),
          );
      same?.focus({ preventScroll: true });
    }
  }

  async function ask() {
    const number = ++asked;
    try {
      const answer = await fetch(address, { headers: tag ? { "if-none-match": tag } : {}, cache: "no-store" });
      if (number !== asked) return;
      connection.textContent = "";
      if (answer.status === 304) return;
      tag = answer.headers.get("etag") ?? "";
      show(await answer.text());
    } catch {
      connection.textContent = "t2i view does not answer; is it still running?";
    }
  }

  async function follow() {
    for (;;) {
      await new Promise((done) => setTimeout(done, 1000 * (main.dataset.every || 3600)));
      if (main.dataset.every && !document.hidden) await ask();
    }
  }
  if (main.dataset.every) follow();

  const query = document.querySelector("#query");
  if (query) {
    let wait = 0;
    const search = () => {
      address = "/?" + new URLSearchParams([...new FormData(query)].filter(([, value]) => value));
      tag = "";
      history.replaceState(null, "", address);
      ask();
    };
    query.addEventListener("input", () => {
      clearTimeout(wait);
      wait = setTimeout(search, 150);
    });
    query.addEventListener("submit", (event) => {
      event.preventDefault();
      search();
    });
  }
})();
