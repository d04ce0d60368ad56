// All texts of the page, in one table. Each language has a table of the same type; `use` chooses one by the reader's language.
//
// Plurals and dates come from the platform (`Intl`), by the language of the table and the reader's region.

const plural = new Intl.PluralRules("en");
const counted = (one: string, other: string) => (many: number) =>
  `${many.toLocaleString("en")} ${plural.select(many) === "one" ? one : other}`;
const files = counted("file", "files");
const lines = counted("line", "lines");
const edits = counted("edit", "edits");
const characters = counted("character", "characters");

const en = {
  language: "en",
  appName: "Edits of mcp-text-editor",
  // Titles of a story.
  edited: (many: number) => `Edited ${files(many)}`,
  tookBack: (many: number) => `Took back an edit of ${files(many)}`,
  redid: (many: number) => `Did an edit of ${files(many)} again`,
  doneAgain: (many: number) => `Done again: ${files(many)} as edited`,
  takenBack: (many: number) => `Taken back: ${files(many)} as before`,
  proposal: (many: number) => `Proposal: would change ${files(many)}`,
  applied: (many: number) => `Applied: changed ${files(many)}`,
  failed: "Nothing was changed",
  difference: "Difference",
  unchanged: "Nothing changed",
  by: (tool: string) => `by ${tool}`,
  withClient: (client: string) => `in ${client}`,
  counts: (added: number, removed: number) => `${lines(added)} added, ${lines(removed)} removed`,
  // Buttons and their results.
  takeBack: "Take back",
  redo: "Redo",
  apply: "Apply",
  checkAgain: "Check again",
  showWhole: "Expand",
  showInline: "Back to the chat",
  sideBySide: "Side by side",
  inline: "Inline",
  working: "Working…",
  notKept: "The history does not hold this edit, so it cannot be taken back here.",
  cannotTakeBack: "This edit cannot be taken back.",
  couldNotTakeBack: "It was not taken back. Nothing was changed.",
  couldNotRedo: "It was not done again. Nothing was changed.",
  couldNotApply: "It was not applied. Nothing was changed.",
  didTakeBack: "Taken back.",
  didRedo: "Done again.",
  didApply: "Applied.",
  modelTold: "The model is told with your next message.",
  modelNotTold: "This client does not tell the model. Say it in your next message.",
  toModel: (what: "back" | "again" | "applied", id: string, paths: string) =>
    ({
      back: `The user took back edit ${id} in the view. These files have their earlier content again: ${paths}. Read them before the next edit.`,
      again: `The user took back edit ${id} in the view, and then did it again. These files have the edited content: ${paths}. Read them before the next edit.`,
      applied: `The user applied the proposed edit in the view, as edit ${id}. These files changed: ${paths}. Read them before the next edit.`,
    })[what],
  together: (many: number) => `Take back these ${edits(many)} together…`,
  laterEdit: "Show the later edit that is in the way",
  askedFor: "Asked for",
  isThere: "What is there",
  edgeLeft: "What the edit left",
  inFile: "in",
  atLines: (start: number, end: number | undefined) => (end === undefined || end === start ? `line ${start}` : `lines ${start}–${end}`),
  hint: "Hint",
  earlier: "Earlier edits of this session",
  noEarlier: "There are no earlier edits.",
  // While something loads.
  waitingForHost: "Waiting for the client…",
  noHost: "The client does not answer. The edit itself is not touched by that: its reply is in the chat.",
  waitingForEdit: "The edit is under way…",
  slow: "There is no answer yet. The edit may have been made: check before you try again.",
  cancelled: "The call was cancelled.",
  noStory: "There is no diff of this call. This is its reply:",
  // Files.
  changes: { changed: "Changed", created: "Created", removed: "Removed", moved: "Moved", displaced: "Displaced" },
  movedFrom: "moved from",
  otherFiles: (many: number) => `and ${files(many)} more`,
  moreFiles: (many: number) => `${files(many)} more, too large to show here`,
  noLines: "No line differs.",
  cut: "The diff is longer than what is shown here.",
  lineCut: "The line is longer than what is shown here.",
  encoding: (from: string, to: string) => `Encoding ${from} → ${to}`,
  bomAdded: "BOM added",
  bomRemoved: "BOM removed",
  ends: { lf: "LF", crlf: "CRLF", cr: "CR", mixed: "mixed", none: "none" } as Record<string, string>,
  lineEnds: (from: string, to: string) => `Line ends ${from} → ${to}`,
  newlineAdded: "Newline added at the end",
  newlineRemoved: "Newline removed at the end",
  noNewline: "no newline",
  // Lines.
  unchangedLines: (many: number) => `${lines(many)} unchanged`,
  showMore: (many: number) => `Show ${lines(many)} more`,
  moreCharacters: (many: number) => `… ${characters(many)} …`,
  added: "added",
  removed: "removed",
  was: "was",
  is: "is",
  diffOf: (path: string) => `Changes of ${path}`,
  columns: { old: "Old line", now: "New line", sign: "Change", text: "Text" },
  // The history in a browser.
  history: "History of edits",
  search: "Search",
  searchHint: "Path, text, tool, client or id",
  project: "Project",
  tool: "Tool",
  client: "Client",
  since: "Since",
  until: "Until",
  file: "File",
  all: "All",
  clear: "Clear filters",
  filters: "Filters",
  list: "Edits",
  none: "No edit fits.",
  noHistory: "There are no edits yet. They appear here as they are made.",
  older: "Show older edits",
  select: (what: string) => `Select ${what}`,
  selected: (many: number) => `${edits(many)} selected`,
  takeBackSelected: (many: number) => (many === 1 ? "Take back…" : `Take back ${edits(many)}…`),
  takeBackSince: "Take back this and all later edits in the list…",
  noClient: "none",
  onlyFile: "Only edits of this file",
  copyPath: "Copy path",
  copyId: "Copy id",
  copied: "Copied",
  openFile: "Open in VS Code",
  keys: "Keys",
  keysDo: { j: "Next edit", k: "Previous edit", Enter: "Open the edit in focus", u: "Take back the open edit, or redo it", "/": "Search", "?": "These keys" },
  compare: "Compare states…",
  compareTitle: "Compare two states",
  from: "From",
  to: "To",
  now: "as it is now",
  noStates: "The history holds no state of this file.",
  preview: (many: number) => `Take back ${edits(many)}?`,
  previewGood: "All of them can be taken back. Nothing has been done yet.",
  previewBad: (many: number) => `${many === 1 ? "One edit is" : `${many} edits are`} in conflict. Nothing has been done. Leave them out, or look at what is in the way.`,
  leaveOut: "Leave out what conflicts",
  conflict: "Conflict",
  canBe: "Can be taken back",
  doIt: (many: number) => `Take back ${edits(many)}`,
  cancel: "Cancel",
  close: "Close",
  goBack: "Back to the list",
  choose: "Choose an edit to see what it changed.",
  live: "Live",
  notLive: "The connection is lost. Trying again…",
  ended: "The server has ended. What is shown stays; nothing can be taken back. Start it again in a terminal: mcp-text-editor history --web",
  unauthorised:
    "This page is not connected. Its link works once, and in one tab. Open the other tab, or start again in a terminal: mcp-text-editor history --web",
  loading: "Loading…",
  progress: (done: number, total: number) => `${done.toLocaleString("en")} of ${total.toLocaleString("en")}`,
  undoneMark: "taken back",
  undoMark: "take-back",
  redoMark: "redo",
  fileMade: (time: string) => `Written ${time}`,
  today: "Today",
  yesterday: "Yesterday",
};

export type Text = typeof en;

const TABLES: Record<string, Text> = { en };

export let T: Text = en;
let locale: string | undefined;
let timeZone: string | undefined;

/** Chooses the table and the format of dates by the reader's language (BCP 47) and time zone (IANA). Unknown ones change nothing. */
export function use(language: string | undefined, zone: string | undefined): void {
  T = TABLES[(language ?? "").slice(0, 2).toLowerCase()] ?? en;
  if (language && valid(() => new Intl.DateTimeFormat(language))) locale = language;
  if (zone && valid(() => new Intl.DateTimeFormat("en", { timeZone: zone }))) timeZone = zone;
  formats = new Map();
}

function valid(make: () => unknown): boolean {
  try {
    make();
    return true;
  } catch {
    return false;
  }
}

/** The formatters of dates, created once: that is slow, and a list has thousands of dates. */
let formats = new Map<Intl.DateTimeFormatOptions, Intl.DateTimeFormat>();

const writer = (options: Intl.DateTimeFormatOptions) => (time: string): string => {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return time;
  let format = formats.get(options);
  if (!format) {
    // Months are in the language of the table, as the words around them; the region decides the order.
    const language = locale?.toLowerCase().startsWith(T.language) ? locale : T.language;
    format = new Intl.DateTimeFormat(language, timeZone ? { ...options, timeZone } : options);
    formats.set(options, format);
  }
  return format.format(date);
};

export const clock = writer({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
export const day = writer({ weekday: "long", day: "numeric", month: "long", year: "numeric" });
export const moment = writer({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
