// What is known of a file: who holds it, who changed it and why, which documents cite it, what was prevented there.

import { html } from "./dom.js";
import { avatar, clock, count, sayPrevented, time, words } from "./format.js";
import { icon } from "./icons.js";
import { go, link } from "./state.js";

/** @param {any} record @param {any[]} functions @param {any[]} said @param {string} project */
export function showFileRecord(record, functions, said, project) {
  const isUnknown = !record.held.length && !record.changed.length && !record.documents.length && !record.prevented.length && !functions.length && !said.length;
  return html`<h2><code>${record.path}</code></h2>
    ${isUnknown ? html`<p class="calm">Nothing is known of this file: nobody held or changed it here, and no document cites it.</p>` : ""}
    ${section("Held now", record.held, (/** @type {any} */ held) => html`${avatar(held.agent)} <b>${held.agent}</b> ${held.region ? html`<span class="chip">lines ${held.region}</span>` : ""} ${held.reason} <span class="muted push">until ${clock(held.until).slice(0, 5)}</span>`)}
    ${section("Cited by", record.documents, (/** @type {any} */ cites) => html`<a href="${link("knowledge", { project, doc: cites.id })}">${cites.title}</a> <span class="muted">${words(cites.type)}</span>${["drifted", "gone"].includes(cites.state) ? html` <span class="chip warn push">${icon("warn")}${cites.state === "gone" ? "no longer there" : "changed since"}</span>` : ""}`)}
    ${section("Prevented here", record.prevented, (/** @type {any} */ row) => html`${icon("shield")}<span>${sayPrevented(row)}</span> <span class="muted push">${row.agent} · ${time(row.at)}</span>`)}
    ${section("Changed by", record.changed, (/** @type {any} */ change) => html`${avatar(change.agent)} <b>${change.agent}</b> <span class="clip">${change.task}</span> <span class="muted push">${time(change.at)}</span>`)}
    ${section("Functions", functions, (/** @type {any} */ each) => html`<button class="linklike" onclick=${() => go("code", { function: each.id, file: "" }, { keep: true })}><code>${each.name}</code></button> <span class="muted clip">${each.purpose}</span>`)}
    ${section("Said in sessions", said, (/** @type {any} */ hit) => html`<a class="clip" href="${link("sessions", { workspace: hit.workspace_id, session: hit.session_id, line: String(hit.line) })}">${hit.snippet}</a> <span class="muted push">${time(hit.at)}</span>`)}`;
}

/** @param {string} title @param {any[]} rows @param {(row: any) => unknown} show */
function section(title, rows, show) {
  return rows.length ? html`<h3>${title} <span class="count">${count(rows.length, "", "").trim()}</span></h3><ul class="plain lines">${rows.map((row) => html`<li>${show(row)}</li>`)}</ul>` : "";
}
