// Elements from the tree that the server parsed out of Markdown. Only these tags and attributes exist here.

import { isSafeAddress } from "./dom.js";
import { call } from "./state.js";

const TAGS = new Set("p h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong s a br hr table thead tbody tr th td".split(" "));

/** @typedef {string | [string, Record<string, string>, any[]]} MarkdownNode */

/** @type {Map<string, Element>} */ const built = new Map();
/** @type {Map<string, Element>} */ const placed = new Map();
const MOST_KEPT = 200;

/** Parse texts, with one call for all that are not known yet. @param {string[]} texts */
export async function parseMarkdown(texts) {
  const unknown = [...new Set(texts)].filter((text) => text && !built.has(text)).slice(0, 100);
  if (!unknown.length) return;
  const { trees } = await call("memory_render_markdown", { texts: unknown });
  unknown.forEach((text, index) => {
    const element = document.createElement("div");
    element.className = "prose";
    append(element, trees[index]);
    built.set(text, element);
  });
  for (const text of built.keys()) {
    if (built.size <= MOST_KEPT) break;
    built.delete(text);
  }
}

/** The element of a text that was parsed, else its plain text. An element stands in one place: `place` names it.
 * @param {string} text @param {string} place @returns {Node | string} */
export function markdown(text, place) {
  const element = built.get(text);
  if (!element) return text;
  const key = `${place}\0${text}`;
  const copy = placed.get(key) ?? /** @type {Element} */ (element.cloneNode(true));
  placed.delete(key);
  placed.set(key, copy);
  if (placed.size > MOST_KEPT) placed.delete(/** @type {string} */ (placed.keys().next().value));
  return copy;
}

/** @param {Element} parent @param {MarkdownNode[]} nodes */
function append(parent, nodes) {
  for (const node of nodes) {
    if (typeof node === "string") parent.append(node);
    else {
      const [tag, attributes, children] = node;
      const element = document.createElement(TAGS.has(tag) ? tag : "span");
      if (tag === "a" && attributes.href && isSafeAddress(attributes.href)) {
        element.setAttribute("href", attributes.href);
        element.setAttribute("rel", "noreferrer noopener");
        element.setAttribute("target", "_blank");
      }
      if (tag === "ol" && attributes.start) element.setAttribute("start", attributes.start);
      if (tag === "pre") element.tabIndex = 0;
      append(element, children);
      parent.append(element);
    }
  }
}
