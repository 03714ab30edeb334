// The empty state is the tutorial: three commands, each with a tick that turns green when it has happened.

import { html, signal } from "./dom.js";
import { age } from "./format.js";
import { icon } from "./icons.js";
import { copy } from "./state.js";

const KEPT_AS = "tutorial";
/** @type {import("./dom.js").Signal<string>} "open" from the first empty page until somebody closes it. */
const state = signal(localStorage.getItem(KEPT_AS) ?? "");

const STEPS = [
  ["Connect an agent", "commonplace connect claude", "Other agents: codex, gemini, cursor, copilot, opencode."],
  ["Add hooks and transcripts", "commonplace install", "Edits are checked against the locks of others, sessions are archived."],
  ["Give it something to do", "Start a session in Commonplace and tell me what the team knows.", "Paste it into the agent."],
];
const BEFORE_WORK = ["SessionStarted", "SessionEnded", "ProjectCreated"];

/** @param {any} now @param {any[] | null} events */
export function isTutorialOpen(now, events) {
  if (!state.value && events && !events.length && !now.agents.length) set("open");
  return state.value === "open";
}

/** @param {string} value */
function set(value) {
  localStorage.setItem(KEPT_AS, value);
  state.value = value;
}

/** What showed that each step was done, newest first. @param {any} now @param {any[]} events @returns {(string | undefined)[]} */
function listProofs(now, events) {
  const [agent] = now.agents;
  const started = events.find((event) => event.kind === "SessionStarted");
  const hooked = now.agents.find((/** @type {any} */ each) => each.branch || each.directory);
  const archived = events.find((event) => event.kind === "SessionArchived");
  const acted = events.find((event) => !BEFORE_WORK.includes(event.kind));
  const ago = (/** @type {string} */ at) => (age(at) === "now" ? "just now" : `${age(at)} ago`);
  return [
    agent ? `${agent.agent} said hello ${ago(agent.started)}` : started && `${started.actor || "An agent"} said hello ${ago(started.at)}`,
    hooked ? `The hooks of ${hooked.agent} told where it works` : archived && `A session was archived ${ago(archived.at)}`,
    acted && `${acted.actor || "An agent"} did something ${ago(acted.at)}`,
  ];
}

/** @param {any} now @param {any[]} events */
export function showTutorial(now, events) {
  const proofs = listProofs(now, events);
  const isDone = proofs.every(Boolean);
  return html`<section class="tutorial" aria-labelledby="begin">
    <h2 id="begin">${isDone ? "You are set up" : "Begin in three steps"}<button class="button push" onclick=${() => set("closed")}>${isDone ? "Close" : "Hide"}</button></h2>
    <ol>${STEPS.map(([title, command, note], index) => html`
      <li class="${proofs[index] ? "is-done" : ""}">
        <span class="tick" role="img" aria-label="${proofs[index] ? "done" : "not done yet"}">${proofs[index] ? icon("check") : String(index + 1)}</span>
        <div><b>${title}</b><div class="command"><code>${command}</code><button class="icon-button" aria-label="Copy: ${command}" onclick=${() => copy(command)}>${icon("copy")}</button></div>
        <p class="${proofs[index] ? "proof" : "muted"}">${proofs[index] ?? note}</p></div>
      </li>`)}</ol>
    <p class="muted">${isDone ? "From now on, this page shows who needs you." : "Each step is ticked off here as soon as it happened. Leave the page open."}</p>
  </section>`;
}
