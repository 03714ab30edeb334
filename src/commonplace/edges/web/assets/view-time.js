// Time: every event on one axis. Select a part of it and the list and the state as of then follow; play it back.

import { foldEvents, showAsOf } from "./as-of.js";
import { each, html, signal } from "./dom.js";
import { avatar, clock, count, describe, exact, minute, words } from "./format.js";
import { icon } from "./icons.js";
import { showStandup } from "./standup.js";
import { call, go, link, project, route } from "./state.js";
import { drawn, empty, loaded, resource, select, tabs } from "./view.js";

const SPANS = /** @type {Record<string, [string, number]>} */ ({ "1h": ["last hour", 3600e3], "8h": ["last 8 hours", 8 * 3600e3], "24h": ["last day", 24 * 3600e3], "7d": ["last week", 7 * 24 * 3600e3] });
const SPEEDS = /** @type {[string, string][]} */ ([["", "in 30 s"], ["1", "1×"], ["60", "60×"], ["600", "600×"]]);
const BARS = 96;
const FIRST_EVENTS = 200;
const PAGE_EVENTS = 500;
const MOST_EVENTS = 2000;
const MOST_SHOWN = 300;
const PLAY_MILLISECONDS = 200;

/** The newest are shown while the older ones are fetched. */
const events = resource(async (showFirst) => {
  const [, length] = span();
  const since = new Date(Date.now() - length).toISOString();
  const [from, to] = [Date.parse(since), Date.now()];
  /** @type {any[]} */ const found = [];
  let cursor = "";
  do {
    const page = await call("memory_list_events", { project: project(), since, limit: found.length ? PAGE_EVENTS : FIRST_EVENTS, ...(cursor ? { cursor } : {}) });
    found.push(...page.events);
    cursor = page.next_cursor ?? "";
    if (cursor) showFirst({ found: [...found], from, to, isCut: true });
  } while (cursor && found.length < MOST_EVENTS);
  return { found, from, to, isCut: Boolean(cursor) };
});
/** @type {import("./dom.js").Signal<[number, number] | null>} */ const brush = signal(null);
const playhead = signal(/** @type {number | null} */ (null));
/** @type {number | undefined} */ let player;

/** The chosen span, or the first one in which the selection of the address lies. */
function span() {
  const chosen = SPANS[route.current.query.get("span") ?? "24h"] ?? SPANS["24h"];
  const asked = readBrush();
  const needed = asked ? Date.now() - asked[0] : 0;
  return needed <= chosen[1] ? chosen : Object.values(SPANS).find(([, length]) => length >= needed) ?? SPANS["7d"];
}

/** The selection that the address names. @returns {[number, number] | null} */
function readBrush() {
  const [start, end] = ["from", "until"].map((name) => Date.parse(route.current.query.get(name) ?? ""));
  return start < end ? [start, end] : null;
}

/** Keep the selection in the address. */
function keepBrush() {
  const [from, until] = (brush.current ?? []).map((at) => new Date(at).toISOString());
  go("time", { from, until }, { keep: true, replace: true });
}

const isStandup = () => route.current.query.get("tab") === "standup";
const standup = resource(async () => call("memory_get_standup", { project: project(), since: new Date(Date.now() - span()[1]).toISOString() }));

/** @type {import("./view.js").View} */
export const view = { title: "Time", load() {
    brush.value ??= readBrush();
    return (isStandup() ? standup : events).load();
  }, show, json: () => ({ since: new Date(Date.now() - span()[1]).toISOString(), ...(project() === "*" ? {} : { project: project() }) }), keys: { " ": ["play or stop", togglePlay] } };

function show() {
  const query = route.value.query;
  const chosen = query.get("tab") === "standup" ? "standup" : "events";
  const choices = tabs([["events", "Events"], ["standup", "Standup"]], chosen, (key) => go("time", { tab: key === "events" ? "" : key }, { keep: true }));
  if (chosen === "standup")
    return html`<div class="bar">${choices}${showSpan(query)}</div>${loaded(standup, showStandup)}`;
  const isPlaying = playhead.value !== null;
  return html`
    <div class="bar">${choices}
      ${showSpan(query)}
      ${select("Agent", query.get("actor") ?? "", [["", "every agent"], ...distinct("actor")], (value) => go("time", { actor: value }, { keep: true, replace: true }))}
      ${select("Kind", query.get("kind") ?? "", [["", "every kind"], ...distinct("kind")], (value) => go("time", { kind: value }, { keep: true, replace: true }))}
      <span class="push row"><button class="button" onclick=${togglePlay}>${icon(isPlaying ? "pause" : "play")}${isPlaying ? "Stop" : "Play"}</button>
      ${select("Speed", query.get("speed") ?? "", SPEEDS, (value) => go("time", { speed: value }, { keep: true, replace: true }))}</span>
    </div>
    ${loaded(events, showAxis)}`;
}

/** @param {URLSearchParams} query */
function showSpan(query) {
  return select("Span", query.get("span") ?? "24h", Object.entries(SPANS).map(([key, [text]]) => /** @type {[string, string]} */ ([key, text])), (value) => { brush.value = null; go("time", { from: "", until: "", span: value === "24h" ? "" : value }, { keep: true }); });
}

/** @param {string} name @returns {[string, string][]} */
function distinct(name) {
  const values = new Set((events.data?.found ?? []).map((/** @type {any} */ event) => event[name]).filter(Boolean));
  return drawn([...values].sort()).map((value) => [value, name === "kind" ? words(value) : value]);
}

/** @param {{found: any[], from: number, to: number, isCut: boolean}} data */
function showAxis({ found, from, to, isCut }) {
  const query = route.value.query;
  const fitting = found.filter((event) => (!query.get("actor") || event.actor === query.get("actor")) && (!query.get("kind") || event.kind === query.get("kind")));
  const bars = new Array(BARS).fill(0);
  for (const event of fitting) bars[Math.min(BARS - 1, Math.max(0, Math.floor(((Date.parse(event.at) - from) / (to - from)) * BARS)))]++;
  const most = Math.max(1, ...bars);
  const moment = playhead.value ?? brush.value?.[1] ?? to;
  const start = brush.value?.[0] ?? from;
  const shown = fitting.filter((event) => Date.parse(event.at) >= start && Date.parse(event.at) <= moment);
  const isPast = playhead.value !== null || brush.value !== null;
  const x = (/** @type {number} */ at) => ((at - from) / (to - from)) * 960;
  return html`
    <div class="axis-frame" role="group" tabindex="0" aria-label="Time axis: ${count(fitting.length, "event")} between ${minute(from)} and ${minute(to)}. Arrow keys select, with shift more, escape clears." onkeydown=${(/** @type {KeyboardEvent} */ event) => steer(event, from, to)}>
    <svg class="axis" viewBox="0 0 960 96" preserveAspectRatio="none" aria-hidden="true" onpointerdown=${(/** @type {PointerEvent} */ event) => startBrush(event, from, to)}>
      <path class="grid" d="${listTicks(from, to).map((at) => `M${x(at).toFixed(1)} 0v96`).join("") || "M0 0"}"/>
      ${brush.value ? html`<svg x="0" y="0" width="960" height="96"><rect class="brush" x="${x(brush.value[0])}" y="0" width="${Math.max(2, x(brush.value[1]) - x(brush.value[0]))}" height="96"/></svg>` : ""}
      <path class="bars" d="${bars.map((n, index) => (n ? `M${index * 10 + 5} 96v${-Math.max(3, Math.round((n / most) * 84))}` : "")).join("") || "M0 0"}"/>
      ${playhead.value === null ? "" : html`<svg x="0" y="0" width="960" height="96"><path class="playhead" d="M${x(playhead.value)} 0v96"/></svg>`}
    </svg>
    <div class="axis-labels muted" aria-hidden="true">${listTicks(from, to).map((at) => html`<span style:left="${(x(at) / 9.6).toFixed(2)}%">${nameTick(at, to - from)}</span>`)}</div></div>
    <p class="muted axis-note" role="status">${isPast ? html`<b>State as of ${exact(new Date(moment).toISOString())}</b> · ` : ""}${count(shown.length, "event")}${isCut ? `, the newest ${found.length} of this span` : ""}${brush.value ? html` in the selection <button class="chip" onclick=${() => { brush.value = null; keepBrush(); }}>${clock(new Date(brush.value[0]).toISOString()).slice(0, 5)} – ${clock(new Date(brush.value[1]).toISOString()).slice(0, 5)} ${icon("close")}</button>` : isPast ? "" : ". Drag over the axis, or use the arrow keys on it, to see the state as of then."}</p>
    <div class="with-past ${isPast ? "is-past" : ""}">
    ${shown.length ? html`<ol class="events">${each(drawn(shown.slice(0, MOST_SHOWN)), (event) => `${event.project}${event.n}`, showEvent)}${shown.length > MOST_SHOWN ? html`<li class="muted center">The newest ${MOST_SHOWN} of ${shown.length.toLocaleString()} are listed.</li>` : ""}</ol>` : empty("Nothing happened", "No event lies in this part of time.")}
    ${isPast ? showAsOf(foldEvents(found, moment), moment) : ""}</div>`;
}

/** Full hours or days, six at most. @param {number} from @param {number} to */
function listTicks(from, to) {
  const steps = [600e3, 1800e3, 3600e3, 2 * 3600e3, 4 * 3600e3, 6 * 3600e3, 24 * 3600e3];
  const step = steps.find((each) => (to - from) / each <= 7) ?? 48 * 3600e3;
  const shift = new Date(from).getTimezoneOffset() * 60000;
  /** @type {number[]} */ const ticks = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at < to - (to - from) / 40; at += step) if (at > from + (to - from) / 40) ticks.push(at);
  return ticks;
}

/** @param {number} at @param {number} length */
const nameTick = (at, length) => (length > 2 * 86400e3 ? new Date(at).toLocaleDateString(undefined, { weekday: "short", day: "numeric" }) : clock(new Date(at).toISOString()).slice(0, 5));

/** Where an event's own thing is shown. @param {any} event */
function eventLink(event) {
  const { project, body = {}, kind } = event;
  const id = String(body.id ?? "");
  if (id.startsWith("doc_")) return link("knowledge", { project, doc: id });
  if (id.startsWith("backlog_")) return link("work", { project, item: id });
  if (id.startsWith("func_")) return link("code", { project, function: id });
  if (kind === "SessionArchived") return link("sessions", { project });
  const [file] = body.files ?? [];
  return file ? link("code", { project, file: String(file).replace(/:.*$/, "") }) : "";
}

/** @param {any} event */
function showEvent(event) {
  const address = eventLink(event);
  const about = describe(event) || (address ? "open" : "");
  return html`<li class="event" data-row tabindex="-1"><time class="muted" datetime="${event.at}">${clock(event.at)}</time>${avatar(event.actor || "?")}<b class="clip name">${event.actor || "the server"}</b><span class="act clip">${words(event.kind)}</span><span class="clip grow">${address ? html`<a class="quiet" href="${address}">${about}</a>` : html`<span class="muted">${about}</span>`}</span>${project() === "*" ? html`<span class="muted">${event.project}</span>` : ""}</li>`;
}

/** A selection by keys: one bar at a time, with shift more of them. @param {KeyboardEvent} event @param {number} from @param {number} to */
function steer(event, from, to) {
  const step = (to - from) / BARS;
  if (event.key === "Escape" && brush.current) {
    event.stopPropagation();
    brush.value = null;
    return keepBrush();
  }
  const way = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
  if (!way) return;
  event.preventDefault();
  const [start, end] = brush.current ?? [to, to];
  const bounded = (/** @type {number} */ at) => Math.min(to, Math.max(from, at));
  brush.value = event.shiftKey && brush.current ? [start, Math.max(start + step, bounded(end + way * step))] : [bounded(start + way * step), bounded(Math.max(start + way * step + step, from + step))];
  keepBrush();
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
    keepBrush();
  };
  axis.addEventListener("pointermove", move);
  axis.addEventListener("pointerup", stop, { once: true });
}

/** Play the selection, or the whole span. */
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
    const speed = Number(route.current.query.get("speed") ?? 0);
    const next = (playhead.current ?? start) + (speed ? speed * PLAY_MILLISECONDS : (end - start) / 150);
    if (next >= end || route.current.view !== "time") togglePlay();
    else playhead.value = next;
  }, PLAY_MILLISECONDS);
}
