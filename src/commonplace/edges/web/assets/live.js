// One event stream for all tabs of a browser: browsers allow six connections to a host, so the seventh tab would hang.
//
// The tab that holds the lock reads the stream and passes events on; when it closes, another one gets the lock. Events
// carry ids, not contents: each view fetches again what it shows, at most four times a second, and a third of the time
// where that takes long.

import { live, paused, session } from "./state.js";

const CHANNEL = "commonplace-live";
const SPACING_MILLISECONDS = 250;
const LONGEST_SPACING_MILLISECONDS = 10000;
const HIDDEN_SPACING_MILLISECONDS = 5000;
const OFFLINE_MILLISECONDS = 4000;
const FIRST_RETRY_MILLISECONDS = 500;
const LAST_RETRY_MILLISECONDS = 30000;

/** @typedef {{project: string, n: number, kind: string, uri: string, at: string, actor?: string, body?: Record<string, any>}} LiveEvent */

/** @type {Set<(events: LiveEvent[] | null) => Promise<void>>} */ const listeners = new Set();
/** @type {LiveEvent[]} */ let gathered = [];
/** Events are missing: what is shown may be older than any event tells. */
let isReset = false;
/** The id of the last event that any tab read, for whichever tab reads on. */
let position = "";
/** @type {number | undefined} */ let timer;
/** @type {BroadcastChannel | undefined} */ let channel;
/** @type {AbortController | undefined} */ let leading;

/** Call with the events since the last time, or with null when anything may have changed.
 * @param {(events: LiveEvent[] | null) => Promise<void>} listener @returns {() => void} */
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

/** A page that the browser keeps for its back button is asleep: it must neither lead nor keep others waiting. */
let isAsleep = false;
addEventListener("pagehide", () => {
  isAsleep = Boolean(leading);
  stopLive();
});
addEventListener("pageshow", () => {
  if (!isAsleep) return;
  isAsleep = false;
  startLive();
  isReset = true;
  schedule();
});

export function stopLive() {
  leading?.abort("stopped");
  stopLeading?.();
  channel?.close();
  channel = leading = undefined;
}

/** @type {(() => void) | undefined} */ let stopLeading;

/** @param {() => void} release */
function lead(release) {
  /** @type {EventSource} */ let source;
  /** @type {number | undefined} */ let lost;
  /** @type {number | undefined} */ let retry;
  let isLost = false;
  let failures = 0;
  const say = (/** @type {Message} */ message) => {
    channel?.postMessage(message);
    receive(message);
  };
  const goOn = () => {
    clearTimeout(lost);
    lost = undefined;
    isLost = false;
    failures = 0;
    // What happened before the stream was open, or while it was not, is not known: everything is fetched again.
    say({ status: "live", isReset: true });
  };
  // After a cut the browser tries again by itself and calls that connecting, for as long as the server is away. After an
  // answer that is no stream, such as a proxy's 502, it gives up: then we try, later each time.
  const wait = () => {
    const isClosed = source.readyState === EventSource.CLOSED;
    isLost ||= isClosed;
    say({ status: isLost ? "offline" : "connecting" });
    lost ??= setTimeout(() => {
      isLost = true;
      say({ status: "offline" });
    }, OFFLINE_MILLISECONDS);
    if (!isClosed) return;
    void noticeSignOut();
    const longest = Math.min(FIRST_RETRY_MILLISECONDS * 2 ** failures++, LAST_RETRY_MILLISECONDS);
    retry = setTimeout(open, longest * (0.5 + Math.random() / 2));
  };
  const open = () => {
    // A new EventSource cannot send the header Last-Event-ID.
    source = new EventSource(`/events?project=*${position ? `&last_event_id=${position}` : ""}`);
    source.onopen = goOn;
    source.onerror = wait;
    source.onmessage = ({ data, lastEventId }) => say({ events: [JSON.parse(data)], position: lastEventId });
    source.addEventListener("reset", ({ lastEventId }) => say({ isReset: true, position: lastEventId }));
  };
  open();
  isLeader = true;
  stopLeading = () => {
    clearTimeout(lost);
    clearTimeout(retry);
    source.close();
    isLeader = false;
    release();
    stopLeading = undefined;
  };
}

/** A stream is also refused to who is no longer signed in; then there is nothing to wait for. */
async function noticeSignOut() {
  const reply = await fetch("/session").catch(() => null);
  const known = reply?.ok ? await reply.json().catch(() => null) : null;
  if (known?.needs_key && !known.signed_in) session.value = known;
}

let isLeader = false;

/** @typedef {{hello?: boolean, status?: "live" | "connecting" | "offline", events?: LiveEvent[], isReset?: boolean, position?: string}} Message */

/** @param {Message} message */
function receive(message) {
  if (message.hello && isLeader) channel?.postMessage({ status: live.current.state, position });
  if (message.status) setStatus(message.status);
  if (message.position) position = message.position;
  if (message.events || message.isReset) {
    if (live.current.state !== "live") setStatus("live");
    gathered.push(...(message.events ?? []));
    isReset ||= Boolean(message.isReset);
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
  if (timer !== undefined || isDelivering || paused.current) return;
  timer = setTimeout(deliver, document.hidden ? Math.max(spacing, HIDDEN_SPACING_MILLISECONDS) : spacing);
}

let isDelivering = false;
let spacing = SPACING_MILLISECONDS;

async function deliver() {
  timer = undefined;
  isDelivering = true;
  const began = performance.now();
  const events = isReset ? null : gathered;
  gathered = [];
  isReset = false;
  live.value = { ...live.current, seen: Date.now(), behind: 0 };
  const longest = new Promise((done) => setTimeout(done, LONGEST_SPACING_MILLISECONDS));
  await Promise.race([longest, Promise.allSettled([...listeners].map((listener) => listener(events)))]);
  spacing = Math.min(LONGEST_SPACING_MILLISECONDS, Math.max(SPACING_MILLISECONDS, 2 * (performance.now() - began)));
  isDelivering = false;
  if (gathered.length || isReset) schedule();
}

export function togglePaused() {
  paused.value = !paused.current;
  if (!paused.current) {
    live.value = { ...live.current, behind: 0 };
    if (gathered.length || isReset) schedule();
  }
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && timer !== undefined) {
    clearTimeout(timer);
    void deliver();
  }
});
