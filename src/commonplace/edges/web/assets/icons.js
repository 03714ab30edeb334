// Icons of 16 px, drawn with a stroke in the colour of the text.

import { html } from "./dom.js";

/** @type {Record<string, string>} */
const PATHS = {
  now: "M8 2.5v5.5l3.5 2M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0",
  work: "M2.5 3h3v10h-3zM6.5 3h3v7h-3zM10.5 3h3v4.5h-3z",
  knowledge: "M8 4.5C6.5 3.2 4.5 3 2.5 3v9.5c2 0 4 .2 5.500 1.500 1.500-1.300 3.500-1.500 5.500-1.500V3c-2 0-4 .2-5.500 1.500zM8 4.500v9.500",
  messages: "M2.500 3.500h11v8h-6l-3 2.500v-2.500h-2z",
  sessions: "M2.500 3h11v10h-11zM5 6.500l2 1.500-2 1.500M8.500 10h3",
  code: "M5.500 4.500 2 8l3.500 3.500M10.500 4.500 14 8l-3.500 3.500",
  time: "M2 11.500h12M4 11.500V7M7 11.500V4M10 11.500V8.500M13 11.500V5.500",
  admin: "M8 10.200a2.200 2.200 0 1 0 0-4.400 2.200 2.200 0 0 0 0 4.400zM8 2v2M8 12v2M2 8h2M12 8h2M3.800 3.800l1.400 1.400M10.800 10.800l1.400 1.400M12.200 3.800l-1.400 1.400M5.200 10.800l-1.400 1.400",
  search: "M7 11.500a4.500 4.500 0 1 0 0-9 4.500 4.500 0 0 0 0 9zM10.500 10.500 14 14",
  copy: "M5.500 5.500v-3h8v8h-3M2.500 5.500h8v8h-8z",
  check: "M3 8.500 6.500 12 13 4.500",
  close: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  branch: "M4.500 3v7M4.500 10a1.500 1.500 0 1 0 0 3 1.500 1.500 0 0 0 0-3zM11.500 3a1.500 1.500 0 1 0 0 3 1.500 1.500 0 0 0 0-3zM11.500 6c0 3-7 2-7 4",
  lock: "M4 7h8v6.500H4zM5.500 7V5a2.500 2.500 0 0 1 5 0v2",
  shield: "M8 2 3 4v4c0 3 2.200 5 5 6 2.800-1 5-3 5-6V4z",
  moon: "M13 9.500A5.500 5.500 0 0 1 6.500 3 5.500 5.500 0 1 0 13 9.500z",
  warn: "M8 2.500 14.500 13.500h-13zM8 6.500v3.500M8 11.800v.2",
  arrow: "M3 8h10M9 4l4 4-4 4",
  play: "M5 3.500v9l7-4.500z",
  pause: "M5 3.500v9M11 3.500v9",
};

/** @param {string} name */
export function icon(name) {
  return html`<svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="${PATHS[name] ?? ""}"/></svg>`;
}
