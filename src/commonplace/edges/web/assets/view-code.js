// Code: the functions of a project, with who calls them and whom they call, and what is known of a file.

import { each, html } from "./dom.js";
import { count } from "./format.js";
import { showFileRecord } from "./file-record.js";
import { icon } from "./icons.js";
import { call, go, oneProject, route } from "./state.js";
import { drawn, empty, fields, loaded, resource } from "./view.js";

const functions = resource(async () => {
  const asked = route.current.query.get("q") ?? "";
  const known = await call("memory_browse_functions", { project: oneProject(), path_pattern: asked, limit: 200 });
  if (known.functions.length || !asked) return known.functions;
  const near = await call("memory_find_function", { project: oneProject(), query: asked, limit: 20 });
  return near.results.map((/** @type {any} */ each) => ({ ...each, file: each.file_path, line: 0 }));
});
const chosen = resource(async () => {
  const id = route.current.query.get("function");
  if (!id) return null;
  const document = await call("memory_get_by_id", { doc_id: id, project: oneProject() });
  const listed = await call("memory_browse_functions", { project: oneProject(), path_pattern: document.title ?? "", limit: 200 });
  const known = await call("memory_query", { project: oneProject(), query: `${document.title} ${document.links?.file ?? ""}`, limit: 5, detail: "snippet", max_tokens: 1500 });
  const { functions: near } = await call("memory_list_similar_functions", { project: oneProject(), func_id: document.id ?? id });
  return { document, near, fact: listed.functions.find((/** @type {any} */ each) => each.id === document.id) ?? {}, known: known.results.filter((/** @type {any} */ hit) => hit.id !== document.id && hit.type !== "function_ref") };
});

const file = resource(async () => {
  const path = route.current.query.get("file");
  if (!path) return null;
  const [record, listed, said] = await Promise.all([
    call("memory_get_file_record", { project: oneProject(), path }),
    call("memory_browse_functions", { project: oneProject(), path_pattern: path, limit: 200 }),
    call("search_sessions", { query: path, mode: "literal", limit: 10, per_session: 1 }).catch(() => ({ matches: [] })),
  ]);
  return { record, functions: listed.functions.filter((/** @type {any} */ each) => each.file === path), said: said.matches };
});

/** @type {import("./view.js").View} */
export const view = {
  title: "Code",
  isOfOneProject: true,
  load(events) {
    const isOfFile = route.current.query.has("file") && events?.some((event) => /File|Work|Document|Prevented|Denied|Predicted/.test(event.kind));
    if (events && !events.some((event) => event.kind.startsWith("Function"))) return isOfFile ? file.load() : undefined;
    return Promise.all([functions.load(), chosen.load(), file.load()]);
  },
  show,
  json: () => ({ project: oneProject() }),
};

function show() {
  const query = route.value.query;
  return html`
    <div class="bar">
      <form class="search" role="search" onsubmit=${(/** @type {Event} */ event) => go("code", { q: fields(event).q }, { keep: true })}>${icon("search")}<input name="q" type="search" aria-label="Search functions" placeholder="File, name, or what it does" .value=${query.get("q") ?? ""}></form>
      <span class="muted">${functions.data ? count(functions.data.length, "function") : ""}</span><span class="muted push">in <b>${oneProject()}</b></span>
    </div>
    <div class="split ${query.has("function") || query.has("file") ? "has-panel" : ""}">
      <div class="split-main">${loaded(functions, showFunctions)}</div>
      ${query.has("function") ? showPanel() : query.has("file") ? showFilePanel() : ""}
    </div>`;
}

/** @param {any[]} rows */
function showFunctions(rows) {
  if (!rows.length) return empty("No functions known", html`Run <code>commonplace librarian</code> in a repository: it reads the source and keeps this list current.`);
  /** @type {Map<string, any[]>} */ const files = new Map();
  for (const row of rows) (files.get(row.file) ?? /** @type {any[]} */ (files.set(row.file, []).get(row.file))).push(row);
  return html`${each(drawn([...files]), ([file]) => file, ([file, found]) => html`<section class="code-file"><h2><button class="linklike" title="What is known of this file" onclick=${() => go("code", { file, function: "" }, { keep: true })}><code>${file}</code></button> <span class="count">${found.length}</span></h2>
    <div class="table" role="list">${each(found, (row) => row.id, (row) => html`<div class="table-row ${route.value.query.get("function") === row.id ? "is-open" : ""}" role="listitem" data-row tabindex="0" onclick=${() => go("code", { function: row.id, file: "" }, { keep: true })}>
      <code class="name clip">${row.name}</code><span class="clip grow muted">${row.purpose || row.signature}</span>
      ${row.drift?.length ? html`<span class="chip warn" title="changed since it was described">${icon("warn")}drift</span>` : ""}${row.clones?.length ? html`<span class="chip" title="the same body elsewhere">${count(row.clones.length, "clone")}</span>` : ""}
      <span class="muted when">${row.called_by?.length ? `${row.called_by.length} callers` : ""}</span></div>`)}</div></section>`)}`;
}

function showPanel() {
  return html`<aside class="panel" aria-label="Function">
    <button class="icon-button panel-close" aria-label="Close (esc)" onclick=${() => go("code", { function: "" }, { keep: true })}>${icon("close")}</button>
    ${loaded(chosen, (data) => {
      if (!data) return "";
      const { document, fact, known, near } = data;
      const place = document.links?.file ?? "";
      if (document.found === false) return empty("Not found", "This function is no longer registered.");
      return html`<h2><code>${document.title}</code></h2><p><button class="linklike" onclick=${() => go("code", { file: place.replace(/:\d+$/, ""), function: "" }, { keep: true })}><code>${place}</code></button></p>
        ${fact.signature ? html`<pre tabindex="0">${fact.signature}</pre>` : ""}
        ${fact.purpose ? html`<p>${fact.purpose}</p>` : ""}
        ${fact.gotchas ? html`<p class="chip warn">${icon("warn")}${fact.gotchas}</p>` : ""}
        <div class="calls"><section><h3>Called by</h3>${names(fact.called_by)}</section><section><h3>Calls</h3>${names(fact.calls)}</section></div>
        ${fact.clones?.length ? html`<h3>Same body</h3>${html`<ul class="plain">${fact.clones.map((/** @type {string} */ id) => html`<li><button class="linklike" onclick=${() => go("code", { function: id }, { keep: true })}>${nameOf(id)}</button></li>`)}</ul>`}` : ""}
        ${near.length ? html`<h3>Much like it</h3><ul class="plain near">${near.map((/** @type {any} */ each) => html`<li><button class="linklike" onclick=${() => go("code", { function: each.id }, { keep: true })}><code>${each.name}</code></button> <span class="muted"><code>${each.file_path}</code> · ${Math.round(100 * each.similarity)} % alike</span><div class="muted clip">${each.purpose}</div></li>`)}</ul>` : ""}
        ${known.length ? html`<h3>Known about it</h3><ul class="plain">${known.map((/** @type {any} */ hit) => html`<li><button class="linklike" onclick=${() => go("knowledge", { doc: hit.id })}>${hit.title}</button> <span class="muted">${hit.type}</span></li>`)}</ul>` : ""}
        <details class="rest"><summary>The whole entry</summary><pre class="wrap" tabindex="0">${document.content ?? ""}</pre></details>`;
    })}</aside>`;
}

function showFilePanel() {
  return html`<aside class="panel" aria-label="File">
    <button class="icon-button panel-close" aria-label="Close (esc)" onclick=${() => go("code", { file: "" }, { keep: true })}>${icon("close")}</button>
    ${loaded(file, (data) => (data ? showFileRecord(data.record, data.functions, data.said, oneProject()) : ""))}</aside>`;
}

/** @param {string} id */
function nameOf(id) {
  const known = functions.data?.find((/** @type {any} */ each) => each.id === id);
  return known ? html`<code>${known.name}</code> <span class="muted">${known.file}</span>` : id;
}

/** @param {string[]} [list] */
function names(list = []) {
  if (!list.length) return html`<p class="muted">none known</p>`;
  return html`<ul class="plain">${list.map((name) => html`<li><button class="linklike" onclick=${() => go("code", { q: name, function: "" }, { keep: true })}><code>${name}</code></button></li>`)}</ul>`;
}
