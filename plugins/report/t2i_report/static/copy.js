"use strict";
(() => {
  // a button copies the text beside it; without a clipboard it selects the text
  for (const button of document.querySelectorAll("button.copy")) {
    const source = button.parentElement.querySelector("pre");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(source);
        button.textContent = "Selected";
      }
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  }
})();
