// Plots of a few dozen values over time: a line, a filled area below it, the largest value and the newest in words.

import { html } from "./dom.js";

const WIDTH = 300;
const HEIGHT = 56;
const LEAST_SAMPLES = 12;

/** @param {string} title @param {(number | null)[]} values @param {(value: number) => string} say @param {number} samples how many fill the width at most */
export function plot(title, values, say, samples) {
  const known = /** @type {number[]} */ (values.filter((value) => value !== null));
  const most = Math.max(...known, 0);
  const newest = known.at(-1);
  const step = WIDTH / Math.max(1, Math.min(samples, Math.max(LEAST_SAMPLES, values.length)) - 1);
  const points = values.flatMap((value, index) => (value === null ? [] : [`${(WIDTH - (values.length - 1 - index) * step).toFixed(1)},${(HEIGHT - 4 - (most ? value / most : 0) * (HEIGHT - 10)).toFixed(1)}`]));
  const line = points.length > 1 ? `M${points.join("L")}` : "M0 0";
  const first = points[0]?.split(",", 1)[0] ?? 0;
  return html`<figure class="plot"><figcaption><span>${title}</span><b>${newest === undefined ? "–" : say(newest)}</b></figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${title}: now ${newest === undefined ? "not known" : say(newest)}, at most ${say(most)}"><path class="area" d="${points.length > 1 ? `${line}L${WIDTH},${HEIGHT}L${first},${HEIGHT}Z` : "M0 0"}"/><path class="line" d="${line}"/></svg>
    <div class="muted small">${points.length > 1 ? `at most ${say(most)}` : "begins now"}</div></figure>`;
}
