// Admin: keys, guidelines, the audit log and the health of the server.

import { each, html, signal } from "./dom.js";
import { clock, exact, time, words } from "./format.js";
import { icon } from "./icons.js";
import { call, copy, go, oneProject, project, route, session, tick, write } from "./state.js";
import { empty, fields, loaded, resource, select, tabs } from "./view.js";

const HEALTH_SAMPLES = 60;

const keys = resource(() => call("memory_admin", { action: "list_keys", limit: 200 }));
const rules = resource(() => call("memory_guidelines", { action: "list", ...(project() === "*" ? {} : { scope: oneProject() }) }));
const audit = resource(async () => {
  const query = route.current.query;
  const filters = Object.fromEntries(["event_type", "agent"].flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])));
  return call("memory_admin", { action: "audit_log", limit: 200, ...filters });
});
const health = resource(async () => {
  const [state, text] = await Promise.all([call("memory_health"), fetch("/metrics").then((reply) => (reply.ok ? reply.text() : ""))]);
  const calls = readMetrics(text);
  const total = calls.reduce((sum, each) => sum + each.n, 0);
  samples.push({ at: Date.now(), total, latency: state.store?.latency_ms ?? 0 });
  if (samples.length > HEALTH_SAMPLES) samples.shift();
  return { state, calls };
});
/** @type {{at: number, total: number, latency: number}[]} */ const samples = [];
/** @type {import("./dom.js").Signal<any | null>} */ const made = signal(null);
const SECTIONS = { keys, guidelines: rules, audit, health };

/** @type {import("./view.js").View} */
export const view = {
  title: "Admin",
  load: () => SECTIONS[tab()].load(),
  show,
  keys: { c: ["create a key", () => document.querySelector(/** @type {string} */ ("input[name=name]"))?.dispatchEvent(new FocusEvent("focus"))] },
};

/** @returns {keyof typeof SECTIONS} */
const tab = () => /** @type {any} */ (route.current.query.get("tab") ?? "keys");

function show() {
  void tick.value;
  const chosen = route.value.query.get("tab") ?? "keys";
  return html`
    <div class="bar">${tabs([["keys", "Keys"], ["guidelines", "Guidelines"], ["audit", "Audit"], ["health", "Health"]], chosen, (value) => go("admin", { tab: value === "keys" ? "" : value }))}</div>
    <div class="narrow">${chosen === "keys" ? showKeys() : chosen === "guidelines" ? showRules() : chosen === "audit" ? showAudit() : showHealth()}</div>`;
}

// Keys

/** @param {SubmitEvent} event */
async function createKey(event) {
  const form = /** @type {HTMLFormElement} */ (event.target);
  const { projects, expires_in_days, ...given } = fields(event);
  const sent = { action: "create_key", ...given, ...(projects ? { projects: projects.split(/[\s,]+/).filter(Boolean) } : {}), ...(expires_in_days ? { expires_in_days: Number(expires_in_days) } : {}) };
  const reply = await write("memory_admin", sent);
  if (!reply) return;
  made.value = reply;
  form.reset();
  void keys.load();
}

function showKeys() {
  return html`
    ${made.value ? html`<div class="secret" role="alert"><p><b>${made.value.name}</b> is made. Its secret is shown only now:</p><div class="command"><code>${made.value.key}</code><button class="icon-button" aria-label="Copy the key" onclick=${() => copy(made.current.key)}>${icon("copy")}</button></div><p class="muted">${made.value.warning ?? ""}</p><button class="button" onclick=${() => (made.value = null)}>I have stored it</button></div>` : ""}
    ${session.value?.needs_key || session.value?.operator ? html`<form class="form inline" onsubmit=${createKey}>
      <label>Name <input name="name" required maxlength="64" placeholder="ann-laptop"></label>
      <label>Role <select name="role"><option>agent</option><option>readonly</option><option>admin</option><option>owner</option><option>sync</option></select></label>
      <label>Projects <input name="projects" placeholder="shop, web or *"></label>
      <label>Agent <input name="agent" maxlength="64" placeholder="any name"></label>
      <label>Days <input name="expires_in_days" type="number" min="1" max="3650" placeholder="90"></label>
      <button class="button primary">Create key</button></form>` : html`<p class="calm">Keys are off: every program on this machine may call the server. To turn them on: <code>commonplace key create --name NAME --role owner</code>, then <code>commonplace serve --auth on</code>.</p>`}
    ${loaded(keys, (data) => (data.keys.length ? html`<div class="table" role="list">${each(data.keys, (key) => key.id, (key) => html`
      <div class="table-row ${key.revoked_at || key.expired ? "quiet" : ""}" role="listitem" data-row tabindex="-1"><b class="name clip">${key.name}</b><span class="chip">${key.role}</span><span class="muted clip grow">${(key.projects ?? []).join(", ") || "no project"}${key.agent ? ` · as ${key.agent}` : ""}</span>
        <span class="muted">${key.last_used_at ? html`used ${time(key.last_used_at)}` : "never used"}</span><span class="muted">${key.revoked_at ? "revoked" : key.expired ? "expired" : key.expires_at ? `until ${key.expires_at.slice(0, 10)}` : ""}</span>
        ${key.revoked_at ? "" : html`<button class="button" onclick=${() => write("memory_admin", { action: "revoke_key", name: key.id }, { done: `${key.name} is revoked.` }).then(() => keys.load())}>Revoke</button>`}</div>`)}</div>` : empty("No keys", "A key is made here and shown once.")))}`;
}

// Guidelines

/** @param {SubmitEvent} event */
async function setRule(event) {
  const form = /** @type {HTMLFormElement} */ (event.target);
  const reply = await write("memory_guidelines", { action: "set", ...fields(event) }, { done: "Set; live sessions are told." });
  if (!reply) return;
  form.reset();
  void rules.load();
}

/** What a rule that hooks enforce fires on, for whoever points at it. @param {any} rule */
function enforced(rule) {
  const { on, match, unless, reason, expires } = rule.enforce;
  return [`on ${on.join(", ")}`, match && JSON.stringify(match), unless && `unless ${JSON.stringify(unless)}`, reason, `by ${rule.enforced_by}`, expires && `until ${expires.slice(0, 10)}`].filter(Boolean).join(" · ");
}

function showRules() {
  return html`
    <form class="form inline" onsubmit=${setRule}><label>Name <input name="name" required maxlength="64" placeholder="tests-first"></label><label class="grow">Rule <input name="rule" required placeholder="Run the tests before you commit."></label>
      <label>Scope <input name="scope" placeholder="global" .value=${project() === "*" ? "global" : oneProject()}></label><button class="button primary">Set</button></form>
    ${loaded(rules, (data) => {
      const list = data.guidelines ?? data.rules ?? [];
      return list.length ? html`<div class="table" role="list">${each(list, (rule) => `${rule.scope}${rule.name}`, (rule) => html`<div class="table-row tall" role="listitem" data-row tabindex="-1"><b class="name clip">${rule.name}</b><span class="chip">${rule.scope}</span>${rule.enforce ? html`<span class="chip warn" title="${enforced(rule)}">${rule.enforce.do} · ${rule.hits ?? 0} hits</span>` : ""}<span class="grow">${rule.rule}</span>
        <button class="button" onclick=${() => write("memory_guidelines", { action: "delete", name: rule.name, scope: rule.scope }, { done: `${rule.name} is deleted.`, undo: () => void write("memory_guidelines", { action: "set", name: rule.name, rule: rule.rule, scope: rule.scope, ...(rule.enforce ? { enforce: rule.enforce } : {}) }, { done: "Back." }).then(() => rules.load()) }).then(() => rules.load())}>Delete</button></div>`)}</div>` : empty("No guidelines", "A guideline is read by every session at its start.");
    })}`;
}

// Audit

function showAudit() {
  const query = route.value.query;
  const rows = audit.data?.events ?? [];
  const options = (/** @type {string} */ name) => [...new Set(rows.map((/** @type {any} */ row) => row[name]).filter(Boolean))].sort().map((value) => /** @type {[string, string]} */ ([value, words(value.replace("memory_", ""))]));
  return html`
    <div class="row">${select("Operation or outcome", query.get("event_type") ?? "", [["", "every operation"], ["conflict", "conflict"], ["forbidden", "forbidden"], ["duplicate", "duplicate"], ["invalid", "invalid"], ...options("operation")], (value) => go("admin", { event_type: value }, { keep: true }))}
      ${select("Agent", query.get("agent") ?? "", [["", "every agent"], ...options("agent")], (value) => go("admin", { agent: value }, { keep: true }))}</div>
    ${loaded(audit, (data) => (data.events.length ? html`<div class="table" role="list">${each(data.events, (row) => `${row.at}${row.id ?? ""}${row.operation}${row.detail}`, (row) => html`<div class="table-row" role="listitem" data-row tabindex="-1"><time class="muted when" datetime="${row.at}" title="${exact(row.at)}">${clock(row.at)}</time><span class="chip ${row.outcome === "ok" ? "" : "warn"}">${row.outcome === "ok" ? "ok" : words(row.outcome)}</span><span class="name clip">${words(row.operation.replace("memory_", ""))}</span><b class="name clip">${row.agent}</b><span class="muted clip grow">${row.detail}</span><span class="muted">${row.project}</span></div>`)}</div>` : empty("Nothing recorded", "Every write and every refusal leaves a row here.")))}`;
}

// Health

/** The calls of each operation, from the text that monitoring reads. @param {string} text */
function readMetrics(text) {
  /** @type {Map<string, {name: string, n: number, seconds: number, buckets: [number, number][]}>} */ const found = new Map();
  for (const line of text.split("\n")) {
    const parts = /^commonplace_\w*?(bucket|sum|count)\{([^}]*)\} ([\d.e+-]+)/.exec(line);
    const name = parts && /operation="([^"]+)"/.exec(parts[2])?.[1];
    if (!parts || !name) continue;
    const own = found.get(name) ?? { name, n: 0, seconds: 0, buckets: /** @type {[number, number][]} */ ([]) };
    found.set(name, own);
    const value = Number(parts[3]);
    const bound = /le="([^"]+)"/.exec(parts[2])?.[1];
    if (parts[1] === "count") own.n += value;
    else if (parts[1] === "sum") own.seconds += value;
    else if (bound) {
      const limit = bound === "+Inf" ? Infinity : Number(bound);
      const known = own.buckets.find(([each]) => each === limit);
      known ? (known[1] += value) : own.buckets.push([limit, value]);
    }
  }
  return [...found.values()].filter((each) => each.n).sort((a, b) => b.n - a.n);
}

/** @param {{n: number, buckets: [number, number][]}} calls @param {number} share */
function percentile({ n, buckets }, share) {
  const found = [...buckets].sort((a, b) => a[0] - b[0]).find(([, value]) => value >= n * share);
  return found ? (found[0] === Infinity ? "> 10 s" : `≤ ${found[0] < 1 ? `${+(found[0] * 1000).toPrecision(2)} ms` : `${found[0]} s`}`) : "–";
}

function showHealth() {
  return loaded(health, ({ state, calls }) => {
    const rates = samples.slice(1).map((sample, index) => Math.max(0, (sample.total - samples[index].total) / Math.max(0.2, (sample.at - samples[index].at) / 1000)));
    return html`<div class="figures">
      ${figure("status", state.status)}${figure("version", state.version)}${figure("up", `${Math.floor(state.uptime_seconds / 3600)} h ${Math.floor((state.uptime_seconds % 3600) / 60)} min`)}
      ${figure("store", `${state.store?.kind}`, `${state.store?.latency_ms} ms`)}${figure("sessions", state.active_sessions ?? 0)}${figure("locks", state.active_locks ?? 0)}
      ${figure("search queue", state.search?.pending ?? 0, state.search?.problem)}</div>
    <section><h2>Calls per second</h2>${plot(rates, "calls per second since this view was opened")}</section>
    <section><h2>Operations</h2>${calls.length ? html`<table class="data"><thead><tr><th scope="col">operation</th><th scope="col">calls</th><th scope="col">mean</th><th scope="col">p50</th><th scope="col">p95</th><th scope="col">p99</th></tr></thead><tbody>${each(calls, (row) => row.name, (row) => html`<tr><th scope="row">${words(row.name.replace("memory_", ""))}</th><td>${row.n.toLocaleString()}</td><td>${(1000 * row.seconds / row.n).toFixed(1)} ms</td><td>${percentile(row, 0.5)}</td><td>${percentile(row, 0.95)}</td><td>${percentile(row, 0.99)}</td></tr>`)}</tbody></table>` : html`<p class="muted">No figures: /metrics needs a key that may read it.</p>`}</section>`;
  });
}

/** @param {string} name @param {unknown} value @param {unknown} [note] */
function figure(name, value, note = "") {
  return html`<div class="figure"><div class="muted">${name}</div><b>${value}</b><div class="muted">${note}</div></div>`;
}

/** @param {number[]} values @param {string} label */
function plot(values, label) {
  const most = Math.max(1, ...values);
  const points = values.map((value, index) => `${(index / Math.max(1, HEALTH_SAMPLES - 2)) * 600},${76 - (value / most) * 70}`);
  return html`<svg class="plot" viewBox="0 0 600 80" preserveAspectRatio="none" role="img" aria-label="${label}: now ${values.at(-1)?.toFixed(1) ?? 0}"><path d="${points.length > 1 ? `M${points.join("L")}` : "M0 76"}"/></svg><p class="muted">now ${values.at(-1)?.toFixed(1) ?? "–"}, most ${most.toFixed(1)}</p>`;
}
