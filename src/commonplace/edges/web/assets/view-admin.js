// Admin: keys, rules, the audit log and the health of the server (health.js).

import { each, html, signal } from "./dom.js";
import { clock, count, time, words } from "./format.js";
import { health, showHealth } from "./health.js";
import { icon } from "./icons.js";
import { call, copy, go, oneProject, project, route, session, tick, write } from "./state.js";
import { drawn, empty, fields, loaded, resource, select, tabs } from "./view.js";

const keys = resource(() => call("memory_admin", { action: "list_keys", limit: 200 }));
const rules = resource(() => call("memory_guidelines", { action: "list", ...(project() === "*" ? {} : { scope: oneProject() }) }));
const audit = resource(async () => {
  const query = route.current.query;
  const filters = Object.fromEntries(["event_type", "agent"].flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])));
  return call("memory_admin", { action: "audit_log", limit: 200, ...filters });
});
/** @type {import("./dom.js").Signal<any | null>} */ const made = signal(null);
const SECTIONS = { keys, guidelines: rules, audit, health };

/** @type {import("./view.js").View} */
export const view = {
  title: "Admin",
  load: () => SECTIONS[tab()].load(),
  show,
  poll: () => (tab() === "health" ? health.load() : undefined),
  json: () => ({}),
  keys: { c: ["create a key", () => /** @type {HTMLElement | null} */ (document.querySelector("input[name=name]"))?.focus()] },
};

/** @returns {keyof typeof SECTIONS} */
const tab = () => /** @type {any} */ (route.current.query.get("tab") ?? "keys");

function show() {
  void tick.value;
  const chosen = route.value.query.get("tab") ?? "keys";
  return html`
    <div class="bar">${tabs([["keys", "Keys"], ["guidelines", "Rules"], ["audit", "Audit"], ["health", "Health"]], chosen, (value) => go("admin", { tab: value === "keys" ? "" : value }))}</div>
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

/** The key whose button was pressed once. */
const revoking = signal("");

/** What cannot be undone is asked twice. @param {any} key */
async function revoke(key) {
  if (revoking.current !== key.id) {
    revoking.value = key.id;
    return;
  }
  revoking.value = "";
  await write("memory_admin", { action: "revoke_key", name: key.id }, { done: `${key.name} is revoked.` });
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
      <div class="table-row key ${key.revoked_at || key.expired ? "quiet" : ""}" role="listitem" data-row tabindex="-1"><b class="name clip">${key.name}</b><span class="chip">${key.role}</span><span class="muted clip grow">${(key.projects ?? []).join(", ") || "no project"}${key.agent ? ` · as ${key.agent}` : ""}</span>
        <span class="muted used">${key.last_used_at ? html`used ${time(key.last_used_at)}` : "never used"}</span><span class="muted until">${key.revoked_at ? "revoked" : key.expired ? "expired" : key.expires_at ? `until ${key.expires_at.slice(0, 10)}` : ""}</span>
        ${key.revoked_at ? "" : html`<button class="button ${revoking.value === key.id ? "danger" : ""}" onclick=${() => revoke(key)} onblur=${() => (revoking.value = "")}>${revoking.value === key.id ? "Revoke for good" : "Revoke"}</button>`}</div>`)}</div>` : empty("No keys", "A key is made here and shown once.")))}`;
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
      return list.length ? html`<div class="table" role="list">${each(list, (rule) => `${rule.scope}${rule.name}`, (rule) => html`<div class="table-row tall" role="listitem" data-row tabindex="-1"><b class="name clip">${rule.name}</b><span class="chip">${rule.scope}</span>${rule.enforce ? html`<span class="chip warn" title="${enforced(rule)}">${icon("shield")}${rule.enforce.do} · ${count(rule.hits ?? 0, "hit")}</span>` : ""}<span class="grow">${rule.rule}</span>
        <button class="button" onclick=${() => write("memory_guidelines", { action: "delete", name: rule.name, scope: rule.scope }, { done: `${rule.name} is deleted.`, undo: () => void write("memory_guidelines", { action: "set", name: rule.name, rule: rule.rule, scope: rule.scope, ...(rule.enforce ? { enforce: rule.enforce } : {}) }, { done: "Back." }).then(() => rules.load()) }).then(() => rules.load())}>Delete</button></div>`)}</div>` : empty("No rules", "A rule is read by every session at its start; one that hooks enforce also shows how often it fired.");
    })}`;
}

// Audit

function showAudit() {
  const query = route.value.query;
  const rows = audit.data?.events ?? [];
  const options = (/** @type {string} */ name) => drawn([...new Set(rows.map((/** @type {any} */ row) => row[name]).filter(Boolean))].sort()).map((value) => /** @type {[string, string]} */ ([value, words(value.replace("memory_", ""))]));
  return html`
    <div class="row">${select("Operation or outcome", query.get("event_type") ?? "", [["", "every operation"], ["conflict", "conflict"], ["forbidden", "forbidden"], ["duplicate", "duplicate"], ["invalid", "invalid"], ...options("operation")], (value) => go("admin", { event_type: value }, { keep: true }))}
      ${select("Agent", query.get("agent") ?? "", [["", "every agent"], ...options("agent")], (value) => go("admin", { agent: value }, { keep: true }))}</div>
    ${loaded(audit, (data) => (data.events.length ? html`<div class="table" role="list">${each(drawn(data.events), (row) => `${row.at}${row.id ?? ""}${row.operation}${row.detail}`, (row) => html`<div class="table-row" role="listitem" data-row tabindex="-1"><time class="muted when" datetime="${row.at}">${clock(row.at)}</time><span class="chip ${row.outcome === "ok" ? "" : "warn"}">${row.outcome === "ok" ? "ok" : words(row.outcome)}</span><span class="name clip">${words(row.operation.replace("memory_", ""))}</span><b class="name clip">${row.agent}</b><span class="muted clip grow">${row.detail}</span><span class="muted">${row.project}</span></div>`)}</div>` : empty("Nothing recorded", "Every write and every refusal leaves a row here.")))}`;
}
