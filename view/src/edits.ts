// A list of edits, by day: what, when, by which tool; one of them is shown, and some may be selected.

import { fill, h, put, type Child } from "./dom.ts";
import { name } from "./glyphs.ts";
import type { EditRow } from "./story.ts";
import { T, clock, day } from "./text.ts";

export interface EditsOptions {
  current: string | undefined;
  open: (edit: EditRow) => void;
  /** Absent: nothing can be selected. */
  selected?: Set<string>;
  select?: () => void;
}

const SHOWN_FILES = 3;

/** The rows of each list, and what each says: one that says the same is not made again. */
const rows = new WeakMap<HTMLElement, Map<string, { says: string; row: HTMLElement }>>();

/** Fills `list` with the edits. The focus stays with the edit that has it. */
export function fillEdits(list: HTMLElement, edits: readonly EditRow[], options: EditsOptions): void {
  const before = rows.get(list);
  const made = new Map<string, { says: string; row: HTMLElement }>();
  const focused = document.activeElement instanceof HTMLElement && list.contains(document.activeElement) ? document.activeElement.id : undefined;
  const days: HTMLElement[] = [];
  let shown = "";
  let items: HTMLElement | undefined;
  const now = Date.now();
  const [today, yesterday] = [now, now - 86_400_000].map((time) => day(new Date(time).toISOString()));
  const dayName = (label: string) => (label === today ? T.today : label === yesterday ? T.yesterday : label);
  for (const edit of edits) {
    const label = dayName(day(edit.time));
    if (label !== shown || !items) {
      shown = label;
      items = h("ul", { class: "edits" });
      days.push(h("section", { attrs: { "aria-label": label } }, h("h2", { class: "day" }, label), items));
    }
    const says = JSON.stringify([edit, edit.id === options.current, options.selected?.has(edit.id)]);
    const same = before?.get(edit.id);
    const row = same?.says === says ? same.row : item(edit, options);
    made.set(edit.id, { says, row });
    put(items, row);
  }
  rows.set(list, made);
  fill(list, ...days);
  if (focused) document.getElementById(focused)?.focus();
}

function item(edit: EditRow, { current, open, selected, select }: EditsOptions): HTMLElement {
  const paths = edit.files.slice(0, SHOWN_FILES).map((file) => h("span", { class: "edit-file" }, name(file.relative ?? file.path)));
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

function tags(edit: EditRow): Child[] {
  return [
    edit.undoneBy !== undefined && h("span", { class: "tag" }, T.undoneMark),
    edit.undoes !== undefined && h("span", { class: "tag" }, T.undoMark),
  ];
}

/** Arrow keys, Home and End go through the list. */
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
