// How times, names and numbers are written. Times are relative, with the exact time on hover.
//
// What a view shows when it opens needs no `Intl`: loading its data would take longer than drawing the view.

import { html } from "./dom.js";

/** @type {Intl.DateTimeFormat | undefined} */ let formatter;
const STEPS = /** @type {[number, string][]} */ ([[31536000, "y"], [2592000, "mo"], [86400, "d"], [3600, "h"], [60, "min"]]);

/** @param {string} at @param {number} now milliseconds */
export function age(at, now = Date.now()) {
  const seconds = Math.max(0, (now - Date.parse(at)) / 1000);
  if (seconds < 5) return "now";
  for (const [size, unit] of STEPS) if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  return `${Math.floor(seconds)} s`;
}

/** @param {string} at */
export function exact(at) {
  formatter ??= new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
  const milliseconds = Date.parse(at);
  return Number.isNaN(milliseconds) ? "" : formatter.format(milliseconds);
}

/** @param {string} at */
export function clock(at) {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "" : [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}

/** Day and minute, as in file names. @param {number} at milliseconds */
export function minute(at) {
  const date = new Date(at);
  const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, "0"));
  return `${parts.join("-")} ${clock(date.toISOString()).slice(0, 5)}`;
}

/** @param {string | undefined} at */
export function time(at) {
  return at ? html`<time datetime="${at}">${age(at)}</time>` : "";
}

/** Every `time` element says its exact time to whoever points at it. @param {Event} event */
export function titleTime(event) {
  const element = /** @type {HTMLTimeElement | null} */ (/** @type {Element} */ (event.target).closest?.("time[datetime]"));
  if (element) element.title = exact(element.dateTime);
}

/** @param {number} count @param {string} one @param {string} [many] */
export function count(count, one, many = `${one}s`) {
  return `${count < 1000 ? count : count.toLocaleString()} ${count === 1 ? one : many}`;
}

/** @param {number} bytes */
export function size(bytes) {
  return bytes < 1e3 ? `${bytes} B` : bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** One of twelve colours, the same for a name everywhere; always shown beside the name or its initials. @param {string} name */
export function hue(name) {
  let hash = 7;
  for (const letter of name) hash = (hash * 31 + /** @type {number} */ (letter.codePointAt(0))) >>> 0;
  return hash % 12;
}

/** @param {string} name */
export function initials(name) {
  const words = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const letters = words.length > 1 ? [words[0][0], words[words.length - 1][0]] : [...(words[0] ?? "?")].slice(0, 2);
  return letters.join("").toUpperCase();
}

/** @param {string} name */
export function avatar(name) {
  return html`<span class="avatar hue-${hue(name)}" aria-hidden="true">${initials(name)}</span>`;
}

/** @param {string} name */
export function who(name) {
  return html`<span class="who">${avatar(name)}<span class="who-name" title="${name}">${name}</span></span>`;
}

/** "FilesLocked" becomes "files locked". @param {string} kind */
export function words(kind) {
  return kind.replace(/([a-z])([A-Z])/g, "$1 $2").replace(/_/g, " ").toLowerCase();
}

/** What was prevented: the report without its machine word, else the refused operation. @param {any} row */
export function sayPrevented(row) {
  const reported = /^[a-z]+_[a-z_]+: (.+)$/s.exec(row.detail ?? "");
  return reported ? reported[1] : `${words(row.operation.replace("memory_", ""))}: ${row.detail}`;
}

/** What an event is about, in a few words. @param {any} event */
export function describe(event) {
  const body = event.body ?? {};
  const texts = [body.title, body.what, body.task, body.subject, body.name, body.request_kind && words(String(body.request_kind)), ...(body.files ?? []).slice(0, 3), body.status && words(String(body.status)), body.agent !== event.actor && body.agent].filter(Boolean);
  return texts.slice(0, 2).join(" · ");
}

/** The changes between two texts by lines, with what stayed. @param {string} before @param {string} after */
export function diffLines(before, after) {
  const a = before.split("\n"), b = after.split("\n");
  if (a.length * b.length > 4e6) return [...a.map((text) => ["-", text]), ...b.map((text) => ["+", text])];
  const table = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  const lines = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) lines.push([" ", a[i++]]), j++;
    else if (j >= b.length || (i < a.length && table[i + 1][j] >= table[i][j + 1])) lines.push(["-", a[i++]]);
    else lines.push(["+", b[j++]]);
  }
  return lines;
}
