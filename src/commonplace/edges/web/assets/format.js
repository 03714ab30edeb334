// How times, names and numbers are written. Times are relative, with the exact time on hover.

import { html } from "./dom.js";

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
  return new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/** @param {string} at */
export function clock(at) {
  return new Date(at).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
}

/** @param {string | undefined} at */
export function time(at) {
  return at ? html`<time datetime="${at}" title="${exact(at)}">${age(at)}</time>` : "";
}

/** @param {number} count @param {string} one @param {string} [many] */
export function count(count, one, many = `${one}s`) {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
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
