// A list of edits by day: their files, time and tool. One edit is the current one, and some may be selected.

import { h, type Child } from "./dom.ts";
import { countsOf } from "./diff.ts";
import { name } from "./glyphs.ts";
import type { Edit, EditRow } from "./story.ts";
import { T, clock, day } from "./text.ts";

export interface EditsOptions {
  current: string | undefined;
  open: (edit: EditRow) => void;
  /** The ids of the selected edits; without it, none can be selected. */
  selected?: Set<string>;
  select?: () => void;
}

const SHOWN_FILES = 3;

/** The parts of a list. A part that has not changed keeps its element. */
interface Made {
  rows: Map<string, { says: string; row: HTMLElement }>;
  days: Map<string, { section: HTMLElement; items: HTMLElement }>;
}
const made = new WeakMap<HTMLElement, Made>();

/** Fills `list` with the edits. The focus stays with the edit that has it. */
export function fillEdits(list: HTMLElement, edits: readonly EditRow[], options: EditsOptions): void {
  const before = made.get(list);
  const now: Made = { rows: new Map(), days: new Map() };
  const focused = document.activeElement instanceof HTMLElement && list.contains(document.activeElement) ? document.activeElement.id : undefined;
  const time = Date.now();
  const [today, yesterday] = [time, time - 86_400_000].map((time) => day(new Date(time).toISOString()));
  const groups = new Map<string, HTMLElement[]>();
  for (const edit of edits) {
    const label = day(edit.time);
    const says = JSON.stringify([edit, edit.id === options.current, options.selected?.has(edit.id)]);
    const same = before?.rows.get(edit.id);
    const row = same?.says === says ? same.row : item(edit, options);
    now.rows.set(edit.id, { says, row });
    const group = groups.get(label);
    if (group) group.push(row);
    else groups.set(label, [row]);
  }
  for (const [label, group] of groups) {
    const called = label === today ? T.today : label === yesterday ? T.yesterday : label;
    const one = before?.days.get(called) ?? daySection(called);
    arrange(one.items, group);
    now.days.set(called, one);
  }
  arrange(list, [...now.days.values()].map(({ section }) => section));
  made.set(list, now);
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus();
}

function daySection(label: string): { section: HTMLElement; items: HTMLElement } {
  const items = h("ul", { class: "edits" });
  return { section: h("section", { attrs: { "aria-label": label } }, h("h2", { class: "day" }, label), items), items };
}

/** Sets the children of an element, and moves as few of them as possible. */
function arrange(parent: Element, wanted: readonly Element[]): void {
  const stay = new Set(wanted);
  let at = parent.firstElementChild;
  const skip = () => {
    while (at && !stay.has(at)) {
      const gone = at;
      at = at.nextElementSibling;
      gone.remove();
    }
  };
  skip();
  for (const element of wanted) {
    if (element === at) at = at.nextElementSibling;
    else parent.insertBefore(element, at);
    skip();
  }
}

function item(edit: EditRow, { current, open, selected, select }: EditsOptions): HTMLElement {
  const paths = edit.files.slice(0, SHOWN_FILES).map((file, at) =>
    h("span", { class: "edit-file" }, name(file.relative ?? file.path), at === 0 && edit.line !== undefined && `:${edit.line}`));
  const others = edit.files.length - paths.length + edit.moreFiles;
  const what = edit.files[0]?.relative ?? edit.files[0]?.path ?? edit.id;
  const row = h(
    "button",
    {
      class: "edit",
      id: `edit-${edit.id}`,
      attrs: { type: "button", "aria-current": edit.id === current && "true" },
      on: { click: () => open(edit) },
    },
    h("span", { class: "edit-files" }, ...paths, others > 0 && h("span", { class: "quiet" }, T.otherFiles(others))),
    h(
      "span",
      { class: "edit-meta" },
      h("time", { attrs: { datetime: edit.time } }, clock(edit.time)),
      edit.added !== undefined && edit.removed !== undefined && edit.added + edit.removed > 0 && countsOf(edit.added, edit.removed),
      h("span", {}, name(edit.tool)),
      edit.client !== undefined && h("span", {}, name(edit.client)),
      ...tags(edit),
    ),
  );
  const tick =
    selected &&
    h("input", {
      id: `select-${edit.id}`,
      attrs: { type: "checkbox", "aria-label": T.select(`${clock(edit.time)} ${what}`), checked: selected.has(edit.id), disabled: !edit.canUndo },
      on: {
        change: ({ target }) => {
          if (target instanceof HTMLInputElement && target.checked) selected.add(edit.id);
          else selected.delete(edit.id);
          select?.();
        },
      },
    });
  return h("li", { class: edit.undoneBy === undefined ? "" : "undone" }, tick, row);
}

export function tags(edit: Edit): Child[] {
  return [
    edit.undoneBy !== undefined && h("span", { class: "tag" }, T.undoneMark),
    edit.undoes !== undefined && h("span", { class: "tag" }, edit.isRedo ? T.redoMark : T.undoMark),
  ];
}

/** Moves the focus through the list by arrow keys, Home and End. */
export function moveByKeys(list: HTMLElement): void {
  list.addEventListener("keydown", (event) => {
    const rows = [...list.querySelectorAll<HTMLElement>(".edit")];
    const at = rows.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    rows[next]?.focus();
  });
}
