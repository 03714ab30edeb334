// The margin of a transcript: what the session cost, the errors it met and what overcame them, the files it changed.

import { html } from "./dom.js";
import { count } from "./format.js";
import { icon } from "./icons.js";
import { go, link } from "./state.js";

/** @param {number} line */
const jump = (line) => go("sessions", { line: String(line) }, { keep: true });

/** @param {any} summary @param {any[]} errors @param {string} project */
export function showMargin(summary, errors, project) {
  const { edited = [], read = [], commits = [], tokens = {}, tool_calls = {} } = summary;
  const calls = /** @type {number[]} */ (Object.values(tool_calls)).reduce((sum, n) => sum + n, 0);
  return html`<div class="margin" role="group" aria-label="What happened in it">
    <dl class="margin-facts">${fact("model", summary.model)}${fact("branch", summary.branch)}${fact("folder", summary.cwd)}${fact("tool calls", calls || "")}${fact("tokens", tokens.output ? `${thousands(tokens.input)} in, ${thousands(tokens.output)} out` : "")}</dl>
    ${errors.length ? html`<h3>${count(errors.length, "error")} met</h3><ul class="plain margin-errors">${errors.map((error) => html`<li><button class="linklike" onclick=${() => jump(error.line)}>${error.text}</button>
      ${error.times > 1 ? html`<span class="chip">${error.times}×</span>` : ""}
      ${error.fixed_line ? html`<div class="overcome">${icon("check")}<span>overcome ${error.followed?.length ? html`by <code>${String(error.followed.at(-1))}</code> ` : ""}at <button class="linklike" onclick=${() => jump(error.fixed_line)}>line ${error.fixed_line}</button></span></div>` : html`<div class="muted">not overcome in this session</div>`}</li>`)}</ul>` : ""}
    ${showFiles("Files changed", edited, summary.cwd, project)}${showFiles("Only read", read.slice(0, 20), summary.cwd, project)}
    ${commits.length ? html`<h3>Commits</h3><ul class="plain">${commits.map((/** @type {string} */ commit) => html`<li class="clip" title="${commit}"><code>${commit.slice(0, 8)}</code> ${commit.slice(8).trim()}</li>`)}</ul>` : ""}
  </div>`;
}

/** @param {string} name @param {unknown} value */
const fact = (name, value) => (value ? html`<dt>${name}</dt><dd class="clip" title="${String(value)}">${value}</dd>` : "");

/** @param {number} n */
const thousands = (n = 0) => (n < 1000 ? String(n) : `${(n / 1000).toFixed(n < 1e4 ? 1 : 0)}k`);

/** @param {string} title @param {string[]} files @param {string} folder @param {string} project */
function showFiles(title, files, folder, project) {
  if (!files.length) return "";
  const relative = (/** @type {string} */ path) => (folder && path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path);
  return html`<h3>${title} <span class="count">${files.length}</span></h3><ul class="plain">${files.map((path) => html`<li class="clip"><a href="${link("code", { project, file: relative(path) })}" title="${path}"><code>${relative(path)}</code></a></li>`)}</ul>`;
}
