// The standup: what was done since a time, by whom, with what proof, and what is open. A tab of Time.

import { each, html } from "./dom.js";
import { avatar, count, time, words } from "./format.js";
import { icon } from "./icons.js";
import { copy, link } from "./state.js";

/** Where each kind of finished or open thing is shown. @type {Record<string, [string, string]>} */
const PLACES = { item: ["work", "item"], handoff: ["knowledge", "doc"], request: ["now", ""] };

/** @param {any} data */
export function showStandup(data) {
  const busy = data.agents.filter((/** @type {any} */ agent) => agent.done.length || agent.learned?.length || agent.commits?.length || agent.files);
  return html`<div class="standup">
    <p class="muted">Since ${time(data.since)} <button class="chip" onclick=${() => copy(data.markdown, "Copied as Markdown.")}>${icon("copy")}Copy as Markdown</button></p>
    ${busy.length
      ? each(busy, (agent) => agent.project + agent.agent, showAgent)
      : html`<p class="calm">Nothing was finished in this time.</p>`}
    <section aria-labelledby="open-work"><h2 id="open-work">Open <span class="count">${data.open.length || ""}</span></h2>
      ${data.open.length
        ? html`<ul class="plain">${each(data.open, (row) => row.kind + row.id, (row) => html`<li><span class="chip">${words(row.kind)}</span> ${titled(row, row.project)} <span class="muted">${row.agent ?? ""}${row.why ? ` · ${words(row.why)}` : ""} · ${time(row.since)}</span></li>`)}</ul>`
        : html`<p class="calm">${icon("check")} Nothing is open.</p>`}
    </section>
  </div>`;
}

/** @param {any} agent */
function showAgent(agent) {
  return html`<section class="standup-agent" aria-label="${agent.agent}">
    <h2>${avatar(agent.agent)} ${agent.agent} <span class="chip">${agent.project}</span></h2>
    <ul class="plain">${each(agent.done, (row) => row.kind + row.id, (row) => html`
      <li><b>${titled(row, agent.project)}</b> <span class="muted">${words(row.kind)} · ${time(row.at)}</span>
        ${row.proof?.length ? row.proof.map((/** @type {string} */ text) => html`<span class="chip">${icon("check")}${text}</span>`) : html`<span class="chip warn">no proof named</span>`}
        ${row.how ? html`<div class="muted clip">${row.how}</div>` : ""}</li>`)}
      ${(agent.learned ?? []).map((/** @type {string} */ title) => html`<li><span class="chip">learned</span> ${title}</li>`)}
    </ul>
    <p class="muted">${agent.files ? `${count(agent.files, "file")} changed` : ""}${agent.commits?.length ? `${agent.files ? " · " : ""}seen at ${agent.commits.join(", ")}` : ""}</p>
  </section>`;
}

/** @param {any} row @param {string} project */
function titled(row, project) {
  const [view, name] = PLACES[row.kind] ?? ["", ""];
  return view ? html`<a href="${link(view, { project, ...(name ? { [name]: row.id } : {}) })}">${row.title}</a>` : row.title;
}
