// A picture that becomes a scene to turn, once it is clicked.
"use strict";
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-scene]");
  if (!button) return;
  const frame = document.createElement("iframe");
  frame.src = button.dataset.scene;
  frame.title = button.dataset.title;
  frame.addEventListener("load", () => frame.contentDocument?.querySelector("canvas")?.focus({ preventScroll: true }));
  button.replaceWith(frame);
});
