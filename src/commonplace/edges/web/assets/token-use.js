// What agents used today, as their transcripts tell it: tokens, what they cost where the program writes it down, context.

import { html } from "./dom.js";
import { call, project } from "./state.js";
import { resource } from "./view.js";

const tokenUse = resource(() => call("memory_list_token_use", { project: project() }));

/** Fetch again when a transcript was uploaded or a session began, or when anything may have changed.
 * @param {import("./live.js").LiveEvent[] | null} events */
export async function loadTokenUse(events) {
  if (!events || events.some((event) => event.kind === "SessionArchived" || event.kind === "SessionStarted")) await tokenUse.load();
}

/** @param {number} n */
const short = (n) => (n < 1000 ? `${n}` : n < 999500 ? `${(n / 1e3).toFixed(n < 9950 ? 1 : 0)}k` : `${(n / 1e6).toFixed(1)}M`);

/** Tokens that were not read from the model's cache. @param {any} use */
const countFresh = (use) => (use.input_tokens ?? 0) + (use.output_tokens ?? 0);

/** @param {any} use */
const explain = (use) => `Today: ${short(use.input_tokens ?? 0)} tokens read, ${short(use.output_tokens ?? 0)} written, and ${short(use.cached_tokens ?? 0)} read from the cache`;

/** @param {any} use */
const sayCost = (use) => (use.cost ? ` · $${use.cost.toFixed(2)}` : "");

/** What all agents used, for the heading of their list. */
export function showTotalUse() {
  const total = tokenUse.data?.total;
  return total && countFresh(total) ? html`<span class="muted push use" title="${explain(total)}">${short(countFresh(total))} tokens today${sayCost(total)}</span>` : "";
}

/** @param {{project: string, session: string}} agent */
export function showUse(agent) {
  const use = tokenUse.data?.agents.find((/** @type {any} */ each) => each.project === agent.project && each.session === agent.session);
  if (!use) return "";
  return html`${countFresh(use) ? html`<span class="chip" title="${explain(use)}${use.model ? ` (${use.model})` : ""}">${short(countFresh(use))} tokens${sayCost(use)}</span>` : ""}${showContext(use)}`;
}

/** @param {any} use */
function showContext({ context_tokens = 0, context_window = 0 }) {
  if (!context_tokens) return "";
  const percent = Math.min(100, Math.round((100 * context_tokens) / context_window));
  return context_window
    ? html`<span class="chip" title="The last prompt filled ${short(context_tokens)} of ${short(context_window)} tokens"><span class="meter" aria-hidden="true"><i style:width="${percent}%"></i></span>context ${percent} %</span>`
    : html`<span class="chip" title="The size of the last prompt; how much the model takes is not in its transcript">context ${short(context_tokens)}</span>`;
}
