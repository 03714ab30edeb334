// What the view at this address asks for first, asked while its scripts are still on their way.
//
// This module imports nothing, so it runs before the others are there. The calls are those that the view makes anyway:
// `call` takes a reply from here if one was asked for with the same arguments, and asks the server itself if not.

/** @typedef {[string, Record<string, unknown>]} FirstCall an operation and its arguments */

const KEPT_MILLISECONDS = 10000;
const query = new URLSearchParams(location.search);
const view = location.pathname.slice(1) || "now";
const chosen = query.get("project") ?? "*";
const tab = query.get("tab") ?? "";

/** Who is signed in. @type {Promise<import("./state.js").Session>} */
export const knownSession = fetch("/session").then((reply) => reply.json());

/** The arguments must be those of the view's own calls. @type {Record<string, (project: string) => FirstCall[]>} */
const FIRST_CALLS = {
  now: (project) => [["memory_get_live_state", { project, limit: 40 }], ["memory_list_events", { project, limit: 100, ...(query.get("kind") ? { kinds: [query.get("kind")] } : {}) }]],
  work: (project) => [["memory_list_backlog", { project, limit: 100, offset: 0, ...pick("priority", "assigned_to", "tag", "milestone") }]],
  knowledge: (project) => (query.has("q") || tab === "boot" ? [] : [["memory_list_documents", { project, needs_look: tab === "look", ...(query.get("type") ? { memory_type: query.get("type") } : {}), ...pick("status", "tag", "author", "freshness", "trust", "use", "age"), limit: 100, facets: false }]]),
  messages: (project) => (tab === "boards" ? [["list_sessions", { project, active_only: false, limit: 100 }]] : [["memory_list_threads", { project, limit: 100 }], ["memory_list_agents", { project, limit: 200 }]]),
  sessions: (project) => [["memory_list_transcripts", { project, limit: 100 }]],
  code: (project) => [["memory_browse_functions", { project, path_pattern: query.get("q") ?? "", limit: 200 }]],
  time: (project) => (query.has("span") ? [] : tab === "standup" ? [["memory_get_standup", { project, since: dayAgo() }]] : [["memory_list_events", { project, since: dayAgo(), limit: 200 }]]),
  admin: () => (tab === "audit" ? [["memory_admin", { action: "audit_log", limit: 200, ...pick("event_type", "agent") }]] : tab ? [] : [["memory_admin", { action: "list_keys", limit: 200 }]]),
};
const VIEWS_OF_ONE_PROJECT = ["knowledge", "messages", "code"];

/** @param {...string} names */
const pick = (...names) => Object.fromEntries(names.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])));
const dayAgo = () => new Date(Date.now() - 24 * 3600e3).toISOString();

/** The project for what needs one: the one that was active last. @param {{project: string, active_sessions?: number}[]} known */
export const pickProject = (known) => (known.find((each) => each.active_sessions) ?? known[0])?.project ?? "shared";

/** @type {Map<string, Promise<Response | null>>} */ const replies = new Map();

/** A time that is counted from now differs with each call. @param {string} operation @param {Record<string, unknown>} given */
const nameCall = (operation, given) => `${operation} ${JSON.stringify(Object.entries({ ...given, since: "" }).sort())}`;

/** @param {string} csrf @param {FirstCall} first */
function ask(csrf, [operation, given]) {
  /** @type {Record<string, string>} */
  const headers = { "content-type": "application/json", "x-csrf-token": csrf, "idempotency-key": crypto.randomUUID() };
  if (chosen !== "*") headers["x-commonplace-project"] = encodeURI(chosen);
  const reply = fetch(`/api/${operation}`, { method: "POST", headers, body: JSON.stringify(given) }).catch(() => null);
  replies.set(nameCall(operation, given), reply);
  return reply;
}

async function askFirst() {
  const { signed_in, csrf = "" } = await knownSession;
  if (!signed_in || !FIRST_CALLS[view]) return;
  const listed = ask(csrf, ["memory_list_projects", { limit: 100 }]);
  if (view !== "now") void ask(csrf, ["memory_get_live_counts", { project: chosen }]);
  let project = chosen;
  if (VIEWS_OF_ONE_PROJECT.includes(view) && chosen === "*") {
    const reply = await listed;
    if (!reply?.ok) return;
    project = pickProject((await reply.clone().json()).projects);
  }
  for (const first of FIRST_CALLS[view](project)) void ask(csrf, first);
}

const asked = askFirst().catch(() => {});
setTimeout(() => replies.forEach((_, name) => replies.set(name, Promise.resolve(null))), KEPT_MILLISECONDS);

/** The reply of a call that was asked for here, once; null if it was not, or failed. @param {string} operation @param {Record<string, unknown>} given */
export async function takeFirst(operation, given) {
  await asked;
  const name = nameCall(operation, given);
  const reply = await replies.get(name);
  replies.delete(name);
  return reply?.ok ? reply : null;
}

/** The calls that nobody has taken. */
export const listUntaken = () => [...replies.keys()];
