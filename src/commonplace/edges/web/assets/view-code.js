// Code: the functions of a project, with who calls them and whom they call.

import { each, html } from "./dom.js";
import { count } from "./format.js";
import { icon } from "./icons.js";
import { call, go, oneProject, route } from "./state.js";
import { empty, fields, loaded, resource } from "./view.js";

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
  return { document, fact: listed.functions.find((/** @type {any} */ each) => each.id === document.id) ?? {}, known: known.results.filter((/** @type {any} */ hit) => hit.id !== document.id && hit.type !== "function_ref") };
});

/** @type {import("./view.js").View} */
export const view = {
  title: "Code",
  load(events) {
    return events && !events.some((event) => event.kind.startsWith("Function")) ? undefined : Promise.all([functions.load(), chosen.load()]);
  },
  show,
};

function show() {
  const query = route.value.query;
  return html`
    <div class="bar">
      <form class="search" role="search" onsubmit=${(/** @type {Event} */ event) => go("code", { q: fields(event).q }, { keep: true })}>${icon("search")}<input name="q" type="search" aria-label="Search functions" placeholder="File, name, or what it does" .value=${query.get("q") ?? ""}></form>
      <span class="muted">${functions.data ? count(functions.data.length, "function") : ""}</span><span class="muted push">in <b>${oneProject()}</b></span>
    </div>
    <div class="split ${query.has("function") ? "has-panel" : ""}">
      <div class="split-main">${loaded(functions, showFunctions)}</div>
      ${query.has("function") ? showPanel() : ""}
    </div>`;
}

/** @param {any[]} rows */
function showFunctions(rows) {
  if (!rows.length) return empty("No functions known", html`Run <code>commonplace librarian</code> in a repository: it reads the source and keeps this list current.`);
  /** @type {Map<string, any[]>} */ const files = new Map();
  for (const row of rows) (files.get(row.file) ?? /** @type {any[]} */ (files.set(row.file, []).get(row.file))).push(row);
  return html`${each(files, ([file]) => file, ([file, found]) => html`<section class="code-file"><h2><code>${file}</code> <span class="count">${found.length}</span></h2>
    <div class="table" role="list">${each(found, (row) => row.id, (row) => html`<div class="table-row" role="listitem" data-row tabindex="0" onclick=${() => go("code", { function: row.id }, { keep: true })}>
      <code class="name clip">${row.name}</code><span class="clip grow muted">${row.purpose || row.signature}</span>
      ${row.drift?.length ? html`<span class="chip warn" title="changed since it was described">${icon("warn")}drift</span>` : ""}${row.clones?.length ? html`<span class="chip" title="the same body elsewhere">${count(row.clones.length, "clone")}</span>` : ""}
      <span class="muted when">${row.called_by?.length ? `${row.called_by.length} callers` : ""}</span></div>`)}</div></section>`)}`;
}

function showPanel() {
  return html`<aside class="panel" aria-label="Function">
    <button class="icon-button panel-close" aria-label="Close (esc)" onclick=${() => go("code", { function: "" }, { keep: true })}>${icon("close")}</button>
    ${loaded(chosen, (data) => {
      if (!data) return "";
      const { document, fact, known } = data;
      return html`<h2><code>${document.title}</code></h2><p class="muted"><code>${document.links?.file ?? ""}</code></p>
        ${fact.signature ? html`<pre tabindex="0">${fact.signature}</pre>` : ""}
        ${fact.purpose ? html`<p>${fact.purpose}</p>` : ""}
        ${fact.gotchas ? html`<p class="chip warn">${icon("warn")}${fact.gotchas}</p>` : ""}
        <div class="calls"><section><h3>Called by</h3>${names(fact.called_by)}</section><section><h3>Calls</h3>${names(fact.calls)}</section></div>
        ${fact.clones?.length ? html`<h3>Same body</h3>${html`<ul class="plain">${fact.clones.map((/** @type {string} */ id) => html`<li><button class="linklike" onclick=${() => go("code", { function: id }, { keep: true })}>${id}</button></li>`)}</ul>`}` : ""}
        ${known.length ? html`<h3>Known about it</h3><ul class="plain">${known.map((/** @type {any} */ hit) => html`<li><button class="linklike" onclick=${() => go("knowledge", { doc: hit.id })}>${hit.title}</button> <span class="muted">${hit.type}</span></li>`)}</ul>` : ""}
        <h3>Everything</h3><pre class="wrap" tabindex="0">${document.content ?? ""}</pre>`;
    })}</aside>`;
}

/** @param {string[]} [list] */
function names(list = []) {
  if (!list.length) return html`<p class="muted">none known</p>`;
  return html`<ul class="plain">${list.map((name) => html`<li><button class="linklike" onclick=${() => go("code", { q: name, function: "" }, { keep: true })}><code>${name}</code></button></li>`)}</ul>`;
}
