// Time: every event on one axis. Select a part of it and the list follows; play it back.

import { each, html, signal } from "./dom.js";
import { avatar, clock, count, exact, words } from "./format.js";
import { icon } from "./icons.js";
import { showStandup } from "./standup.js";
import { call, go, project, route } from "./state.js";
import { empty, loaded, resource, select, tabs } from "./view.js";
import { describe } from "./view-now.js";

const SPANS = /** @type {Record<string, [string, number]>} */ ({ "1h": ["last hour", 3600e3], "8h": ["last 8 hours", 8 * 3600e3], "24h": ["last day", 24 * 3600e3], "7d": ["last week", 7 * 24 * 3600e3] });
const BARS = 96;
const MOST_EVENTS = 2000;

const events = resource(async () => {
  const [, length] = span();
  const since = new Date(Date.now() - length).toISOString();
  /** @type {any[]} */ const found = [];
  let cursor = "";
  do {
    const page = await call("memory_list_events", { project: project(), since, limit: 500, ...(cursor ? { cursor } : {}) });
    found.push(...page.events);
    cursor = page.next_cursor ?? "";
  } while (cursor && found.length < MOST_EVENTS);
  return { found, from: Date.parse(since), to: Date.now(), isCut: Boolean(cursor) };
});
/** @type {import("./dom.js").Signal<[number, number] | null>} */ const brush = signal(null);
const playhead = signal(/** @type {number | null} */ (null));
/** @type {number | undefined} */ let player;

const span = () => SPANS[route.current.query.get("span") ?? "24h"] ?? SPANS["24h"];

const isStandup = () => route.current.query.get("tab") === "standup";
const standup = resource(async () => call("memory_get_standup", { project: project(), since: new Date(Date.now() - span()[1]).toISOString() }));

/** @type {import("./view.js").View} */
export const view = { title: "Time", load: () => (isStandup() ? standup : events).load(), show, keys: { " ": ["play or stop", togglePlay] } };

function show() {
  const query = route.value.query;
  const chosen = query.get("tab") === "standup" ? "standup" : "events";
  const choices = tabs([["events", "Events"], ["standup", "Standup"]], chosen, (key) => go("time", { tab: key === "events" ? "" : key }, { keep: true }));
  if (chosen === "standup")
    return html`<div class="bar">${choices}${showSpan(query)}</div>${loaded(standup, showStandup)}`;
  return html`
    <div class="bar">${choices}
      ${showSpan(query)}
      ${select("Agent", query.get("actor") ?? "", [["", "every agent"], ...distinct("actor")], (value) => go("time", { actor: value }, { keep: true, replace: true }))}
      ${select("Kind", query.get("kind") ?? "", [["", "every kind"], ...distinct("kind")], (value) => go("time", { kind: value }, { keep: true, replace: true }))}
      <button class="button" onclick=${togglePlay}>${icon(playhead.value === null ? "play" : "pause")}${playhead.value === null ? "Play" : "Stop"}</button>
      ${brush.value ? html`<button class="chip" onclick=${() => (brush.value = null)}>${clock(new Date(brush.value[0]).toISOString())} – ${clock(new Date(brush.value[1]).toISOString())} ${icon("close")}</button>` : ""}
    </div>
    ${loaded(events, showAxis)}`;
}

/** @param {URLSearchParams} query */
function showSpan(query) {
  return select("Span", query.get("span") ?? "24h", Object.entries(SPANS).map(([key, [text]]) => /** @type {[string, string]} */ ([key, text])), (value) => { brush.value = null; go("time", { span: value === "24h" ? "" : value }, { keep: true }); });
}

/** @param {string} name @returns {[string, string][]} */
function distinct(name) {
  const values = new Set((events.data?.found ?? []).map((event) => event[name]).filter(Boolean));
  return [...values].sort().map((value) => [value, name === "kind" ? words(value) : value]);
}

/** @param {{found: any[], from: number, to: number, isCut: boolean}} data */
function showAxis({ found, from, to, isCut }) {
  const query = route.value.query;
  const fitting = found.filter((event) => (!query.get("actor") || event.actor === query.get("actor")) && (!query.get("kind") || event.kind === query.get("kind")));
  const bars = new Array(BARS).fill(0);
  for (const event of fitting) bars[Math.min(BARS - 1, Math.max(0, Math.floor(((Date.parse(event.at) - from) / (to - from)) * BARS)))]++;
  const most = Math.max(1, ...bars);
  const [start, end] = brush.value ?? [from, playhead.value ?? to];
  const shown = fitting.filter((event) => Date.parse(event.at) >= start && Date.parse(event.at) <= (playhead.value ?? end));
  const x = (/** @type {number} */ at) => ((at - from) / (to - from)) * 960;
  return html`
    <svg class="axis" viewBox="0 0 960 96" preserveAspectRatio="none" role="img" aria-label="${count(fitting.length, "event")} between ${exact(new Date(from).toISOString())} and ${exact(new Date(to).toISOString())}" onpointerdown=${(/** @type {PointerEvent} */ event) => startBrush(event, from, to)}>
      ${brush.value ? html`<rect class="brush" x="${x(brush.value[0])}" y="0" width="${Math.max(2, x(brush.value[1]) - x(brush.value[0]))}" height="96"/>` : ""}
      <path class="bars" d="${bars.map((n, index) => (n ? `M${index * 10 + 5} 92v${-Math.max(2, Math.round((n / most) * 84))}` : "")).join("") || "M0 0"}"/>
      ${playhead.value === null ? "" : html`<path class="playhead" d="M${x(playhead.value)} 0v96"/>`}
    </svg>
    <div class="axis-labels muted"><span>${exact(new Date(from).toISOString())}</span><span>${exact(new Date(to).toISOString())}</span></div>
    <p class="muted" role="status">${playhead.value === null ? "" : html`State as of <b>${exact(new Date(playhead.value).toISOString())}</b> · `}${count(shown.length, "event")}${isCut ? `, the newest ${found.length} of this span` : ""}${brush.value ? " in the selection" : ""}. Drag over the axis to select.</p>
    ${shown.length ? html`<ol class="events">${each(shown.slice(0, 300), (event) => `${event.project}${event.n}`, (event) => html`
      <li class="event" data-row tabindex="-1"><time class="muted" datetime="${event.at}" title="${exact(event.at)}">${clock(event.at)}</time>${avatar(event.actor || "?")}<span class="clip name"><b>${event.actor || "the server"}</b></span><span class="act">${words(event.kind)}</span><span class="muted clip grow">${describe(event)}</span><span class="muted">${event.project}</span></li>`)}</ol>` : empty("Nothing happened", "No event lies in this part of time.")}`;
}

/** @param {PointerEvent} event @param {number} from @param {number} to */
function startBrush(event, from, to) {
  const axis = /** @type {Element} */ (event.currentTarget);
  const box = axis.getBoundingClientRect();
  const at = (/** @type {PointerEvent} */ each) => from + Math.min(1, Math.max(0, (each.clientX - box.left) / box.width)) * (to - from);
  const first = at(event);
  axis.setPointerCapture(event.pointerId);
  const move = (/** @type {Event} */ each) => {
    const other = at(/** @type {PointerEvent} */ (each));
    brush.value = [Math.min(first, other), Math.max(first, other)];
  };
  const stop = () => {
    axis.removeEventListener("pointermove", move);
    if (brush.current && brush.current[1] - brush.current[0] < (to - from) / 200) brush.value = null;
  };
  axis.addEventListener("pointermove", move);
  axis.addEventListener("pointerup", stop, { once: true });
}

/** Play the selection, or the whole span, in half a minute. */
function togglePlay() {
  if (player !== undefined) {
    clearInterval(player);
    player = undefined;
    playhead.value = null;
    return;
  }
  const data = events.data;
  if (!data) return;
  const [start, end] = brush.current ?? [data.from, data.to];
  playhead.value = start;
  player = setInterval(() => {
    const next = (playhead.current ?? start) + (end - start) / 150;
    if (next >= end || route.current.view !== "time") togglePlay();
    else playhead.value = next;
  }, 200);
}
