// Marks every part of the page that belongs to the same input values as the part under the pointer:
// bytes, bits, stages, tokens, and boxes of the waveform, in both designs.

export function linkParts(root) {
  const mark = (target) => {
    const link = target?.closest("[data-link]")?.dataset.link ?? "";
    for (const part of root.querySelectorAll(".linked")) part.classList.remove("linked");
    for (const offset of link.split(" ").filter(Boolean))
      for (const part of root.querySelectorAll(`[data-link~="${offset}"]`))
        part.classList.add("linked");
  };
  root.addEventListener("pointerover", ({ target }) => mark(target));
  root.addEventListener("pointerleave", () => mark(null));
}
