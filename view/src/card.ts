// A card shows an edit: its head with the buttons *Take back*, *Redo* or *Apply*, the conflict if the last of these failed, and the files.
//
// The same card is used in a chat and on the page of the history. Each of them passes a `Desk`, which carries out what the buttons ask for.

import { button, fill, h, icon, put, type Child } from "./dom.ts";
import { counts, countLines, fileSection, type Layout, type ReadLines } from "./diff.ts";
import { block, name } from "./glyphs.ts";
import type { Edit, FileStory, Line, Problem, Story } from "./story.ts";
import { T, clock, moment } from "./text.ts";
import { compare, type Mark } from "./words.ts";

export interface Desk {
  show(id: string): Promise<Story>;
  takeBack(id: string): Promise<Story>;
  apply?(story: Story): Promise<Story>;
  /** Reads lines of a file as they were after an edit. */
  lines?(id: string, path: string, start: number, count: number): Promise<Line[]>;
  /** Tells the model what the person did; false if that is not possible. */
  tell?(what: "back" | "again" | "applied", id: string, paths: string): Promise<boolean>;
}

/** The server did not answer in time, so that nobody knows whether the call was carried out. */
export class NoAnswer extends Error {}

export interface CardOptions {
  layout: Layout;
  /** Carries out the buttons; without it there are none. */
  desk?: Desk | undefined;
  /** More buttons, beside those of the edit. */
  buttons?: () => Child[];
  fileActions?: (file: FileStory) => Child[];
  /** Shows another edit: the one that conflicts. */
  go?: ((id: string) => void) | undefined;
  /** Takes several edits back. */
  takeBackAll?: ((ids: string[]) => void) | undefined;
  /** The level of the topmost heading. */
  heading?: "h1" | "h2";
}

export interface Card {
  element: HTMLElement;
  /** Renders the files in another layout, and the head with the present `buttons`. */
  relayout(layout: Layout): void;
}

/** The number of files whose diffs are open at first. */
const OPEN_FILES = 10;
const MOST_PATHS = 20;

/** Returns the edit that the button undoes: `edit` itself, or the edit that undid it (`back`). */
async function lastOf(edit: Edit, desk: Desk): Promise<{ last: Edit; back: boolean }> {
  const by = edit.undoneBy === undefined ? undefined : (await desk.show(edit.undoneBy)).edit;
  return { last: by ?? edit, back: by !== undefined };
}

export function card(first: Story, options: CardOptions): Card {
  const { desk } = options;
  let story = first;
  /** The edit that the button undoes, and whether that edit is an undo of this one. */
  let last = story.edit;
  let back = false;
  let applied = false;
  let busy = false;
  let unsure = false;
  let conflict: Story | undefined;

  const head = h("header", { class: "head" });
  const way = h("div", { class: "way" });
  const body = h("div", { class: "files" });
  const status = h("p", { class: "status", role: "status" });
  const element = h("article", { class: "card" }, head, status, way, body);

  /** To undo an undo is a redo; to undo any other edit restores the files as they were before it. */
  const isUndo = (): boolean => story.edit?.undoes !== undefined && !story.edit.isRedo;
  const doesAgain = (): boolean => back !== isUndo();

  const title = (): string => {
    const many = story.files.length + story.moreFiles;
    if (story.kind === "proposal") return T.proposal(many);
    if (story.kind === "failure") return T.failed;
    if (story.kind === "difference") return countLines(story.files).all === 0 ? T.unchanged : T.difference;
    if (back) return isUndo() ? T.doneAgain(many) : T.takenBack(many);
    if (applied) return T.applied(many);
    return isUndo() ? T.tookBack(many) : story.edit?.isRedo ? T.redid(many) : T.edited(many);
  };

  const actions = (): Child[] => {
    if (!desk) return [];
    if (unsure) return [button(T.checkAgain, () => void check(), "primary")];
    if (story.kind === "proposal" && desk.apply) return [act(T.apply, "apply", apply)];
    if (story.kind !== "edit" || !last) return [];
    if (!last.canUndo) return [];
    return [doesAgain() ? act(T.redo, "again", turn) : act(T.takeBack, "back", turn)];
  };

  const act = (label: string, drawing: "back" | "again" | "apply", press: () => Promise<void>): HTMLElement => {
    const element = button(busy ? T.working : label, () => void (busy || press()), "primary", [icon(drawing)]);
    if (busy) element.setAttribute("aria-disabled", "true");
    return element;
  };

  const renderHead = (): void => {
    const held = head.contains(document.activeElement);
    const edit = story.edit;
    const meta: Child[] = [];
    if (edit) {
      meta.push(h("time", { attrs: { datetime: edit.time, title: moment(edit.time) } }, clock(edit.time)), h("span", {}, name(edit.tool)));
      if (edit.client !== undefined) meta.push(h("span", {}, name(edit.client)));
    } else if (story.kind === "proposal" && story.tool) meta.push(h("span", {}, name(story.tool.name)));
    const heading = h(options.heading ?? "h1", { class: "title" }, title());
    const quiet =
      desk && story.kind === "edit" && !last ? T.notKept : desk && story.kind === "edit" && last && !last.canUndo && !back ? T.cannotTakeBack : undefined;
    fill(
      head,
      h("div", { class: "titles" }, h("div", { class: "title-line" }, heading, counts(story.files, story.moreFiles)), h("p", { class: "meta" }, ...meta, quiet !== undefined && h("span", {}, quiet))),
      h("div", { class: "buttons" }, ...(options.buttons?.() ?? []), ...actions()),
    );
    element.classList.toggle("is-back", back);
    // The focus stays on the button, although it is a new element.
    if (held) head.querySelector<HTMLElement>(".primary")?.focus();
  };

  const renderWay = (): void => {
    fill(way, ...(conflict?.failure ? failure(conflict, options, T.edgeLeft) : []));
  };

  const readerOf = ({ path }: FileStory): ReadLines | undefined => {
    const [id, read] = [story.edit?.id, desk?.lines];
    return id !== undefined && read ? (start, count) => read(id, path, start, count) : undefined;
  };

  const renderBody = (layout: Layout): void => {
    const bare = !story.failure ? [] : failure(story, options, T.askedFor);
    fill(
      body,
      ...bare,
      ...story.files.map((file, at) => fileSection(file, layout, at < OPEN_FILES, options.heading === "h2" ? "h3" : "h2", options.fileActions?.(file), readerOf(file))),
      story.moreFiles > 0 && h("p", { class: "quiet pad" }, T.moreFiles(story.moreFiles)),
    );
  };

  /** Runs one piece of work at a time, and shows its result. */
  const during = async (work: () => Promise<string | undefined>): Promise<void> => {
    if (busy) return;
    busy = true;
    fill(status, T.working);
    renderHead();
    try {
      const said = await work();
      fill(status, ...(said === undefined ? [] : [said]));
    } catch (error) {
      unsure = error instanceof NoAnswer;
      fill(status, unsure ? T.slow : String(error instanceof Error ? error.message : error));
      status.classList.add("bad");
    } finally {
      busy = false;
      renderHead();
    }
  };

  const settle = (): void => {
    conflict = undefined;
    unsure = false;
    status.classList.remove("bad");
    renderWay();
  };

  const tell = async (what: "back" | "again" | "applied", done: string, id: string): Promise<string> => {
    if (!desk?.tell) return done;
    const paths = story.files.slice(0, MOST_PATHS).map(({ path }) => path);
    const others = story.files.length + story.moreFiles - paths.length;
    const told = await desk.tell(what, id, paths.join(", ") + (others > 0 ? ` (+ ${others})` : ""));
    return `${done} ${told ? T.modelTold : T.modelNotTold}`;
  };

  /** Undoes the edit, or redoes it if it is undone. Both are an undo of `last`. */
  const turn = (): Promise<void> =>
    during(async () => {
      if (!desk || !last || !story.edit) return undefined;
      settle();
      const reply = await desk.takeBack(last.id);
      if (reply.kind === "edit" && reply.edit) {
        const again = doesAgain();
        [last, back] = [reply.edit, !back];
        return await tell(back ? "back" : "again", again ? T.didRedo : T.didTakeBack, story.edit.id);
      }
      return refused(reply, doesAgain() ? T.couldNotRedo : T.couldNotTakeBack);
    });

  const apply = (): Promise<void> =>
    during(async () => {
      if (!desk?.apply) return undefined;
      settle();
      const reply = await desk.apply(story);
      if (reply.kind !== "edit") return refused(reply, T.couldNotApply);
      [story, last, applied] = [reply, reply.edit, true];
      renderBody(options.layout);
      return await tell("applied", T.didApply, reply.edit?.id ?? "");
    });

  const refused = (reply: Story, said: string): string => {
    conflict = reply;
    status.classList.add("bad");
    renderWay();
    return said;
  };

  /** Asks the server whether the edit is undone: that may have happened elsewhere, or before the page was reloaded. */
  const check = (): Promise<void> =>
    during(async () => {
      await refresh();
      settle();
      return undefined;
    });

  const refresh = async (): Promise<void> => {
    if (!desk || !story.edit) return;
    const shown = await desk.show(story.edit.id);
    if (shown.edit) ({ last, back } = await lastOf(shown.edit, desk));
  };

  renderHead();
  renderBody(options.layout);
  if (desk && story.edit) {
    // If this fails, the state becomes known when somebody presses the button.
    void refresh().then(() => busy || renderHead(), () => undefined);
  }
  return {
    element,
    relayout: (layout) => {
      options.layout = layout;
      renderHead();
      renderBody(layout);
    },
  };
}

/** Shows why a call failed; `left` is the label of the text that the call expected. */
function failure({ failure, files }: Story, options: CardOptions, left: string): Child[] {
  if (!failure) return [];
  const problems = failure.problems;
  return [
    h(
      "section",
      { class: "failure" },
      problems.length !== 1 && reason(failure.code, failure.reason),
      ...problems.map((problem) => problemElement(problem, options, left, files.length > 0)),
    ),
  ];
}

const reason = (code: string, text: string) => h("p", { class: "reason" }, text, code !== "" && h("span", { class: "code-of-error" }, code));

function problemElement(problem: Problem, { go, takeBackAll }: CardOptions, left: string, hasDiff: boolean): HTMLElement {
  const { path, start, asked, actual, edit, together = [] } = problem;
  const element = h(
    "div",
    { class: "problem" },
    path !== undefined && h("p", { class: "where" }, name(path), start !== undefined && h("span", { class: "quiet" }, ` ${T.atLines(start, problem.end)}`)),
    reason(problem.code, problem.reason),
  );
  if (asked !== undefined || actual !== undefined) {
    const [inAsked, inActual] = asked !== undefined && actual !== undefined ? compare(asked, actual) : [[], []];
    const half = (label: string, text: string | undefined, kind: string, parts: Mark[][]) =>
      text === undefined ? false : h("div", { class: `half ${kind}` }, h("p", { class: "label" }, label), block(text, label, parts));
    put(element, h("div", { class: "halves" }, half(left, asked, "asked", inAsked), half(T.isThere, actual, "actual", inActual)));
  }
  put(
    element,
    problem.hint !== undefined && !hasDiff && h("p", { class: "hint" }, h("span", { class: "label" }, `${T.hint}: `), problem.hint),
    edit !== undefined && go !== undefined && button(T.laterEdit, () => go(edit), "plain"),
    together.length > 1 && takeBackAll !== undefined && button(T.together(together.length), () => takeBackAll(together), "plain"),
  );
  return element;
}
