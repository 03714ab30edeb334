// One event stream for all tabs of a browser: browsers allow six connections to a host, so the seventh tab would hang.
//
// The tab that holds the lock reads the stream and passes events on; when it closes, another one gets the lock. Events
// carry ids, not contents: each view fetches again what it shows, at most four times a second.

import { live, paused } from "./state.js";

const CHANNEL = "commonplace-live";
const SPACING_MILLISECONDS = 250;
const HIDDEN_SPACING_MILLISECONDS = 5000;
const OFFLINE_MILLISECONDS = 4000;

/** @typedef {{project: string, n: number, kind: string, uri: string, at: string, actor?: string, body?: Record<string, any>}} LiveEvent */

/** @type {Set<(events: LiveEvent[]) => void>} */ const listeners = new Set();
/** @type {LiveEvent[]} */ let gathered = [];
/** @type {number | undefined} */ let timer;
/** @type {BroadcastChannel | undefined} */ let channel;
/** @type {AbortController | undefined} */ let leading;

/** Call with the events since the last time; an empty list means that anything may have changed.
 * @param {(events: LiveEvent[]) => void} listener @returns {() => void} */
export function onEvents(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function startLive() {
  stopLive();
  channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }) => receive(data);
  leading = new AbortController();
  navigator.locks
    .request(CHANNEL, { signal: leading.signal }, () => new Promise((release) => lead(/** @type {() => void} */ (release))))
    .catch(() => {});
  channel.postMessage({ hello: true });
}

export function stopLive() {
  leading?.abort("stopped");
  stopLeading?.();
  channel?.close();
  channel = leading = undefined;
}

/** @type {(() => void) | undefined} */ let stopLeading;

/** @param {() => void} release */
function lead(release) {
  const source = new EventSource("/events?project=*");
  const say = (/** @type {object} */ message) => {
    channel?.postMessage(message);
    receive(message);
  };
  // What happened before the stream was open, or while it was not, is not known: everything is fetched again.
  /** @type {number | undefined} */ let lost;
  let isLost = false;
  source.onopen = () => {
    clearTimeout(lost);
    lost = undefined;
    isLost = false;
    say({ status: "live", events: [] });
  };
  // The browser tries again by itself and calls that connecting, for as long as the server is away.
  source.onerror = () => {
    isLost ||= source.readyState === EventSource.CLOSED;
    say({ status: isLost ? "offline" : "connecting" });
    lost ??= setTimeout(() => {
      isLost = true;
      say({ status: "offline" });
    }, OFFLINE_MILLISECONDS);
  };
  source.onmessage = ({ data }) => say({ events: [JSON.parse(data)] });
  source.addEventListener("reset", () => say({ events: [] }));
  isLeader = true;
  stopLeading = () => {
    clearTimeout(lost);
    source.close();
    isLeader = false;
    release();
    stopLeading = undefined;
  };
}

let isLeader = false;

/** @param {{hello?: boolean, status?: "live" | "connecting" | "offline", events?: LiveEvent[]}} message */
function receive(message) {
  if (message.hello && isLeader) channel?.postMessage({ status: live.current.state });
  if (message.status) setStatus(message.status);
  if (message.events) {
    if (live.current.state !== "live") setStatus("live");
    gathered.push(...message.events);
    schedule();
  }
}

/** @param {"live" | "connecting" | "offline"} state */
function setStatus(state) {
  const seen = state === "live" ? Date.now() : live.current.seen;
  live.value = { ...live.current, state, seen };
}

function schedule() {
  if (paused.current) live.value = { ...live.current, behind: gathered.length };
  if (timer !== undefined || paused.current) return;
  timer = setTimeout(deliver, document.hidden ? HIDDEN_SPACING_MILLISECONDS : SPACING_MILLISECONDS);
}

function deliver() {
  timer = undefined;
  const events = gathered;
  gathered = [];
  live.value = { ...live.current, seen: Date.now(), behind: 0 };
  for (const listener of listeners) listener(events);
}

export function togglePaused() {
  paused.value = !paused.current;
  if (!paused.current) {
    live.value = { ...live.current, behind: 0 };
    if (gathered.length) schedule();
  }
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && timer !== undefined) {
    clearTimeout(timer);
    deliver();
  }
});
