// The map of touched files: one line for each file, with who holds which part of it, and where a conflict is predicted.

import { each, html } from "./dom.js";
import { avatar, clock, hue, time } from "./format.js";
import { icon } from "./icons.js";
import { showRelease } from "./lock-release.js";
import { link, project } from "./state.js";

const TRACK_WIDTH = 72;
const LEAST_LINES = 40;

/** @typedef {{project: string, path: string, folder: string, name: string, rows: any[], agents: string[], predicted: any}} MapFile */

/** Files by folder, in the order in which the server names them. @param {any[]} rows @param {any[]} prevented @returns {Map<string, MapFile[]>} */
export function groupFiles(rows, prevented) {
  /** @type {Map<string, MapFile>} */ const files = new Map();
  for (const row of rows) {
    const key = `${row.project}\0${row.path}`;
    const known = files.get(key) ?? describeFile(row, prevented);
    files.set(key, known);
    known.rows.push(row);
    if (!known.agents.includes(row.agent)) known.agents.push(row.agent);
  }
  /** @type {Map<string, MapFile[]>} */ const folders = new Map();
  for (const file of files.values()) folders.set(file.folder, [...(folders.get(file.folder) ?? []), file]);
  return folders;
}

/** @param {any} row @param {any[]} prevented @returns {MapFile} */
function describeFile(row, prevented) {
  const cut = row.path.replace(/\/$/, "").lastIndexOf("/");
  const folder = `${project() === "*" ? `${row.project}: ` : ""}${cut < 0 ? "." : row.path.slice(0, cut)}`;
  const predicted = prevented.find((each) => each.kind === "predicted_conflicts" && each.project === row.project && each.detail.includes(row.path));
  return { project: row.project, path: row.path, folder, name: row.path.slice(cut + 1), rows: [], agents: [], predicted };
}

/** @param {Map<string, MapFile[]>} folders */
export function showMap(folders) {
  return html`<div class="tree">${each(folders, ([folder]) => folder, ([folder, files]) => html`
    <div class="folder"><div class="folder-name muted" title="${folder}">${folder}/</div>
    <ul>${each(files, (file) => file.path, showFile)}</ul></div>`)}</div>`;
}

/** @param {MapFile} file */
function showFile(file) {
  const held = file.rows.filter((row) => row.mode);
  const holders = new Set(held.map((row) => row.agent)).size;
  const isContended = Boolean(file.predicted) || (file.agents.length > 1 && !held.every((row) => row.region));
  return html`<li class="file ${isContended ? "contended" : ""}">
    ${showTrack(file.rows)}
    <a class="path" href="${link("code", { project: file.project, file: file.path })}" title="What is known of ${file.path}">${file.name}</a>
    ${file.predicted ? html`<span class="chip bad" title="${file.predicted.detail}">${icon("warn")}conflict predicted</span>` : isContended ? html`<span class="chip warn">${icon("warn")}${holders > 1 ? "held by several" : "several agents"}</span>` : ""}
    <span class="file-agents">${each(file.rows, (row) => row.agent + row.region, showHolder)}</span></li>`;
}

/** @param {any} row */
function showHolder(row) {
  const until = row.mode ? `until ${clock(row.until).slice(0, 5)}` : "";
  return html`<span class="file-agent" title="${[row.agent, row.mode ? "holds it" : "changed it", row.reason, until].filter(Boolean).join(" · ")}">${avatar(row.agent)}<span class="clip">${row.agent}</span>
    ${row.region ? html`<code class="muted">${row.region}</code>` : ""}
    <span class="muted clip why">${row.mode ? row.reason : html`changed ${time(row.at)} ago`}</span>
    ${row.mode ? html`<span class="muted when">${icon("lock")}${clock(row.until).slice(0, 5)}</span>` : html`<span class="muted when"></span>`}${showRelease(row)}</span>`;
}

/** Who holds which lines, drawn to scale; a whole file is a full bar, one that was only changed an outline. @param {any[]} rows */
function showTrack(rows) {
  const spans = rows.map((row) => ({ row, lines: /(\d+)(?:-(\d+))?/.exec(row.region) }));
  const length = Math.max(LEAST_LINES, ...spans.map(({ lines }) => Number(lines?.[2] ?? lines?.[1] ?? 0)));
  const scale = TRACK_WIDTH / length;
  return html`<span class="track" aria-hidden="true">${spans.map(({ row, lines }) => {
    const [first, last] = lines ? [Number(lines[1]) - 1, Number(lines[2] ?? lines[1])] : [0, length];
    return html`<i class="hue-${hue(row.agent)} ${row.mode ? "is-held" : ""}" style:left="${(first * scale).toFixed(1)}px" style:width="${Math.max(3, (last - first) * scale).toFixed(1)}px"></i>`;
  })}</span>`;
}
