// The live state: who waits, who works on what, what is held. Now shows it; the rail and the tab need only two counts.

import { signal } from "./dom.js";
import { call, project } from "./state.js";
import { resource } from "./view.js";

const FIRST_ROWS = 40;
const WORKING_MILLISECONDS = 60000;

/** How many wait for a person, and whether any agent works. */
export const counts = signal({ waiting: 0, isWorking: false });
/** The lists that somebody asked to see whole. */
export const whole = signal(/** @type {string[]} */ ([]));

export const overview = resource(async () => {
  const state = await call("memory_get_live_state", { project: project(), ...(whole.current.length ? {} : { limit: FIRST_ROWS }) });
  const isWorking = state.agents.some((/** @type {any} */ agent) => Date.now() - Date.parse(agent.active) < WORKING_MILLISECONDS);
  counts.value = { waiting: state.counts.needs_you, isWorking };
  return state;
});

/** What every other view needs of the live state. */
export async function loadCounts() {
  const { needs_you, active } = await call("memory_get_live_counts", { project: project() });
  counts.value = { waiting: needs_you, isWorking: active > 0 };
}
