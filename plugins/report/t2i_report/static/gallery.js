"use strict";
(() => {
  if (!t2i) return;
  const { data, $, make, picture, overlay } = t2i;
  const total = data.model.length;
  const sides = data.sides;

  // tags of each picture, stored in this browser
  const SHELF = `t2i-report:${data.id}`;
  const nameOf = (i) => JSON.stringify([data.models[data.model[i]], data.prompts[data.prompt[i]][0], data.seed[i]]);
  let tags = new Map();
  try {
    tags = new Map(Object.entries(JSON.parse(localStorage.getItem(SHELF) || "{}")));
  } catch {
    // the browser has no storage, or stores something else under this key
  }
  const tagsOf = (i) => tags.get(nameOf(i)) || [];
  function keep(i, own) {
    if (own.length) tags.set(nameOf(i), own);
    else tags.delete(nameOf(i));
    try {
      localStorage.setItem(SHELF, JSON.stringify(Object.fromEntries(tags)));
    } catch {
      // without storage, tags last until the page is closed
    }
    listTags();
  }
  const knownTags = () => [...new Set([...tags.values()].flat())].sort();

  function fill(select, entries) {
    const before = select.value;
    select.replaceChildren(...entries.map(([value, text]) => new Option(text, value)));
    if (entries.some(([value]) => String(value) === before)) select.value = before;
  }
  const written = (v) => (v === null || v === undefined ? "none" : Number.isInteger(v) ? String(v) : String(Number(v.toPrecision(4))));

  // filters
  const f = Object.fromEntries(
    ["model", "measure", "outcome", "from", "to", "facet", "level", "seed", "tag", "text", "order", "why"].map((n) => [n, $(`f-${n}`)]),
  );
  const measure = () => data.measures[Number(f.measure.value)];
  const facet = () => (f.facet.value === "" ? undefined : data.facets[Number(f.facet.value)]);
  fill(f.model, [["", "all"], ...data.models.map((name, n) => [n, name])]);
  f.model.parentElement.hidden = data.models.length < 2;
  fill(f.measure, data.measures.length ? data.measures.map((m, n) => [n, m.title]) : [["", "none"]]);
  fill(f.facet, [["", "all"], ...data.facets.map((one, n) => [n, one.name])]);
  f.facet.parentElement.hidden = !data.facets.length;
  // why: reasons of wrong values, a group of options for each metric
  f.why.replaceChildren(
    new Option("all", ""),
    ...data.because.flatMap((own, n) => {
      if (!own.groups.length) return [];
      const counts = own.groups.map(() => 0);
      for (const codes of Object.values(own.codes)) for (const code of codes) counts[code]++;
      const group = make("optgroup");
      group.label = own.title;
      group.append(...own.groups.map((words, code) => new Option(`${words} (${counts[code]})`, `${n},${code}`)));
      return [group];
    }),
  );
  f.why.parentElement.hidden = f.why.options.length < 2;
  const sidesOf = (i) => Array.from({ length: sides }, (_, side) => i * sides + side);
  fill(f.seed, [["", "all"], ...[...new Set(data.seed)].sort((a, b) => a - b).map((s) => [s, s])]);
  function listTags() {
    fill(f.tag, [["", "all"], ["tagged", "any tag"], ["untagged", "no tag"], ...knownTags().map((t) => [`=${t}`, t])]);
    $("tags").replaceChildren(...knownTags().map((t) => new Option("", t)));
  }
  listTags();
  function listLevels() {
    const own = facet();
    fill(f.level, [["", "all"], ...(own ? own.levels.map((level, n) => [n, level]) : [])]);
    f.level.parentElement.hidden = !own;
  }
  function listOutcomes() {
    const own = measure();
    const outcomes = [["", "all"]];
    if (own && own.sides) outcomes.push(["above", `${own.sides[0]} higher`], ["below", `${own.sides[1]} higher`], ["same", "the same"]);
    else if (own && own.right) outcomes.push(["right", own.better === false ? "0 (right)" : "1 (right)"], ["wrong", own.better === false ? "1 (wrong)" : "0 (wrong)"]);
    if (own) outcomes.push(["none", "no value"]);
    if (Object.keys(data.why).length) outcomes.push(["failed", "no picture"]);
    fill(f.outcome, outcomes);
    for (const each of document.querySelectorAll(".range")) each.hidden = !own || own.right;
    const orders = [["given", "original order"], ["seed", "seed"]];
    if (own) {
      if (own.sides) orders.unshift(["far", "most different first"], ["low", `${own.sides[1]} higher first`], ["high", `${own.sides[0]} higher first`]);
      else if (own.better === null) orders.unshift(["low", "lowest first"], ["high", "highest first"]);
      else orders.unshift(["worst", "worst first"], ["best", "best first"]);
    }
    fill(f.order, orders);
  }
  listLevels();
  listOutcomes();

  const right = (own, v) => (own.better === false ? v === 0 : v === 1);
  const OUTCOMES = {
    right: (v, own) => v !== null && right(own, v),
    wrong: (v, own) => v !== null && !right(own, v),
    above: (v) => v !== null && v > 0,
    below: (v) => v !== null && v < 0,
    same: (v) => v === 0,
    none: (v) => v === null,
  };
  let chosen = [];
  function choose() {
    const own = measure();
    const values = own ? own.values : null;
    const levels = facet();
    const text = f.text.value.trim().toLowerCase();
    const fits = data.prompts.map(([id, words]) => !text || words.toLowerCase().includes(text) || id.toLowerCase().includes(text));
    const from = f.from.value === "" || (own && own.right) ? null : Number(f.from.value);
    const to = f.to.value === "" || (own && own.right) ? null : Number(f.to.value);
    const outcome = f.outcome.value;
    const [about, code] = f.why.value.split(",").map(Number);
    chosen = [];
    for (let i = 0; i < total; i++) {
      const v = values ? values[i] : null;
      if (f.model.value !== "" && data.model[i] !== Number(f.model.value)) continue;
      if (f.seed.value !== "" && String(data.seed[i]) !== f.seed.value) continue;
      if (levels && f.level.value !== "" && levels.codes[i] !== Number(f.level.value)) continue;
      if (!fits[data.prompt[i]]) continue;
      if (f.why.value && !sidesOf(i).some((place) => data.because[about].codes[place]?.includes(code))) continue;
      if (outcome === "failed" ? !(i in data.why) : outcome && !OUTCOMES[outcome](v, own)) continue;
      if ((from !== null && (v === null || v < from)) || (to !== null && (v === null || v > to))) continue;
      if (f.tag.value === "tagged" && !tagsOf(i).length) continue;
      if (f.tag.value === "untagged" && tagsOf(i).length) continue;
      if (f.tag.value.startsWith("=") && !tagsOf(i).includes(f.tag.value.slice(1))) continue;
      chosen.push(i);
    }
    const down = own && own.better === false ? -1 : 1;
    const ways = { worst: (v) => down * v, best: (v) => -down * v, low: (v) => v, high: (v) => -v, far: (v) => -Math.abs(v) };
    const by = ways[f.order.value];
    if (by) chosen.sort((a, b) => (values[a] === null) - (values[b] === null) || by(values[a]) - by(values[b]) || a - b);
    else if (f.order.value === "seed") chosen.sort((a, b) => data.seed[a] - data.seed[b] || a - b);
    $("count").textContent = `${chosen.length} of ${total} ${sides > 1 ? "pairs" : "pictures"}`;
    at = 0;
    $("pane").scrollTop = 0;
    lay(true);
  }

  // the grid: only the cards in view exist
  const pane = $("pane");
  const grid = $("grid");
  const cards = new Map();
  let at = 0;
  let across = 1;
  let size = [0, 0];
  function measureOut() {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const wide = (sides > 1 ? 21 : 11) * rem;
    across = Math.max(1, Math.floor(pane.clientWidth / wide));
    size = [pane.clientWidth / across, 16 * rem];
  }
  function views(i) {
    const box = make("span", undefined, "pair");
    for (let side = 0; side < sides; side++) {
      const view = make("span", undefined, "view");
      const source = picture(i * sides + side);
      if (source) {
        const image = make("img");
        image.alt = "";
        image.decoding = "async";
        image.src = source;
        view.append(image);
      } else view.textContent = data.why[i] || "no picture";
      box.append(view);
    }
    return box;
  }
  function card(position) {
    const i = chosen[position];
    const own = measure();
    const item = make("li", undefined, "card");
    item.setAttribute("aria-setsize", chosen.length);
    item.setAttribute("aria-posinset", position + 1);
    item.style.width = `${size[0]}px`;
    item.style.height = `${size[1]}px`;
    item.style.left = `${(position % across) * size[0]}px`;
    item.style.top = `${Math.floor(position / across) * size[1]}px`;
    const button = make("button");
    button.type = "button";
    button.dataset.position = position;
    button.append(views(i), make("span", data.prompts[data.prompt[i]][1] || data.prompts[data.prompt[i]][0], "words"));
    button.append(make("span", `${data.models[data.model[i]]}, seed ${data.seed[i]}`, "facts"));
    if (own) {
      const v = own.values[i];
      const how = v === null || !own.right ? "" : right(own, v) ? " good" : " bad";
      button.append(make("span", `${own.title}: ${written(v)}`, `value${how}`));
    }
    button.append(make("span", tagsOf(i).join(", "), "facts"));
    item.append(button);
    return item;
  }
  function lay(anew) {
    if (anew) {
      measureOut();
      cards.clear();
      grid.replaceChildren();
      grid.style.height = `${Math.ceil(chosen.length / across) * size[1]}px`;
    }
    const first = Math.max(0, Math.floor(pane.scrollTop / size[1]) - 1) * across;
    const last = Math.min(chosen.length, (Math.ceil((pane.scrollTop + pane.clientHeight) / size[1]) + 1) * across);
    for (const [position, item] of cards) {
      if ((position < first || position >= last) && !item.contains(document.activeElement)) {
        item.remove();
        cards.delete(position);
      }
    }
    for (let position = first; position < last; position++) {
      if (!cards.has(position)) {
        const item = card(position);
        const next = [...cards.keys()].filter((p) => p > position).sort((a, b) => a - b)[0];
        grid.insertBefore(item, next === undefined ? null : cards.get(next));
        cards.set(position, item);
      }
    }
    const stop = cards.has(at) ? at : Math.min(first + across, last - 1);
    for (const [position, item] of cards) item.firstChild.tabIndex = position === stop ? 0 : -1;
  }
  function go(position) {
    if (!chosen.length) return;
    at = Math.max(0, Math.min(chosen.length - 1, position));
    const top = Math.floor(at / across) * size[1];
    if (top < pane.scrollTop) pane.scrollTop = top;
    if (top + size[1] > pane.scrollTop + pane.clientHeight) pane.scrollTop = top + size[1] - pane.clientHeight;
    lay(false);
    cards.get(at).firstChild.focus({ preventScroll: true });
  }
  let waiting = false;
  pane.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      lay(false);
    });
  });
  new ResizeObserver(() => {
    if (pane.clientWidth) lay(true);
  }).observe(pane);
  grid.addEventListener("focusin", (event) => {
    const button = event.target.closest("button");
    if (button) at = Number(button.dataset.position);
  });
  grid.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const rows = Math.max(1, Math.floor(pane.clientHeight / size[1]));
    const steps = {
      ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + across, ArrowUp: at - across,
      PageDown: at + rows * across, PageUp: at - rows * across, Home: 0, End: chosen.length - 1,
    };
    if (!(event.key in steps)) return;
    event.preventDefault();
    go(steps[event.key]);
  });
  grid.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) open(Number(button.dataset.position));
  });

  // one picture
  const look = $("look");
  let looked = 0; // separate from `at`, because a dialog that closes returns the focus to the card that opened it
  function open(position) {
    at = position;
    show();
    if (!look.open) look.showModal();
  }
  function fact(name, value) {
    $("look-facts").append(make("dt", name), make("dd", value));
  }
  // the metric whose evidence is drawn: that of the chosen score, or the first that has any of this picture
  function choosing(i) {
    const own = measure();
    const has = (title) => sidesOf(i).some((place) => overlay(title, place));
    return own && has(own.metric) ? own.metric : data.evidence.find(has);
  }
  function show() {
    looked = at;
    const i = chosen[at];
    const [id, text] = data.prompts[data.prompt[i]];
    const drawn = choosing(i);
    $("look-draws").hidden = drawn === undefined;
    $("look-draws").lastChild.textContent = ` Evidence of ${drawn}`;
    $("look-pictures").replaceChildren(
      ...Array.from({ length: sides }, (_, side) => {
        const figure = make("figure");
        const box = make("span", undefined, "shot");
        t2i.fill(box, i * sides + side, `${data.sideNames ? `${data.sideNames[side]}: ` : ""}${text}`, drawn);
        figure.append(box);
        if (data.sideNames) figure.append(make("figcaption", data.sideNames[side]));
        return figure;
      }),
    );
    $("look-title").textContent = text || id;
    $("look-facts").replaceChildren();
    fact("model", data.models[data.model[i]]);
    fact("prompt", id);
    fact("seed", String(data.seed[i]));
    for (const own of data.because) {
      for (const [side, place] of sidesOf(i).entries()) {
        if (place in own.text) fact(`${own.title}: why${data.sideNames ? `, ${data.sideNames[side]}` : ""}`, own.texts[own.text[place]]);
      }
    }
    for (const own of data.measures) if (own.values[i] !== null) fact(own.title, written(own.values[i]));
    for (const own of data.facets) if (own.codes[i] >= 0) fact(own.name, own.levels[own.codes[i]]);
    if (i in data.why) fact("no picture", data.why[i]);
    $("before").disabled = at === 0;
    $("after").disabled = at === chosen.length - 1;
    const remove = (tag) => {
      const item = make("li");
      const button = make("button", `${tag} ×`);
      button.type = "button";
      button.setAttribute("aria-label", `Remove the tag ${tag}`);
      button.addEventListener("click", () => {
        keep(i, tagsOf(i).filter((other) => other !== tag));
        show();
        $("tag").focus();
      });
      item.append(button);
      return item;
    };
    $("look-tags").replaceChildren(...tagsOf(i).map(remove));
  }
  function step(by) {
    const next = at + by;
    if (next < 0 || next >= chosen.length) return;
    at = next;
    show();
  }
  $("before").addEventListener("click", () => step(-1));
  $("after").addEventListener("click", () => step(1));
  $("close").addEventListener("click", () => look.close());
  look.addEventListener("keydown", (event) => {
    if (event.target.tagName === "INPUT" || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "ArrowLeft") step(-1);
    if (event.key === "ArrowRight") step(1);
  });
  look.addEventListener("close", () => {
    lay(true);
    go(looked);
  });
  $("tagging").addEventListener("submit", (event) => {
    event.preventDefault();
    const tag = $("tag").value.trim();
    const i = chosen[at];
    if (tag && !tagsOf(i).includes(tag)) keep(i, [...tagsOf(i), tag]);
    $("tag").value = "";
    show();
  });
  $("export").addEventListener("click", () => {
    const quoted = (cell) => `"${String(cell).replaceAll('"', '""')}"`;
    const lines = [["model", "prompt", "seed", "tag"]];
    // as t2i_core.spreadsheets: a text that a spreadsheet would run as a formula gets an apostrophe before it
    const runs = (cell) => /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(cell);
    const isNumber = (cell) => /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/.test(cell);
    const escaped = (cell) => (runs(cell) && !isNumber(cell) ? `'${cell}` : cell);
    for (const [name, own] of tags) for (const tag of own) lines.push([...JSON.parse(name), tag].map(escaped));
    const text = lines.map((line) => line.map(quoted).join(",")).join("\r\n");
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([`${text}\r\n`], { type: "text/csv" }));
    link.download = "tags.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });

  const filters = $("filters");
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("input", (event) => {
    if (event.target === f.facet) listLevels();
    if (event.target === f.why && f.why.value) {
      // the score that the reasons explain
      const { title, measure: name } = data.because[f.why.value.split(",")[0]];
      const own = data.measures.findIndex((each) => each.metric === title && each.title.endsWith(name));
      if (own >= 0) f.measure.value = own;
      listOutcomes();
    }
    if (event.target === f.measure) listOutcomes();
    choose();
  });
  filters.addEventListener("reset", () => {
    setTimeout(() => {
      listLevels();
      listOutcomes();
      choose();
    });
  });
  choose();
})();
