// Keys, the list of them, and the palette that finds everything.

import { each, html, signal } from "./dom.js";
import { icon } from "./icons.js";
import { togglePaused } from "./live.js";
import { openModal } from "./view.js";
import { overview } from "./overview.js";
import { call, copy, dismiss, go, oneProject, paused, projects, route, toasts } from "./state.js";

/** What is open above the page. @type {import("./dom.js").Signal<(() => unknown) | null>} */
export const dialog = signal(null);

export function closeDialog() {
  dialog.value = null;
}

/** @type {Record<string, import("./view.js").View>} */ let views = {};
let isAfterG = false;

const COMMON = /** @type {[string, string][]} */ ([
  ["?", "show the keys"], ["Ctrl K  /", "search or jump"], ["g + letter", "go to a view"], ["j  k", "move in a list"], ["enter", "open"], ["esc", "close or back"], ["u", "undo"], ["y", "copy the address"], ["p", "choose the project"], [".", "pause and resume"],
]);

/** @param {Record<string, import("./view.js").View>} given */
export function listenToKeys(given) {
  views = given;
  addEventListener("keydown", press);
}

/** @param {KeyboardEvent} event */
function press(event) {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    openPalette();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = /** @type {HTMLElement} */ (event.target);
  const isTyping = target.matches?.("input, textarea, select, [contenteditable]");
  if (event.key === "Escape") return void escape(target, Boolean(isTyping));
  if (isTyping || dialog.current) return;
  const act = findAct(event.key);
  if (act) {
    event.preventDefault();
    act();
  }
}

/** @param {string} key @returns {(() => void) | undefined} */
function findAct(key) {
  if (isAfterG) {
    isAfterG = false;
    const name = Object.keys(views).find((each) => each[0] === key);
    return name ? () => go(name) : undefined;
  }
  const own = views[route.current.view]?.keys?.[key];
  if (own) return own[1];
  switch (key) {
    case "g":
      setTimeout(() => (isAfterG = false), 1500);
      return () => (isAfterG = true);
    case "?":
      return openHelp;
    case "/":
      return openPalette;
    case "p":
      return () => document.getElementById("project")?.focus();
    case ".":
    case " ":
      return key === " " && document.activeElement?.matches("button, a, summary, [role=button]") ? undefined : togglePaused;
    case "j":
    case "ArrowDown":
      return () => move(1);
    case "k":
    case "ArrowUp":
      return () => move(-1);
    case "Enter":
      return document.activeElement?.matches("[data-row]") ? () => openRow() : undefined;
    case "u":
      return undo;
    case "y":
      return () => void copy(location.href, "The address is copied.");
  }
}

/** @param {HTMLElement} target @param {boolean} isTyping */
function escape(target, isTyping) {
  if (dialog.current) return closeDialog();
  if (isTyping) return target.blur();
  const { view, query } = route.current;
  const panel = ["doc", "item", "thread", "session", "function", "file", "board"].find((name) => query.has(name));
  if (panel) go(view, { [panel]: "", line: "", version: "" }, { keep: true });
}

/** Move the focus among the rows of the view. @param {1 | -1} step */
function move(step) {
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("main [data-row]")].filter((row) => row.checkVisibility()));
  const index = rows.findIndex((row) => row === document.activeElement || row.contains(document.activeElement));
  const next = rows[index < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, index + step))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

/** A row that opens something when it is clicked can be reached by Tab. In the others a link is followed, but a button only
 * gets the focus: it may answer an agent. */
function openRow() {
  const row = /** @type {HTMLElement} */ (document.activeElement);
  if (row.matches("a, button") || row.tabIndex === 0) return row.click();
  const inner = /** @type {HTMLElement | null} */ (row.querySelector("a[href]"));
  if (inner) inner.click();
  else /** @type {HTMLElement | null} */ (row.querySelector("button"))?.focus();
}

function undo() {
  const last = toasts.current.findLast((item) => item.undo);
  if (!last) return;
  dismiss(last.id);
  last.undo?.();
}

export function openHelp() {
  const own = Object.entries(views[route.current.view]?.keys ?? {}).map(([key, [text]]) => /** @type {[string, string]} */ ([key, text]));
  dialog.value = () => html`<dialog class="dialog" ref=${openModal} onclose=${closeDialog} aria-label="Keys">
    <h2>Keys</h2>
    <div class="key-columns">
      <dl>${COMMON.map(([key, text]) => html`<dt><kbd>${key}</kbd></dt><dd>${text}</dd>`)}</dl>
      <dl>${Object.entries(views).map(([name, view]) => html`<dt><kbd>g ${name[0]}</kbd></dt><dd>${view.title}</dd>`)}
        ${own.map(([key, text]) => html`<dt><kbd>${key}</kbd></dt><dd>${text}</dd>`)}</dl>
    </div>
    <div class="row"><a class="button" href="${jsonAddress()}" target="_blank" rel="noopener">This view as JSON</a><button class="button push" onclick=${closeDialog}>Close</button></div></dialog>`;
}

// The palette

const typed = signal("");
const chosen = signal(0);
/** @type {import("./dom.js").Signal<any[]>} */ const found = signal([]);
/** @type {number | undefined} */ let timer;

export function openPalette() {
  typed.value = "";
  chosen.value = 0;
  found.value = [];
  dialog.value = showPalette;
  if (route.current.view !== "now") void overview.load();
}

/** @returns {{key: string, mark: string, text: string, note: string, act: () => void}[]} */
function listEntries() {
  const text = typed.value.toLowerCase();
  const fits = (/** @type {string} */ name) => name.toLowerCase().includes(text);
  const places = Object.entries(views).filter(([, view]) => fits(view.title)).map(([name, view]) => ({ key: `view ${name}`, mark: name, text: view.title, note: `g ${name[0]}`, act: () => go(name) }));
  const acts = [{ key: "new item", mark: "plus", text: "New backlog item", note: "Work, c", act: () => go("work", { create: "1" }) }, { key: "new message", mark: "messages", text: "New message", note: "Messages, c", act: () => go("messages", { to: "*" }) }].filter((act) => fits(act.text));
  const more = [
    { key: "standup", mark: "time", text: "Standup: what was done, with what proof", note: "Time", act: () => go("time", { tab: "standup" }) },
    { key: "look", mark: "warn", text: "Documents to look at", note: "Knowledge", act: () => go("knowledge", { tab: "look" }) },
    { key: "boot", mark: "knowledge", text: "What an agent would be told", note: "Knowledge", act: () => go("knowledge", { tab: "boot" }) },
    { key: "health", mark: "admin", text: "Health of the server", note: "Admin", act: () => go("admin", { tab: "health" }) },
    { key: "rules", mark: "shield", text: "Rules and their hits", note: "Admin", act: () => go("admin", { tab: "guidelines" }) },
    { key: "pause", mark: "pause", text: paused.value ? "Resume live updates" : "Pause live updates", note: ".", act: togglePaused },
    { key: "json", mark: "code", text: "This view as JSON", note: ".json", act: () => open(jsonAddress(), "_blank", "noopener") },
    { key: "keys", mark: "search", text: "Show the keys", note: "?", act: openHelp },
  ].filter((act) => text && fits(act.text));
  const files = [...new Map((overview.data?.files ?? []).map((/** @type {any} */ file) => [file.project + file.path, file])).values()].filter((file) => text && fits(file.path)).slice(0, 6).map((file) => ({ key: `file ${file.project}${file.path}`, mark: "code", text: file.path, note: `held or changed by ${file.agent}`, act: () => go("code", { project: file.project, file: file.path }) }));
  const known = projects.value.filter((each) => fits(each.project)).slice(0, 6).map((each) => ({ key: `project ${each.project}`, mark: "branch", text: each.project, note: "project", act: () => go(route.current.view, { project: each.project }) }));
  const agents = (overview.data?.agents ?? []).filter((/** @type {any} */ agent) => text && fits(agent.agent)).slice(0, 6).map((/** @type {any} */ agent) => ({ key: `agent ${agent.session}`, mark: "now", text: agent.agent, note: agent.task ?? "agent", act: () => go("messages", { project: agent.project, to: agent.agent }) }));
  const hits = found.value.map((hit) => ({ key: hit.id, mark: "knowledge", text: hit.title, note: `${hit.type} · ${hit.source ?? ""}`, act: () => openHit(hit) }));
  const search = text ? [{ key: "search", mark: "search", text: `Search for “${typed.value}”`, note: "Knowledge", act: () => go("knowledge", { q: typed.current }) }] : [];
  const named = text ? places.filter((place) => place.text.toLowerCase().startsWith(text)) : [];
  return [...named, ...agents, ...files, ...hits, ...search, ...places.filter((place) => !named.includes(place)), ...acts, ...more, ...known];
}

/** The address of the operation's answer behind the view. */
export function jsonAddress() {
  const { view, query } = route.current;
  const chosen = query.get("project");
  const given = views[view]?.json?.() ?? (chosen ? { project: chosen } : {});
  const text = new URLSearchParams(given).toString();
  return `/${view}.json${text ? `?${text}` : ""}`;
}

/** @param {any} hit */
function openHit(hit) {
  const project = hit.source || oneProject();
  if (hit.kind === "backlog" || hit.type === "backlog") go("work", { project, item: hit.id });
  else go("knowledge", { project, doc: hit.id });
}

/** @param {any} event */
function type(event) {
  typed.value = event.target.value;
  chosen.value = 0;
  clearTimeout(timer);
  const asked = typed.value;
  if (asked.length < 2) return void (found.value = []);
  timer = setTimeout(async () => {
    const reply = await call("memory_query", { query: asked, project: oneProject(), limit: 8, detail: "snippet", max_tokens: 1000 }).catch(() => null);
    if (reply && typed.current === asked) found.value = reply.results;
  }, 150);
}

/** @param {KeyboardEvent} event */
function steer(event) {
  const entries = listEntries();
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    chosen.value = (chosen.current + (event.key === "ArrowDown" ? 1 : -1) + entries.length) % Math.max(1, entries.length);
  } else if (event.key === "Enter") {
    event.preventDefault();
    pick(entries[chosen.current]);
  }
}

/** @param {{act: () => void} | undefined} entry */
function pick(entry) {
  if (!entry) return;
  closeDialog();
  entry.act();
}

function showPalette() {
  const entries = listEntries();
  return html`<dialog class="dialog palette" ref=${openModal} onclose=${closeDialog} aria-label="Search or jump">
    <div class="palette-input">${icon("search")}<input role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant="palette-${chosen.value}" aria-label="Search everything" placeholder="Search everything, or jump to…" autocomplete="off" .value=${typed.value} oninput=${type} onkeydown=${steer}></div>
    <ul id="palette-list" role="listbox" aria-label="Results">${each(entries, (entry) => entry.key, (entry, index) => html`
      <li id="palette-${index}" role="option" aria-selected="${String(index === chosen.value)}" onmousemove=${() => (chosen.value = index)} onclick=${() => pick(entry)}>${icon(entry.mark)}<span class="clip">${entry.text}</span><span class="muted push clip">${entry.note}</span></li>`)}</ul>
  </dialog>`;
}
