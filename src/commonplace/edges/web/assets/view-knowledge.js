// Knowledge: search and browse documents, read one with its versions, and see what an agent would be told.

import { each, html, signal } from "./dom.js";
import { showEvidence } from "./evidence.js";
import { count, diffLines, time, who, words } from "./format.js";
import { icon } from "./icons.js";
import { closeDialog, dialog } from "./keys.js";
import { showPack } from "./boot-pack.js";
import { markdown, parseMarkdown } from "./markdown.js";
import { overview } from "./overview.js";
import { call, go, oneProject, refuse, route, tick, write } from "./state.js";
import { drawn, empty, fields, loaded, openModal, resource, tabs } from "./view.js";

const FACETS = /** @type {[string, string, string][]} */ ([["type", "Type", "memory_type"], ["status", "Status", "status"], ["tag", "Tag", "tag"], ["author", "Author", "author"], ["freshness", "Evidence", "freshness"], ["trust", "Trust", "trust"], ["use", "Use", "use"], ["age", "Age", "age"]]);
/** What the values of a filter mean, where the word alone does not say it. @type {Record<string, string>} */
const VALUES = { changed: "cites changed code", cited: "cites code", uncited: "cites nothing", ordinary: "by the team", never: "never used", week: "this week", month: "this month", quarter: "90 days", older: "older" };

const PAGE_DOCUMENTS = 100;
const pages = signal(1);
/** The filters that the pages are of: others begin with the first page. */
let listed = "";

function chosenFilters() {
  const query = route.current.query;
  const given = Object.fromEntries(FACETS.flatMap(([name, , argument]) => (query.get(name) ? [[argument, query.get(name)]] : [])));
  return { project: oneProject(), needs_look: query.get("tab") === "look", ...given };
}

const documents = resource(async () => {
  const filters = chosenFilters();
  const wanted = JSON.stringify(filters);
  if (wanted !== listed) pages.value = 1;
  listed = wanted;
  const first = await call("memory_list_documents", { ...filters, limit: PAGE_DOCUMENTS, facets: false });
  for (let page = 1; page < pages.current && first.next_cursor; page++) {
    const next = await call("memory_list_documents", { ...filters, limit: PAGE_DOCUMENTS, cursor: first.next_cursor });
    first.documents.push(...next.documents);
    first.next_cursor = next.next_cursor;
  }
  return first;
});
/** Counted after the documents are there: counting takes longer than listing. */
const facets = resource(async () => (await call("memory_list_documents", { project: oneProject(), needs_look: route.current.query.get("tab") === "look", limit: 1 })).facets);
const results = resource(async () => {
  const query = route.current.query;
  const asked = query.get("q");
  if (!asked) return null;
  const types = query.get("type") ? { memory_types: [query.get("type")] } : {};
  const tags = query.get("tag") ? { tags: [query.get("tag")] } : {};
  return call("memory_query", { query: asked, project: oneProject(), limit: 30, detail: "snippet", max_tokens: 12000, include_inactive: query.get("status") === "inactive", ...types, ...tags });
});
const found = resource(async () => {
  const { query } = route.current;
  const id = query.get("doc");
  if (!id) return null;
  const given = { doc_id: id, project: oneProject() };
  const version = Number(query.get("version"));
  const latest = await call("memory_get_by_id", given);
  const older = version ? await call("memory_get_by_id", { ...given, version }) : null;
  const cited = latest.links?.cites?.length ? (await call("memory_list_evidence", given)).evidence : [];
  await parseMarkdown([latest.content ?? ""]);
  return { latest, older, cited };
});
const preview = resource(async () => {
  const query = route.current.query;
  if (query.get("tab") !== "boot" || !query.get("agent")) return null;
  return call("memory_preview_boot_pack", { project: oneProject(), agent: query.get("agent"), task_description: query.get("task") ?? "", token_budget: Number(query.get("budget") ?? 2000) });
});
const isEditing = signal(false);

/** @type {import("./view.js").View} */
export const view = {
  title: "Knowledge",
  isOfOneProject: true,
  load: () => Promise.all([route.current.query.get("tab") === "boot" ? overview.load() : null, route.current.query.get("q") ? results.load() : documents.load().then(() => facets.load()), found.load(), preview.load()]),
  show,
  json: () => ({ project: oneProject() }),
  keys: {
    e: ["edit the document", () => void (found.data && (isEditing.value = true))],
    x: ["archive the document", () => found.data && archive(found.data.latest)],
    s: ["supersede the document", () => found.data && supersede(found.data.latest)],
  },
};

function show() {
  void tick.value;
  const query = route.value.query;
  const tab = query.get("tab") ?? "all";
  return html`
    <div class="bar">
      <form class="search" role="search" onsubmit=${(/** @type {Event} */ event) => go("knowledge", { q: fields(event).q, doc: "" }, { keep: true })}>${icon("search")}<input name="q" type="search" aria-label="Search" placeholder="Search by words and meaning" .value=${query.get("q") ?? ""}></form>
      ${tabs([["all", "All"], ["look", "To look at"], ["boot", "Boot pack"]], tab, (value) => go("knowledge", { tab: value === "all" ? "" : value, q: "", doc: "" }, { keep: true }))}
      <span class="muted push">in <b>${oneProject()}</b></span>
    </div>
    <div class="split ${query.has("doc") ? "has-panel" : ""}">
      ${tab === "boot" ? showBoot() : html`
      <div class="split-main with-facets">
        ${showFacets()}
        <div class="results">${query.get("q") ? loaded(results, (data) => (data ? showResults(data) : "")) : loaded(documents, showDocuments)}</div>
      </div>`}
      ${query.has("doc") ? showReader() : ""}
    </div>`;
}

/** What the results of a search can be narrowed by, with what is chosen. @param {any[]} rows @returns {Record<string, Record<string, number>>} */
function countResults(rows) {
  const query = route.value.query;
  const kinds = /** @type {const} */ (["type", "tag"]);
  return Object.fromEntries(kinds.map((name) => {
    /** @type {Record<string, number>} */ const counts = {};
    for (const row of rows) for (const value of name === "type" ? [row.type] : row.tags ?? []) counts[value] = (counts[value] ?? 0) + 1;
    const chosen = query.get(name);
    if (chosen) counts[chosen] ??= 0;
    return [name, Object.fromEntries(Object.entries(counts).sort(([, a], [, b]) => b - a))];
  }));
}

function showFacets() {
  const query = route.value.query;
  const known = query.get("q") ? countResults(results.data?.results ?? []) : facets.data ?? {};
  return html`<nav class="facets" aria-label="Filters">${FACETS.map(([name, title]) => {
    const counts = Object.entries(known[name] ?? {});
    if (!counts.length) return "";
    return html`<fieldset><legend>${title}</legend>${counts.slice(0, 8).map(([value, n]) => {
      const isOn = query.get(name) === value;
      return html`<button class="facet" aria-pressed="${String(isOn)}" onclick=${() => go("knowledge", { [name]: isOn ? "" : value }, { keep: true })}><span class="clip">${name === "tag" || name === "author" ? value : VALUES[value] ?? words(value)}</span><span class="muted push">${String(n)}</span></button>`;
    })}</fieldset>`;
  })}</nav>`;
}

/** @param {any} data */
function showDocuments(data) {
  if (!data.documents.length)
    return empty("Nothing here yet", route.value.query.get("tab") === "look" ? "No document is disputed, suspicious or cites code that changed." : "Agents save what they learn with memory_record_learning and memory_store.");
  return html`<ul class="documents">${each(drawn(data.documents), (row) => row.id, (row) => showRow(row, row.project, ""))}</ul>
    ${data.next_cursor ? html`<button class="button more" onclick=${() => { pages.value++; void documents.load(); }}>Show more</button>` : ""}`;
}

/** @param {any} data */
function showResults(data) {
  if (!data.results.length) return empty("Nothing found", "Try other words; the search also understands meaning.");
  return html`<p class="muted">${count(data.results.length, "result")}</p><ul class="documents">${each(data.results, (row) => row.id, (row) => showRow(row, row.source, row.content))}</ul>`;
}

/** @param {any} row @param {string} project @param {string} text */
function showRow(row, project, text) {
  const isOpen = route.value.query.get("doc") === row.id;
  return html`<li class="document ${isOpen ? "is-open" : ""}" data-row tabindex="0" onclick=${() => openDocument(row, project)}>
    <div class="document-title">${row.title}${row.drifted ? html`<span class="chip warn">${icon("warn")}cites changed code</span>` : ""}${row.flags?.length ? html`<span class="chip warn">${icon("warn")}${words(row.flags[0])}</span>` : ""}</div>
    ${text ? html`<p class="snippet">${text}</p>` : ""}
    <div class="muted facts"><span class="chip">${words(row.type)}</span>${row.status === "active" ? "" : html`<span class="chip">${words(row.status)}</span>`}<span>${row.author}</span>${time(row.updated)}${row.tokens ? html`<span title="estimated tokens">${row.tokens} tok</span>` : ""}${row.opened || row.access_count ? html`<span>opened ${row.opened ?? row.access_count}×</span>` : ""}${row.why ? html`<span class="why" title="why it ranked here">${row.why}</span>` : ""}</div>
  </li>`;
}

/** @param {any} row @param {string} project */
function openDocument(row, project) {
  if (row.kind === "backlog") return go("work", { project, item: row.id });
  isEditing.value = false;
  go("knowledge", { doc: row.id, version: "", project }, { keep: true });
}

// The reader

function showReader() {
  return html`<aside class="panel reader" aria-label="Document">
    <button class="icon-button panel-close" aria-label="Close (esc)" onclick=${() => go("knowledge", { doc: "", version: "" }, { keep: true })}>${icon("close")}</button>
    ${loaded(found, (data) => {
      if (!data) return "";
      const { latest, older, cited } = data;
      if (latest.found === false) return empty("Not found", `There is no ${route.value.query.get("doc")} in ${oneProject()}.`);
      return html`
        <h2>${latest.title}</h2>
        <div class="facts muted">${who(latest.author ?? "")}<span class="chip">${words(latest.type)}</span><span class="chip">${words(latest.status)}</span>${time(latest.updated)}${(latest.tags ?? []).map((/** @type {string} */ tag) => html`<span class="chip">#${tag}</span>`)}</div>
        <div class="row">
          <button class="button" onclick=${() => (isEditing.value = !isEditing.current)}>Edit <kbd>e</kbd></button>
          <button class="button" onclick=${() => supersede(latest)}>Supersede <kbd>s</kbd></button>
          ${latest.status === "active" ? html`<button class="button" onclick=${() => archive(latest)}>Archive <kbd>x</kbd></button>` : html`<button class="button" onclick=${() => setStatus(latest, "active")}>Make active</button>`}
        </div>
        ${isEditing.value ? showEditor(latest) : older ? showDiff(older, latest) : html`<div class="text">${markdown(latest.content ?? "", `document ${latest.id}`)}</div>`}
        ${showEvidence(cited, latest.project ?? oneProject())}
        ${showVersions(latest)}`;
    })}</aside>`;
}

/** @param {any} document */
function showEditor(document) {
  const save = async (/** @type {SubmitEvent} */ event) => {
    const { content } = fields(event);
    const reply = await write("memory_store", { title: document.title, content: content ?? "", memory_type: document.type, project: document.project, tags: document.tags ?? [], force_store: true }, { done: "Saved as a new version." });
    if (!reply) return;
    isEditing.value = false;
    go("knowledge", { doc: reply.id ?? reply.doc_id ?? document.id, version: "" }, { keep: true, replace: true });
    void found.load();
  };
  return html`<form class="form" onsubmit=${save}><textarea name="content" aria-label="Content" rows="18" .value=${document.content ?? ""}></textarea>
    <div class="row"><button class="button push" type="button" onclick=${() => (isEditing.value = false)}>Cancel</button><button class="button primary">Save</button></div></form>`;
}

/** @param {any} older @param {any} latest */
function showDiff(older, latest) {
  return html`<p class="muted">What changed since version ${route.value.query.get("version")} <button class="linklike" onclick=${() => go("knowledge", { version: "" }, { keep: true })}>show the text</button></p>
    <pre class="diff" tabindex="0">${diffLines(older.content ?? "", latest.content ?? "").map(([mark, text]) => html`<span class="${mark === "+" ? "added" : mark === "-" ? "removed" : ""}">${`${mark} ${text}\n`}</span>`)}</pre>`;
}

/** @param {any} document */
function showVersions(document) {
  const versions = document.versions ?? [];
  if (!versions.length) return "";
  return html`<h3>Versions</h3><ol class="plain history">${versions.map((/** @type {any} */ version) => html`<li><button class="linklike" onclick=${() => go("knowledge", { version: String(version.version) }, { keep: true })}>${version.version}</button> ${version.what ?? ""} by <b>${version.by}</b> <span class="muted">${time(version.at)}</span></li>`)}</ol>`;
}

// Acts

/** @param {any} document @param {string} status @param {Record<string, string>} [more] */
function setStatus(document, status, more = {}) {
  const before = document.status;
  const apply = () => {
    document.status = status;
    found.changed();
    return () => {
      document.status = before;
      found.changed();
    };
  };
  const undo = before === "active" ? () => void setStatus(document, before) : undefined;
  return write("memory_change_status", { doc_id: document.id, new_status: status, project: document.project, ...more }, { apply, undo, done: `“${document.title}” is ${words(status)}.` });
}

/** @param {any} document */
const archive = (document) => void setStatus(document, "archived");

/** What may replace a document, as it is searched for. @type {import("./dom.js").Signal<any[]>} */
const successors = signal([]);

/** @param {any} document */
function supersede(document) {
  successors.value = [];
  const search = async (/** @type {any} */ event) => {
    const asked = event.target.value.trim();
    const reply = asked.length < 2 ? null : await call("memory_query", { query: asked, project: document.project, limit: 8, detail: "snippet", max_tokens: 1000 }).catch(() => null);
    successors.value = (reply?.results ?? []).filter((/** @type {any} */ hit) => hit.id !== document.id && hit.id.startsWith("doc_"));
  };
  const choose = (/** @type {any} */ hit) => {
    closeDialog();
    void setStatus(document, "superseded", { superseded_by: hit.id });
  };
  dialog.value = () => html`<dialog class="dialog" ref=${openModal} onclose=${closeDialog} aria-label="Supersede">
    <h2>What replaces “${document.title}”?</h2>
    <div class="search"><input type="search" aria-label="Search for the newer document" placeholder="Search for the newer document" oninput=${search} autofocus>${icon("search")}</div>
    <div class="menu">${each(successors.value, (hit) => hit.id, (hit) => html`<button class="button" onclick=${() => choose(hit)}><span class="clip">${hit.title}</span><span class="muted push">${words(hit.type)}</span></button>`)}</div>
    <div class="row"><button class="button push" onclick=${closeDialog}>Cancel</button></div></dialog>`;
}

// What an agent would be told

function showBoot() {
  const query = route.value.query;
  const agents = [...new Set((overview.data?.agents ?? []).map((/** @type {any} */ agent) => agent.agent))];
  const ask = (/** @type {SubmitEvent} */ event) => {
    const { agent, task, budget } = fields(event);
    go("knowledge", { agent, task, budget: budget === "2000" ? "" : budget }, { keep: true });
    void preview.load().catch(refuse);
  };
  return html`<div class="split-main boot">
    <form class="form boot-form" onsubmit=${ask}>
      <label>Agent <input name="agent" required list="agents-known" .value=${query.get("agent") ?? agents[0] ?? ""}></label><datalist id="agents-known">${agents.map((name) => html`<option value="${name}"></option>`)}</datalist>
      <label class="grow">Task <input name="task" .value=${query.get("task") ?? ""} placeholder="what it is about to do"></label>
      <label>Tokens <input name="budget" type="number" min="300" max="20000" .value=${query.get("budget") ?? "2000"}></label>
      <button class="button primary">Show</button>
    </form>
    ${query.get("agent") ? loaded(preview, (data) => (data ? showPack(data) : "")) : empty("What would an agent be told?", "Choose an agent and a task: this is exactly what memory_start_session would answer now, and what was left out.")}
  </div>`;
}
