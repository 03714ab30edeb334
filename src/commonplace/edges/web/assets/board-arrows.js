// Which cards of the board wait for which: arrows from what is needed to what needs it, while a card is pointed at or focused.

import { html, signal } from "./dom.js";

/** @typedef {{id: string, paths: string[], related: Set<string>, width: number, height: number}} Arrows */

/** @type {import("./dom.js").Signal<Arrows | null>} */
const drawn = signal(null);

export function hideArrows() {
  if (drawn.current) drawn.value = null;
}

/** @param {string} id */
export const isRelated = (id) => Boolean(drawn.value && drawn.value.id !== id && drawn.value.related.has(id));

/** @param {Event} event @param {any} card @param {any[]} cards */
export function pointAt(event, card, cards) {
  const element = /** @type {Element} */ (event.currentTarget);
  const board = element.closest(".board");
  if (!board) return;
  const links = cards.flatMap((other) => {
    const needs = other.depends_on ?? other.blocked_by ?? [];
    return needs.filter((/** @type {string} */ need) => need === card.id || other.id === card.id).map((/** @type {string} */ need) => /** @type {[string, string]} */ ([need, other.id]));
  });
  if (!links.length) return hideArrows();
  const origin = board.getBoundingClientRect();
  const box = (/** @type {string} */ id) => {
    const found = board.querySelector(`[data-item="${CSS.escape(id)}"]`)?.getBoundingClientRect();
    return found && { left: found.left - origin.left + board.scrollLeft, right: found.right - origin.left + board.scrollLeft, middle: found.top - origin.top + found.height / 2 };
  };
  const paths = links.flatMap(([need, waiting]) => {
    const [from, to] = [box(need), box(waiting)];
    return from && to ? [curve(from, to)] : [];
  });
  drawn.value = { id: card.id, paths, related: new Set(links.flat()), width: board.scrollWidth, height: board.scrollHeight };
}

/** @typedef {{left: number, right: number, middle: number}} Box */

/** Out of the nearer side of one card into that of the other, with a head at its end. @param {Box} from @param {Box} to */
function curve(from, to) {
  const isRight = to.left >= from.right;
  const isBeside = !isRight && to.right > from.left;
  const [x1, x2] = isRight ? [from.right, to.left] : isBeside ? [from.left, to.left] : [from.left, to.right];
  const bend = isBeside ? -18 : (isRight ? 1 : -1) * Math.max(24, Math.abs(x2 - x1) / 2);
  const head = isRight || isBeside ? -1 : 1;
  const out = x1 + bend, into = isBeside ? x2 - 18 : x2 - bend;
  return `M${x1} ${from.middle}C${out} ${from.middle} ${into} ${to.middle} ${x2} ${to.middle}M${x2 + 6 * head} ${to.middle - 4}L${x2} ${to.middle}L${x2 + 6 * head} ${to.middle + 4}`;
}

export function showArrows() {
  const arrows = drawn.value;
  if (!arrows) return "";
  return html`<svg class="arrows" width="${arrows.width}" height="${arrows.height}" aria-hidden="true"><path d="${arrows.paths.join("") || "M0 0"}"/></svg>`;
}
