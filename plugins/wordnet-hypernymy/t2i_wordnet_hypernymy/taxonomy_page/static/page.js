"use strict";
(() => {
  const { chunk, images, models, scores, nodes } = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const tree = byId("tree"), results = byId("results"), search = byId("search"), found = byId("found");
  const MOST_RESULTS = 200, MOST_NEIGHBOURS = 60;

  const children = nodes.map(() => []);
  nodes.forEach((node, place) => node.parents.forEach((parent) => children[parent].push(place)));
  const roots = nodes.map((_, place) => place).filter((place) => !nodes[place].parents.length);
  const placeOf = new Map(nodes.map((node, place) => [node.name, place]));

  function make(tag, properties = {}, ...content) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in element) element[name] = value;
      else element.setAttribute(name, value);
    }
    element.append(...content);
    return element;
  }
  const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
  const show = (value) => (value === null ? "–" : String(Number(value.toPrecision(3))));

  // mean of a score over the models and prompts of a node; null without a value
  function meanScore(place, score) {
    const values = nodes[place].prompts.flatMap((prompt) => prompt.scores[score]).filter((value) => value !== null);
    return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
  }
  const select = byId("score");
  scores.forEach((name, score) => select.append(make("option", { value: String(score), textContent: name })));
  select.parentElement.hidden = !scores.length;
  function valueText(place) {
    const value = scores.length ? meanScore(place, Number(select.value)) : null;
    return value === null ? "" : show(value);
  }

  // tree: an item makes its children when it is opened for the first time
  function makeItem(place, level) {
    const node = nodes[place];
    const item = make("li", { role: "treeitem", tabIndex: -1 });
    item.place = place;
    item.setAttribute("aria-level", level);
    item.setAttribute("aria-selected", "false");
    const twist = make("span", { className: "twist", "aria-hidden": "true" });
    const word = make("span", { className: node.prompts.length ? "word" : "word bare", textContent: node.lemmas[0] });
    item.append(make("span", { className: "row" }, twist, word, make("span", { className: "value", textContent: valueText(place) })));
    item.setAttribute("aria-label", node.lemmas[0]);
    if (children[place].length) {
      item.setAttribute("aria-expanded", "false");
      twist.textContent = "▸";
    }
    return item;
  }
  const isOpen = (item) => item.getAttribute("aria-expanded") === "true";
  function setOpen(item, open) {
    if (!item.hasAttribute("aria-expanded") || isOpen(item) === open) return;
    item.setAttribute("aria-expanded", String(open));
    item.querySelector(".twist").textContent = open ? "▾" : "▸";
    let group = item.querySelector(":scope > ul");
    if (open && !group) {
      group = make("ul", { role: "group" });
      const level = Number(item.getAttribute("aria-level")) + 1;
      group.append(...children[item.place].map((place) => makeItem(place, level)));
      item.append(group);
    }
    group.hidden = !open;
  }
  const visibleItems = () => [...tree.querySelectorAll("li")].filter((item) => !item.closest("ul[hidden]"));
  function focusItem(item) {
    tree.querySelectorAll('li[tabindex="0"]').forEach((other) => (other.tabIndex = -1));
    item.tabIndex = 0;
    item.focus();
  }
  function markSelected(place) {
    tree.querySelectorAll('[aria-selected="true"]').forEach((item) => item.setAttribute("aria-selected", "false"));
    tree.querySelectorAll("li").forEach((item) => {
      if (item.place === place) item.setAttribute("aria-selected", "true");
    });
  }
  // open the first path from a root to a node
  function reveal(place) {
    const path = [place];
    while (nodes[path[0]].parents.length) path.unshift(nodes[path[0]].parents[0]);
    let items = [...tree.children], item = null;
    path.forEach((step, depth) => {
      item = items.find((one) => one.place === step);
      if (depth < path.length - 1) setOpen(item, true);
      items = [...(item.querySelector(":scope > ul")?.children ?? [])];
    });
    tree.querySelectorAll('li[tabindex="0"]').forEach((other) => (other.tabIndex = -1));
    item.tabIndex = 0;
    const row = item.firstElementChild.getBoundingClientRect(), box = tree.getBoundingClientRect();
    if (row.top < box.top || row.bottom > box.bottom) tree.scrollTop += row.top - box.top - box.height / 3;
  }
  tree.addEventListener("click", (event) => {
    const item = event.target.closest("li");
    if (!item) return;
    focusItem(item);
    if (event.target.classList.contains("twist")) setOpen(item, !isOpen(item));
    else {
      if (item.hasAttribute("aria-expanded") && (item.getAttribute("aria-selected") === "true" || !isOpen(item))) setOpen(item, !isOpen(item));
      choose(item.place);
    }
  });
  tree.addEventListener("keydown", (event) => {
    const item = event.target.closest("li"), items = visibleItems(), at = items.indexOf(item);
    const parent = item.parentElement.closest("li");
    const moves = {
      ArrowDown: () => focusItem(items[Math.min(at + 1, items.length - 1)]),
      ArrowUp: () => focusItem(items[Math.max(at - 1, 0)]),
      Home: () => focusItem(items[0]),
      End: () => focusItem(items[items.length - 1]),
      ArrowRight: () => (isOpen(item) ? focusItem(item.querySelector("li")) : setOpen(item, true)),
      ArrowLeft: () => (isOpen(item) ? setOpen(item, false) : parent && focusItem(parent)),
      Enter: () => choose(item.place),
      " ": () => choose(item.place),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  });

  // pictures: 64 lines of base64 in one part of the page, which may not have been read yet
  let loaded = document.readyState === "complete";
  const whenLoaded = [];
  document.addEventListener("DOMContentLoaded", () => {
    loaded = true;
    whenLoaded.splice(0).forEach((work) => work());
  });
  const parts = new Map();
  function fillPicture(image, place) {
    const number = Math.floor(place / chunk);
    if (!parts.has(number)) {
      const part = byId(`pictures-${number}`);
      if (!loaded && !byId(`pictures-${number + 1}`)) {
        whenLoaded.push(() => fillPicture(image, place));
        return;
      }
      parts.set(number, (part?.textContent ?? "").split("\n"));
      if (parts.size > 8) parts.delete(parts.keys().next().value);
    }
    const text = parts.get(number)[place % chunk];
    if (text) image.src = `data:image/webp;base64,${text}`;
    else image.replaceWith(make("p", { className: "soft", textContent: "This image cannot be shown." }));
  }

  const linkTo = (place) => make("a", { href: `#${encodeURIComponent(nodes[place].name)}`, title: nodes[place].definition, textContent: nodes[place].lemmas[0] });
  function neighbours(term, places, rest = "") {
    const shown = places.slice(0, MOST_NEIGHBOURS).map(linkTo);
    const left = places.length - shown.length;
    const more = [left ? `${left} more` : "", rest].filter(Boolean).join("; ");
    const content = make("dd", {}, ...shown.flatMap((link) => [link, " "]));
    if (more) content.append(make("span", { className: "soft", textContent: more }));
    if (!shown.length && !more) content.append(make("span", { className: "soft", textContent: "none" }));
    return [make("dt", { textContent: term }), content];
  }
  function makeModel(prompt, model) {
    const card = make("div", { className: "model" }, make("h4", { textContent: models[model] }));
    prompt.pictures[model].forEach((place, number) => {
      const image = make("img", { alt: `${models[model]}: image ${number + 1} for “${prompt.text}”`, decoding: "async" });
      card.append(image);
      fillPicture(image, place);
    });
    if (images && !prompt.pictures[model].length) card.append(make("p", { className: "soft", textContent: "No image." }));
    const rows = scores.map((name, score) => make("tr", {}, make("th", { scope: "row", textContent: name }), make("td", { textContent: show(prompt.scores[score][model]) })));
    if (rows.length) card.append(make("table", {}, make("tbody", {}, ...rows)));
    return card;
  }
  function showSynset(place) {
    const node = nodes[place];
    const siblings = [...new Set(node.parents.flatMap((parent) => children[parent]))].filter((other) => other !== place);
    const absent = node.hyponyms - children[place].length;
    const rest = absent ? `${plural(absent, children[place].length ? "other hyponym" : "hyponym")} not in this run` : "";
    const detail = make("div", { id: "detail" },
      make("h2", { textContent: node.lemmas.join(", ") }),
      make("p", { className: "soft", textContent: node.name }),
      make("p", { textContent: node.definition }),
      make("dl", {}, ...neighbours("Hypernyms", node.parents), ...neighbours("Hyponyms", children[place], rest), ...neighbours("Cohyponyms", siblings)));
    if (!node.prompts.length) detail.append(make("p", { className: "note", textContent: "The run has no prompt for this synset; it is here because it is above others." }));
    node.prompts.forEach((prompt) => detail.append(make("h3", { textContent: prompt.text }), make("div", { className: "models" }, ...models.map((_, model) => makeModel(prompt, model)))));
    byId("detail").replaceWith(detail);
  }

  function choose(place) {
    const wanted = `#${encodeURIComponent(nodes[place].name)}`;
    if (location.hash === wanted) follow(true);
    else location.hash = wanted;
  }
  // the address names the synset, so that links and the browser's back button work
  function follow(scroll) {
    let name = "";
    try {
      name = decodeURIComponent(location.hash.slice(1));
    } catch {
      name = "";
    }
    const first = nodes.findIndex((node) => node.prompts.length);
    const place = placeOf.get(name) ?? (scroll ? null : first);
    if (place === null) return;
    showSynset(place);
    reveal(place);
    markSelected(place);
    if (scroll && matchMedia("(max-width: 48rem)").matches) byId("synset").scrollIntoView();
    else if (scroll) scrollTo({ top: 0 });
  }
  addEventListener("hashchange", () => follow(true));

  const haystack = nodes.map((node) => [node.name, ...node.lemmas].join("\n").toLowerCase());
  const definitions = nodes.map((node) => node.definition.toLowerCase());
  function find() {
    const text = search.value.trim().toLowerCase();
    results.hidden = !text;
    tree.hidden = Boolean(text);
    found.textContent = "";
    if (!text) return;
    const all = nodes.map((_, place) => place);
    const begin = all.filter((place) => haystack[place].split("\n").some((word) => word.startsWith(text)));
    const inside = all.filter((place) => haystack[place].includes(text));
    const meant = all.filter((place) => definitions[place].includes(text));
    const places = [...new Set([...begin, ...inside, ...meant])];
    found.textContent = places.length > MOST_RESULTS ? `${plural(places.length, "synset")}; the first ${MOST_RESULTS}` : plural(places.length, "synset");
    results.replaceChildren(...places.slice(0, MOST_RESULTS).map((place) => {
      const link = linkTo(place);
      link.append(make("span", { className: "soft", textContent: ` ${nodes[place].name}` }));
      return make("li", {}, link);
    }));
  }
  search.addEventListener("input", find);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") results.querySelector("a")?.click();
    if (event.key === "Escape") {
      search.value = "";
      find();
    }
  });
  select.addEventListener("change", () => tree.querySelectorAll("li").forEach((item) => {
    item.querySelector(":scope > .row > .value").textContent = valueText(item.place);
  }));

  const asked = nodes.filter((node) => node.prompts.length).length;
  byId("counts").textContent = `${plural(asked, "synset")}, ${plural(models.length, "model")}`;
  tree.append(...roots.map((place) => makeItem(place, 1)));
  if (tree.firstElementChild) tree.firstElementChild.tabIndex = 0;
  follow(false);
})();
