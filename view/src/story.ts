// The story of an edit: the only data type of the page, and its parser. The message may come from an untrusted host.
//
// `crates/server/src/render/story` writes it. The parser drops fields of the wrong type, so that no other module has to check types.

export type Kind = "edit" | "proposal" | "failure" | "difference";
export type Change = "changed" | "created" | "removed" | "moved" | "displaced";
export type LineEnd = "crlf" | "cr" | "none";

export interface Story {
  kind: Kind;
  /** Present if the kind is `edit` and the history has the edit. */
  edit?: Edit;
  files: FileStory[];
  /** The number of files that are left out because the story would be too large. */
  moreFiles: number;
  failure?: { code: string; reason: string; problems: Problem[] };
  /** For a proposal: the call that *Apply* makes, without `dry_run`. If `arguments` is absent, those of the shown call are used. */
  tool?: { name: string; arguments?: Record<string, unknown> };
}

export interface Edit {
  id: string;
  /** ISO 8601, UTC. */
  time: string;
  tool: string;
  client?: string;
  undoes?: string;
  /** Whether it undid an undo. */
  isRedo: boolean;
  /** The undo of this edit. Absent while the edit is in effect, also if it was undone and redone. */
  undoneBy?: string;
  canUndo: boolean;
  /** In a chat: the proofs, by purpose, that the server requires before it shows or undoes the edit. */
  capabilities?: Record<string, string>;
}

/** An edit in a list: without its diff. */
export interface EditRow extends Edit {
  files: FileName[];
  moreFiles: number;
  /** The numbers of added and removed lines; absent if the history holds a diff only in part. */
  added?: number;
  removed?: number;
  /** The first changed line of the first file. */
  line?: number;
}

export interface FileName {
  path: string;
  root?: string;
  /** The path below the root. */
  relative?: string;
  change: Change;
  movedFrom?: string;
}

export interface FileStory extends FileName {
  before?: Facts;
  after?: Facts;
  hunks: Hunk[];
  /** Whether lines of the diff are left out. */
  cut: boolean;
  /** The numbers of added and removed lines, those that the diff leaves out included; absent if they are unknown. */
  added?: number;
  removed?: number;
  warnings: string[];
}

export interface Facts {
  hash?: string;
  lines?: number;
  encoding?: string;
  bom?: boolean;
  lineEnding?: string;
  finalNewline?: boolean;
  bytes?: number;
}

/** Lines are counted from 1. */
export interface Hunk {
  oldStart: number;
  newStart: number;
  lines: Line[];
}

export interface Line {
  kind: " " | "+" | "-";
  /** Without its line end. */
  text: string;
  /** Absent for LF. */
  end?: LineEnd;
  cut: boolean;
}

export interface Problem {
  code: string;
  reason: string;
  path?: string;
  start?: number;
  end?: number;
  asked?: string;
  actual?: string;
  hint?: string;
  /** The later edit that conflicts. */
  edit?: string;
  /** The edits that can only be undone together, the newest first. */
  together?: string[];
}

/** A state of a file in the past; only the server interprets `id`. */
export interface State {
  id: string;
  time: string;
  tool?: string;
  hash: string;
  now: boolean;
}

export type Loose = Record<string, unknown>;

export function isObject(value: unknown): value is Loose {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const KINDS: readonly string[] = ["edit", "proposal", "failure", "difference"];
const CHANGES: readonly string[] = ["changed", "created", "removed", "moved", "displaced"];
const ENDS: readonly string[] = ["crlf", "cr", "none"];

/** Parses a story; undefined if the value is none, or has another version. */
export function readStory(value: unknown): Story | undefined {
  if (!isObject(value) || value["version"] !== 1 || !KINDS.includes(value["kind"] as string)) return undefined;
  const failure = isObject(value["failure"]) ? value["failure"] : undefined;
  const tool = isObject(value["tool"]) ? value["tool"] : undefined;
  return compact<Story>({
    kind: value["kind"] as Kind,
    edit: readEdit(value["edit"]),
    files: list(value["files"], readFile),
    moreFiles: number(value["moreFiles"]) ?? 0,
    failure: failure && {
      code: string(failure["code"]) ?? "",
      reason: string(failure["reason"]) ?? "",
      problems: list(failure["problems"], readProblem),
    },
    tool:
      tool && typeof tool["name"] === "string"
        ? compact({ name: tool["name"], arguments: isObject(tool["arguments"]) ? tool["arguments"] : undefined })
        : undefined,
  });
}

export function readEdit(value: unknown): Edit | undefined {
  if (!isObject(value) || typeof value["id"] !== "string") return undefined;
  return compact<Edit>({
    id: value["id"],
    time: string(value["time"]) ?? "",
    tool: string(value["tool"]) ?? "",
    client: string(value["client"]),
    undoes: string(value["undoes"]),
    isRedo: value["isRedo"] === true,
    undoneBy: string(value["undoneBy"]),
    canUndo: value["canUndo"] === true,
    capabilities: isObject(value["capabilities"]) ? readTexts(value["capabilities"]) : undefined,
  });
}

const readTexts = (held: Loose) => Object.fromEntries(Object.entries(held).filter((pair): pair is [string, string] => typeof pair[1] === "string"));

export function readEditRow(value: unknown): EditRow | undefined {
  const edit = readEdit(value);
  if (!edit || !isObject(value)) return undefined;
  const [added, removed, line] = ["added", "removed", "line"].map((key) => number(value[key]));
  return compact<EditRow>({ ...edit, files: list(value["files"], readFileName), moreFiles: number(value["moreFiles"]) ?? 0, added, removed, line });
}

export function readState(value: unknown): State | undefined {
  if (!isObject(value) || typeof value["id"] !== "string") return undefined;
  return compact<State>({
    id: value["id"],
    time: string(value["time"]) ?? "",
    tool: string(value["tool"]),
    hash: string(value["hash"]) ?? "",
    now: value["now"] === true,
  });
}

function readFileName(value: unknown): FileName | undefined {
  if (!isObject(value) || typeof value["path"] !== "string") return undefined;
  return compact<FileName>({
    path: value["path"],
    root: string(value["root"]),
    relative: string(value["relative"]),
    change: CHANGES.includes(value["change"] as string) ? (value["change"] as Change) : "changed",
    movedFrom: string(value["movedFrom"]),
  });
}

function readFile(value: unknown): FileStory | undefined {
  const name = readFileName(value);
  if (!name || !isObject(value)) return undefined;
  return compact<FileStory>({
    ...name,
    before: readFacts(value["before"]),
    after: readFacts(value["after"]),
    hunks: list(value["hunks"], readHunk),
    cut: value["cut"] === true,
    added: number(value["added"]),
    removed: number(value["removed"]),
    warnings: list(value["warnings"], string),
  });
}

function readFacts(value: unknown): Facts | undefined {
  if (!isObject(value)) return undefined;
  return compact<Facts>({
    hash: string(value["hash"]),
    lines: number(value["lines"]),
    encoding: string(value["encoding"]),
    bom: boolean(value["bom"]),
    lineEnding: string(value["lineEnding"]),
    finalNewline: boolean(value["finalNewline"]),
    bytes: number(value["bytes"]),
  });
}

function readHunk(value: unknown): Hunk | undefined {
  if (!isObject(value)) return undefined;
  return {
    oldStart: number(value["oldStart"]) ?? 1,
    newStart: number(value["newStart"]) ?? 1,
    lines: list(value["lines"], readLine),
  };
}

export function readLine(value: unknown): Line | undefined {
  if (!isObject(value) || typeof value["text"] !== "string") return undefined;
  const kind = value["kind"];
  if (kind !== " " && kind !== "+" && kind !== "-") return undefined;
  const end = ENDS.includes(value["end"] as string) ? (value["end"] as LineEnd) : undefined;
  return compact<Line>({ kind, text: value["text"], end, cut: value["cut"] === true });
}

function readProblem(value: unknown): Problem | undefined {
  if (!isObject(value)) return undefined;
  return compact<Problem>({
    code: string(value["code"]) ?? "",
    reason: string(value["reason"]) ?? "",
    path: string(value["path"]),
    start: number(value["start"]),
    end: number(value["end"]),
    asked: string(value["asked"]),
    actual: string(value["actual"]),
    hint: string(value["hint"]),
    edit: string(value["edit"]),
    together: list(value["together"], string),
  });
}

export function list<T>(value: unknown, read: (item: unknown) => T | undefined): T[] {
  if (!Array.isArray(value)) return [];
  return value.map(read).filter((item) => item !== undefined);
}

export function string(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function boolean(value: unknown): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}

/** Returns the object without its undefined fields. */
function compact<T>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, held]) => held !== undefined)) as T;
}
