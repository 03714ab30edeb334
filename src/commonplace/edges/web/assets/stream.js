// The stream of Now: what agents do as it happens, grouped by agent. Whoever scrolls down sees what was before.

import { each, html, signal } from "./dom.js";
import { avatar, describe, time, words } from "./format.js";
import { icon } from "./icons.js";
import { call, go, link, paused, project, route } from "./state.js";
import { drawn, empty, loaded, resource, select } from "./view.js";

const PAGE_EVENTS = 100;
const MOST_EVENTS = 2000;

/** @typedef {{events: any[], cursor: string, isGrown: boolean}} Stream `isGrown`: older pages were fetched */

const nameEvent = (/** @type {any} */ event) => `${event.project} ${event.n}`;
const chosenKind = () => route.current.query.get("kind") ?? "";

/** @param {string} [cursor] */
const fetchPage = (cursor) => call("memory_list_events", { project: project(), limit: PAGE_EVENTS, ...(chosenKind() ? { kinds: [chosenKind()] } : {}), ...(cursor ? { cursor } : {}) });

/** The filters that the events are of: with others it is another stream. */
let listed = "";
export const stream = resource(async () => {
  const wanted = `${project()} ${chosenKind()}`;
  const page = await fetchPage();
  const before = /** @type {Stream | null} */ (stream.data);
  const isSame = wanted === listed;
  listed = wanted;
  for (const event of page.events) seenKinds.add(event.kind);
  return before?.isGrown && isSame ? joinPages(page, before) : { events: page.events, cursor: page.next_cursor ?? "", isGrown: false };
});
/** @type {Set<string>} */ const seenKinds = new Set();

/** The newest page before those that are there. Where more happened than fits one, or the list got too long, the older ones go.
 * @param {any} page @param {Stream} before @returns {Stream} */
function joinPages(page, before) {
  const known = new Set(page.events.map(nameEvent));
  const rest = before.events.filter((event) => !known.has(nameEvent(event)));
  const isJoined = rest.length < before.events.length && known.size + rest.length <= MOST_EVENTS + PAGE_EVENTS;
  return isJoined ? { ...before, events: [...page.events, ...rest] } : { events: page.events, cursor: page.next_cursor ?? "", isGrown: false };
}

let isFetching = false;

async function loadOlder() {
  const { data } = stream;
  if (isFetching || !data?.cursor || data.events.length >= MOST_EVENTS) return;
  isFetching = true;
  try {
    const page = await fetchPage(data.cursor);
    const now = stream.data;
    // What arrived meanwhile stays; another stream does not get these.
    if (now && now.cursor === data.cursor) stream.set({ events: [...now.events, ...page.events], cursor: page.next_cursor ?? "", isGrown: true });
  } finally {
    isFetching = false;
  }
}

/** Fetch as soon as the end comes into view, and again while it is. */
const observer = new IntersectionObserver((entries) => {
  const last = /** @type {IntersectionObserverEntry} */ (entries.at(-1));
  if (!last.isIntersecting) return;
  void loadOlder().then(() => {
    observer.unobserve(last.target);
    if (last.target.isConnected) observer.observe(last.target);
  }).catch(() => {});
});
const watchEnd = (/** @type {Element} */ element) => observer.observe(element);

// While the mouse is over the stream nothing moves under it: events that are newer than the first one wait.

const heldFrom = signal("");

/** @param {boolean} on */
function hover(on) {
  const first = stream.data?.events[0];
  heldFrom.value = on && first ? nameEvent(first) : "";
}

/** @param {any[]} events */
function withoutHeld(events) {
  const first = heldFrom.value ? events.findIndex((event) => nameEvent(event) === heldFrom.value) : 0;
  return first > 0 ? events.slice(first) : events;
}

/** Acts of one agent in a row are one group. @param {any[]} events */
function groupEvents(events) {
  /** @type {{key: string, actor: string, project: string, events: any[]}[]} */ const groups = [];
  for (const event of events) {
    const last = groups.at(-1);
    if (last && last.actor === event.actor && last.project === event.project) last.events.push(event);
    else groups.push({ key: "", actor: event.actor ?? "", project: event.project, events: [event] });
  }
  for (const group of groups) group.key = nameEvent(group.events.at(-1));
  return groups;
}

export function showStream() {
  const kind = route.value.query.get("kind") ?? "";
  return html`<aside class="stream" aria-label="Live stream" onmouseenter=${() => hover(true)} onmouseleave=${() => hover(false)}>
    <h2>Stream ${paused.value || heldFrom.value ? html`<span class="chip">${icon("pause")}${paused.value ? "paused" : "held"}</span>` : ""}
      <span class="push">${select("Kind of event", kind, [["", "everything"], ...listKinds(kind)], (value) => go("now", { kind: value }, { keep: true, replace: true }))}</span></h2>
    ${loaded(stream, ({ events, cursor }) => {
      if (!events.length) return empty("Quiet", "What agents do appears here as it happens.");
      const groups = groupEvents(withoutHeld(events));
      const shown = drawn(groups);
      return html`<ol>${each(shown, (group) => group.key, showGroup)}</ol>${shown.length === groups.length ? showEnd(events, cursor) : ""}`;
    })}
  </aside>`;
}

/** @param {any[]} events @param {string} cursor */
function showEnd(events, cursor) {
  if (!cursor) return html`<p class="stream-end muted">That is everything that is kept.</p>`;
  if (events.length >= MOST_EVENTS) return html`<p class="stream-end"><a href="${link("time", project() === "*" ? { span: "7d" } : { span: "7d", project: project() })}">Older events are on the axis of Time</a></p>`;
  return html`<div class="stream-end" ref=${watchEnd}><button class="button more" onclick=${loadOlder}>Show older</button></div>`;
}

/** @param {string} chosen @returns {[string, string][]} */
function listKinds(chosen) {
  return [...new Set([...seenKinds, ...(chosen ? [chosen] : [])])].sort().map((kind) => [kind, words(kind)]);
}

/** @param {{actor: string, project: string, events: any[]}} group */
function showGroup(group) {
  /** @type {Map<string, number>} */ const tally = new Map();
  for (const event of group.events) tally.set(event.kind, (tally.get(event.kind) ?? 0) + 1);
  const latest = group.events[0];
  return html`<li class="group">
    ${avatar(group.actor || "?")}
    <div><b>${group.actor || "the server"}</b> <span class="muted">${time(latest.at)}</span>
      <div>${each(tally, ([kind]) => kind, ([kind, n]) => html`<span class="act">${n > 1 ? html`<b>${n}×</b> ` : ""}${words(kind)}</span>`)}</div>
      ${describe(latest) ? html`<div class="muted clip">${describe(latest)}</div>` : ""}</div>
  </li>`;
}
