// An edit, and what can be done with it: its head with *Take back*, *Redo* or *Apply*, what stands in the way, and its files.
//
// It does not know where it stands: a `Desk` does what is asked, in each frame in its own way.

import { button, fill, h, icon, put, type Child } from "./dom.ts";
import { counts, countLines, fileSection, type Layout } from "./diff.ts";
import { block, name } from "./glyphs.ts";
import type { Edit, FileStory, Problem, Story } from "./story.ts";
import { T, clock, moment } from "./text.ts";
import { compare, type Mark } from "./words.ts";

export interface Desk {
  show(id: string): Promise<Story>;
  takeBack(id: string): Promise<Story>;
  apply?(story: Story): Promise<Story>;
  /** Tells the model what was done; false where nobody does. */
  tell?(what: "back" | "again" | "applied", id: string, paths: string): Promise<boolean>;
}

/** What nobody answered in time: whether it was done is not known. */
export class NoAnswer extends Error {}

export interface CardOptions {
  layout: Layout;
  /** Absent: nothing can be done here. */
  desk?: Desk | undefined;
  /** Buttons beside those of the edit. */
  buttons?: () => Child[];
  fileActions?: (file: FileStory) => Child[];
  /** An edit that is in the way is shown. */
  go?: ((id: string) => void) | undefined;
  /** How deep the headings begin. */
  heading?: "h1" | "h2";
}

export interface Card {
  element: HTMLElement;
  /** Lays the files out anew, and asks for the frame's buttons. */
  relayout(layout: Layout): void;
}

/** So many files are unfolded at first. */
const OPEN_FILES = 10;
const MOST_PATHS = 20;

/** The edit that is to be taken back next: the one itself, or the one that took it back (`back`). */
async function lastOf(edit: Edit, desk: Desk): Promise<{ last: Edit; back: boolean }> {
  const by = edit.undoneBy === undefined ? undefined : (await desk.show(edit.undoneBy)).edit;
  return { last: by ?? edit, back: by !== undefined };
}

export function card(first: Story, options: CardOptions): Card {
  const { desk } = options;
  let story = first;
  /** The edit that is to be taken back next, and whether it is itself a taking back of this one. */
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

  /** An undo that is taken back does an edit again; anything else that is taken back leaves the files as before. */
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
    // Who pressed a button keeps the place, although it is another button now.
    if (held) head.querySelector<HTMLElement>(".primary")?.focus();
  };

  const renderWay = (): void => {
    fill(way, ...(conflict?.failure ? failure(conflict, options, T.edgeLeft) : []));
  };

  const renderBody = (layout: Layout): void => {
    const bare = !story.failure ? [] : failure(story, options, T.askedFor);
    fill(
      body,
      ...bare,
      ...story.files.map((file, at) => fileSection(file, layout, at < OPEN_FILES, options.heading === "h2" ? "h3" : "h2", options.fileActions?.(file))),
      story.moreFiles > 0 && h("p", { class: "quiet pad" }, T.moreFiles(story.moreFiles)),
    );
  };

  /** Does something once, and says what came of it. */
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

  /** Takes back, or does again what was taken back: the same, from the other side. */
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

  /** Asks how the edit stands: it may have been taken back elsewhere, or before the page was loaded again. */
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
    // What cannot be learned now is learned when somebody presses the button.
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

/** Why something was not done; `left` is what the text is called that was to be there. */
function failure({ failure, files }: Story, { go }: CardOptions, left: string): Child[] {
  if (!failure) return [];
  const problems = failure.problems;
  return [
    h(
      "section",
      { class: "failure" },
      problems.length !== 1 && reason(failure.code, failure.reason),
      ...problems.map((problem) => problemElement(problem, go, left, files.length > 0)),
    ),
  ];
}

const reason = (code: string, text: string) => h("p", { class: "reason" }, text, code !== "" && h("span", { class: "code-of-error" }, code));

function problemElement(problem: Problem, go: ((id: string) => void) | undefined, left: string, hasDiff: boolean): HTMLElement {
  const { path, start, asked, actual, edit } = problem;
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
  );
  return element;
}
