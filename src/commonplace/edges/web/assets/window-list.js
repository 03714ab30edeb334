// A list of any length of which only the rows near the window are drawn and fetched. Rows have one height.

import { each, html, signal } from "./dom.js";

const PAGE_ROWS = 100;
const ROWS_BEYOND = 12;
const FETCH_DELAY_MILLISECONDS = 60;

/** @typedef {{items: any[], total: number}} RowPage */

/** @param {(offset: number, limit: number) => Promise<RowPage>} fetchPage @param {number} rowPixels */
export function windowList(fetchPage, rowPixels) {
  const view = signal({ first: 0, last: 40 });
  const state = signal({ total: /** @type {number | null} */ (null), error: /** @type {unknown} */ (null) });
  /** @type {Map<number, any>} */ let rows = new Map();
  /** Pages whose rows are those of the server, or on their way. @type {Set<number>} */ let fresh = new Set();
  let generation = 0;
  /** @type {Element | null} */ let body = null;
  /** @type {number | undefined} */ let timer;

  /** @param {number} page */
  async function fetchRows(page) {
    const own = generation;
    fresh.add(page);
    try {
      const { items, total } = await fetchPage(page * PAGE_ROWS, PAGE_ROWS);
      if (own !== generation) return;
      items.forEach((item, index) => rows.set(page * PAGE_ROWS + index, item));
      for (const index of rows.keys()) if (index >= total) rows.delete(index);
      state.value = { total, error: null };
    } catch (error) {
      if (own === generation) state.value = { ...state.current, error };
    }
  }

  function fetchVisible() {
    timer = undefined;
    const { first, last } = view.current;
    const end = Math.min(last, Math.max(0, (state.current.total ?? 1) - 1));
    /** @type {Promise<void>[]} */ const asked = [];
    for (let page = Math.floor(first / PAGE_ROWS); page <= Math.floor(end / PAGE_ROWS); page++) if (!fresh.has(page)) asked.push(fetchRows(page));
    return Promise.all(asked);
  }

  function follow() {
    if (!body?.isConnected) return;
    const top = -body.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / rowPixels) - ROWS_BEYOND);
    const last = Math.ceil((top + innerHeight) / rowPixels) + ROWS_BEYOND;
    if (first === view.current.first && last === view.current.last) return;
    view.value = { first, last };
    timer ??= setTimeout(fetchVisible, FETCH_DELAY_MILLISECONDS);
  }
  addEventListener("scroll", () => requestAnimationFrame(follow), { passive: true });
  addEventListener("resize", follow);

  return {
    get total() {
      return state.value.total;
    },
    get data() {
      return state.value.total === null ? null : state.value;
    },
    get error() {
      return state.value.error;
    },
    /** The rows that are known, for acts on one of them. */
    get known() {
      return [...rows.values()];
    },
    changed: () => state.changed(),
    /** Another list: other filters, another project. */
    reset() {
      generation++;
      rows = new Map();
      fresh = new Set();
      state.value = { total: null, error: null };
      view.value = { first: 0, last: 40 };
    },
    /** Fetch again what is in view; the rest when it comes into view. */
    load() {
      generation++;
      fresh = new Set();
      return fetchVisible();
    },
    /** @param {string} label @param {(row: any, index: number) => unknown} show @param {() => unknown} showUnknown */
    show(label, show, showUnknown) {
      const { first, last } = view.value;
      const total = state.value.total ?? 0;
      const indexes = Array.from({ length: Math.max(0, Math.min(last, total) - first) }, (_, index) => first + index);
      return html`<div class="window-list" role="list" aria-label="${label}" style:height="${total * rowPixels}px" ref=${(/** @type {Element} */ element) => { body = element; requestAnimationFrame(follow); }}>
        <div class="window-rows" style:transform="translateY(${first * rowPixels}px)">${each(indexes, (index) => rows.get(index)?.id ?? index, (index) => html`<div class="window-row" role="listitem" aria-setsize="${total}" aria-posinset="${index + 1}">${rows.has(index) ? show(rows.get(index), index) : showUnknown()}</div>`)}</div></div>`;
    },
  };
}
