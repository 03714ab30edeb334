// Messages: threads on the left, the conversation on the right; blackboards in the same shape.

import { each, html, signal } from "./dom.js";
import { avatar, clock, exact, time, words } from "./format.js";
import { icon } from "./icons.js";
import { markdown, parseMarkdown } from "./markdown.js";
import { call, go, oneProject, route, session, tick, write } from "./state.js";
import { drawn, empty, fields, loaded, resource, tabs } from "./view.js";

const threads = resource(() => call("memory_list_threads", { project: oneProject(), limit: 100 }));
const thread = resource(async () => {
  const id = route.current.query.get("thread");
  if (!id) return null;
  const found = await call("memory_read_thread", { project: oneProject(), thread_id: id });
  await parseMarkdown(found.messages.map((/** @type {any} */ message) => message.message));
  void acknowledge(found);
  return found;
});
const boards = resource(() => call("list_sessions", { project: oneProject(), active_only: false, limit: 100 }));
const board = resource(async () => {
  const id = route.current.query.get("board");
  if (!id) return null;
  const found = await call("get_messages", { session_id: id, limit: 100 });
  await parseMarkdown(found.messages.map((/** @type {any} */ message) => message.content ?? ""));
  return found;
});
const agents = resource(() => call("memory_list_agents", { project: oneProject(), limit: 200 }));
const draft = signal("");

/** @type {import("./view.js").View} */
export const view = {
  title: "Messages",
  isOfOneProject: true,
  load: () => Promise.all(isBoards() ? [boards.load(), board.load()] : [threads.load(), thread.load(), agents.load()]),
  show,
  json: () => ({ project: oneProject() }),
  keys: { c: ["write a message", () => go("messages", { to: "*", thread: "", board: "" }, { keep: true })], r: ["answer", () => document.querySelector("textarea")?.focus()] },
};

const isBoards = () => route.current.query.get("tab") === "boards";
const me = () => session.current?.agent ?? "";

/** What was opened is read: say so to its senders. @param {any} found */
async function acknowledge(found) {
  for (const message of found.messages) {
    const own = message.receipts?.find((/** @type {any} */ receipt) => receipt.agent === me());
    if (own && ["pending", "delivered"].includes(own.status)) await call("memory_acknowledge_message", { message_id: message.id }, { project: found.project }).catch(() => {});
  }
}

function show() {
  void tick.value;
  const query = route.value.query;
  const hasPanel = query.has("thread") || query.has("to") || query.has("board");
  return html`
    <div class="bar">
      ${tabs([["threads", "Threads"], ["boards", "Blackboards"]], query.get("tab") ?? "threads", (value) => go("messages", { tab: value === "threads" ? "" : value }, {}))}
      <span class="muted">in <b>${oneProject()}</b></span>
      <button class="button primary push" onclick=${() => go("messages", { to: "*", thread: "" }, {})}>${icon("plus")}New message</button>
    </div>
    <div class="mail ${hasPanel ? "has-panel" : ""}">
      <div class="mail-list">${query.get("tab") === "boards" ? loaded(boards, showBoards) : loaded(threads, showThreads)}</div>
      <section class="mail-body" aria-label="Conversation">${showBody(query)}</section>
    </div>`;
}

/** @param {URLSearchParams} query */
function showBody(query) {
  if (query.has("board")) return loaded(board, showBoard);
  if (query.has("thread")) return loaded(thread, (data) => (data ? showThread(data) : ""));
  if (query.has("to")) return showComposer({ to: query.get("to") ?? "*" });
  return empty("No conversation chosen", "Choose one with j and k, or press c to write to an agent.");
}

/** @param {any} data */
function showThreads(data) {
  if (!data.threads.length) return empty("No messages yet", "Agents write to each other with memory_send_message. You can write first.");
  return html`<ul class="threads">${each(drawn(data.threads), (row) => row.thread_id, (row) => html`
    <li class="thread ${route.value.query.get("thread") === row.thread_id ? "is-open" : ""} ${row.unread ? "unread" : ""}" data-row tabindex="0" onclick=${() => go("messages", { thread: row.thread_id, to: "", project: row.project }, { keep: true })}>
      ${avatar(row.last_from)}
      <div class="grow"><div class="thread-head"><b class="clip">${row.last_from}</b>${row.unread ? html`<span class="badge" aria-label="${row.unread} unread">${row.unread}</span>` : ""}<span class="muted push">${time(row.last_at)}</span></div>
        <div class="clip">${row.is_urgent ? html`<span class="chip warn">urgent</span> ` : ""}${row.require_human ? html`<span class="chip">needs a person</span> ` : ""}${row.title}</div>
        <div class="muted clip">${row.snippet}</div></div></li>`)}</ul>`;
}

/** @param {any} data */
function showThread(data) {
  const last = data.messages.at(-1);
  const answers = last.from === me() ? last.to : last.from;
  return html`<header class="mail-head"><button class="icon-button only-phone" aria-label="Back" onclick=${() => go("messages", { thread: "" }, { keep: true })}>${icon("arrow")}</button><h2 class="clip">${data.title}</h2></header>
    <ol class="bubbles">${each(data.messages, (message) => message.id, showMessage)}</ol>
    ${showComposer({ to: answers, reply_to: last.id, project: data.project })}`;
}

/** @param {any} message */
function showMessage(message) {
  return html`<li class="bubble ${message.from === me() ? "mine" : ""}">
    ${avatar(message.from)}
    <div class="bubble-body">
      <div class="muted"><b>${message.from}</b> to ${message.to === "*" ? "everyone" : message.to} <time datetime="${message.created}">${clock(message.created).slice(0, 5)}</time>${message.priority === "urgent" ? html` <span class="chip warn">urgent</span>` : ""}${message.category === "info" ? "" : html` <span class="chip">${message.category}</span>`}</div>
      <div class="text">${markdown(message.message, `message ${message.id}`)}</div>
      <div class="receipts muted">${(message.receipts ?? []).slice(0, 12).map((/** @type {any} */ receipt) => html`<span title="${receipt.agent}: ${receipt.status} ${exact(receipt.at)} ${receipt.note ?? ""}">${receiptMark(receipt.status)} ${receipt.agent} ${words(receipt.status)}</span>`)}</div>
    </div></li>`;
}

/** @param {string} status */
const receiptMark = (status) => ({ pending: "○", delivered: "◔", received: "◑", completed: "●", failed: "✕" })[status] ?? "○";

/** @param {{to: string, reply_to?: string, project?: string}} about */
function showComposer(about) {
  const send = async (/** @type {SubmitEvent} */ event) => {
    const { priority, category, ...given } = fields(event);
    if (!given.message) return;
    const sent = { ...given, priority, category, ...(about.reply_to ? { reply_to: about.reply_to } : {}), idempotency_key: crypto.randomUUID() };
    const kept = draft.current;
    draft.value = "";
    const reply = await write("memory_send_message", sent, { project: about.project ?? oneProject(), done: "Sent." });
    if (!reply) return void (draft.value = kept);
    if (!about.reply_to) go("messages", { thread: reply.thread_id || reply.message_id, to: "" }, { keep: true });
    void Promise.all([threads.load(), thread.load()]);
  };
  const names = (agents.data?.agents ?? []).map((/** @type {any} */ agent) => agent.instance);
  return html`<form class="composer" onsubmit=${send}>
    <div class="row"><label>To <input name="to_instance" required list="recipients" .value=${about.to}></label><datalist id="recipients"><option value="*">everyone</option><option value="@admins"></option>${names.map((/** @type {string} */ name) => html`<option value="${name}"></option>`)}</datalist>
      ${about.reply_to ? "" : html`<label class="grow">Subject <input name="subject" maxlength="200"></label>`}</div>
    <textarea name="message" aria-label="Message" rows="3" required placeholder="Write in Markdown. Ctrl Enter sends." .value=${draft.value} oninput=${(/** @type {any} */ event) => (draft.current = event.target.value)} onkeydown=${(/** @type {any} */ event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.form.requestSubmit()}></textarea>
    <div class="row"><select name="priority" aria-label="Priority"><option value="normal">normal</option><option value="urgent">urgent</option><option value="low">low</option></select>
      <select name="category" aria-label="Category">${["info", "question", "task", "review", "blocker", "contract"].map((name) => html`<option value="${name}">${name}</option>`)}</select>
      <button class="button primary push">Send</button></div>
  </form>`;
}

// Blackboards

/** @param {any} data */
function showBoards(data) {
  if (!data.sessions.length) return empty("No blackboards yet", "Agents open one with create_session to think together.");
  return html`<ul class="threads">${each(data.sessions, (row) => row.session_id, (row) => html`
    <li class="thread ${route.value.query.get("board") === row.session_id ? "is-open" : ""}" data-row tabindex="0" onclick=${() => go("messages", { board: row.session_id, tab: "boards", project: row.project }, { keep: true })}>
      ${avatar(row.created_by)}<div class="grow"><div class="thread-head"><b class="clip">${row.purpose}</b><span class="muted push">${time(row.updated_at)}</span></div>
      <div class="muted clip">${row.status} · ${row.message_count} messages · ${(row.participants ?? []).join(", ")}</div></div></li>`)}</ul>`;
}

/** @param {any} data */
function showBoard(data) {
  if (!data) return "";
  const id = route.value.query.get("board") ?? "";
  const post = async (/** @type {SubmitEvent} */ event) => {
    const { content } = fields(event);
    if (!content) return;
    draft.value = "";
    const reply = await write("add_message", { session_id: id, content, idempotency_key: crypto.randomUUID() }, { done: "Posted." });
    if (!reply) draft.value = content;
    void board.load();
  };
  return html`<header class="mail-head"><button class="icon-button only-phone" aria-label="Back" onclick=${() => go("messages", { board: "" }, { keep: true })}>${icon("arrow")}</button><h2 class="clip">${boards.data?.sessions.find((/** @type {any} */ row) => row.session_id === id)?.purpose ?? id}</h2></header>
    <ol class="bubbles">${each(data.messages, (message) => message.message_id ?? message.id ?? message.sequence, (message) => html`
      <li class="bubble ${message.sender === me() ? "mine" : ""}">${avatar(message.sender ?? "?")}<div class="bubble-body"><div class="muted"><b>${message.sender}</b> ${time(message.at ?? message.timestamp ?? message.created_at)} ${message.visibility && message.visibility !== "public" ? html`<span class="chip">${words(message.visibility)}</span>` : ""}</div><div class="text">${markdown(message.content ?? "", `board ${message.message_id ?? message.id ?? message.sequence}`)}</div></div></li>`)}</ol>
    <form class="composer" onsubmit=${post}><textarea name="content" aria-label="Post" rows="3" required placeholder="Write to the blackboard" .value=${draft.value} oninput=${(/** @type {any} */ event) => (draft.current = event.target.value)}></textarea><div class="row"><button class="button primary push">Post</button></div></form>`;
}
