// Displays text: invisible characters get a visible name, and changed parts are marked.

import { h, put, type Child } from "./dom.ts";
import { T } from "./text.ts";
import { linesOf, type Mark } from "./words.ts";

// Control characters except the tab, characters that change the direction of text, those without a width, other formatting, and foreign line ends.
const HIDDEN = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/u;
// Blanks other than the space.
const BLANK = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/u;
// Characters that belong into words of some scripts, or into emoji, are named only where they changed.
const JOINER = /[\u200c\u200d\ufe0e\ufe0f]/u;
const SPECIAL = new RegExp(`(?<hidden>${HIDDEN.source})|(?<blank>${BLANK.source})|(?<tab>\\t)|(?<space> )`, "gu");

const NAMES: Record<string, string> = {
  "\u00a0": "NBSP",
  "\ufeff": "BOM",
  "\r": "CR",
  "\n": "LF",
  "\u0000": "NUL",
  "\u001b": "ESC",
  "\u00ad": "SHY",
  "\u200b": "ZWSP",
  "\u200c": "ZWNJ",
  "\u200d": "ZWJ",
  "\u200e": "LRM",
  "\u200f": "RLM",
  "\u202a": "LRE",
  "\u202b": "RLE",
  "\u202c": "PDF",
  "\u202d": "LRO",
  "\u202e": "RLO",
  "\u2066": "LRI",
  "\u2067": "RLI",
  "\u2068": "FSI",
  "\u2069": "PDI",
};

const code = (character: string) => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/** The visible name of a character, in its place. */
function named(character: string): HTMLElement {
  return h("span", { class: "named" }, NAMES[character] ?? code(character));
}

/** Appends text to `parent`. With `blanks`, blanks are drawn as signs; a copy of the text still has the blanks themselves. */
function putText(parent: Node, text: string, changed: boolean, blanks: boolean): void {
  let at = 0;
  for (const found of text.matchAll(SPECIAL)) {
    const { hidden, blank, tab, space } = found.groups ?? {};
    let shown: Node | undefined;
    if (hidden !== undefined && (changed || !JOINER.test(hidden))) shown = named(hidden);
    else if (blank !== undefined && changed) shown = named(blank);
    else if (tab !== undefined && blanks) shown = h("span", { class: "blank tab" }, tab);
    else if (space !== undefined && blanks) shown = h("span", { class: "blank space" }, space);
    if (shown === undefined) continue;
    put(parent, text.slice(at, found.index), shown);
    at = found.index + found[0].length;
  }
  put(parent, text.slice(at));
}

/** The name of a file or a program, on one line. Characters that could make it look like another name are made visible. */
export function name(text: string, className = ""): HTMLElement {
  const element = h("bdi", { class: `name ${className}`, attrs: { dir: "ltr" } });
  putText(element, text.length > LONG ? `${text.slice(0, LONG)}…` : text, true, false);
  return element;
}

/** The number of characters that are shown at each end of a long part without a change. */
const NEAR = 240;
const LONG = 1_200;
/** The number of characters that one press of the button adds. */
const STEP = 20_000;

/**
 * The text of a line. `marked` are the changed parts; long parts without a change are folded. Blanks are drawn in a changed part that consists
 * of blanks only, and at the end of a line if they changed there.
 */
export function lineText(text: string, marked: readonly Mark[], changed: boolean): HTMLElement {
  const element = h("span", { class: "text" });
  let at = 0;
  for (const [from, to] of marked) {
    putRun(element, text.slice(at, from), at > 0, true, false, false);
    const part = text.slice(from, to);
    const mark = h("mark");
    putRun(mark, part, true, to < text.length, true, part.trim() === "");
    const trailing = to === text.length && part.trim() !== "" ? /[ \t]+$/.exec(part) : null;
    if (trailing) {
      mark.replaceChildren();
      putRun(mark, part.slice(0, trailing.index), true, true, true, false);
      putText(mark, trailing[0], true, true);
    }
    put(element, mark);
    at = to;
  }
  const rest = text.slice(at);
  const trailing = changed && marked.length === 0 ? (/[ \t]{1,200}$/.exec(rest)?.index ?? rest.length) : rest.length;
  putRun(element, rest.slice(0, trailing), at > 0, false, changed && marked.length === 0, false);
  putText(element, rest.slice(trailing), changed, true);
  return element;
}

/** A part of a line. Text far from a change is behind a button; `before` and `after` tell on which side a change is. */
function putRun(parent: Node, text: string, before: boolean, after: boolean, changed: boolean, blanks: boolean): void {
  if (text.length <= LONG) return putText(parent, text, changed, blanks);
  const head = whole(text, before || !after ? NEAR : 0);
  const tail = whole(text, text.length - (after ? NEAR : 0));
  putText(parent, text.slice(0, head), changed, blanks);
  const slot = h("span");
  put(parent, slot);
  folded(slot, text.slice(head, tail), changed);
  putText(parent, text.slice(tail), changed, blanks);
}

/** A button that reveals the text it hides, piece by piece. */
function folded(slot: HTMLElement, text: string, changed: boolean): void {
  const open = h("button", { class: "more-text", attrs: { type: "button" } }, T.moreCharacters(text.length));
  open.addEventListener("click", () => {
    const piece = whole(text, STEP);
    const shown = h("span", { attrs: { tabindex: -1 } });
    putText(shown, text.slice(0, piece), changed, false);
    open.replaceWith(shown);
    shown.focus();
    if (piece < text.length) folded(slot, text.slice(piece), changed);
  });
  put(slot, open);
}

/** The position, moved if needed so that it splits no surrogate pair. */
function whole(text: string, at: number): number {
  const place = Math.min(at, text.length);
  return (text.charCodeAt(place) & 0xfc00) === 0xdc00 ? place - 1 : place;
}

const MOST_LINES = 400;

/** A block of text, such as the one that a call expected, with invisible characters named. `marked` has the parts of each line that differ from another text. */
export function block(text: string, label: string, marked: readonly Mark[][] = []): HTMLElement {
  const element = h("pre", { class: "block", attrs: { tabindex: 0, "aria-label": label, role: "group" } });
  const children: Child[] = [];
  linesOf(text).slice(0, MOST_LINES).forEach((line, at) => {
    const body = line.replace(/\r?\n$/u, "");
    children.push(lineText(body, marked[at] ?? [], true), line.endsWith("\r\n") ? h("span", { class: "named" }, "CRLF") : false, line.endsWith("\n") ? "\n" : false);
  });
  put(element, ...children);
  return element;
}
