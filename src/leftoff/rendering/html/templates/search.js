"use strict";
(() => {
  const form = document.querySelector(".find");
  const input = form.querySelector("input");
  const count = form.querySelector("output");
  const parts = [...document.querySelectorAll("[data-session]")];
  const bySession = new Map();
  for (const part of parts) {
    const name = part.dataset.session;
    const known = bySession.get(name) || { text: "", parts: [] };
    known.text += " " + part.textContent.toLowerCase();
    known.parts.push(part);
    bySession.set(name, known);
  }
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const { text, parts } of bySession.values()) {
      const fits = words.every((word) => text.includes(word));
      found += fits ? 1 : 0;
      for (const part of parts) part.hidden = !fits;
    }
    count.textContent = words.length ? `${found} of ${bySession.size}` : "";
  });
})();
