"use strict";
(() => {
  // shows the values of a mark under the pointer; a touch shows them too
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true"); // marks have the same text as their description
  document.body.append(tip);

  function show(event) {
    const mark = event.target.closest?.('.figure .role-mark [role="graphics-symbol"][aria-label]');
    if (!mark) {
      tip.hidden = true;
      return;
    }
    mark.querySelector("title")?.remove(); // the browser's own tooltip would lie over this one
    tip.replaceChildren(
      ...mark
        .getAttribute("aria-label")
        .split("; ")
        .map((line) => Object.assign(document.createElement("div"), { textContent: line })),
    );
    tip.hidden = false;
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 18 + tip.offsetHeight < innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${below ? event.clientY + 18 : event.clientY - tip.offsetHeight - 10}px`;
  }
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("scroll", () => (tip.hidden = true), { capture: true, passive: true });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") tip.hidden = true;
  });
})();
