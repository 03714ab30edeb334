// The state as of a moment, folded from the events before it: who worked, which files were held, what waited for a person.

import { each, html } from "./dom.js";
import { avatar, clock, count, exact } from "./format.js";
import { icon } from "./icons.js";
import { link } from "./state.js";

/** @typedef {{agents: Map<string, {task: string, at: string, files: Set<string>}>, waiting: Map<string, {agent: string, title: string}>, stored: number, prevented: number}} PastState */

/** @param {any[]} events newest first @param {number} moment @returns {PastState} */
export function foldEvents(events, moment) {
  /** @type {PastState} */ const state = { agents: new Map(), waiting: new Map(), stored: 0, prevented: 0 };
  for (const event of events.toReversed()) {
    if (Date.parse(event.at) > moment) break;
    fold(state, event, event.body ?? {});
  }
  return state;
}

/** @param {PastState} state @param {any} event @param {Record<string, any>} body */
function fold(state, event, body) {
  // A lock that a person gave back is its holder's.
  const name = (event.kind === "FilesLocked" && body.agent) || event.actor || body.agent || "";
  const known = state.agents.get(name);
  const own = known ?? { task: "", at: event.at, files: /** @type {Set<string>} */ (new Set()) };
  if (name && !known && !["operator", "the server"].includes(name)) state.agents.set(name, own);
  own.at = event.at;
  if (event.kind === "SessionStarted") own.task = body.task ?? own.task;
  else if (event.kind === "SessionEnded") state.agents.delete(body.agent ?? name);
  else if (event.kind === "WorkUpdated") own.task = body.title ?? own.task;
  else if (event.kind === "FilesLocked") for (const file of body.files ?? []) own.files.add(file);
  else if (event.kind === "FilesReleased") for (const file of body.files ?? []) for (const holder of state.agents.values()) holder.files.delete(file);
  else if (event.kind === "RequestOpened" && body.request_kind !== "idle") state.waiting.set(body.id, { agent: body.agent ?? name, title: body.title ?? "" });
  else if (event.kind === "RequestAnswered") state.waiting.delete(body.id);
  else if (event.kind === "RequestClosed") for (const id of body.ids ?? []) state.waiting.delete(id);
  else if (event.kind === "DocumentStored") state.stored++;
  else if (/Denied|Refused|Prevented|Predicted|RuleFired/.test(event.kind)) state.prevented++;
}

/** @param {PastState} state @param {number} moment */
export function showAsOf(state, moment) {
  const at = new Date(moment).toISOString();
  return html`<aside class="as-of" aria-label="State as of ${exact(at)}">
    <h2>As of ${clock(at).slice(0, 5)} <span class="muted">${new Date(moment).toLocaleDateString(undefined, { weekday: "short", day: "numeric", month: "short" })}</span></h2>
    <p class="muted small">From the events of this span.</p>
    <h3>Waited for you <span class="count">${state.waiting.size}</span></h3>
    <ul class="plain">${each(state.waiting, ([id]) => id, ([, { agent, title }]) => html`<li>${icon("warn")} <b>${agent}</b> ${title}</li>`)}</ul>
    <h3>Agents <span class="count">${state.agents.size}</span></h3>
    <ul class="plain">${each(state.agents, ([name]) => name, ([name, { task, files }]) => html`<li class="past-agent">${avatar(name)}<div><b>${name}</b> <span class="muted">${task}</span>
      ${files.size ? html`<div class="past-files">${each(files, (file) => file, (file) => html`<a class="chip" href="${link("code", { file: file.replace(/:.*$/, "") })}">${icon("lock")}<code>${file}</code></a>`)}</div>` : ""}</div></li>`)}</ul>
    <p class="muted">${count(state.stored, "document")} stored, ${count(state.prevented, "act")} prevented until then.</p></aside>`;
}
