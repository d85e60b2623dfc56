// Elements. Text is always inserted as text: nothing that a server sends becomes HTML.

export const $ = (id) => document.getElementById(id);

/** An element with attributes (none for null and false) and children; a string is a text node. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat(2).filter((child) => child !== null));
  return element;
}

/** The number of a list in its colour; the number says what the colour says. */
export function mark(list) {
  return h("span", { class: `mark ${hue(list)}` }, h("span", { class: "unseen" }, "list "), String(list + 1));
}

export const hue = (list) => `hue-${list % 6}`;
