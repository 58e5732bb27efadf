"use strict";
(() => {
  const section = document.getElementById("side-by-side");
  if (!t2i || !section) return;
  const { data, $, make, fill } = t2i;
  const { sides } = data;
  const names = data.sideNames || data.models;
  if (names.length < 2) return;

  // the pictures of each prompt and seed, by model: cells[n] = [index of the gallery, place of the picture] by model
  const byCell = new Map();
  data.model.forEach((model, i) => {
    const key = `${data.prompt[i]},${data.seed[i]}`;
    if (!byCell.has(key)) byCell.set(key, []);
    const cell = byCell.get(key);
    if (sides > 1) for (let side = 0; side < sides; side++) cell[side] = [i, i * sides + side];
    else cell[model] = [i, i];
  });
  const cells = [...byCell.values()].filter((cell) => Object.keys(cell).length > 1);
  if (!cells.length) return;
  section.hidden = false;

  // scores: the values of a model; in a comparison, each model has columns of its own
  const scores = data.scores || data.measures.map((own) => ({ title: own.title, metric: own.metric, values: own.values }));
  const valueOf = (score, cell, model) => {
    const values = data.scores ? score.sides[model] : score.values;
    return cell[model] === undefined ? null : values[cell[model][0]];
  };
  const because = (own, cell, model) => own.texts[own.text[cell[model][1]]];

  const choice = Object.fromEntries(["left", "right", "where", "share"].map((name) => [name, $(`side-${name}`)]));
  for (const select of [choice.left, choice.right]) select.append(...names.map((name, n) => new Option(name, n)));
  choice.right.value = "1";
  for (const select of [choice.left, choice.right]) select.parentElement.hidden = names.length < 3;
  choice.where.append(new Option("all prompts and seeds", ""), ...scores.map((own, n) => new Option(`where ${own.title} differs`, n)));

  const models = () => [Number(choice.left.value), Number(choice.right.value)];
  // first, what readers look for: where the scores differ
  const differ = (score) => (cell) => {
    const [a, b] = models().map((model) => valueOf(score, cell, model));
    return a !== null && b !== null && a !== b;
  };
  const first = scores.findIndex((score) => cells.some(differ(score)));
  if (first >= 0) choice.where.value = first;

  let shown = [];
  let at = 0;
  function choose() {
    const [left, right] = models();
    const score = choice.where.value === "" ? undefined : scores[Number(choice.where.value)];
    shown = cells.filter((cell) => {
      if (cell[left] === undefined || cell[right] === undefined) return false;
      return !score || differ(score)(cell);
    });
    if (score) {
      const apart = (cell) => Math.abs(valueOf(score, cell, left) - valueOf(score, cell, right));
      shown.sort((a, b) => apart(b) - apart(a));
    }
    at = 0;
    show();
  }
  const written = (v) => (v === null ? "" : Number.isInteger(v) ? String(v) : String(Number(v.toPrecision(4))));
  function row(name, ...texts) {
    const made = make("tr");
    const head = make("th", name);
    head.scope = "row";
    made.append(head, ...texts.map((text) => make("td", text)));
    return made;
  }
  function show() {
    $("side-none").hidden = shown.length > 0;
    $("side-stage").hidden = !shown.length;
    if (!shown.length) return;
    const cell = shown[at];
    const both = models();
    const i = cell[both[0]][0];
    const [id, text] = data.prompts[data.prompt[i]];
    const score = choice.where.value === "" ? undefined : scores[Number(choice.where.value)];
    const has = (title) => both.some((model) => t2i.overlay(title, cell[model][1]));
    const drawn = score && has(score.metric) ? score.metric : data.evidence.find(has);
    for (const [box, model] of [[$("side-over"), both[0]], [$("side-under"), both[1]]]) {
      fill(box.firstElementChild, cell[model][1], `${names[model]}: ${text || id}`, drawn);
    }
    $("side-left-name").textContent = names[both[0]];
    $("side-right-name").textContent = names[both[1]];
    $("side-prompt").textContent = text || id;
    $("side-count").textContent = `${at + 1} of ${shown.length}, seed ${data.seed[i]}`;
    $("side-before").disabled = at === 0;
    $("side-after").disabled = at === shown.length - 1;
    const heads = $("side-values").querySelectorAll("thead th");
    both.forEach((model, n) => (heads[n].textContent = names[model]));
    const rows = [];
    for (const own of data.because) {
      const texts = both.map((model) => because(own, cell, model) || "");
      if (texts.some(Boolean)) rows.push(row(`${own.title}: why`, ...texts));
    }
    for (const own of scores) {
      const values = both.map((model) => valueOf(own, cell, model));
      if (values.some((v) => v !== null)) rows.push(row(own.title, ...values.map(written)));
    }
    $("side-values").tBodies[0].replaceChildren(...rows);
    wipe();
  }

  // the left picture covers as much of the right one as the slider says
  function wipe() {
    const share = Number(choice.share.value);
    $("side-over").style.clipPath = `inset(0 ${100 - share}% 0 0)`;
    $("side-line").style.left = `${share}%`;
    choice.share.setAttribute("aria-valuetext", `${share} % ${names[models()[0]]}`);
  }
  choice.share.addEventListener("input", wipe);
  function drag(event) {
    const box = $("side-wipe").getBoundingClientRect();
    choice.share.value = Math.round((100 * (event.clientX - box.left)) / box.width);
    wipe();
  }
  $("side-wipe").addEventListener("pointerdown", (event) => {
    event.preventDefault();
    $("side-wipe").setPointerCapture(event.pointerId);
    drag(event);
  });
  $("side-wipe").addEventListener("pointermove", (event) => {
    if ($("side-wipe").hasPointerCapture(event.pointerId)) drag(event);
  });

  function step(by) {
    at = Math.max(0, Math.min(shown.length - 1, at + by));
    show();
  }
  $("side-before").addEventListener("click", () => step(-1));
  $("side-after").addEventListener("click", () => step(1));
  $("side-filters").addEventListener("submit", (event) => event.preventDefault());
  for (const select of [choice.left, choice.right, choice.where]) select.addEventListener("input", choose);
  // the first pictures are read when the section comes near the view
  new IntersectionObserver(
    (seen, observer) => {
      if (!seen.some((each) => each.isIntersecting)) return;
      observer.disconnect();
      choose();
    },
    { rootMargin: "600px" },
  ).observe(section);
})();
