// The health of the server: what doctor finds, in words; plots of calls, percentiles, queue and store; each operation.

import { each, html } from "./dom.js";
import { words } from "./format.js";
import { icon } from "./icons.js";
import { plot } from "./plot.js";
import { call, copy } from "./state.js";
import { loaded, resource } from "./view.js";

const MOST_SAMPLES = 120;

/** @typedef {[number, number][]} Buckets upper bounds in seconds with how many calls took no longer */
/** @typedef {{name: string, n: number, seconds: number, buckets: Buckets}} OperationFigures */
/** @typedef {{at: number, total: number, buckets: Buckets, latency: number, queue: number}} Sample */

/** @type {Sample[]} */ const samples = [];

/** @type {ReturnType<typeof resource<any>>} */
export const health = resource(async () => {
  const [state, metrics, inspection] = await Promise.all([
    call("memory_health"),
    fetch("/metrics").then((reply) => (reply.ok ? reply.text() : "")),
    call("memory_inspect_server").catch(() => ({ findings: [] })),
  ]);
  const operations = readMetrics(metrics);
  samples.push({ at: Date.now(), total: operations.reduce((sum, each) => sum + each.n, 0), buckets: mergeBuckets(operations), latency: state.store?.latency_ms ?? 0, queue: state.search?.pending ?? 0 });
  if (samples.length > MOST_SAMPLES) samples.shift();
  // A line needs two points, and somebody who has just come should not wait for the next round.
  if (samples.length < 3) setTimeout(() => void health.load(), 1000);
  return { state, operations, findings: inspection.findings };
});

/** The calls of each operation, from the text that monitoring reads. @param {string} text */
function readMetrics(text) {
  /** @type {Map<string, OperationFigures>} */ const found = new Map();
  for (const line of text.split("\n")) {
    const parts = /^commonplace_\w*?(bucket|sum|count)\{([^}]*)\} ([\d.e+-]+)/.exec(line);
    const name = parts && /operation="([^"]+)"/.exec(parts[2])?.[1];
    if (!parts || !name) continue;
    const own = found.get(name) ?? { name, n: 0, seconds: 0, buckets: /** @type {Buckets} */ ([]) };
    found.set(name, own);
    const bound = /le="([^"]+)"/.exec(parts[2])?.[1];
    if (parts[1] === "count") own.n += Number(parts[3]);
    else if (parts[1] === "sum") own.seconds += Number(parts[3]);
    else if (bound) addBucket(own.buckets, bound === "+Inf" ? Infinity : Number(bound), Number(parts[3]));
  }
  return [...found.values()].filter((each) => each.n).sort((a, b) => b.n - a.n);
}

/** @param {Buckets} buckets @param {number} limit @param {number} value */
function addBucket(buckets, limit, value) {
  const known = buckets.find(([each]) => each === limit);
  known ? (known[1] += value) : buckets.push([limit, value]);
}

/** @param {OperationFigures[]} operations @returns {Buckets} */
function mergeBuckets(operations) {
  /** @type {Buckets} */ const merged = [];
  for (const { buckets } of operations) for (const [limit, value] of buckets) addBucket(merged, limit, value);
  return merged.sort((a, b) => a[0] - b[0]);
}

/** The bound below which this share of calls lies, in milliseconds; null without calls. @param {Buckets} buckets @param {number} share */
function percentile(buckets, share) {
  const n = Math.max(0, ...buckets.map(([, value]) => value));
  if (!n) return null;
  const found = [...buckets].sort((a, b) => a[0] - b[0]).find(([, value]) => value >= n * share);
  return found ? 1000 * (found[0] === Infinity ? 10 : found[0]) : null;
}

/** Of the calls between two samples. @param {number} share @returns {(number | null)[]} */
function percentiles(share) {
  return samples.slice(1).map((sample, index) => {
    const before = new Map(samples[index].buckets);
    return percentile(sample.buckets.map(([limit, value]) => [limit, value - (before.get(limit) ?? 0)]), share);
  });
}

/** @param {number} value */
const milliseconds = (value) => (value >= 1000 ? `${+(value / 1000).toPrecision(2)} s` : `${+value.toPrecision(2)} ms`);
/** @param {number | null} value */
const bound = (value) => (value === null ? "–" : value >= 10000 ? "> 10 s" : `≤ ${milliseconds(value)}`);

export function showHealth() {
  return loaded(health, ({ state, operations, findings }) => {
    const rates = samples.slice(1).map((sample, index) => Math.max(0, (sample.total - samples[index].total) / Math.max(0.2, (sample.at - samples[index].at) / 1000)));
    const hours = Math.floor(state.uptime_seconds / 3600);
    return html`
    <p class="health-line"><span class="dot" aria-hidden="true"></span><b>${state.status}</b><span>version ${state.version}</span><span>up ${hours ? `${hours} h ` : ""}${Math.floor((state.uptime_seconds % 3600) / 60)} min</span><span>${state.store?.kind}</span><span>${state.active_sessions ?? 0} sessions</span><span>${state.active_locks ?? 0} locks</span></p>
    ${findings.length ? html`<section aria-labelledby="findings"><h2 id="findings">What doctor finds</h2><ul class="findings">${each(findings, (found) => found.check + found.message, showFinding)}</ul></section>` : ""}
    <section aria-labelledby="plots"><h2 id="plots">Since this view was opened</h2><div class="plots">
      ${plot("Calls per second", rates, (value) => value.toFixed(1), MOST_SAMPLES)}
      ${plot("p50 of calls", percentiles(0.5), bound, MOST_SAMPLES)}
      ${plot("p95 of calls", percentiles(0.95), bound, MOST_SAMPLES)}
      ${plot("p99 of calls", percentiles(0.99), bound, MOST_SAMPLES)}
      ${plot("Store", samples.map((sample) => sample.latency), milliseconds, MOST_SAMPLES)}
      ${plot("Search queue", samples.map((sample) => sample.queue), (value) => value.toLocaleString(), MOST_SAMPLES)}
    </div></section>
    <section aria-labelledby="operations"><h2 id="operations">Operations since the start</h2>${operations.length ? html`<div class="scroll-x" tabindex="0" role="group" aria-label="Table of operations"><table class="data"><thead><tr><th scope="col">operation</th><th scope="col">calls</th><th scope="col">mean</th><th scope="col">p50</th><th scope="col">p95</th><th scope="col">p99</th></tr></thead><tbody>${each(operations, (row) => row.name, (row) => html`<tr><th scope="row">${row.name === "unknown" ? "internal and unknown calls" : words(row.name.replace("memory_", ""))}</th><td>${row.n.toLocaleString()}</td><td>${milliseconds((1000 * row.seconds) / row.n)}</td><td>${bound(percentile(row.buckets, 0.5))}</td><td>${bound(percentile(row.buckets, 0.95))}</td><td>${bound(percentile(row.buckets, 0.99))}</td></tr>`)}</tbody></table></div>` : html`<p class="muted">No figures: /metrics needs a key that may read it.</p>`}</section>`;
  });
}

/** @param {any} found */
function showFinding(found) {
  const isOk = found.health === "ok";
  return html`<li class="finding is-${found.health}">${icon(isOk ? "check" : "warn")}<b>${found.check}</b><span class="grow">${isOk ? "" : html`<span class="visually-hidden">${found.health}: </span>`}${found.message}</span>
    ${found.command ? html`<button class="chip" title="Copy the command" onclick=${() => copy(found.command)}>${icon("copy")}<code>${found.command}</code></button>` : ""}</li>`;
}
