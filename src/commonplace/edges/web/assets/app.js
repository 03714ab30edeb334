// The shell: sign-in, rail, top bar, the chosen view, toasts. It draws everything again when a signal changes that it read.

import { each, effect, html, render, signal } from "./dom.js";
import { clock, titleTime } from "./format.js";
import { icon } from "./icons.js";
import { closeDialog, dialog, listenToKeys, openHelp, openPalette } from "./keys.js";
import { onEvents, startLive, stopLive, togglePaused } from "./live.js";
import { counts, loadCounts, overview } from "./overview.js";
import { call, dismiss, go, link, live, paused, project, projects, refuse, route, send, session, tick, toasts } from "./state.js";
import { drawFromStart, openModal, skeleton, whenIdle } from "./view.js";

/** Where each view is: only the one that is shown is fetched before the page is there. @type {Record<string, [string, () => Promise<{view: import("./view.js").View}>]>} */
const SCRIPTS = {
  now: ["Now", () => import("./view-now.js")],
  work: ["Work", () => import("./view-work.js")],
  knowledge: ["Knowledge", () => import("./view-knowledge.js")],
  messages: ["Messages", () => import("./view-messages.js")],
  sessions: ["Sessions", () => import("./view-sessions.js")],
  code: ["Code", () => import("./view-code.js")],
  time: ["Time", () => import("./view-time.js")],
  admin: ["Admin", () => import("./view-admin.js")],
};
/** @type {Record<string, import("./view.js").View>} */
const VIEWS = Object.fromEntries(Object.entries(SCRIPTS).map(([name, [title]]) => [name, { title, load: () => {}, show: skeleton }]));
/** The views whose scripts are there. */
const fetched = signal(/** @type {Set<string>} */ (new Set()));
const TICK_MILLISECONDS = 5000;
const OTHER_VIEWS_MILLISECONDS = 2000;

/** @param {string} name */
async function fetchView(name) {
  if (!SCRIPTS[name] || fetched.current.has(name)) return;
  const { view } = await SCRIPTS[name][1]();
  Object.assign(VIEWS[name], view);
  fetched.current.add(name);
  if (route.current.view === name) fetched.changed();
}

// Starting and signing in

async function start() {
  applyTheme(localStorage.getItem("theme") ?? "");
  const code = new URLSearchParams(location.hash.slice(1)).get("sign-in");
  if (code) history.replaceState({}, "", location.pathname + location.search);
  // The keys of a view work as soon as it is shown.
  const script = fetchView(route.current.view).catch(refuse);
  try {
    const known = await (await fetch("/session")).json();
    await script;
    if (code) await signIn({ code });
    else if (!known.signed_in && !known.needs_key) await signIn({});
    else session.value = known;
  } catch (error) {
    session.value = { signed_in: false, needs_key: true };
    refuse(error);
  }
}

/** @param {{code?: string, key?: string}} secret */
async function signIn(secret) {
  session.value = /** @type {any} */ (await send("/sign-in", secret, { "content-type": "application/json" }, "sign-in"));
}

/** @param {boolean} everywhere */
async function signOut(everywhere) {
  const headers = { "content-type": "application/json", "x-csrf-token": session.current?.csrf ?? "" };
  try {
    await send("/sign-out", { everywhere }, headers, "sign-out");
  } catch (error) {
    refuse(error);
    return;
  }
  closeDialog();
  session.value = { signed_in: false, needs_key: true };
}

const problem = signal("");

/** @param {SubmitEvent} event */
async function submitKey(event) {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  problem.value = "";
  try {
    await signIn({ key: String(new FormData(form).get("key")).trim() });
  } catch (error) {
    problem.value = /** @type {Error} */ (error).message;
  }
}

function showSignIn() {
  return html`<main class="sign-in"><form onsubmit=${submitKey}>
    <h1>Commonplace</h1>
    <p>On the machine of the server, or wherever your agents are connected, run</p>
    <div class="command"><code>commonplace open</code></div>
    <p>and follow the link. Or sign in with a key:</p>
    <label>Key <input name="key" type="password" autocomplete="current-password" required placeholder="smk_…" aria-describedby="problem"></label>
    <p id="problem" class="problem" role="alert">${problem.value}</p>
    <button class="button primary">Sign in</button>
  </form></main>`;
}

// The shell

function show() {
  const known = session.value;
  if (!known) return "";
  if (!known.signed_in) return html`${showSignIn()}${showToasts()}`;
  const { view } = route.value;
  const shown = VIEWS[view];
  void fetched.value;
  return html`
    <a class="skip" href="#main">Skip to content</a>
    ${showRail(view)}
    <div class="page">
      ${showTopBar(known)}
      ${live.value.state === "offline" ? html`<div class="banner" role="status">${icon("warn")} The server does not answer. This is the state of ${clock(new Date(live.value.seen).toISOString())}; nothing can be changed.</div>` : ""}
      <main id="main" tabindex="-1" class="view view-${view}"><h1 class="visually-hidden">${shown?.title ?? "Not found"}</h1>
        ${shown ? shown.show() : html`<div class="empty"><p class="empty-title">There is nothing at this address.</p><p><a href="/">Back to Now</a></p></div>`}</main>
    </div>
    ${showToasts()}${dialog.value?.() ?? ""}`;
}

/** @param {string} view */
function showRail(view) {
  const chosen = route.value.query.get("project");
  const needs = counts.value.waiting;
  return html`<nav class="rail" aria-label="Views">
    <a class="logo" href="${link("now", chosen ? { project: chosen } : {})}" aria-label="Commonplace">${icon("knowledge")}</a>
    ${Object.entries(VIEWS).map(([name, each]) => html`
      <a class="rail-link" href="${link(name, chosen ? { project: chosen } : {})}" aria-current="${name === view ? "page" : null}" title="${each.title} (g ${name[0]})">
        ${icon(name)}<span class="rail-name">${each.title}</span>${name === "now" && needs ? html`<span class="badge" aria-label="${needs} waiting">${needs}</span>` : ""}</a>`)}
    <button class="rail-link rail-end" title="Keys (?)" onclick=${openHelp}><span class="icon key-mark" aria-hidden="true">?</span><span class="rail-name">Keys</span></button>
  </nav>`;
}

/** @param {import("./state.js").Session} known */
function showTopBar(known) {
  const names = projects.value;
  const chosen = project();
  const all = names.some((each) => each.project === chosen) || chosen === "*" ? names : [...names, { project: chosen }];
  return html`<header class="top">
    <select id="project" class="project" aria-label="Project (p)" onchange=${chooseProject}>
      <option value="*" .selected=${chosen === "*"}>All projects</option>
      ${each(all, (item) => item.project, (item) => html`<option value="${item.project}" .selected=${item.project === chosen}>${item.project}</option>`)}
    </select>
    <button class="search-button" aria-label="Search or jump" onclick=${openPalette}>${icon("search")}<span>Search or jump to…</span><kbd>${navigator.platform.startsWith("Mac") ? "⌘" : "Ctrl"} K</kbd></button>
    ${showLive()}
    <button class="me" aria-haspopup="dialog" title="${known.role}: ${known.projects?.includes("*") ? "all projects" : known.projects?.join(", ")}" onclick=${() => openAccount(known)}>${known.agent}</button>
  </header>`;
}

/** @param {any} event */
function chooseProject(event) {
  const { view } = route.current;
  const value = event.target.value;
  history.pushState({}, "", link(view, value === "*" ? {} : { project: value }));
  dispatchEvent(new PopStateEvent("popstate"));
}

function showLive() {
  const { state, behind, seen } = live.value;
  const said = paused.value ? `paused${behind ? `, ${behind} behind` : ""}` : state === "live" ? "live" : state === "connecting" ? "connecting" : `last seen ${clock(new Date(seen).toISOString()).slice(0, 5)}`;
  return html`<button class="live live-${paused.value ? "paused" : state}" title="Live updates (.)" onclick=${togglePaused}><span class="dot" aria-hidden="true"></span><span class="live-text">${said}</span></button>`;
}

function showToasts() {
  return html`<div class="toasts" role="status" aria-live="polite">${each(toasts.value, (item) => item.id, (item) => html`
    <div class="toast ${item.kind}">${icon(item.kind === "done" ? "check" : "warn")}<div>${item.text}${item.hint ? html`<div class="muted">${item.hint}</div>` : ""}</div>
      ${item.undo ? html`<button class="button" onclick=${() => { dismiss(item.id); item.undo?.(); }}>Undo</button>` : ""}
      <button class="icon-button" aria-label="Dismiss" onclick=${() => dismiss(item.id)}>${icon("close")}</button></div>`)}</div>`;
}

/** @param {import("./state.js").Session} known */
function openAccount(known) {
  dialog.value = () => html`<dialog class="dialog" ref=${openModal} onclose=${closeDialog} aria-label="Account">
    <h2>${known.agent}</h2>
    <dl><dt>role</dt><dd>${known.role}${known.operator ? " (operator)" : ""}</dd><dt>projects</dt><dd>${known.projects?.includes("*") ? "all" : known.projects?.join(", ")}</dd><dt>version</dt><dd>${known.version}</dd></dl>
    <div class="row">Theme ${["", "light", "dark"].map((theme) => html`<button class="button ${(localStorage.getItem("theme") ?? "") === theme ? "primary" : ""}" onclick=${() => { localStorage.setItem("theme", theme); applyTheme(theme); dialog.changed(); }}>${theme || "system"}</button>`)}</div>
    <div class="row"><button class="button" onclick=${() => signOut(false)}>Sign out</button><button class="button" onclick=${() => signOut(true)}>Sign out everywhere</button><button class="button push" onclick=${closeDialog}>Close</button></div>
  </dialog>`;
}

/** @param {string} theme */
function applyTheme(theme) {
  document.documentElement.dataset.theme = theme;
}

// Fetching

async function loadProjects() {
  projects.value = (await call("memory_list_projects", { limit: 100 })).projects;
}

/** @param {import("./live.js").LiveEvent[] | null} events */
async function loadAll(events) {
  if (!session.current?.signed_in) return;
  const { view } = route.current;
  const refuseWhileLive = (/** @type {unknown} */ error) => void (live.current.state === "live" && refuse(error));
  const listed = loadProjects().catch(refuseWhileLive);
  const counted = view === "now" ? null : loadCounts().catch(refuseWhileLive);
  await fetchView(view).catch(refuse);
  // Which of all projects such a view shows is known when they are listed.
  if (VIEWS[view]?.isOfOneProject && project() === "*" && !projects.current.length) await listed;
  await Promise.all([listed, counted, VIEWS[view]?.load(events)]);
}

// The tab

/** @type {HTMLCanvasElement | undefined} */ let canvas;

function drawTab() {
  const { waiting, isWorking } = counts.value;
  const needs = session.value?.signed_in ? waiting : 0;
  const title = VIEWS[route.value.view]?.title ?? "";
  document.title = `${needs ? `(${needs}) ` : ""}${title ? `${title} · ` : ""}Commonplace`;
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const turn = isWorking && !isStill ? (tick.value / TICK_MILLISECONDS) % 8 : 0;
  whenIdle(() => drawIcon(needs, isWorking, turn));
}

/** @param {number} needs @param {boolean} works @param {number} turn */
function drawIcon(needs, works, turn) {
  canvas ??= Object.assign(document.createElement("canvas"), { width: 32, height: 32 });
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.clearRect(0, 0, 32, 32);
  pen.fillStyle = "#3d5afe";
  pen.beginPath();
  pen.roundRect(3, 3, 26, 26, 7);
  pen.fill();
  pen.fillStyle = "#fff";
  pen.fillRect(9, 10, 6, 12);
  pen.fillRect(17, 10, 6, 12);
  if (works) {
    pen.strokeStyle = "#22a06b";
    pen.lineWidth = 3;
    pen.beginPath();
    pen.arc(16, 16, 14.5, turn * 0.785, turn * 0.785 + 2);
    pen.stroke();
  }
  if (needs) {
    pen.fillStyle = "#e5484d";
    pen.beginPath();
    pen.arc(25, 7, 7, 0, 7);
    pen.fill();
  }
  document.querySelector("link[rel=icon]")?.setAttribute("href", canvas.toDataURL());
}

// Links of this page change the address without loading the page again.
document.addEventListener("click", (event) => {
  const anchor = /** @type {Element} */ (event.target).closest?.("a[href]");
  if (!anchor || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || anchor.getAttribute("target")) return;
  const address = new URL(/** @type {HTMLAnchorElement} */ (anchor).href);
  if (address.origin !== location.origin || address.hash || address.pathname.endsWith(".json")) return;
  event.preventDefault();
  history.pushState({}, "", address.pathname + address.search);
  dispatchEvent(new PopStateEvent("popstate"));
  scrollTo(0, 0);
});

document.addEventListener("mouseover", titleTime, { passive: true });

let shownAddress = "";
let shownList = "";
effect(() => render(show(), document.body));
effect(drawTab);
effect(() => {
  const isIn = session.value?.signed_in;
  const address = isIn ? `${route.value.view}?${route.value.query}` : "";
  const list = `${route.value.view} ${route.value.query.get("tab")} ${route.value.query.get("mode")}`;
  if (list !== shownList) drawFromStart();
  shownList = list;
  if (address && address !== shownAddress) void loadAll(null);
  shownAddress = address;
});
let wasIn = false;
effect(() => {
  const isIn = Boolean(session.value?.signed_in);
  if (isIn !== wasIn) isIn ? startLive() : stopLive();
  if (!isIn) overview.set(null);
  wasIn = isIn;
});
onEvents(loadAll);
setInterval(() => {
  tick.value = Date.now();
  if (session.current?.signed_in && !document.hidden && !paused.current) void VIEWS[route.current.view]?.poll?.();
}, TICK_MILLISECONDS);
listenToKeys(VIEWS);
void start();
// The others are fetched when there is time for it, so that they open at once, too.
setTimeout(() => whenIdle(() => Object.keys(SCRIPTS).forEach((name) => void fetchView(name))), OTHER_VIEWS_MILLISECONDS);
export { go };
