// Work: the backlog as a board, or as a list for thousands of items.

import { each, html, signal } from "./dom.js";
import { hideArrows, isRelated, pointAt, showArrows } from "./board-arrows.js";
import { avatar, clock, count, time, words } from "./format.js";
import { icon } from "./icons.js";
import { closeDialog, dialog } from "./keys.js";
import { markdown, parseMarkdown } from "./markdown.js";
import { call, go, oneProject, project, projects, route, session, tick, toast, write } from "./state.js";
import { drawn, empty, fields, loaded, openModal, resource, select, tabs } from "./view.js";
import { windowList } from "./window-list.js";

const PAGE_ITEMS = 100;
const ROW_PIXELS = 36;
const BOARD_ITEMS = 200;
const COLUMNS = /** @type {[string, string, string][]} */ ([
  ["ready", "Ready", "open"], ["waiting", "Waiting", "blocked"], ["in_progress", "In progress", "in_progress"], ["done", "Done", "done"],
]);
const PRIORITIES = ["critical", "high", "medium", "low"];

/** @param {Record<string, unknown>} filters @param {number} most @param {(data: {items: any[], total: number}) => void} [showFirst] */
async function listItems(filters, most, showFirst) {
  /** @type {any[]} */ const items = [];
  let total = 0;
  for (let offset = 0; items.length < most; ) {
    const reply = await call("memory_list_backlog", { project: project(), limit: Math.min(most, PAGE_ITEMS), offset, ...filters });
    items.push(...reply.items);
    total = reply.total;
    offset = reply.next_offset;
    if (!offset) break;
    showFirst?.({ items: [...items], total });
  }
  return { items, total };
}

const open = resource((showFirst) => listItems(chosenFilters(), BOARD_ITEMS, showFirst));
const list = windowList(async (offset, limit) => call("memory_list_backlog", { project: project(), limit, offset, ...chosenFilters() }).then(({ items, total }) => ({ items, total })), ROW_PIXELS);
/** What the list shows: with other filters it is another one. */
let listed = "";
const done = resource(() => listItems({ ...chosenFilters(), status: "done" }, 20));
const item = resource(async () => {
  const id = route.current.query.get("item");
  if (!id) return null;
  const found = await call("memory_get_by_id", { doc_id: id, project: oneProject() });
  await parseMarkdown([found.content ?? ""]);
  return found;
});

function chosenFilters() {
  const query = route.current.query;
  const names = ["priority", "assigned_to", "tag", "milestone"];
  return Object.fromEntries(names.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])));
}

/** @type {import("./view.js").View} */
export const view = {
  title: "Work",
  load() {
    if (route.current.query.has("create")) {
      go("work", { create: "" }, { keep: true, replace: true });
      openCreate();
    }
    if (!isList()) return Promise.all([open.load(), done.load(), item.load()]);
    const wanted = JSON.stringify([project(), chosenFilters()]);
    if (wanted !== listed) list.reset();
    listed = wanted;
    return Promise.all([list.load(), item.load()]);
  },
  show,
  keys: {
    c: ["create an item", openCreate],
    m: ["move the item", () => withFocused((found) => openMove(found))],
    a: ["take the item", () => withFocused(take)],
    l: ["board or list", () => go("work", { mode: route.current.query.get("mode") === "list" ? "" : "list" }, { keep: true })],
  },
};

const isList = () => route.current.query.get("mode") === "list";
const everyItem = () => [...(open.data?.items ?? []), ...(done.data?.items ?? []), ...list.known];

/** @param {(item: any) => void} act */
function withFocused(act) {
  const id = document.activeElement?.closest("[data-item]")?.getAttribute("data-item") ?? route.current.query.get("item");
  const found = everyItem().find((each) => each.id === id);
  if (found) act(found);
}

/** @param {any} each */
function columnOf(each) {
  if (["done", "wont_do", "duplicate"].includes(each.status)) return "done";
  if (each.status === "in_progress") return "in_progress";
  return each.status === "open" && !each.blocked_by?.length ? "ready" : "waiting";
}

function show() {
  void tick.value;
  const query = route.value.query;
  const mode = query.get("mode") ?? "board";
  return html`
    <div class="bar">
      ${tabs([["board", "Board"], ["list", "List"]], mode, (value) => go("work", { mode: value === "board" ? "" : value }, { keep: true }))}
      ${select("Priority", query.get("priority") ?? "", [["", "every priority"], ...PRIORITIES.map((each) => /** @type {[string, string]} */ ([each, each]))], (value) => go("work", { priority: value }, { keep: true }))}
      ${query.get("tag") ? html`<button class="chip" onclick=${() => go("work", { tag: "" }, { keep: true })}>#${query.get("tag")} ${icon("close")}</button>` : ""}
      ${query.get("assigned_to") ? html`<button class="chip" onclick=${() => go("work", { assigned_to: "" }, { keep: true })}>${query.get("assigned_to")} ${icon("close")}</button>` : ""}
      <span class="muted">${showTotal(mode)}</span>
      <button class="button primary push" onclick=${openCreate}>${icon("plus")}New item</button>
    </div>
    <div class="split ${query.has("item") ? "has-panel" : ""}">
      <div class="split-main">${mode === "list" ? loaded(list, showList) : loaded(open, (data) => showBoard(data.items))}</div>
      ${query.has("item") ? showPanel() : ""}
    </div>`;
}

/** @param {string} mode */
function showTotal(mode) {
  const total = mode === "list" ? list.total : open.data?.total;
  return typeof total === "number" ? count(total, "open item") : "";
}

/** @param {any[]} items */
function showBoard(items) {
  const all = [...items, ...(done.data?.items ?? [])];
  if (!all.length) return empty("No items yet", "Agents file what they find with memory_add_backlog_item; you can start the list.", html`<button class="button primary" onclick=${openCreate}>New item (c)</button>`);
  const isCut = (open.data?.total ?? 0) > items.length;
  return html`<div class="board" onmouseleave=${hideArrows}>${showArrows()}${COLUMNS.map(([key, title, status]) => {
    const cards = all.filter((each) => columnOf(each) === key);
    return html`<section class="column" aria-label="${title}" ondragover=${allowDrop} ondragleave=${leave} ondrop=${(/** @type {DragEvent} */ event) => drop(event, status)}>
      <h2>${title} <span class="count">${cards.length}</span></h2>
      <ul>${each(drawn(cards, 1 / 2), (card) => card.id, (card) => showCard(card, all))}</ul>${cards.length ? "" : html`<p class="column-empty muted">${EMPTY_COLUMNS[key]}</p>`}</section>`;
  })}</div>${isCut ? html`<p class="muted center">The board shows the first ${items.length} of ${(open.data?.total ?? 0).toLocaleString()}. <button class="linklike" onclick=${() => go("work", { mode: "list" }, { keep: true })}>Show them all as a list</button></p>` : ""}`;
}

/** @type {Record<string, string>} */
const EMPTY_COLUMNS = { ready: "Nothing can be started now.", waiting: "Nothing waits for something else.", in_progress: "Nobody has taken an item.", done: "Nothing is finished yet." };

/** @param {any} card @param {any[]} all */
function showCard(card, all) {
  const point = (/** @type {Event} */ event) => pointAt(event, card, all);
  const waits = (card.blocked_by ?? []).map((/** @type {string} */ id) => all.find((each) => each.id === id)?.title ?? id);
  return html`<li class="item ${isRelated(card.id) ? "is-related" : ""}" onmouseenter=${point} onmouseleave=${hideArrows} onfocus=${point} onblur=${hideArrows} data-row data-item="${card.id}" tabindex="0" draggable="true" ondragstart=${(/** @type {DragEvent} */ event) => event.dataTransfer?.setData("text/plain", card.id)} onclick=${() => openItem(card)}>
    <div class="item-title">${card.title}</div>
    ${card.completed_by && card.resolution ? html`<div class="receipt muted small">${icon("check")}<span class="clip" title="${card.resolution}">${card.resolution}</span></div>` : ""}
    <div class="item-facts muted">
      ${priority(card.priority)}
      ${project() === "*" ? html`<span class="chip">${card.project}</span>` : ""}
      ${(card.tags ?? []).slice(0, 2).map((/** @type {string} */ tag) => html`<span class="chip">#${tag}</span>`)}
      ${(card.blocked_by ?? []).length ? html`<span class="chip" title="waits for ${waits.join(", ")}">${icon("arrow")}waits for ${String(waits.length)}<span class="visually-hidden">: ${waits.join(", ")}</span></span>` : ""}
      ${["open", "in_progress", "done"].includes(card.status) ? "" : html`<span class="chip">${words(card.status)}</span>`}
      <span class="push">${card.assigned_to ? html`<span title="${card.assigned_to}">${avatar(card.assigned_to)}<span class="visually-hidden">${card.assigned_to}</span></span>` : time(card.updated)}</span>
    </div></li>`;
}

/** Bars as well as a word, so that colour is not needed. @param {string} name */
function priority(name) {
  const level = 4 - PRIORITIES.indexOf(name);
  return html`<span class="priority level-${level}" title="${name}" role="img" aria-label="${name} priority"><i></i><i></i><i></i><i></i></span>`;
}

/** @param {{total: number | null}} data */
function showList({ total }) {
  if (!total) return empty("No items", "Nothing matches these filters.");
  return html`<div class="table">${list.show("Items", (row) => html`
    <div class="table-row" data-row data-item="${row.id}" tabindex="0" onclick=${() => openItem(row)}>
      ${priority(row.priority)}<span class="clip grow">${row.title}</span>${row.blocked_by?.length ? html`<span class="chip wide-only">${icon("arrow")}waits for ${String(row.blocked_by.length)}</span>` : ""}<span class="chip">${words(row.status)}</span>
      <span class="muted clip name wide-only">${row.assigned_to}</span><span class="muted when wide-only">${time(row.updated)}</span></div>`, () => html`<div class="table-row muted">…</div>`)}</div>`;
}

/** @param {any} found */
function openItem(found) {
  go("work", { item: found.id, ...(project() === "*" ? { project: found.project } : {}) }, { keep: true });
}

function showPanel() {
  return html`<aside class="panel" aria-label="Item">
    <button class="icon-button panel-close" aria-label="Close (esc)" onclick=${() => go("work", { item: "" }, { keep: true })}>${icon("close")}</button>
    ${loaded(item, (found) => {
      if (!found) return "";
      if (found.found === false) return empty("Not found", `There is no ${route.value.query.get("item")} in ${oneProject()}.`);
      const known = everyItem().find((each) => each.id === found.id) ?? { ...found, ...found.facts };
      return html`<h2>${found.title}</h2>
      <p class="muted">${found.id} · ${found.project} · by ${found.author} ${time(found.created)}</p>
      <div class="row">
        ${select("Status", known.status, ["open", "in_progress", "blocked", "needs_info", "deferred", "retest", "done", "wont_do"].map((each) => /** @type {[string, string]} */ ([each, words(each)])), (value) => move(known, value))}
        ${select("Priority", known.priority ?? "medium", PRIORITIES.map((each) => /** @type {[string, string]} */ ([each, each])), (value) => write("memory_update_backlog_item", { item_id: found.id, priority: value }, { done: `Priority is ${value}.`, project: found.project }))}
        ${known.assigned_to ? html`<button class="button" onclick=${() => write("memory_update_backlog_item", { item_id: found.id, assigned_to: "" }, { done: "Given back.", project: found.project })}>Give back from ${known.assigned_to}</button>` : html`<button class="button" onclick=${() => take(known)}>Take it</button>`}
      </div>
      <div class="text">${markdown(found.content ?? "", `item ${found.id}`)}</div>
      ${showReceipt(known)}
      ${dependencies(found, known)}
      ${history(found.versions)}`;
    })}</aside>`;
}

/** Fields of an item that the panel draws in places of their own. */
const DRAWN = new Set(["found", "id", "title", "type", "status", "project", "priority", "version", "age", "author", "content", "message", "warning", "created", "updated", "created_by", "description", "assigned_to", "claimed_until", "resolution", "completed_by", "completed_at"]);

/** What else the server says of an item. @param {any} known */
function moreFacts(known) {
  const text = (/** @type {string} */ name, /** @type {any} */ value) => (name === "deferred_reason" ? value : `${words(name)} ${value}`);
  return Object.entries(known).filter(([name, value]) => !DRAWN.has(name) && typeof value === "string" && value).map(([name, value]) => text(name, value));
}

/** Who has it until when, why it waits, or who closed it with what proof. @param {any} known */
function showReceipt(known) {
  const facts = [known.assigned_to && known.claimed_until && `${known.assigned_to} has it until ${clock(known.claimed_until).slice(0, 5)}`, ...moreFacts(known)].filter(Boolean);
  return html`${facts.length ? html`<p class="muted">${facts.join(" · ")}</p>` : ""}
    ${known.completed_by ? html`<h3>Receipt</h3><p class="receipt">${icon("check")}<span>${known.resolution || html`<span class="muted">closed without a word on how</span>`} <span class="muted">by <b>${known.completed_by}</b> ${time(known.completed_at)}</span></span></p>` : ""}`;
}

/** @param {any} found @param {any} known */
function dependencies(found, known) {
  const needs = known.depends_on ?? found.links?.depends_on ?? [];
  const blocks = found.links?.blocks ?? [];
  const list = (/** @type {string} */ title, /** @type {string[]} */ ids) => (ids.length ? html`<h3>${title}</h3><ul class="plain">${ids.map((id) => html`<li><button class="linklike" onclick=${() => go("work", { item: id }, { keep: true })}>${everyItem().find((each) => each.id === id)?.title ?? id}</button></li>`)}</ul>` : "");
  return html`${list("Needs", needs)}${list("Blocks", blocks)}`;
}

/** @param {any[]} [versions] */
function history(versions = []) {
  if (!versions.length) return "";
  return html`<h3>History</h3><ol class="plain history">${versions.map((version) => html`
    <li><span class="muted">${time(version.at)}</span> <b>${version.by}</b> ${Object.entries(version.changes ?? {}).map(([name, change]) => html`<span class="change">${words(name)} ${name === "description" ? "changed" : html`<s>${/** @type {any} */ (change).from || "–"}</s> → ${/** @type {any} */ (change).to || "–"}`}</span>`)}</li>`)}</ol>`;
}

// Acts

function redraw() {
  open.changed();
  list.changed();
}

/** @param {any} card @param {string} status */
function move(card, status) {
  const before = card.status;
  if (before === status) return;
  const apply = () => {
    card.status = status;
    redraw();
    return () => {
      card.status = before;
      redraw();
    };
  };
  const undo = () => move(card, before);
  return write("memory_update_backlog_item", { item_id: card.id, status }, { apply, undo, done: `“${card.title}” is ${words(status)}.`, project: card.project });
}

/** @param {any} card */
function take(card) {
  const before = card.assigned_to;
  const apply = () => {
    card.assigned_to = session.current?.agent;
    redraw();
    return () => {
      card.assigned_to = before;
      redraw();
    };
  };
  return write("memory_update_backlog_item", { item_id: card.id, claim: true }, { apply, done: "It is yours.", project: card.project });
}

/** @param {DragEvent} event */
function allowDrop(event) {
  event.preventDefault();
  /** @type {Element} */ (event.currentTarget).classList.add("is-target");
}

/** @param {DragEvent} event */
function leave(event) {
  /** @type {Element} */ (event.currentTarget).classList.remove("is-target");
}

/** @param {DragEvent} event @param {string} status */
function drop(event, status) {
  event.preventDefault();
  leave(event);
  const id = event.dataTransfer?.getData("text/plain");
  const found = everyItem().find((each) => each.id === id);
  if (found && columnOf(found) !== COLUMNS.find(([, , each]) => each === status)?.[0]) void move(found, status);
}

/** @param {any} card */
function openMove(card) {
  const choose = (/** @type {string} */ status) => {
    closeDialog();
    void move(card, status);
  };
  dialog.value = () => html`<dialog class="dialog" ref=${openModal} onclose=${closeDialog} aria-label="Move">
    <h2>Move “${card.title}”</h2>
    <div class="menu">${COLUMNS.map(([, title, status]) => html`<button class="button" onclick=${() => choose(status)}>${title}</button>`)}</div></dialog>`;
}

/** @param {SubmitEvent} event */
async function create(event) {
  const { tags, ...given } = fields(event);
  const sent = { ...given, ...(tags ? { tags: tags.split(/[\s,]+/).filter(Boolean) } : {}) };
  createProblem.value = "";
  try {
    await call("memory_add_backlog_item", sent, { project: given.project });
  } catch (error) {
    // What was typed stays, for another try.
    createProblem.value = /** @type {Error} */ (error).message;
    return;
  }
  closeDialog();
  toast({ text: "Added.", kind: "done" });
  void (isList() ? list : open).load();
}

const createProblem = signal("");

function openCreate() {
  const chosen = oneProject();
  createProblem.value = "";
  dialog.value = () => html`<dialog class="dialog" ref=${openModal} onclose=${closeDialog} aria-label="New item">
    <form class="form" onsubmit=${create}>
      <h2>New item</h2>
      <label>Title <input name="title" required maxlength="300" autofocus></label>
      <label>Description <textarea name="description" rows="5" maxlength="20000"></textarea></label>
      <div class="row">
        <label>Project <select name="project">${[...new Set([...projects.value.map((each) => each.project), chosen])].map((name) => html`<option value="${name}" .selected=${name === chosen}>${name}</option>`)}</select></label>
        <label>Priority <select name="priority">${PRIORITIES.map((each) => html`<option value="${each}" .selected=${each === "medium"}>${each}</option>`)}</select></label>
        <label>Tags <input name="tags" placeholder="tax, cart"></label>
      </div>
      <p class="problem" role="alert">${createProblem.value}</p>
      <div class="row"><button class="button push" type="button" onclick=${closeDialog}>Cancel</button><button class="button primary">Add</button></div>
    </form></dialog>`;
}
