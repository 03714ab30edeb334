// Now: who needs me, what is happening, was anything prevented.

import { each, html } from "./dom.js";
import { groupFiles, showMap } from "./file-map.js";
import { age, avatar, count, sayPrevented, time, who, words } from "./format.js";
import { icon } from "./icons.js";
import { counts, overview, whole } from "./overview.js";
import { showRequest, without } from "./requests.js";
import { copy, link, project, route, tick, write } from "./state.js";
import { showStream, stream } from "./stream.js";
import { isTutorialOpen, showTutorial } from "./tutorial.js";
import { drawn, loaded } from "./view.js";

const QUIET_MILLISECONDS = 5 * 60 * 1000;
// More than a screen shows, and few enough that a large team is drawn at once.
const FIRST_ROWS = { needs: 25, agents: 40, files: 40 };

const overviewSource = { get data() { return overview.data; }, get error() { return overview.data ? null : overview.error; } };

/** @type {import("./view.js").View} */
export const view = {
  title: "Now",
  load() {
    return Promise.all([overview.load(), stream.load()]);
  },
  show,
};

/** @template T @param {keyof typeof FIRST_ROWS} list @param {T[]} rows @returns {T[]} */
const firstRows = (list, rows) => (whole.value.includes(list) ? rows : rows.slice(0, FIRST_ROWS[list]));

/** @param {keyof typeof FIRST_ROWS} list @param {number} total */
function showRest(list, total) {
  if (total <= FIRST_ROWS[list] || whole.value.includes(list)) return "";
  const ask = () => {
    whole.value = [...whole.current, list];
    void overview.load();
  };
  return html`<button class="button more" onclick=${ask}>Show all ${total}</button>`;
}

function show() {
  void tick.value;
  return loaded(overviewSource, (now) => {
    const isNew = isTutorialOpen(now, route.value.query.has("kind") ? null : stream.data?.events ?? null);
    return html`
    <div class="now">
      <div class="now-main">
        <section aria-labelledby="needs"><h2 id="needs">Needs you <span class="count">${counts.value.waiting || ""}</span></h2>
          <div aria-live="polite">${now.needs_you.length
            ? html`<ul class="needs">${each(drawn(firstRows("needs", now.needs_you), 1 / 2), (need) => `${need.kind}${need.id}`, (need) => (need.request ? showRequest(need) : showNeed(need)))}</ul>${showRest("needs", now.counts.needs_you + now.counts.idle)}`
            : html`<p class="calm">${icon("check")} Nobody is waiting for you.</p>`}</div>
        </section>
        ${isNew ? showTutorial(now, stream.data?.events ?? []) : ""}
        ${isNew && !now.agents.length ? "" : html`
        <section aria-labelledby="agents"><h2 id="agents">Agents <span class="count">${now.counts.agents || ""}</span></h2>
          ${now.agents.length
            ? html`<ul class="cards">${each(drawn(firstRows("agents", now.agents), 1 / 2), (agent) => agent.project + agent.session, showAgent)}</ul>${showRest("agents", now.counts.agents)}`
            : html`<p class="calm">No agent is working. The next session appears here by itself.</p>`}
        </section>
        ${showFiles(now)}`}
      </div>
      <div class="now-side">${showPrevented(now)}${showStream()}</div>
    </div>`;
  });
}

/** @type {Record<string, string>} */
const PREVENTED = { edits: "edit", duplicates: "duplicate", conflicts: "conflict", stale_writes: "stale write", denials: "denial", commands: "command", commits: "commit", rules: "rule", rescues: "rescue", predicted_conflicts: "predicted conflict" };

/** @param {any} now */
function showPrevented(now) {
  const counts = Object.entries(now.prevented_counts ?? {});
  return html`<section class="prevented" aria-labelledby="prevented"><h2 id="prevented">${icon("shield")} Prevented today <span class="count">${counts.reduce((sum, [, n]) => sum + /** @type {number} */ (n), 0) || ""}</span></h2>
    ${counts.length ? html`<p class="prevented-counts">${counts.map(([kind, n]) => html`<span><b>${String(n)}</b> ${count(/** @type {number} */ (n), PREVENTED[kind] ?? kind).replace(/^\S+ /, "")}</span>`)}</p>
    <details><summary>Show each</summary><ul>${each(now.prevented, (row) => row.at + row.agent + row.detail, (row) => html`
      <li><b>${row.agent || "somebody"}</b> <span class="muted">${sayPrevented(row)} · ${time(row.at)} ago</span></li>`)}</ul></details>`
    : html`<p class="muted">Nothing had to be prevented yet.</p>`}</section>`;
}

/** @type {Record<string, [string, string]>} */
const NEEDS = {
  mail: ["messages", "writes to you"],
  blocked: ["lock", "is blocked"],
  question: ["work", "needs information on"],
  disputed: ["warn", "wrote something disputed"],
  pending_agent: ["shield", "waits to be admitted"],
};

/** @param {any} need */
function showNeed(need) {
  const [mark, says] = NEEDS[need.kind] ?? ["warn", words(need.kind)];
  return html`<li class="need" data-row tabindex="-1">
    ${avatar(need.agent)}
    <div class="need-body">
      <div class="need-head"><b>${need.agent}</b> ${says} ${need.where ? html`by <b>${need.where}</b> ` : ""}<span class="muted">${need.project} · ${time(need.since)}</span></div>
      ${need.title ? html`<div class="need-title">${icon(mark)} ${need.title}</div>` : ""}
      ${need.text ? html`<blockquote>${need.text}</blockquote>` : ""}
    </div>
    <div class="actions">${needActions(need)}</div>
  </li>`;
}

/** @param {any} need */
function needActions(need) {
  const open = (/** @type {string} */ view, /** @type {Record<string,string>} */ query) =>
    html`<a class="button" href="${link(view, { project: need.project, ...query })}">Open</a>`;
  if (need.kind === "mail")
    return html`<a class="button primary" href="${link("messages", { project: need.project, thread: need.thread_id })}">Answer</a>
      <button class="button" onclick=${() => finish(need)}>Done</button>`;
  if (need.kind === "question") return open("work", { item: need.id });
  if (need.kind === "disputed") return open("knowledge", { doc: need.id });
  if (need.kind === "pending_agent")
    return html`<button class="button primary" onclick=${() => write("memory_project", { action: "add_agent", name: need.project, agent: need.agent, tier: "named" }, { done: `${need.agent} is on the roster of ${need.project}.`, apply: () => without(need) })}>Admit</button>`;
  return html`<a class="button" href="${link("messages", { project: need.project, to: need.agent })}">Write</a>`;
}

/** @param {any} need */
function finish(need) {
  return write("memory_update_message_status", { message_id: need.id, status: "completed" }, { project: need.project, done: "Marked as done.", apply: () => without(need) });
}

/** @param {any} agent */
function showAgent(agent) {
  const quiet = Date.now() - Date.parse(agent.active) > QUIET_MILLISECONDS;
  const act = agent.last_act ? `${words(agent.last_act)} ${age(agent.last_act_at)} ago` : `started ${age(agent.started)} ago`;
  return html`<li class="card ${quiet ? "quiet" : ""}" data-row tabindex="-1">
    <header><a class="quiet card-name" href="${link("time", { project: agent.project, actor: agent.agent })}" title="What ${agent.agent} did">${who(agent.agent)}</a><span class="muted push">${quiet ? html`idle ${time(agent.active)}` : html`<span class="dot"></span> ${time(agent.active)}`}</span></header>
    <p class="task" title="${agent.task}">${agent.task || html`<span class="muted">no task given</span>`}</p>
    <footer class="muted">
      ${project() === "*" ? html`<span class="chip">${agent.project}</span>` : ""}
      ${agent.branch ? html`<span class="chip" title="branch">${icon("branch")}${agent.branch}</span>` : ""}
      ${agent.holds?.length ? html`<span class="chip" title="${agent.holds.join("\n")}">${icon("lock")}${count(agent.holds.length, "file")}</span>` : ""}
      ${agent.is_subagent ? html`<span class="chip">sub-agent</span>` : ""}
      ${agent.tmux_target ? html`<button class="chip" title="Copy the command that shows its terminal" onclick=${() => copy(`tmux attach -t ${agent.tmux_target}`)}>tmux ${agent.tmux_target}</button>` : ""}
    </footer>
    <p class="last muted"><span class="clip">${act}</span>${spark(agent.acts)}</p>
  </li>`;
}

/** Acts per minute of the last quarter of an hour. @param {number[]} [acts] */
function spark(acts = []) {
  if (!acts.length) return "";
  const most = Math.max(3, ...acts);
  const bars = acts.map((n, index) => `M${index * 4 + 1} 14v${-Math.max(1, Math.round((n / most) * 13))}`).join("");
  return html`<svg class="spark" viewBox="0 0 60 14" width="60" height="14" role="img" aria-label="${count(acts.reduce((a, b) => a + b, 0), "act")} in 15 minutes"><path d="${bars}"/></svg>`;
}

/** @param {any} now */
function showFiles(now) {
  if (!now.files.length) return "";
  return html`<section aria-labelledby="files"><h2 id="files">Touched files <span class="count">${now.counts.files}</span></h2>
    ${showMap(groupFiles(drawn(firstRows("files", now.files), 1 / 2), now.prevented))}${showRest("files", now.counts.files)}</section>`;
}
