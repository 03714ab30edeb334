// The rendering module: tagged templates, keyed lists and signals.
//
// `html`<p>${text}</p>`` describes elements; `render` makes or updates them. A value in a template is always text, an
// attribute, a listener or another template: it is never parsed, so nothing that an agent wrote can become markup.
// Elements are created one by one, without innerHTML, which is why the strictest trusted types policy holds.

/** @typedef {{strings: TemplateStringsArray, values: unknown[]}} Template */
/** @typedef {{entries: [unknown, unknown][]}} Keyed */
/** @typedef {{tag: string, attributes: {name: string, pieces: (string|number)[]}[], children: Shape[]} | string | number} Shape */

const SVG = "http://www.w3.org/2000/svg";
const VOID = new Set(["br", "hr", "img", "input", "path", "circle", "rect", "line", "use"]);
const ADDRESSES = new Set(["href", "src", "action", "formaction"]);
const SAFE_ADDRESS = /^(https?:|mailto:|\/(?!\/)|[#?]|data:image\/(png|svg\+xml)[;,])/i;

const NOTHING = Symbol("nothing");

/** @type {WeakMap<TemplateStringsArray, Blueprint>} */
const blueprints = new WeakMap();

/** @param {TemplateStringsArray} strings @param {...unknown} values @returns {Template} */
export function html(strings, ...values) {
  return { strings, values };
}

/** A list whose elements follow their keys when it is reordered.
 * @template T @param {Iterable<T>} items @param {(item: T) => unknown} key @param {(item: T, index: number) => unknown} show @returns {Keyed} */
export function each(items, key, show) {
  return { entries: Array.from(items, (item, index) => [key(item), show(item, index)]) };
}

/** @type {WeakMap<Element, ChildPart>} */
const contents = new WeakMap();

/** Make the content of an element what the template says. @param {unknown} value @param {Element} into */
export function render(value, into) {
  const part = contents.get(into) ?? new ChildPart(into.appendChild(document.createTextNode("")));
  contents.set(into, part);
  part.set(value);
}

/** @param {string} address */
export function isSafeAddress(address) {
  return SAFE_ADDRESS.test(address);
}

// Parsing: the strings of a template come from our own code, so the parser accepts only what our code needs.

/** @param {TemplateStringsArray} strings @returns {Shape[]} */
function parse(strings) {
  /** @type {Shape[]} */ const top = [];
  const stack = [{ tag: "", children: top }];
  /** @type {{tag: string, attributes: {name: string, pieces: (string|number)[]}[], children: Shape[]} | null} */ let open = null;
  strings.forEach((text, index) => {
    let rest = text;
    while (rest) {
      if (open) {
        const found = /^\s*(?:(\/?>)|([^\s=>"]+)(=)?(?:"([^"]*)("?))?)|^([^">]*)"/.exec(rest);
        const last = open.attributes.at(-1);
        if (last && last.pieces.length && typeof last.pieces.at(-1) === "number" && /** @type {any} */ (last).quoted) {
          const end = rest.indexOf('"');
          last.pieces.push(end < 0 ? rest : rest.slice(0, end));
          if (end >= 0) /** @type {any} */ (last).quoted = false;
          rest = end < 0 ? "" : rest.slice(end + 1);
          continue;
        }
        if (!found || found[6] !== undefined) throw new Error(`template: cannot parse ${rest}`);
        rest = rest.slice(found[0].length);
        if (found[1]) {
          if (found[1] === ">" && !VOID.has(open.tag)) stack.push(open);
          open = null;
        } else {
          const attribute = { name: found[2], pieces: /** @type {(string|number)[]} */ ([]), quoted: false };
          if (found[4] !== undefined) attribute.pieces.push(found[4]);
          else if (!found[3]) attribute.pieces.push("");
          attribute.quoted = found[4] !== undefined && !found[5];
          open.attributes.push(attribute);
        }
        continue;
      }
      const start = rest.search(/<[/a-z]/i);
      const words = start < 0 ? rest : rest.slice(0, start);
      const kept = words.replace(/\s*\n\s*/g, "");
      if (kept) stack[stack.length - 1].children.push(kept);
      if (start < 0) break;
      const found = /** @type {RegExpExecArray} */ (/^<(\/?)([a-z][\w-]*)(\s*>)?/i.exec(rest.slice(start)));
      rest = rest.slice(start + (found[1] ? found[0].length : found[2].length + 1));
      if (found[1]) {
        const closed = stack.pop();
        if (closed?.tag !== found[2]) throw new Error(`template: </${found[2]}> closes <${closed?.tag}>`);
      } else {
        open = { tag: found[2], attributes: [], children: [] };
        stack[stack.length - 1].children.push(open);
      }
    }
    if (index === strings.length - 1) return;
    if (open) /** @type {any} */ (open).attributes.at(-1).pieces.push(index);
    else stack[stack.length - 1].children.push(index);
  });
  if (stack.length !== 1) throw new Error(`template: <${stack.at(-1)?.tag}> is not closed`);
  return top;
}

// Building and updating: each template is built once and then cloned, which costs less than making its elements again.

/** Where a value goes: into the text at the end of `path`, or into an attribute of the element there.
 * @typedef {{path: number[], value: number, name: string, pieces: (string|number)[]}} Hole */

class Blueprint {
  /** @param {TemplateStringsArray} strings */
  constructor(strings) {
    this.fragment = document.createDocumentFragment();
    /** @type {Hole[]} */ this.holes = [];
    for (const child of parse(strings)) this.build(child, this.fragment, [], false);
  }

  /** @param {Shape} shape @param {Node} parent @param {number[]} above @param {boolean} isSvg */
  build(shape, parent, above, isSvg) {
    const path = [...above, parent.childNodes.length];
    if (typeof shape === "object") {
      const svg = isSvg || shape.tag === "svg";
      const element = svg ? document.createElementNS(SVG, shape.tag) : document.createElement(shape.tag);
      for (const child of shape.children) this.build(child, element, path, svg);
      for (const { name, pieces } of shape.attributes) this.bind(element, path, name, pieces);
      parent.appendChild(element);
      return;
    }
    parent.appendChild(document.createTextNode(typeof shape === "string" ? shape : ""));
    if (typeof shape === "number") this.holes.push({ path, value: shape, name: "", pieces: [] });
  }

  /** @param {Element} element @param {number[]} path @param {string} name @param {(string|number)[]} given */
  bind(element, path, name, given) {
    const pieces = given.length > 1 ? given.filter((piece) => piece !== "") : given;
    if (pieces.every((piece) => typeof piece === "string") && !name.startsWith("style:")) setAttribute(element, name, pieces.join(""), null);
    else this.holes.push({ path, value: pieces.length === 1 && typeof pieces[0] === "number" ? pieces[0] : -1, name, pieces });
  }
}

class Instance {
  /** @param {TemplateStringsArray} strings */
  constructor(strings) {
    let blueprint = blueprints.get(strings);
    if (!blueprint) blueprints.set(strings, (blueprint = new Blueprint(strings)));
    this.strings = strings;
    this.holes = blueprint.holes;
    this.fragment = /** @type {DocumentFragment} */ (blueprint.fragment.cloneNode(true));
    this.parts = this.holes.map(({ path, name }) => {
      /** @type {Node} */ let node = this.fragment;
      for (const index of path) node = node.childNodes[index];
      return name ? new AttributePart(/** @type {Element} */ (node)) : new ChildPart(/** @type {Text} */ (node));
    });
  }

  /** @param {unknown[]} values */
  update(values) {
    for (let index = 0; index < this.parts.length; index++) {
      const { value, name, pieces } = this.holes[index];
      this.parts[index].set(value >= 0 ? values[value] : joinPieces(pieces, values), name);
    }
  }
}

/** @param {(string|number)[]} pieces @param {unknown[]} values */
function joinPieces(pieces, values) {
  let text = "";
  for (const piece of pieces) text += typeof piece === "number" ? values[piece] ?? "" : piece;
  return text;
}

class AttributePart {
  /** @param {Element} element */
  constructor(element) {
    this.element = element;
    /** @type {unknown} */ this.shown = NOTHING;
  }

  /** @param {unknown} value @param {string} name */
  set(value, name) {
    if (value !== this.shown) setAttribute(this.element, name, value, this.shown);
    this.shown = value;
  }
}

/** `onclick` listens, `.value` is a property, `?hidden` is there or not, `style:width` is one property of the style.
 * @param {Element} element @param {string} name @param {unknown} value @param {unknown} before */
function setAttribute(element, name, value, before) {
  if (name.startsWith("on")) {
    const type = name.slice(2);
    if (typeof before === "function") element.removeEventListener(type, /** @type {EventListener} */ (before));
    if (typeof value === "function") element.addEventListener(type, /** @type {EventListener} */ (value));
  } else if (name === "ref") /** @type {(element: Element) => void} */ (value)?.(element);
  else if (name[0] === ".") {
    const target = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (element));
    if (target[name.slice(1)] !== value) target[name.slice(1)] = value;
  } else if (name[0] === "?") element.toggleAttribute(name.slice(1), Boolean(value));
  else if (name.startsWith("style:")) /** @type {HTMLElement} */ (element).style.setProperty(name.slice(6), String(value));
  else if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (ADDRESSES.has(name) && !isSafeAddress(String(value))) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : String(value));
}

/** What stands at one place: a text, a template, a node or a list of them. A text needs one node; the others stand between
 * two empty ones. */
class ChildPart {
  /** @param {Text} place */
  constructor(place) {
    this.start = this.end = place;
    this.text = "";
    /** @type {Node | null} */ this.shown = null;
    /** @type {Instance | null} */ this.instance = null;
    /** @type {Map<unknown, ChildPart> | null} */ this.parts = null;
  }

  /** @param {unknown} value */
  set(value) {
    if (value === null || typeof value !== "object") this.setText(value === null || value === undefined || value === false || value === true ? "" : String(value));
    else if ("strings" in value) this.setTemplate(/** @type {Template} */ (value));
    else if (Array.isArray(value)) this.setList({ entries: value.map((item, index) => [index, item]) });
    else if (value instanceof Node) this.setNode(value);
    else if ("entries" in value) this.setList(/** @type {Keyed} */ (value));
    else this.setText(String(value));
  }

  /** @param {string} text */
  setText(text) {
    if (this.end !== this.start) this.close();
    if (this.text !== text) this.start.data = this.text = text;
  }

  /** @param {Node} node */
  setNode(node) {
    if (this.shown === node) return;
    this.open();
    this.shown = this.insert(node);
  }

  /** @param {Template} template */
  setTemplate(template) {
    if (this.instance?.strings === template.strings) return this.instance.update(template.values);
    this.open();
    this.instance = new Instance(template.strings);
    this.instance.update(template.values);
    this.insert(this.instance.fragment);
  }

  /** @param {Keyed} list */
  setList({ entries }) {
    if (!this.parts) this.open();
    const before = this.parts ?? new Map();
    /** @type {Map<unknown, ChildPart>} */ const after = new Map();
    for (const [key, value] of entries) {
      if (after.has(key)) continue;
      const part = before.get(key) ?? new ChildPart(this.insert(document.createTextNode("")));
      after.set(key, part);
      part.set(value);
    }
    for (const [key, part] of before) if (!after.has(key)) part.remove();
    this.parts = after;
    /** @type {Node} */ let next = this.end;
    for (const part of [...after.values()].reverse()) {
      if (part.end.nextSibling !== next) part.moveBefore(next);
      next = part.start;
    }
  }

  /** @template {Node} N @param {N} node @returns {N} */
  insert(node) {
    this.end.parentNode?.insertBefore(node, this.end);
    return node;
  }

  /** @param {Node} next */
  moveBefore(next) {
    for (const node of this.nodes()) next.parentNode?.insertBefore(node, next);
  }

  /** @returns {Node[]} */
  nodes() {
    /** @type {Node[]} */ const nodes = [this.start];
    for (let node = /** @type {Node} */ (this.start); node !== this.end; nodes.push(node)) node = /** @type {Node} */ (node.nextSibling);
    return nodes;
  }

  /** Make room for nodes, and nothing else. */
  open() {
    this.close();
    this.setText("");
    this.end = document.createTextNode("");
    this.start.after(this.end);
  }

  /** Leave the one node of a text. */
  close() {
    for (const node of this.nodes().slice(1)) /** @type {ChildNode} */ (node).remove();
    this.end = this.start;
    this.instance = this.parts = this.shown = null;
  }

  remove() {
    this.close();
    this.start.remove();
  }
}

// Signals

/** @type {Effect | null} */ let running = null;
/** @type {Set<Effect>} */ const waiting = new Set();

/** @typedef {{run: () => void, sources: Set<Set<Effect>>}} Effect */

/** @template T */
export class Signal {
  /** @param {T} value */
  constructor(value) {
    this.current = value;
    /** @type {Set<Effect>} */ this.readers = new Set();
  }
  get value() {
    if (running) {
      this.readers.add(running);
      running.sources.add(this.readers);
    }
    return this.current;
  }
  set value(next) {
    if (Object.is(next, this.current)) return;
    this.current = next;
    this.changed();
  }
  /** Tell the readers that something inside of the value changed. */
  changed() {
    if (!waiting.size && this.readers.size) queueMicrotask(flush);
    for (const reader of this.readers) waiting.add(reader);
  }
}

/** @template T @param {T} value @returns {Signal<T>} */
export const signal = (value) => new Signal(value);

/** Run now, and again after any signal that it read has changed. @param {() => void} body @returns {() => void} */
export function effect(body) {
  /** @type {Effect} */
  const own = {
    sources: new Set(),
    run() {
      for (const source of own.sources) source.delete(own);
      own.sources.clear();
      const outer = running;
      running = own;
      try {
        body();
      } finally {
        running = outer;
      }
    },
  };
  own.run();
  return () => {
    for (const source of own.sources) source.delete(own);
    waiting.delete(own);
  };
}

function flush() {
  const due = [...waiting];
  waiting.clear();
  for (const each of due) each.run();
}
