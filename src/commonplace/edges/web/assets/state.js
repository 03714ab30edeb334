// What every part of the page shares: who is signed in, the address, the chosen project, toasts, and calls of operations.

import { signal } from "./dom.js";

/** @typedef {{signed_in: boolean, needs_key: boolean, agent?: string, key?: string, role?: string, projects?: string[], operator?: boolean, csrf?: string, version?: string}} Session */
/** @typedef {{id: number, text: string, hint?: string, kind: "done" | "refused", undo?: () => void}} Toast */
/** @typedef {Record<string, any>} Reply */

/** @type {import("./dom.js").Signal<Session | null>} */
export const session = signal(null);
/** @type {import("./dom.js").Signal<{view: string, query: URLSearchParams}>} */
export const route = signal(readRoute());
/** @type {import("./dom.js").Signal<Toast[]>} */
export const toasts = signal([]);
/** @type {import("./dom.js").Signal<{project: string, active_sessions?: number}[]>} */
export const projects = signal([]);
/** The time by which ages are shown; advanced once in a while. */
export const tick = signal(Date.now());
/** @type {import("./dom.js").Signal<{state: "live" | "connecting" | "offline", seen: number, behind: number}>} */
export const live = signal({ state: "connecting", seen: Date.now(), behind: 0 });
export const paused = signal(false);

// Addresses

function readRoute() {
  const name = location.pathname.slice(1) || "now";
  return { view: name, query: new URLSearchParams(location.search) };
}

/** Go to a view. Empty values leave the address. @param {string} view @param {Record<string, string | undefined>} [query] @param {{replace?: boolean, keep?: boolean}} [how] */
export function go(view, query = {}, { replace = false, keep = false } = {}) {
  const next = new URLSearchParams(keep ? route.current.query : {});
  const project = route.current.query.get("project");
  if (project && !keep) next.set("project", project);
  for (const [name, value] of Object.entries(query)) value ? next.set(name, value) : next.delete(name);
  const address = link(view, next);
  if (address === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"]({}, "", address);
  route.value = readRoute();
}

/** @param {string} view @param {URLSearchParams | Record<string, string>} query */
export function link(view, query = {}) {
  const text = new URLSearchParams(query).toString();
  return `/${view === "now" ? "" : view}${text ? `?${text}` : ""}`;
}

addEventListener("popstate", () => (route.value = readRoute()));

/** The chosen project, or `*` for all of them. */
export function project() {
  return route.value.query.get("project") ?? "*";
}

/** The project for what needs one: the chosen one, else the one that was active last. */
export function oneProject() {
  const chosen = project();
  if (chosen !== "*") return chosen;
  const known = projects.value;
  return (known.find((each) => each.active_sessions) ?? known[0])?.project ?? "shared";
}

// Operations

export class Refused extends Error {
  /** @param {number} status @param {Reply} body @param {string} operation */
  constructor(status, body, operation) {
    super(body.message ?? `The server answered ${status}.`);
    this.status = status;
    this.code = String(body.error ?? "");
    this.hint = /** @type {string | undefined} */ (body.hint);
    this.operation = operation;
  }
}

/** Call an operation, as every other program does. @param {string} operation @param {Reply} [given] @param {{project?: string, signal?: AbortSignal}} [options] @returns {Promise<Reply>} */
export async function call(operation, given = {}, options = {}) {
  /** @type {Record<string, string>} */
  const headers = {
    "content-type": "application/json",
    "x-csrf-token": session.current?.csrf ?? "",
    "idempotency-key": crypto.randomUUID(),
  };
  const project = options.project ?? route.current.query.get("project");
  if (project && project !== "*") headers["x-commonplace-project"] = encodeURI(project);
  return send(`/api/${operation}`, given, headers, operation, options.signal);
}

/** @param {string} path @param {Reply} body @param {Record<string, string>} headers @param {string} name @param {AbortSignal} [signal] @returns {Promise<Reply>} */
export async function send(path, body, headers, name, signal) {
  let response;
  try {
    response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused(0, { error: "offline", message: "The server does not answer." }, name);
  }
  const reply = await response.json().catch(() => ({}));
  if (response.ok) return reply;
  if (response.status === 401 && session.current?.signed_in) session.value = { signed_in: false, needs_key: true };
  throw new Refused(response.status, reply, name);
}

/** Write, and show the outcome: the server's own sentence where it refuses.
 * `apply` changes what is shown at once and returns how to take that back.
 * @param {string} operation @param {Reply} given
 * @param {{done?: string, apply?: () => (() => void), undo?: () => void, project?: string}} [options] @returns {Promise<Reply | null>} */
export async function write(operation, given, { done, apply, undo, project } = {}) {
  const rollBack = apply?.();
  try {
    const reply = await call(operation, given, { project });
    if (done) toast({ text: done, kind: "done", undo });
    return reply;
  } catch (error) {
    rollBack?.();
    refuse(error);
    return null;
  }
}

/** @param {unknown} error */
export function refuse(error) {
  const known = error instanceof Refused;
  toast({ text: known ? error.message : String(error), hint: known ? error.hint : undefined, kind: "refused" });
}

const TOAST_MILLISECONDS = { done: 4000, refused: 9000 };
const UNDO_MILLISECONDS = 30000;
let toastNumber = 0;

/** @param {Omit<Toast, "id">} given */
export function toast(given) {
  const id = ++toastNumber;
  toasts.value = [...toasts.current.slice(-3), { ...given, id }];
  setTimeout(() => dismiss(id), given.undo ? UNDO_MILLISECONDS : TOAST_MILLISECONDS[given.kind]);
}

/** @param {number} id */
export function dismiss(id) {
  toasts.value = toasts.current.filter((each) => each.id !== id);
}

/** @param {string} text @param {string} [said] */
export async function copy(text, said = "Copied.") {
  try {
    await navigator.clipboard.writeText(text);
    toast({ text: said, kind: "done" });
  } catch {
    // Only pages of this machine and pages over TLS may write to the clipboard.
    toast({ text: "The browser did not allow copying. Copy this by hand:", hint: text, kind: "refused" });
  }
}
