// Release a lock that an agent holds: the reason is asked for, the agent is told, and it can be undone while the file is free.

import { html } from "./dom.js";
import { closeDialog, dialog } from "./keys.js";
import { overview } from "./overview.js";
import { session, write } from "./state.js";
import { fields, openModal } from "./view.js";

/** @param {any} row a held file */
export function showRelease(row) {
  if (!row.mode || session.value?.role === "readonly") return "";
  return html`<button class="chip release" title="Release the lock of ${row.agent}" onclick=${() => openRelease(row)}>Release<span class="visually-hidden"> the lock of ${row.agent} on ${row.lock ?? row.path}</span></button>`;
}

/** @param {any} row */
function openRelease(row) {
  const submit = (/** @type {SubmitEvent} */ event) => {
    const { reason } = fields(event);
    closeDialog();
    void release(row, reason);
  };
  dialog.value = () => html`<dialog class="dialog" ref=${openModal} onclose=${closeDialog} aria-label="Release a lock">
    <form class="form" onsubmit=${submit}>
      <h2>Release ${row.lock ?? row.path}</h2>
      <p class="muted">${row.agent} is told with its next call and must lock the file again before it goes on.</p>
      <label>Reason <input name="reason" required maxlength="500" autofocus placeholder="what ${row.agent} is told"></label>
      <div class="row"><button class="button push" type="button" onclick=${closeDialog}>Cancel</button><button class="button primary">Release</button></div>
    </form></dialog>`;
}

/** @param {any} row @param {string} reason */
async function release(row, reason) {
  const { project, agent, path, lock } = row;
  /** @type {any[]} */ let released = [];
  const undo = () => void giveBack(project, released);
  const reply = await write("memory_release_lock", { project, agent, file: lock ?? path, reason }, { done: `${lock ?? path} is free.`, apply: () => without(row), undo });
  released = reply?.released ?? [];
  void overview.load();
}

/** @param {string} project @param {any[]} released */
async function giveBack(project, released) {
  for (const { agent, session, lock, mode, minutes, reason = "" } of released)
    await write("memory_return_lock", { project, agent, session, lock, mode, minutes, reason }, { done: `${agent} has it again.` });
  void overview.load();
}

/** Take a row away at once; what is returned puts it back. @param {any} row */
function without(row) {
  const now = overview.data;
  if (!now) return () => {};
  overview.set({ ...now, files: now.files.filter((/** @type {any} */ each) => each !== row) });
  return () => overview.set(now);
}
