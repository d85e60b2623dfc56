// Creates elements. Text is always inserted as text nodes, so nothing from the server is parsed as HTML.

export const $ = (id) => document.getElementById(id);

/** Creates an element with attributes (null and false are skipped) and children; strings become text nodes. */
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

/** The number of a list, in the colour of the list. */
export function mark(list) {
  return h("span", { class: `mark ${hue(list)}` }, h("span", { class: "unseen" }, "list "), String(list + 1));
}

export const hue = (list) => `hue-${list % 6}`;
