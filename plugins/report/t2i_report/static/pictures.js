"use strict";
// the pictures of the page with the evidence drawn over them, for the other scripts
const t2i = (() => {
  if (!document.getElementById("data")) return undefined; // a page without pictures
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);

  function make(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // a part of the page is read when one of its pictures comes into view; the last parts are cached
  const REMEMBERED = 48;
  const parts = new Map();
  function picture(place) {
    const number = Math.floor(place / data.chunk);
    let lines = parts.get(number);
    if (lines === undefined) {
      lines = $(`pictures-${number}`).textContent.split("\n");
      parts.set(number, lines);
      if (parts.size > REMEMBERED) parts.delete(parts.keys().next().value);
    }
    const line = lines[place % data.chunk];
    return line ? `data:image/webp;base64,${line}` : "";
  }

  // the evidence of a metric over a picture; undefined if there is none
  function overlay(title, place) {
    const template = $(`overlay-${data.evidence.indexOf(title)}-${place}`);
    return template ? template.content.cloneNode(true) : undefined;
  }

  // fill an element with a picture, and with the evidence of a metric over it
  function fill(box, place, alt, title) {
    const source = picture(place);
    if (!source) {
      box.replaceChildren(make("span", data.why[Math.floor(place / data.sides)] || "no picture", "gone"));
      return;
    }
    const image = make("img");
    image.alt = alt;
    image.src = source;
    // evidence has the shape of its picture
    image.addEventListener("load", () => (box.style.aspectRatio = `${image.naturalWidth} / ${image.naturalHeight}`));
    box.replaceChildren(image);
    const drawn = title === undefined ? undefined : overlay(title, place);
    if (drawn) box.append(drawn);
  }

  // pictures in the text: each is filled when it comes near the view
  const near = new IntersectionObserver(
    (seen) => {
      for (const { isIntersecting, target } of seen) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        fill(target, Number(target.dataset.place), target.dataset.alt, target.dataset.evidence);
      }
    },
    { rootMargin: "600px" },
  );
  for (const box of document.querySelectorAll(".shot[data-place]")) near.observe(box);

  return { data, $, make, picture, overlay, fill };
})();
