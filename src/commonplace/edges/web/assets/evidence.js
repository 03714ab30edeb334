// What a document cites: whether it still looks the same, and its lines as they were beside what they are now.

import { html } from "./dom.js";
import { diffLines, time } from "./format.js";
import { icon } from "./icons.js";
import { link } from "./state.js";

/** @type {Record<string, string>} */
const SAYS = { fresh: "unchanged", drifted: "changed since", gone: "no longer there", unchecked: "not checked" };

/** @param {any[]} cited @param {string} project */
export function showEvidence(cited, project) {
  if (!cited.length) return "";
  const isBlind = cited.some((each) => each.state === "drifted" && !each.before);
  return html`<h3>Evidence</h3><ul class="evidence">${cited.map((each) => showPlace(each, project))}</ul>
    ${isBlind ? html`<p class="muted small">To see what changed, run <code>commonplace verify . --project ${project} --lines</code> in a checkout.</p>` : ""}`;
}

/** @param {any} cited @param {string} project */
function showPlace(cited, project) {
  const path = cited.place.replace(/[:#@].*$/, "");
  const isBroken = ["drifted", "gone"].includes(cited.state);
  return html`<li><div class="evidence-head"><a class="clip" href="${link("code", { project, file: path })}"><code>${cited.place}</code></a>
      <span class="chip ${isBroken ? "warn" : ""}">${isBroken ? icon("warn") : cited.state === "fresh" ? icon("check") : ""}${SAYS[cited.state] ?? cited.state}</span>${cited.checked ? html`<span class="muted push">checked ${time(cited.checked)} ago</span>` : ""}</div>
    ${cited.before && cited.state === "drifted" && cited.now ? showChange(cited) : cited.before ? html`<figure><figcaption>${cited.state === "gone" ? "as it was" : "as it is"}</figcaption><pre tabindex="0">${cited.before}</pre></figure>` : ""}</li>`;
}

/** @param {any} cited */
function showChange(cited) {
  const lines = diffLines(cited.before, cited.now);
  const side = (/** @type {string} */ other, /** @type {string} */ name) => lines.filter(([mark]) => mark !== other).map(([mark, text]) => html`<span class="${mark === " " ? "" : name}">${`${mark} ${text}\n`}</span>`);
  return html`<div class="sides"><figure><figcaption>as it was</figcaption><pre class="diff" tabindex="0">${side("+", "removed")}</pre></figure><figure><figcaption>as it is now</figcaption><pre class="diff" tabindex="0">${side("-", "added")}</pre></figure></div>`;
}
