// Sessions: archived transcripts, read as a chat with folded tool calls, opened at a hit.

import { each, html, signal } from "./dom.js";
import { clock, count, exact, size, time, words } from "./format.js";
import { icon } from "./icons.js";
import { showMargin } from "./sessions-margin.js";
import { call, copy, go, oneProject, project, route, tick } from "./state.js";
import { drawn, empty, fields, loaded, resource } from "./view.js";

const PAGE_LINES = 200;
const LINES_BEFORE_HIT = 20;

const transcripts = resource(() => call("memory_list_transcripts", { project: project(), limit: 100 }));
const hits = resource(async () => {
  const asked = route.current.query.get("q");
  return asked ? call("search_sessions", { query: asked, limit: 50 }) : null;
});
const page = resource(async () => {
  const { query } = route.current;
  const [workspace, id] = [query.get("workspace"), query.get("session")];
  if (!workspace || !id) return null;
  const line = Number(query.get("line") ?? 0);
  const offset = Math.max(0, line - LINES_BEFORE_HIT);
  const read = (/** @type {number} */ from, /** @type {number} */ limit) => call("read_session", { workspace_id: workspace, session_id: id, offset: from, limit, max_tokens: 25000 });
  // The summary comes with the first lines only.
  const [chat, met, start] = await Promise.all([
    read(offset, PAGE_LINES),
    call("memory_list_transcript_errors", { workspace_id: workspace, session_id: id }).catch(() => ({ errors: [] })),
    offset ? read(0, 1) : null,
  ]);
  const place = `${workspace} ${id} ${line}`;
  if (place !== shownPlace) shownLine.value = -1;
  shownPlace = place;
  return { chat, errors: met.errors, summary: (start ?? chat).summary ?? {} };
});
const shownLine = signal(-1);
/** What is fetched again must not scroll a reader back to the hit. */
let shownPlace = "";

/** @type {import("./view.js").View} */
export const view = {
  title: "Sessions",
  load(events) {
    const isNews = events === null || events.some((event) => event.kind === "SessionArchived");
    return isNews ? Promise.all([route.current.query.get("q") ? hits.load() : transcripts.load(), events ? null : page.load()]) : undefined;
  },
  show,
};

function show() {
  void tick.value;
  const query = route.value.query;
  return html`
    <div class="bar">
      <form class="search" role="search" onsubmit=${(/** @type {Event} */ event) => go("sessions", { q: fields(event).q, session: "", workspace: "" }, { keep: true })}>${icon("search")}<input name="q" type="search" aria-label="Search transcripts" placeholder="Search what was said, errors and fixes" .value=${query.get("q") ?? ""}></form>
    </div>
    <div class="mail ${query.has("session") ? "has-panel" : ""}">
      <div class="mail-list">${query.get("q") ? loaded(hits, (data) => (data ? showHits(data) : "")) : loaded(transcripts, showTranscripts)}</div>
      <section class="mail-body" aria-label="Transcript">${query.has("session") ? loaded(page, (data) => (data ? showPage(data) : "")) : empty("No transcript chosen", "Every session that an agent's hooks upload can be read here, word for word.")}</section>
    </div>`;
}

/** @param {any} data */
function showTranscripts(data) {
  if (!data.transcripts.length) return empty("No transcripts yet", html`Run <code>commonplace install</code>: sessions of connected agents are archived from then on.`);
  return html`<ul class="threads">${each(drawn(data.transcripts), (row) => row.workspace_id + row.session_id, (row) => html`
    <li class="thread ${route.value.query.get("session") === row.session_id ? "is-open" : ""}" data-row tabindex="0" onclick=${() => open(row.workspace_id, row.session_id)}>
      <div class="grow"><div class="thread-head"><b class="clip">${row.title || row.session_id}</b><span class="muted push">${time(row.ended_at)}</span></div>
      <div class="muted clip">${row.tool} · ${row.workspace_id} · ${count(row.lines, "line")} · ${size(row.bytes)} · ${duration(row)}</div></div></li>`)}</ul>`;
}

/** @param {any} row */
function duration(row) {
  const minutes = Math.round((Date.parse(row.ended_at) - Date.parse(row.started_at)) / 60000);
  return minutes < 60 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}

/** @param {string} workspace @param {string} id @param {number} [line] */
function open(workspace, id, line) {
  go("sessions", { workspace, session: id, line: line === undefined ? "" : String(line) }, { keep: true });
}

/** @param {any} data */
function showHits(data) {
  if (!data.matches.length) return empty("Nothing found", "Try other words.");
  return html`<ul class="threads">${each(data.matches, (row) => `${row.session_id} ${row.line}`, (row) => html`
    <li class="thread" data-row tabindex="0" onclick=${() => open(row.workspace_id, row.session_id, row.line)}>
      <div class="grow"><div class="thread-head"><b class="clip">${row.role}</b><span class="muted push">${time(row.at)}</span></div>
      <div class="snippet">${row.snippet}</div><div class="muted clip">${row.workspace_id} · line ${row.line}</div></div></li>`)}</ul>`;
}

/** @param {any} data */
function showPage({ chat, errors, summary }) {
  const hit = route.value.query.get("line");
  const known = transcripts.data?.transcripts.find((/** @type {any} */ row) => row.session_id === route.value.query.get("session"));
  const atLine = new Map(errors.map((/** @type {any} */ error) => [error.line, error]));
  return html`<header class="mail-head"><button class="icon-button only-phone" aria-label="Back" onclick=${() => go("sessions", { session: "" }, { keep: true })}>${icon("arrow")}</button><h2 class="clip">${summary.title || route.value.query.get("session")}</h2>
      <span class="muted push transcript-facts">${summary.tool} · ${summary.started_at ? exact(summary.started_at) : ""}</span></header>
    <div class="with-margin"><div class="grow">
    ${chat.offset > 0 ? html`<button class="button more" onclick=${() => go("sessions", { line: String(Math.max(0, chat.offset - PAGE_LINES + LINES_BEFORE_HIT)) }, { keep: true })}>Earlier lines</button>` : ""}
    <ol class="bubbles transcript">${each(chat.messages, (message, ) => `${message.line} ${message.role} ${message.text?.length}`, (message) => showTurn(message, String(message.line) === hit, atLine.get(message.line)))}</ol>
    ${chat.has_more ? html`<button class="button more" onclick=${() => go("sessions", { line: String(chat.next_offset + LINES_BEFORE_HIT) }, { keep: true })}>Later lines</button>` : html`<p class="muted center">End of the transcript, ${count(chat.total_lines, "line")}.</p>`}
    </div>${showMargin(summary, errors, known?.project ?? oneProject())}</div>`;
}

/** @param {any} message @param {boolean} isHit @param {any} error */
function showTurn(message, isHit, error) {
  const isTool = !["user", "assistant"].includes(message.role);
  const text = html`<div class="text said">${message.text}</div>`;
  const bring = (/** @type {Element} */ element) => {
    if (!isHit || shownLine.current === message.line) return;
    shownLine.current = message.line;
    requestAnimationFrame(() => element.scrollIntoView({ block: "center" }));
  };
  const facts = html`${message.at ? html`<time datetime="${message.at}">${clock(message.at)}</time>` : ""}<button class="linklike" title="Copy the address of this line" onclick=${() => copyLine(message.line)}>line ${message.line}</button>`;
  const note = error ? html`<span class="chip warn">${icon("warn")}${error.fixed_line ? html`<span class="wide-only">error, overcome at</span> ` : "error"}${error.fixed_line ? `line ${error.fixed_line}` : ""}</span>` : "";
  const named = `${isTool ? "tool" : message.role} ${isHit ? "is-hit" : ""} ${message.role === "error" ? "is-error" : ""}`;
  if (isTool)
    return html`<li class="turn role-${named}" ref=${bring}><details ?open=${isHit}><summary><b>${message.tool ?? message.name ?? words(message.role)}</b> <span class="clip grow">${firstLine(message.text)}</span>${note}</summary>${text}</details><span class="turn-facts muted">${facts}</span></li>`;
  return html`<li class="turn role-${named}" ref=${bring}>
    <div class="muted turn-head"><b>${words(message.role)}</b>${note}<span class="turn-facts push">${facts}</span></div>${text}</li>`;
}

/** @param {string} [text] */
const firstLine = (text = "") => text.slice(0, 160).split("\n", 1)[0];

/** @param {number} line */
function copyLine(line) {
  const address = new URL(location.href);
  address.searchParams.set("line", String(line));
  void copy(address.href, "The address of the line is copied.");
}
