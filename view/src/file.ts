// The page as a single file (`history --html`): it contains what it shows, and has no server, so no buttons that change anything.

import { fill, h } from "./dom.ts";
import { card } from "./card.ts";
import { fillEdits, moveByKeys } from "./edits.ts";
import { isObject, list, readEditRow, readStory, string, type EditRow } from "./story.ts";
import { T, moment } from "./text.ts";

const WIDE = 860;

export function fileFrame(root: HTMLElement): void {
  const data = readData();
  const edits = list(data["edits"], readEditRow);
  const stories = isObject(data["stories"]) ? data["stories"] : {};
  const title = string(data["title"]) ?? T.history;
  document.title = title;

  const listed = h("nav", { class: "list", attrs: { "aria-label": T.list } });
  const detail = h("section", { class: "detail", attrs: { "aria-label": T.edited(1), tabindex: -1 } });
  const open = (edit: EditRow): void => {
    const story = readStory(stories[edit.id]);
    const split = detail.clientWidth >= WIDE;
    fill(detail, story ? card(story, { layout: { split, fold: 400 }, heading: "h2" }).element : h("p", { class: "waiting" }, T.cut));
    fillEdits(listed, edits, { current: edit.id, open });
  };
  moveByKeys(listed);
  const made = string(data["made"]);
  const bar = h("header", { class: "bar" }, h("h1", {}, title), made !== undefined && h("p", { class: "quiet" }, T.fileMade(moment(made))));
  root.classList.add("desk");
  fill(root, bar, listed, detail);
  fillEdits(listed, edits, { current: undefined, open });
  const first = edits[0];
  if (first) open(first);
  else fill(detail, h("p", { class: "waiting" }, T.none));
}

function readData(): Record<string, unknown> {
  try {
    const data: unknown = JSON.parse(document.getElementById("data")?.textContent ?? "");
    return isObject(data) ? data : {};
  } catch {
    return {};
  }
}
