// Keyboard shortcuts for the buttons of the page. Without this script, the forms still work.
"use strict";

const OFF = "t2i-arena-keys-off";
const SETTLING = 300; // milliseconds during which the second click of a double click may still arrive
let sent = false;
let settled = false;

function openFieldsets() {
  return [...document.querySelectorAll("fieldset")].filter((one) => !one.disabled);
}

// show questions that depend on an earlier answer only after that answer
function showQuestions() {
  for (const one of document.querySelectorAll("fieldset[data-only-if]")) {
    const field = document.querySelector(`[name="${CSS.escape(one.dataset.onlyIf)}"]`);
    const before = field.closest("fieldset");
    one.disabled = before.disabled || answerOf(before) !== one.dataset.is;
    one.hidden = one.disabled;
    if ("several" in one.dataset) continue;
    for (const input of one.querySelectorAll("input, select")) input.required = !one.disabled;
  }
}

// of several choices at least one must be chosen, and "none of these" excludes the others
function checkSeveral(changed) {
  for (const one of document.querySelectorAll("fieldset[data-several]")) {
    const boxes = [...one.querySelectorAll("input")];
    if (changed && changed.checked && boxes.includes(changed)) {
      const alone = "alone" in changed.dataset;
      for (const box of boxes) if (box !== changed && (alone || "alone" in box.dataset)) box.checked = false;
    }
    boxes[0].setCustomValidity(boxes.some((box) => box.checked) ? "" : "Choose at least one.");
  }
}

// a question's chosen answer; empty if there is none
function answerOf(one) {
  const list = one.querySelector("select");
  return list ? list.value : (one.querySelector("input:checked") || {}).value || "";
}

function pressed(key) {
  const questions = openFieldsets();
  if (questions.length && /^[0-9]$/.test(key)) {
    // the question that has the focus, or the first without an answer; several choices can always be changed
    const open = (one) => "several" in one.dataset || !answerOf(one);
    const at = questions.find((one) => one.contains(document.activeElement) && open(one)) || questions.find(open);
    return at && (at.querySelector(`[data-key="${key}"]`) || at.querySelector("select"));
  }
  return document.querySelector(`button[data-key="${CSS.escape(key)}"]`);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || localStorage.getItem(OFF)) return;
  const typing = event.target.closest("input:not([type=radio], [type=checkbox]), textarea, select");
  const own = event.key === "Enter" && event.target.closest("a, button");
  if (typing || own) return;
  const found = pressed(event.key.length === 1 ? event.key.toLowerCase() : event.key);
  if (!found) return;
  event.preventDefault();
  found.focus();
  found.click();
});

document.addEventListener("change", (event) => {
  showQuestions();
  checkSeveral(event.target);
});

// ignore the second click of a double click, both while the first is being sent and on the page that follows
document.addEventListener("submit", (event) => {
  if (sent || !settled) event.preventDefault();
  else sent = true;
});

setTimeout(() => {
  settled = true;
  document.body.dataset.settled = "yes";
}, SETTLING);

// a page from the browser's cache may have been answered since
window.addEventListener("pageshow", (event) => {
  sent = false;
  if (event.persisted) location.reload();
});

function keysSwitch() {
  const header = document.querySelector("header");
  if (!header) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet keys";
  const show = () => {
    const on = !localStorage.getItem(OFF);
    button.textContent = on ? "Keys are on" : "Keys are off";
    button.setAttribute("aria-pressed", String(on));
    document.body.classList.toggle("no-keys", !on);
  };
  button.addEventListener("click", () => {
    if (localStorage.getItem(OFF)) localStorage.removeItem(OFF);
    else localStorage.setItem(OFF, "1");
    show();
  });
  show();
  header.append(button);
}

keysSwitch();
showQuestions();
checkSeveral();
