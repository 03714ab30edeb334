// The standup: what was done since a time, by whom, with what proof, and what is open. A tab of Time.

import { each, html } from "./dom.js";
import { avatar, count, exact, time, words } from "./format.js";
import { icon } from "./icons.js";
import { copy, link, project } from "./state.js";
import { drawn } from "./view.js";

/** Where each kind of finished or open thing is shown. @type {Record<string, [string, string]>} */
const PLACES = { item: ["work", "item"], handoff: ["knowledge", "doc"], request: ["now", ""] };

const MOST_OPEN = 100;

/** @param {any} data */
export function showStandup(data) {
  const busy = data.agents.filter((/** @type {any} */ agent) => agent.done.length || agent.learned?.length || agent.commits?.length || agent.files);
  return html`<div class="standup">
    <p class="standup-head muted">Since ${exact(data.since)} <button class="button push" onclick=${() => copy(data.markdown, "Copied as Markdown.")}>${icon("copy")}Copy as Markdown</button></p>
    ${busy.length
      ? each(drawn(busy, 1 / 3), (agent) => agent.project + agent.agent, showAgent)
      : html`<p class="calm">Nothing was finished in this time.</p>`}
    <section aria-labelledby="open-work"><h2 id="open-work">Open <span class="count">${data.open.length || ""}</span></h2>
      ${data.open.length
        ? html`<ul>${each(drawn(data.open.slice(0, MOST_OPEN)), (row) => row.kind + row.id, (row) => html`<li><span class="chip kind">${words(row.kind)}</span><span class="grow clip">${titled(row, row.project)}</span><span class="muted clip">${[row.agent, row.why && words(row.why)].filter(Boolean).join(" · ")}</span><span class="muted when">${time(row.since)}</span></li>`)}</ul>${data.open.length > MOST_OPEN ? html`<p class="muted center">The first ${MOST_OPEN} of ${data.open.length}. <a href="${link("work", { mode: "list" })}">Show all items</a></p>` : ""}`
        : html`<p class="calm">${icon("check")} Nothing is open.</p>`}
    </section>
  </div>`;
}

/** @param {any} agent */
function showAgent(agent) {
  const facts = [agent.files ? `${count(agent.files, "file")} changed` : "", agent.commits?.length ? `seen at ${agent.commits.join(", ")}` : ""].filter(Boolean);
  return html`<section class="standup-agent" aria-label="${agent.agent}">
    <h2>${avatar(agent.agent)} ${agent.agent} <span class="muted">${project() === "*" ? `${agent.project} · ` : ""}${facts.join(" · ")}</span></h2>
    <ul>${each(drawn(agent.done, 1 / 3), (row) => row.kind + row.id, (row) => {
      const isSaid = row.how && !(row.proof ?? []).some((/** @type {string} */ text) => row.how.includes(text));
      return html`<li>${icon("check")}<span class="grow">${titled(row, agent.project)}${isSaid ? html` <span class="muted">${row.how}</span>` : ""}</span>
        ${row.proof?.length ? row.proof.map((/** @type {string} */ text) => html`<span class="chip">${text}</span>`) : html`<span class="chip warn">no proof named</span>`}<span class="muted when">${time(row.at)}</span></li>`;
    })}
      ${drawn(agent.learned ?? [], 1 / 3).map((/** @type {string} */ title) => html`<li>${icon("knowledge")}<span class="grow">${learned(title, agent.project)}</span><span class="chip">learned</span><span class="when"></span></li>`)}
    </ul></section>`;
}

/** The server writes "title (id)". @param {string} text @param {string} project */
function learned(text, project) {
  const parts = /^(.*) \((doc_\w+)\)$/s.exec(text);
  return parts ? html`<a class="quiet" href="${link("knowledge", { project, doc: parts[2] })}">${parts[1]}</a>` : text;
}

/** @param {any} row @param {string} project */
function titled(row, project) {
  const [view, name] = PLACES[row.kind] ?? ["", ""];
  return view ? html`<a class="quiet" href="${link(view, { project, ...(name ? { [name]: row.id } : {}) })}">${row.title}</a>` : row.title;
}
