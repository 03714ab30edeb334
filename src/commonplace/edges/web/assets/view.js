// What every view uses: a resource that is fetched again, and the states that every list can be in.

import { html, signal } from "./dom.js";
import { Refused } from "./state.js";

/** @typedef {{title: string, load: (events: import("./live.js").LiveEvent[] | null) => unknown, show: () => unknown, isOfOneProject?: boolean, keys?: Record<string, [string, () => void]>, poll?: () => unknown, json?: () => Record<string, string>}} View
 * `isOfOneProject` says that it cannot show all projects at once; `poll` is called every few seconds while the view is open; `json` gives the filters that the view's `.json` understands. */

/** Something that is fetched. The last data stay shown while it is fetched again, and when that fails; where there are none
 * yet, `showFirst` shows a part of them before the rest is there.
 * @template T @param {(showFirst: (data: T) => void) => Promise<T>} fetcher */
export function resource(fetcher) {
  const state = signal(/** @type {{data: T | null, error: unknown, isLoading: boolean}} */ ({ data: null, error: null, isLoading: false }));
  let newest = 0;
  return {
    get data() {
      return state.value.data;
    },
    get error() {
      return state.value.error;
    },
    get isLoading() {
      return state.value.isLoading;
    },
    /** @param {T | null} data */
    set(data) {
      newest++;
      state.value = { data, error: null, isLoading: false };
    },
    changed: () => state.changed(),
    async load() {
      const own = ++newest;
      if (!state.current.data) state.value = { ...state.current, isLoading: true };
      try {
        const data = await fetcher((first) => {
          if (own === newest && !state.current.data) state.value = { data: first, error: null, isLoading: true };
        });
        if (own === newest) state.value = { data, error: null, isLoading: false };
      } catch (error) {
        if (own === newest) state.value = { ...state.current, error, isLoading: false };
      }
    },
  };
}

// Long lists are drawn in steps: what fits a window at once, so that a view is there when it is opened, and twice as many
// rows each time that the browser has nothing else to do.

const FIRST_ROWS = 24;
const IDLE_MILLISECONDS = 50;
const drawnRows = signal(FIRST_ROWS);
let isGrowing = false;

/** @param {() => void} act */
export function whenIdle(act) {
  if ("requestIdleCallback" in window) requestIdleCallback(act, { timeout: 10 * IDLE_MILLISECONDS });
  else setTimeout(act, IDLE_MILLISECONDS);
}

/** The rows that are drawn by now. @template T @param {T[]} rows @param {number} [part] of the rows of a window, where several lists share it @returns {T[]} */
export function drawn(rows, part = 1) {
  const most = Math.ceil(drawnRows.value * part);
  if (rows.length <= most) return rows;
  if (!isGrowing) whenIdle(grow);
  isGrowing = true;
  return rows.slice(0, most);
}

function grow() {
  isGrowing = false;
  drawnRows.value *= 2;
}

/** Another list is opened. */
export function drawFromStart() {
  drawnRows.value = FIRST_ROWS;
}

/** Show the data of a resource, or why there are none.
 * @template T @param {{data: T | null, error: unknown}} source @param {(data: T) => unknown} show */
export function loaded(source, show) {
  const { data, error } = source;
  const problem = error instanceof Refused ? error : error ? new Refused(0, { message: String(error) }, "page") : null;
  return html`${problem ? failure(problem) : ""}${data ? show(data) : problem ? "" : skeleton()}`;
}

/** @param {Refused} problem */
function failure(problem) {
  return html`<div class="failure" role="alert"><b>${problem.operation}</b> ${problem.message} <span class="muted">${problem.hint}</span></div>`;
}

export const skeleton = () => html`<div class="skeleton" aria-hidden="true"><i></i><i></i><i></i></div>`;

/** @param {string} title @param {unknown} text @param {unknown} [action] */
export function empty(title, text, action = "") {
  return html`<div class="empty"><p class="empty-title">${title}</p><p>${text}</p>${action}</div>`;
}

/** @param {string} label @param {string} value @param {[string, string][]} options @param {(value: string) => void} choose */
export function select(label, value, options, choose) {
  return html`<label class="select"><span class="visually-hidden">${label}</span
    ><select aria-label="${label}" onchange=${(/** @type {any} */ event) => choose(event.target.value)}>
      ${options.map(([key, text]) => html`<option value="${key}" .selected=${key === value}>${text}</option>`)}
    </select></label>`;
}

/** @param {[string, string][]} tabs @param {string} chosen @param {(key: string) => void} choose */
export function tabs(tabs, chosen, choose) {
  return html`<div class="tabs" role="tablist">
    ${tabs.map(([key, text]) => html`<button role="tab" class="tab" aria-selected="${String(key === chosen)}" onclick=${() => choose(key)}>${text}</button>`)}
  </div>`;
}

/** Open a dialog once it stands in the page. @param {Element} element */
export function openModal(element) {
  queueMicrotask(() => {
    const modal = /** @type {HTMLDialogElement} */ (element);
    if (modal.isConnected && !modal.open) modal.showModal();
  });
}

/** The fields of a form as an object; empty ones are left out. @param {Event} event @returns {Record<string, string>} */
export function fields(event) {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  return Object.fromEntries([...new FormData(form)].flatMap(([name, value]) => (value === "" ? [] : [[name, String(value)]])));
}
