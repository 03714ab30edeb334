// What memory_start_session would tell an agent now: each section as a person reads it, what it costs, what was left out.

import { html } from "./dom.js";
import { count, words } from "./format.js";

/** What names the session rather than telling something. */
const FRAME = new Set(["project", "agent", "session_id", "quoted", "see_omitted"]);
const NAMES = ["title", "name", "subject", "topic", "task", "file", "id"];
const TEXTS = ["rule", "message", "text", "content", "summary", "snippet", "reason", "hint", "note"];
const CHARACTERS_PER_TOKEN = 4;

/** @param {any} data */
export function showPack(data) {
  const { omitted = {}, ...pack } = data.pack;
  const used = Math.min(100, Math.round((100 * data.tokens) / data.token_budget));
  const sections = Object.entries(pack).filter(([name, value]) => !FRAME.has(name) && !isEmpty(value));
  const left = Object.entries(omitted);
  return html`<div class="pack"><div class="pack-sections">${sections.map(([name, value]) => html`<section><h2>${capitalize(words(name))} <span class="count">${Array.isArray(value) ? value.length : ""}</span><span class="muted small push">${count(estimateTokens(value), "token")}</span></h2>${showValue(value)}</section>`)}</div>
    <aside class="pack-facts" aria-label="What it costs">
      <p><b>${count(data.tokens, "token")}</b> <span class="muted">of ${data.token_budget}</span></p><span class="meter"><span style:width="${used}%"></span></span>
      <h3>Left out for lack of room</h3>
      ${left.length ? html`<ul class="plain">${left.map(([name, n]) => html`<li><span class="chip warn">${String(n)}</span> ${words(name)}</li>`)}</ul>` : html`<p class="muted">Nothing: everything that is known for this task fits.</p>`}
      <details class="rest"><summary>Exactly as it is sent</summary><pre class="wrap" tabindex="0">${JSON.stringify(data.pack, null, 1)}</pre></details>
    </aside></div>`;
}

/** @param {unknown} value */
const isEmpty = (value) => value === "" || value === null || (typeof value === "object" && !Object.keys(/** @type {object} */ (value)).length);

/** As the server estimates them. @param {unknown} value */
const estimateTokens = (value) => Math.ceil((typeof value === "string" ? value : JSON.stringify(value)).length / CHARACTERS_PER_TOKEN);

/** @param {unknown} value @returns {unknown} */
function showValue(value) {
  if (typeof value !== "object" || value === null) return html`<p class="pack-row said">${String(value)}</p>`;
  const rows = Array.isArray(value) ? value : [value];
  return html`<ul class="pack-rows">${rows.map((row) => html`<li class="pack-row">${showRow(row)}</li>`)}</ul>`;
}

/** @param {any} row */
function showRow(row) {
  if (typeof row !== "object" || row === null) return String(row);
  const name = NAMES.find((each) => row[each]);
  const text = TEXTS.find((each) => typeof row[each] === "string" && row[each]);
  const rest = Object.entries(row).filter(([key, value]) => key !== name && key !== text && !isEmpty(value) && !isList(value));
  const lists = Object.values(row).filter(isList);
  return html`${name ? html`<b>${String(row[name])}</b> ` : ""}${text ? html`<span class="said">${row[text]}</span>` : ""}
    ${rest.length ? html`<div class="muted small">${rest.map(([key, value]) => html`<span class="pack-fact">${words(key)} ${typeof value === "object" ? JSON.stringify(value) : String(value)}</span>`)}</div>` : ""}${lists.map((list) => html`<ul class="pack-list">${list.map((/** @type {any} */ each) => html`<li>${showRow(each)}</li>`)}</ul>`)}`;
}

/** @param {any} value */
const isList = (value) => Array.isArray(value) && typeof value[0] === "object";

/** @param {string} text */
const capitalize = (text) => text.charAt(0).toUpperCase() + text.slice(1);
