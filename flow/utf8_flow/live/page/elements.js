// Creates HTML and SVG elements.

const SVG = "http://www.w3.org/2000/svg";

// Create an element with attributes and children.
export function make(tag, attributes = {}, ...children) {
  const isSvg = ["svg", "g", "path", "circle", "rect", "text", "line", "title"].includes(tag);
  const element = isSvg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
