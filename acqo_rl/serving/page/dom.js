// Creates elements. Text is always inserted as text nodes, so nothing from the server is parsed as HTML.

export const $ = (id) => document.getElementById(id);

/** Creates an element with attributes and children; strings become text nodes, and null is skipped. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.flat(2).filter((child) => child !== null));
  return element;
}

/** The number of a list, in the colour of the list. */
export const mark = (list) =>
  h("span", { class: `mark hue-${list % 6}` }, h("span", { class: "unseen" }, "list "), String(list + 1));

/** A block that the user can open. */
export const fold = (head, ...content) => h("details", {}, h("summary", {}, head), ...content);

/** The text of a result, with ellipses where its document goes on. */
export const partOf = ({ text, start, length }) =>
  `${start ? "… " : ""}${text}${start + [...text].length < length ? " …" : ""}`;

/** A step of a trace. */
export const step = ({ name, ms, detail }) => h("li", {}, h("b", {}, name), ` ${duration(ms)} `, h("span", { class: "note" }, detail));

export const duration = (ms) => (ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : `${ms.toFixed(ms >= 10 ? 0 : 1)} ms`);

export const plural = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
