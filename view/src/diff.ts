// Shows a file of a story as a diff: in one column, or old and new side by side. Elements of lines are created on demand, in groups that the
// browser lays out when they come into view, so that a diff of 10 000 lines costs only its visible part.

import { button, fill, h, put, type Child } from "./dom.ts";
import { lineText, name } from "./glyphs.ts";
import type { FileName, FileStory, Line } from "./story.ts";
import { T } from "./text.ts";
import { marks, pair } from "./words.ts";

/** A line of one side, and its counterpart on the other side if it changed. */
interface Cell {
  n: number;
  line: Line;
  other?: Line;
}

/** Unchanged lines that the diff leaves out, and the numbers of the first of them on both sides. */
interface Gap {
  unchanged: number;
  old: number;
  now: number;
  /** Whether they are the last lines of the file. */
  last?: boolean;
}

type Row = Gap | { old?: Cell; now?: Cell };

/** The layout of a diff. */
export interface Layout {
  split: boolean;
  /** The number of lines of each file that are shown at first. */
  fold: number;
}

/** Reads lines of a file as they were after its edit: `count` of them, from the line `start` on, counted from 1. */
export type ReadLines = (start: number, count: number) => Promise<Line[]>;

/** The number of rows in a group, in a diff of more than `LAZY` lines. */
const GROUP = 100;
const LAZY = 300;
/** The number of unchanged lines that one press shows beside each hunk. */
const AROUND = 20;

/** All rows of a file in order. Side by side, a removed line and its new version share a row. */
function* rows(file: FileStory, split: boolean): Generator<Row> {
  let [oldLine, newLine] = [1, 1];
  for (const hunk of file.hunks) {
    if (hunk.oldStart > oldLine) yield { unchanged: hunk.oldStart - oldLine, old: oldLine, now: newLine };
    let old = hunk.oldStart;
    let now = hunk.newStart;
    for (let at = 0; at < hunk.lines.length; ) {
      const line = hunk.lines[at];
      if (line?.kind === " ") {
        yield { old: { n: old++, line }, now: { n: now++, line } };
        at += 1;
        continue;
      }
      let end = at;
      while (end < hunk.lines.length && hunk.lines[end]?.kind !== " ") end += 1;
      const removed = hunk.lines.slice(at, end).filter(({ kind }) => kind === "-");
      const added = hunk.lines.slice(at, end).filter(({ kind }) => kind === "+");
      yield* block(removed.map((each) => ({ n: old++, line: each })), added.map((each) => ({ n: now++, line: each })), split);
      at = end;
    }
    [oldLine, newLine] = [old, now];
  }
  const total = file.before?.lines;
  if (!file.cut && total !== undefined && total >= oldLine && file.hunks.length > 0) yield { unchanged: total - oldLine + 1, old: oldLine, now: newLine, last: true };
}

/** Pairs removed lines with the lines that replace them. */
function* block(removed: Cell[], added: Cell[], split: boolean): Generator<Row> {
  const text = ({ line }: Cell) => line.text;
  const pairs = pair(removed.map(text), added.map(text));
  for (const [i, j] of pairs) {
    const old = removed[i];
    const now = added[j];
    if (old && now) [old.other, now.other] = [now.line, old.line];
  }
  if (!split) {
    for (const old of removed) yield { old };
    for (const now of added) yield { now };
    return;
  }
  let i = 0;
  let j = 0;
  for (const [nextOld, nextNow] of [...pairs, [removed.length, added.length] as const]) {
    // Lines without a counterpart are put side by side in their order.
    for (; i < nextOld || j < nextNow; ) {
      const old = i < nextOld ? removed[i++] : undefined;
      const now = j < nextNow ? added[j++] : undefined;
      yield { ...(old && { old }), ...(now && { now }) };
    }
    const old = removed[i++];
    const now = added[j++];
    if (old && now) yield { old, now };
  }
}

const weight = (row: Row) => ("unchanged" in row ? 0 : row.old && row.now && row.old.line !== row.now.line ? 2 : 1);

export function countLines(files: readonly FileStory[]): { added: number; removed: number; all: number } {
  const count = { added: 0, removed: 0, all: 0 };
  for (const { hunks } of files) {
    for (const { lines } of hunks) {
      for (const { kind } of lines) {
        count.all += 1;
        if (kind === "+") count.added += 1;
        if (kind === "-") count.removed += 1;
      }
    }
  }
  return count;
}

/** The numbers of added and removed lines, as `+3 −2`; nothing if they are unknown for any file. */
export function counts(files: readonly FileStory[], moreFiles = 0): Child {
  let [added, removed] = [0, 0];
  for (const file of files) {
    if (file.cut && (file.added === undefined || file.removed === undefined)) return false;
    const shown = countLines([file]);
    added += file.added ?? shown.added;
    removed += file.removed ?? shown.removed;
  }
  return files.length > 0 && moreFiles === 0 && countsOf(added, removed);
}

export function countsOf(added: number, removed: number): HTMLElement {
  return h(
    "span",
    { class: "counts" },
    h("span", { class: "sr" }, T.counts(added, removed)),
    added > 0 && h("span", { class: "plus", attrs: { "aria-hidden": "true" } }, `+${added}`),
    removed > 0 && h("span", { class: "minus", attrs: { "aria-hidden": "true" } }, `−${removed}`),
  );
}

/** The name of a file. A long one begins with its path below the root. */
export function fileName(file: FileName): Child[] {
  const below = file.relative ?? file.path;
  const slash = below.lastIndexOf("/") + 1;
  return [
    h("span", { class: "path" }, slash > 0 && name(below.slice(0, slash), "directory"), name(below.slice(slash))),
    file.change === "changed" ? false : h("span", { class: `tag ${file.change}` }, T.changes[file.change]),
    file.movedFrom !== undefined && h("span", { class: "moved-from" }, `${T.movedFrom} `, name(below === file.path ? file.movedFrom : shorten(file.movedFrom, file.root))),
  ];
}

function shorten(path: string, root: string | undefined): string {
  return root !== undefined && path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
}

let serial = 0;

/** A section for a file: its name, its changes besides lines, and its diff, which is visible at first if `open`. */
export function fileSection(file: FileStory, layout: Layout, open: boolean, heading: "h2" | "h3", actions: Child[] = [], read?: ReadLines): HTMLElement {
  const id = `file-${(serial += 1)}`;
  const body = h("div", { class: "file-body" });
  const section = h(
    "details",
    { class: "file" },
    h("summary", {}, h(heading, { id, class: "file-name" }, ...fileName(file)), counts([file])),
    body,
  );
  let made = false;
  const make = () => {
    if (made) return;
    made = true;
    const facts = factChanges(file);
    put(
      body,
      actions.length > 0 && h("div", { class: "file-actions" }, ...actions),
      facts.length > 0 && h("ul", { class: "facts" }, ...facts.map((fact) => h("li", {}, fact))),
      ...file.warnings.map((warning) => h("p", { class: "warning" }, warning)),
      file.hunks.length > 0 ? table(file, layout, id, read) : facts.length === 0 && h("p", { class: "quiet pad" }, file.cut ? T.cut : T.noLines),
      file.cut && file.hunks.length > 0 && h("p", { class: "quiet pad" }, T.cut),
    );
  };
  section.addEventListener("toggle", () => section.open && make());
  if (open) make();
  section.open = open;
  return section;
}

/** The changes of a file besides its lines, such as its encoding. */
function factChanges({ before, after }: FileStory): string[] {
  if (!before || !after) return [];
  const found: string[] = [];
  if (before.encoding && after.encoding && before.encoding !== after.encoding) found.push(T.encoding(before.encoding, after.encoding));
  if (before.bom !== undefined && after.bom !== undefined && before.bom !== after.bom) found.push(after.bom ? T.bomAdded : T.bomRemoved);
  const ends = [before.lineEnding, after.lineEnding].map((end) => (end && end !== "none" ? (T.ends[end] ?? end) : undefined));
  if (ends[0] && ends[1] && ends[0] !== ends[1]) found.push(T.lineEnds(ends[0], ends[1]));
  if (before.finalNewline !== undefined && after.finalNewline !== undefined && before.finalNewline !== after.finalNewline && (after.bytes ?? 1) > 0) {
    found.push(after.finalNewline ? T.newlineAdded : T.newlineRemoved);
  }
  return found;
}

/** The lines of a file; the first `fold` of them at once, the others behind a button. */
function table(file: FileStory, layout: Layout, label: string, read: ReadLines | undefined): HTMLElement {
  const { added, removed, all } = countLines([file]);
  // A created or removed file has one side only.
  const split = layout.split && added < all && removed < all;
  const source = rows(file, split);
  const last = file.hunks.at(-1);
  const highest = (last ? Math.max(last.oldStart, last.newStart) + last.lines.length : 1) + 1;
  const element = h("div", {
    class: split ? "diff split" : "diff",
    role: "table",
    attrs: { "aria-labelledby": label },
  });
  element.style.setProperty("--digits", String(String(highest).length));
  const dominant = file.before?.lineEnding ?? file.after?.lineEnding;
  const box = h("div", { class: "diff-box" }, element);
  let left = all;
  const lazy = left > LAZY;

  /** Adds rows for so many lines, or one group of them; returns whether there are more. */
  const make = (most: number): HTMLElement | undefined => {
    let group: HTMLElement | undefined;
    for (let made = 0, size = 0; made < most; ) {
      const next = source.next();
      if (next.done) {
        left = 0;
        break;
      }
      if (!group || size >= GROUP) {
        group = h("div", { class: lazy ? "rows lazy" : "rows", role: "rowgroup" });
        put(element, group);
        size = 0;
      }
      put(group, rowElement(next.value, split, dominant, read));
      group.style.setProperty("--rows", String((size += 1)));
      made += weight(next.value);
      left -= weight(next.value);
    }
    return group;
  };

  make(layout.fold);
  const more = button(T.showMore(left), () => {
    const group = make(GROUP);
    more.remove();
    // One group is added per frame, so that the page stays responsive.
    const go = () => {
      if (left > 0 && element.isConnected) {
        make(GROUP * 5);
        requestAnimationFrame(go);
      }
    };
    go();
    group?.setAttribute("tabindex", "-1");
    group?.focus({ preventScroll: true });
  }, "more");
  if (left > 0) put(box, more);
  else make(1);
  return box;
}

function rowElement(row: Row, split: boolean, dominant: string | undefined, read?: ReadLines): HTMLElement {
  if ("unchanged" in row) {
    const label = T.unchangedLines(row.unchanged);
    const cell = h("span", { role: "cell", class: "gap-text", attrs: { "aria-colspan": split ? 6 : 4 } }, read === undefined && label);
    const element = h("div", { class: "row gap", role: "row" }, cell);
    if (read) {
      const press = () =>
        void widen(row, read).then(
          (rows) => {
            const shown = rows.map((each) => rowElement(each, split, dominant, read));
            element.replaceWith(...shown);
            const next = shown.map((each) => each.querySelector("button")).find((each) => each !== null) ?? shown[0];
            if (next instanceof HTMLDivElement) next.tabIndex = -1;
            next?.focus({ preventScroll: true });
          },
          (error: unknown) => fill(cell, h("span", { role: "alert" }, error instanceof Error ? error.message : String(error))),
        );
      put(cell, button(label, press, "quiet-button"));
    }
    return element;
  }
  const { old, now } = row;
  const same = old && now && old.line === now.line;
  if (split) {
    const kind = (cell: Cell | undefined, changed: string) => (cell ? (same ? "" : changed) : "void");
    return h("div", { class: "row", role: "row" }, ...side(old, kind(old, "del"), dominant), ...side(now, kind(now, "add"), dominant));
  }
  const cell = now ?? old;
  return h(
    "div",
    { class: `row ${same ? "" : now ? "add" : "del"}`, role: "row" },
    number(old),
    number(now),
    ...text(cell, same ? "" : now ? "add" : "del", dominant),
  );
}

/** Returns rows in place of a gap: the lines beside the hunks above and below it, and a smaller gap between these. */
async function widen({ unchanged, old, now, last }: Gap, read: ReadLines): Promise<Row[]> {
  const part = async (from: number, to: number): Promise<Row[]> => {
    const lines = from < to ? await read(now + from, to - from) : [];
    return lines.map((line, at) => ({ old: { n: old + from + at, line }, now: { n: now + from + at, line } }));
  };
  if (unchanged <= 2 * AROUND) return await part(0, unchanged);
  const above = old === 1 ? 0 : AROUND;
  const below = last ? unchanged : unchanged - AROUND;
  const left = { unchanged: below - above, old: old + above, now: now + above, ...(last && { last }) };
  return [...(await part(0, above)), left, ...(await part(below, unchanged))];
}

const number = (cell: Cell | undefined) => h("span", { class: "n", role: "cell" }, cell ? String(cell.n) : "");

function side(cell: Cell | undefined, kind: string, dominant: string | undefined): HTMLElement[] {
  return [h("span", { class: `n ${kind}`, role: "cell" }, cell ? String(cell.n) : ""), ...text(cell, kind, dominant)];
}

/** The sign and the text of a line. */
function text(cell: Cell | undefined, kind: string, dominant: string | undefined): HTMLElement[] {
  const word = kind === "add" ? T.added : kind === "del" ? T.removed : "";
  const sign = h("span", { class: `sign ${kind}`, role: "cell" }, word && h("span", { class: "sr" }, word));
  const body = h("span", { class: `code ${kind}`, role: "cell" });
  if (cell) fill(body, ...content(cell, kind === "add" || kind === "del", kind === "add", dominant));
  return [sign, body];
}

function content({ line, other }: Cell, changed: boolean, isNew: boolean, dominant: string | undefined): Child[] {
  let parts: [number, number][] = [];
  if (changed && other) {
    const [old, now] = isNew ? marks(other.text, line.text) : marks(line.text, other.text);
    parts = isNew ? now : old;
  }
  const end = line.end ?? "lf";
  const usual = dominant === undefined || dominant === "none" ? "lf" : dominant;
  const shown = changed && (other ? (other.end ?? "lf") !== end : end !== usual && (end === "none" || usual !== "none"));
  return [
    lineText(line.text, parts, changed),
    line.cut && h("span", { class: "named" }, T.lineCut),
    shown && h("span", { class: "named end" }, end === "none" ? T.noNewline : (T.ends[end] ?? end)),
  ];
}
