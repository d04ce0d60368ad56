// The page in a browser (`history --web`). It searches and filters the history of all directories, undoes edits after it has shown their
// conflicts, and compares two states of a file.

import { button, fill, h, type Child } from "./dom.ts";
import { card, type Card, type Desk } from "./card.ts";
import type { Layout } from "./diff.ts";
import { fillEdits, moveByKeys } from "./edits.ts";
import { name } from "./glyphs.ts";
import { open as openServer, Refused, type Server } from "./server.ts";
import { isObject, list, readEditRow, readLine, readState, readStory, string, type EditRow, type FileStory, type Loose, type State, type Story } from "./story.ts";
import { T, clock, moment } from "./text.ts";

const WIDE = 860;
const AT_ONCE = "100";
const MOST_HITS = 1_000;

interface Result {
  edit: EditRow;
  /** The projects of the edit's files. */
  roots: string[];
  story: Story;
}

const readResult = (value: unknown): Result | undefined => {
  const edit = isObject(value) ? readEditRow(value["edit"]) : undefined;
  const story = isObject(value) ? readStory(value["story"]) : undefined;
  return edit && story && { edit, roots: isObject(value) ? list(value["roots"], string) : [], story };
};

/** Names, each with its number of edits. */
const tally = (names: string[]): Child[] => {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([each, many], at) => h("span", {}, at > 0 && ", ", name(each), ` (${many.toLocaleString(T.language)})`));
};

export function web(root: HTMLElement): void {
  fill(root, h("p", { class: "waiting", role: "status" }, T.loading));
  openServer().then(
    (server) => desk(root, server),
    (error: unknown) => fill(root, h("p", { class: "waiting", role: "alert" }, sayError(error))),
  );
}

const sayError = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function desk(root: HTMLElement, server: Server): void {
  let edits: EditRow[] = [];
  let next: string | undefined;
  let current: string | undefined;
  let shown: Card | undefined;
  let filters: Record<string, string> = {};
  const selected = new Set<string>();

  const storyAt = async (path: string, query?: Record<string, string>): Promise<Story> => {
    const story = readStory(await server.get(path, query));
    if (!story) throw new Error(T.none);
    return story;
  };

  /** Undoes edits, or previews that. The answer has the conflicts, too. */
  const takeBack = async (what: Loose, dryRun: boolean): Promise<Result[]> => {
    const reply = await server.post("/api/take-back", { ...what, dryRun }).catch((error: unknown) => {
      if (error instanceof Refused && Array.isArray(error.body["results"])) return error.body;
      throw error;
    });
    return list(reply["results"], readResult);
  };

  const actions: Desk = {
    show: (id) => storyAt(`/api/edits/${encodeURIComponent(id)}`),
    takeBack: async (id) => {
      const story = (await takeBack({ edits: [id] }, false))[0]?.story;
      if (!story) throw new Error(T.couldNotTakeBack);
      return story;
    },
    lines: async (edit, path, start, count) => {
      const reply = await server.get("/api/lines", { edit, path, start: String(start), count: String(count) });
      return list(reply["lines"], readLine);
    },
  };

  // The parts of the page.
  const listed = h("div", { class: "days" });
  const notice = h("p", { class: "notice", role: "status" });
  const older = button(T.older, () => void load(true), "more");
  const chosen = h("div", { class: "chosen" });
  const detail = h("section", { class: "detail", attrs: { "aria-label": T.history, tabindex: -1 } }, h("p", { class: "waiting" }, T.choose));
  const live = h("span", { class: "live", role: "status" });
  const selects = { root: choice(T.project, "root"), tool: choice(T.tool, "tool"), client: choice(T.client, "client") };
  const path = h("input", { id: "filter-path", attrs: { type: "text", autocomplete: "off", spellcheck: "false" }, on: { change: () => filter("path", path.value) } });
  const since = dateInput("since");
  const until = dateInput("until");
  let pause: ReturnType<typeof setTimeout> | undefined;
  const search = h("input", {
    id: "filter-q",
    attrs: { type: "search", placeholder: T.searchHint, autocomplete: "off", spellcheck: "false" },
    on: {
      input: () => {
        clearTimeout(pause);
        pause = setTimeout(() => filter("q", search.value), 200);
      },
    },
  });
  const clear = button(T.clear, () => {
    for (const input of [search, path, since, until, ...Object.values(selects)]) input.value = "";
    filters = {};
    void load(false, true);
  }, "quiet-button");

  /** On a narrow screen the fields besides the search are behind this button. */
  const more = button(T.filters, () => more.setAttribute("aria-expanded", String(more.getAttribute("aria-expanded") !== "true")), "more-filters");
  more.setAttribute("aria-controls", "fields");
  more.setAttribute("aria-expanded", "false");

  function choice(label: string, key: string): HTMLSelectElement {
    const element = h("select", { id: `filter-${key}`, on: { change: () => filter(key, element.value) } }, h("option", { attrs: { value: "" } }, `${label}: ${T.all}`));
    return element;
  }
  function dateInput(key: string): HTMLInputElement {
    // A day is one in the reader's time zone, from its first moment to its last.
    const element = h("input", {
      id: `filter-${key}`,
      attrs: { type: "date" },
      on: { change: () => filter(key, element.value && new Date(`${element.value}T${key === "since" ? "00:00:00" : "23:59:59.999"}`).toISOString()) },
    });
    return element;
  }
  const labelled = (label: string, input: HTMLElement) => h("span", { class: "field" }, h("label", { attrs: { for: input.id } }, label), input);

  root.classList.add("desk");
  fill(
    root,
    h(
      "header",
      { class: "bar" },
      h("h1", {}, T.history),
      h("form", { class: "filters", role: "search", attrs: { "aria-label": T.filters }, on: { submit: (event) => event.preventDefault() } },
        labelled(T.search, search), more, clear,
        h("div", { id: "fields", class: "fields" }, labelled(T.project, selects.root), labelled(T.tool, selects.tool), labelled(T.client, selects.client),
          labelled(T.file, path), labelled(T.since, since), labelled(T.until, until))),
      live,
    ),
    h("nav", { class: "list", attrs: { "aria-label": T.list } }, notice, listed, older, chosen),
    detail,
  );
  moveByKeys(listed);

  function filter(key: string, value: string): void {
    filters = { ...filters, [key]: value };
    void load(false, true);
  }

  let loads = Promise.resolve();
  /** Loads the edits again: with `more` the next page, with `anew` a new list. Requests take turns, so that none is lost. */
  function load(more: boolean, anew = false): Promise<void> {
    loads = loads.then(() => loadNow(more, anew));
    return loads;
  }

  async function loadNow(more: boolean, anew: boolean): Promise<void> {
    try {
      const limit = more || anew ? AT_ONCE : String(Math.max(Number(AT_ONCE), Math.min(edits.length, 500)));
      const reply = await server.get("/api/edits", { ...filters, limit, before: more ? next : undefined });
      const found = list(reply["edits"], readEditRow);
      clear.hidden = Object.values(filters).every((value) => value === "");
      // Older edits that were loaded before stay, so that a long list keeps its position.
      const end = more ? -1 : edits.findIndex(({ id }) => id === found.at(-1)?.id);
      const older = anew || end < 0 ? [] : edits.slice(end + 1);
      edits = more ? [...edits, ...found] : [...found, ...older];
      if (older.length === 0) next = string(reply["next"]);
      options(selects.root, T.project, list(reply["roots"], string));
      options(selects.tool, T.tool, list(reply["tools"], string));
      options(selects.client, T.client, list(reply["clients"], string));
      const empty = edits.length === 0 && (Object.values(filters).some((value) => value !== "") ? T.none : T.noHistory);
      fill(notice, ...list(reply["warnings"], string).map((warning) => h("span", { class: "warning" }, warning)), empty);
      render();
      const newest = edits[0];
      if (current === undefined && newest && matchMedia("(min-width: 721px)").matches) void show(newest.id, false);
    } catch (error) {
      fill(notice, h("span", { class: "warning" }, sayError(error)));
    }
  }

  function options(select: HTMLSelectElement, label: string, values: string[]): void {
    const was = select.value;
    fill(select, h("option", { attrs: { value: "" } }, T.all), ...values.map((value) => h("option", { attrs: { value } }, printable(value))));
    select.value = values.includes(was) ? was : "";
    select.setAttribute("aria-label", label);
  }

  function render(): void {
    for (const id of selected) if (!edits.some((edit) => edit.id === id && edit.canUndo)) selected.delete(id);
    fillEdits(listed, edits, { current, open: (edit) => void show(edit.id, true), selected, select: renderChosen });
    older.hidden = next === undefined;
    renderChosen();
    markHits();
  }

  /** Highlights what was searched for, in the list and in the edit. Firefox can do so since its version 140. */
  function markHits(): void {
    if (!("highlights" in CSS)) return;
    const query = filters["q"] ?? "";
    const hits = new Highlight();
    for (const part of query === "" ? [] : [listed, detail]) {
      const pattern = new RegExp(query.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), "gi");
      const texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
      for (let text = texts.nextNode(); text; text = texts.nextNode()) {
        for (const { index, 0: { length } } of (text.nodeValue ?? "").matchAll(pattern)) {
          if (hits.size === MOST_HITS) break;
          const hit = new Range();
          hit.setStart(text, index);
          hit.setEnd(text, index + length);
          hits.add(hit);
        }
      }
    }
    CSS.highlights.set("hit", hits);
  }

  function renderChosen(): void {
    const ids = edits.filter(({ id }) => selected.has(id)).map(({ id }) => id);
    fill(chosen, ...(ids.length === 0 ? [] : [
      h("span", {}, T.selected(ids.length)),
      button(T.takeBackSelected(ids.length), () => void preview({ edits: ids }), "primary"),
    ]));
  }

  const layout = (): Layout => ({ split: detail.clientWidth >= WIDE, fold: 400 });

  async function show(id: string, focus: boolean): Promise<void> {
    current = id;
    // A press that comes now would be meant for the edit that is not yet here.
    if (shown) shown.element.inert = true;
    render();
    root.classList.add("has-detail");
    detail.setAttribute("aria-busy", "true");
    try {
      const story = await actions.show(id);
      if (current !== id) return;
      shown = card(story, {
        layout: layout(),
        desk: actions,
        heading: "h2",
        buttons: () => story.edit ? [copier(T.copyId, story.edit.id), button(T.takeBackSince, () => void preview({ since: id, filters }), "quiet-button")] : [],
        fileActions: (file) => fileActions(file),
        go: (other) => void show(other, true),
        takeBackAll: (ids) => void preview({ edits: ids }),
      });
      fill(detail, back(), shown.element);
      markHits();
    } catch (error) {
      if (current !== id) return;
      fill(detail, back(), h("p", { class: "waiting", role: "alert" }, sayError(error)));
    }
    detail.setAttribute("aria-busy", "false");
    if (focus) detail.focus({ preventScroll: true });
  }

  /** On a narrow screen either the list or the edit is visible. */
  function back(): HTMLElement {
    return button(T.goBack, () => {
      root.classList.remove("has-detail");
      if (current !== undefined) document.getElementById(`edit-${current}`)?.focus();
    }, "go-back");
  }

  const fileActions = (file: FileStory): Child[] => [
    button(T.onlyFile, () => {
      path.value = file.path;
      filter("path", file.path);
      root.classList.remove("has-detail");
    }, "quiet-button"),
    button(T.compare, () => void compare(file.path), "quiet-button"),
    copier(T.copyPath, file.path),
    h("a", { class: "button quiet-button", attrs: { href: editorLink(file) } }, T.openFile),
  ];

  function copier(label: string, text: string): HTMLElement {
    const element = button(label, () => void navigator.clipboard.writeText(text).then(() => fill(element, T.copied)), "quiet-button");
    return element;
  }

  /** Opens a dialog. Escape and *Close* end it, and the focus returns to where it was. */
  function dialog(title: string, ...children: Child[]): { element: HTMLDialogElement; body: HTMLElement; foot: HTMLElement } {
    const body = h("div", { class: "dialog-body", attrs: { tabindex: 0, role: "group", "aria-label": title } }, ...children);
    const foot = h("footer", { class: "buttons" });
    const element = h("dialog", { attrs: { "aria-labelledby": "dialog-title" } }, h("h2", { id: "dialog-title" }, title), body, foot);
    element.addEventListener("close", () => element.remove());
    document.body.append(element);
    element.showModal();
    return { element, body, foot };
  }

  let progress: HTMLElement | undefined;

  /** Previews the undo of edits; then the person confirms or cancels it. */
  async function preview(what: Loose): Promise<void> {
    progress = h("p", { role: "status" }, T.loading);
    const { element, body, foot } = dialog(T.takeBack, progress);
    const cancel = button(T.cancel, () => element.close());
    fill(foot, cancel);
    const attempt = async (given: Loose): Promise<void> => {
      try {
        const results = await takeBack(given, true);
        const bad = results.filter(({ story }) => story.kind === "failure");
        const good = results.filter(({ story }) => story.kind !== "failure");
        fill(body, h("p", { role: "status", class: bad.length > 0 ? "status bad" : "" }, bad.length > 0 ? T.previewBad(bad.length) : results.length > 0 ? `${T.preview(results.length)} ${T.previewGood}` : T.none),
          results.length > 0 && h("p", { class: "scope" }, `${T.project}: `, ...tally(results.flatMap(({ roots }) => roots)), ` · ${T.client}: `, ...tally(results.map(({ edit }) => edit.client ?? T.noClient))),
          ...results.map(outcome));
        fill(
          foot,
          cancel,
          bad.length > 0 && good.length > 0 && button(T.leaveOut, () => void attempt({ edits: good.map(({ edit }) => edit.id) }), "plain"),
          bad.length === 0 && results.length > 0 && button(T.doIt(results.length), () => void go(results.map(({ edit }) => edit.id)), "primary"),
        );
        foot.querySelector<HTMLElement>(".primary, .plain")?.focus();
      } catch (error) {
        fill(body, h("p", { class: "status bad", role: "alert" }, sayError(error)));
      }
    };
    // Exactly the edits of the preview are undone, not one that was added since.
    const go = async (ids: string[]): Promise<void> => {
      progress = h("p", { role: "status" }, T.working);
      fill(body, progress);
      fill(foot);
      try {
        const results = await takeBack({ edits: ids }, false);
        const bad = results.some(({ story }) => story.kind === "failure");
        if (!bad) {
          element.close();
          selected.clear();
          await load(false);
          const last = results.at(-1)?.edit.id;
          if (last !== undefined) await show(current ?? last, true);
          return;
        }
        fill(body, h("p", { class: "status bad", role: "alert" }, T.couldNotTakeBack), ...results.map(outcome));
      } catch (error) {
        fill(body, h("p", { class: "status bad", role: "alert" }, sayError(error)));
      }
      fill(foot, cancel);
    };
    await attempt(what);
  }

  function outcome({ edit, story }: Result): HTMLElement {
    const bad = story.kind === "failure";
    return h(
      "details",
      { class: `outcome ${bad ? "conflict" : ""}`, attrs: { open: bad } },
      h("summary", {}, h("span", { class: `tag ${bad ? "bad" : ""}` }, bad ? T.conflict : T.canBe), h("time", { attrs: { datetime: edit.time } }, clock(edit.time)), ...edit.files.slice(0, 3).map((file) => name(file.relative ?? file.path))),
      card(story, { layout: { split: false, fold: 60 }, heading: "h2" }).element,
    );
  }

  /** Compares any two states of a file. */
  async function compare(file: string): Promise<void> {
    const { element, body, foot } = dialog(T.compareTitle, h("p", { role: "status" }, T.loading));
    element.classList.add("large");
    fill(foot, button(T.close, () => element.close()));
    try {
      const states = list((await server.get("/api/states", { path: file }))["states"], readState);
      if (states.length === 0) return fill(body, h("p", { role: "status" }, T.noStates));
      const place = h("div", {});
      const pick = (id: string, chosen: State | undefined) => {
        const select = h("select", { id, on: { change: () => void draw() } }, ...states.map((state) => h("option", { attrs: { value: state.id, selected: state === chosen } },
          `${state.now ? T.now : moment(state.time)} ${state.tool ?? ""} ${state.hash.slice(0, 12)}`)));
        return select;
      };
      const from = pick("from", states[1] ?? states[0]);
      const to = pick("to", states[0]);
      const draw = async (): Promise<void> => {
        try {
          const story = await storyAt("/api/difference", { path: file, from: from.value, to: to.value });
          fill(place, card(story, { layout: { split: body.clientWidth >= WIDE, fold: 400 }, heading: "h2" }).element);
        } catch (error) {
          fill(place, h("p", { class: "status bad", role: "alert" }, sayError(error)));
        }
      };
      fill(body, h("p", {}, name(file)), h("div", { class: "filters" }, labelled(T.from, from), labelled(T.to, to)), place);
      await draw();
    } catch (error) {
      fill(body, h("p", { class: "status bad", role: "alert" }, sayError(error)));
    }
  }

  /** Shows the edit that is so many rows further down, and moves the focus to its row. */
  function step(by: number): void {
    const edit = edits[edits.findIndex(({ id }) => id === current) + by];
    if (!edit) return;
    void show(edit.id, false);
    document.getElementById(`edit-${edit.id}`)?.focus();
  }

  function showKeys(): void {
    const rows = Object.entries(T.keysDo).flatMap(([key, does]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, does)]);
    const { element, foot } = dialog(T.keys, h("dl", { class: "keys" }, ...rows));
    fill(foot, button(T.close, () => element.close()));
  }

  const keys: Record<string, () => unknown> = {
    j: () => step(1),
    k: () => step(-1),
    u: () => detail.querySelector<HTMLElement>(".card:not([inert]) .head .primary")?.click(),
    "/": () => search.focus(),
    "?": showKeys,
  };
  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    const isTyping = target instanceof HTMLSelectElement || (target instanceof HTMLInputElement && target.type !== "checkbox");
    const press = isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") ? undefined : keys[key];
    if (!press) return;
    event.preventDefault();
    press();
  });

  new ResizeObserver(() => {
    if (detail.dataset["split"] === String(layout().split)) return;
    detail.dataset["split"] = String(layout().split);
    shown?.relayout(layout());
  }).observe(detail);

  // The first answer loads the list, too.
  let newest: unknown;
  server.watch(
    (now) => {
      if (newest !== now["newest"]) void load(false);
      newest = now["newest"];
      const done = now["progress"];
      if (isObject(done) && progress?.isConnected) fill(progress, T.progress(Number(done["done"]), Number(done["total"])));
    },
    (connected) => {
      fill(live, connected ? T.live : T.notLive);
      live.classList.toggle("on", connected);
    },
  );
}

/** Returns the link that opens a file in VS Code, at its first changed line. */
function editorLink({ path, hunks: [hunk] }: FileStory): string {
  const line = hunk ? `:${hunk.newStart + Math.max(0, hunk.lines.findIndex(({ kind }) => kind !== " "))}` : "";
  const slashed = /^[a-z]:\\/i.test(path) ? path.replaceAll("\\", "/") : path;
  return `vscode://file/${slashed.replace(/^\//, "").split("/").map(encodeURIComponent).join("/")}${line}`;
}

/** Returns the text of an option, which cannot have elements: characters that change its direction, or are invisible, are named. */
function printable(text: string): string {
  return name(text).textContent ?? "";
}
