// A request to a person: what is asked, verbatim and whole, and the buttons that answer it, or the place where it can be answered.
//
// The answer names the hash of what was shown, so that it counts for nothing else.

import { each, html } from "./dom.js";
import { avatar, time } from "./format.js";
import { icon } from "./icons.js";
import { counts, overview } from "./overview.js";
import { copy, write } from "./state.js";

/** @type {Record<string, string>} */
const SAYS = { permission: "asks for permission", question: "asks you", plan: "shows you a plan", idle: "has ended its turn" };

/** Take a row away at once; what is returned puts it back. @param {any} need */
export function without(need) {
  const [now, before] = [overview.data, counts.current];
  if (!now) return () => {};
  overview.set({ ...now, needs_you: now.needs_you.filter((/** @type {any} */ each) => each !== need) });
  // An agent that has ended its turn waits for nothing.
  counts.value = { ...before, waiting: before.waiting - (need.kind === "idle" ? 0 : 1) };
  return () => {
    overview.set(now);
    counts.value = before;
  };
}

/** @param {any} need */
export function showRequest(need) {
  const request = need.request;
  return html`<li class="need ${need.kind === "idle" ? "is-idle" : ""}" data-row data-request="${request.id}" tabindex="-1">
    ${avatar(need.agent)}
    <div class="need-body">
      <div class="need-head"><b>${need.agent}</b> ${SAYS[request.kind] ?? request.kind}${request.kind === "permission" && request.title ? html`: <b>${request.title}</b>` : ""} <span class="muted">${need.project} · ${time(need.since)}</span></div>
      ${request.text ? html`<pre class="request-text" tabindex="0" aria-label="What ${need.agent} asks">${request.text}</pre>` : ""}
      ${request.can_answer ? showAnswer(need) : showPlace(request)}
    </div>
  </li>`;
}

/** Where the program itself can be answered. @param {any} request */
function showPlace(request) {
  const where = [request.tool, request.machine && `on ${request.machine}`, request.directory && `in ${request.directory}`].filter(Boolean).join(" ");
  const command = request.tmux_target ? `tmux attach -t ${request.tmux_target}` : request.directory ? `cd ${quoted(request.directory)}` : "";
  return html`${(request.questions ?? []).map((/** @type {any} */ asked) => html`<p class="request-question">${asked.question}</p>`)}
    <p class="place muted">${request.kind === "idle" ? "Its window" : "Answer in its window"}: ${where || "not known"}
    ${command ? html`<button class="chip" title="Copy: ${command}" onclick=${() => copy(command)}>${icon("copy")}${request.tmux_target ? `tmux ${request.tmux_target}` : "copy cd"}</button>` : ""}</p>`;
}

/** @param {string} path */
const quoted = (path) => (/^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

/** @param {any} need */
function showAnswer(need) {
  return need.request.kind === "question" ? showQuestions(need) : showDecision(need);
}

/** Not a form: Enter in the note must not allow anything. @param {any} need */
function showDecision(need) {
  const decide = (/** @type {string} */ decision) => (/** @type {any} */ event) => {
    const note = event.target.closest(".answer").querySelector("input").value.trim();
    return send(need, { decision, ...(note ? { note } : {}) }, decision === "allow" ? "Allowed." : "Denied.");
  };
  return html`<div class="answer">
    <input class="grow" maxlength="4000" aria-label="Note for ${need.agent}" placeholder="Reason or note (optional)">
    <button class="button primary" onclick=${decide("allow")}>${need.request.kind === "plan" ? "Approve" : "Allow"}</button>
    <button class="button" onclick=${decide("deny")}>${need.request.kind === "plan" ? "Reject" : "Deny"}</button>
  </div>`;
}

/** @param {any} need */
function showQuestions(need) {
  const asked = need.request.questions;
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const answers = asked.map((/** @type {any} */ _, /** @type {number} */ n) => [...form.getAll(`option${n}`), String(form.get(`text${n}`) ?? "").trim()].filter(Boolean).join(", "));
    if (answers.every(Boolean)) void send(need, { decision: "answer", answers }, "Answered.");
  };
  const isOneClick = asked.length === 1 && !asked[0].multiple;
  return html`<form class="questions" onsubmit=${submit}>
    ${each(asked, (_) => asked.indexOf(_), (question, n) => html`<fieldset><legend>${question.question}</legend>
      ${isOneClick
        ? html`<div class="row">${(question.options ?? []).map((/** @type {any} */ option) => html`<button type="button" class="button primary" title="${option.description ?? ""}" onclick=${() => send(need, { decision: "answer", answers: [option.label] }, "Answered.")}>${option.label}</button>`)}</div>`
        : (question.options ?? []).map((/** @type {any} */ option) => html`<label class="option"><input type="${question.multiple ? "checkbox" : "radio"}" name="option${n}" value="${option.label}"> ${option.label} <span class="muted">${option.description}</span></label>`)}
      ${isOneClick ? "" : answerField(question, n)}
    </fieldset>`)}
    <div class="row">${isOneClick ? answerField(asked[0], 0) : ""}<button class="button ${isOneClick && asked[0].options?.length ? "" : "primary"}">Answer</button>
      <button type="button" class="button" onclick=${() => send(need, { decision: "deny" }, "Declined.")}>Decline</button></div>
  </form>`;
}

/** @param {any} question @param {number} n */
function answerField(question, n) {
  return html`<input class="grow" name="text${n}" maxlength="4000" aria-label="Your own answer to: ${question.question}" placeholder="${question.options?.length ? "Another answer" : "Your answer"}">`;
}

/** @param {any} need @param {Record<string, unknown>} answer @param {string} done */
function send(need, answer, done) {
  const { id, shown } = need.request;
  return write("memory_answer_request", { project: need.project, request_id: id, shown, ...answer }, { done, apply: () => without(need) });
}
