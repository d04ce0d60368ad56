// The program itself, files that it edits, and the history of their edits.

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { after } from "node:test";
import type { Loose } from "./support.ts";

const BINARY = path.resolve(process.env["MCP_TEXT_EDITOR_BIN"] ?? "target/debug/mcp-text-editor");
export const PATCH = "patch_text_file_contents";
export const OLD = "import sys\n\nprint('Hello')\n";
export const NEW = "import sys\n\nprint('Good morning')\n";

/** A place for files, and the history of their edits. */
export interface Place {
  root: string;
  state: string;
  file: string;
}

const children = new Set<ChildProcess>();
const places = new Set<string>();
after(() => {
  for (const child of children) child.kill();
  for (const place of places) fs.rmSync(place, { recursive: true, force: true });
});

export function place(name = "greet.py"): Place {
  const base = fs.realpathSync(fs.mkdtempSync("/tmp/mcp-text-editor-view-"));
  places.add(base);
  const [root, state] = [path.join(base, "files"), path.join(base, "state")];
  fs.mkdirSync(root);
  fs.mkdirSync(state, { mode: 0o700 });
  const file = path.join(root, name);
  fs.writeFileSync(file, OLD);
  return { root, state, file };
}

/** A person has no other history than that of the place. */
const environment = (state: string) => ({ ...process.env, MCP_TEXT_EDITOR_STATE_DIR: state, HOME: path.dirname(state) });

export function program(args: string[], state: string): ChildProcess {
  const child = spawn(BINARY, args, { env: environment(state), stdio: ["pipe", "pipe", "pipe"] });
  children.add(child);
  return child;
}

/** What the program writes, once it has ended. */
export function run(args: string[], { state, root }: Place): string {
  return execFileSync(BINARY, args, { env: environment(state), cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** Makes an edit, by another process. */
export function edit(at: Place, tool: string, given: Loose): string {
  const said = JSON.parse(run(["call", "--tools", "all", "--root", at.root, tool, "--json", JSON.stringify(given)], at)) as Loose;
  return String(said["edit_id"]);
}

/** Makes many edits of the file in one session, an even number, so that it is as before. */
export async function edits(at: Place, count: number): Promise<void> {
  const child = program(["--durability", "process", at.root], at.state);
  const lines = readline.createInterface({ input: child.stdout! });
  const send = (message: Loose) => child.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  send({ id: "begin", method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "many", version: "1" } } });
  let made = 0;
  for await (const line of lines) {
    const { id, result } = JSON.parse(line) as { id: unknown; result: Loose };
    if (result["isError"]) throw new Error(line);
    if (id === "begin") send({ method: "notifications/initialized" });
    if (made === count) break;
    made += 1;
    const [old, now] = made % 2 === 1 ? ["Hello", "Good morning"] : ["Good morning", "Hello"];
    send({ id: made, method: "tools/call", params: { name: PATCH, arguments: patch(at.file, old!, now!) } });
  }
  await ended(child, () => child.stdin!.end());
}

/** Ends a process, and waits for that. */
export async function ended(child: ChildProcess, end: () => void): Promise<number | null> {
  const over = child.exitCode !== null ? Promise.resolve(child.exitCode) : new Promise<number | null>((done) => child.once("exit", done));
  end();
  const code = await over;
  children.delete(child);
  return code;
}

export const patch = (file: string, old: string, now: string, more: Loose = {}): Loose => ({ files: [{ file_path: file, patches: [{ old_string: old, new_string: now }] }], ...more });
export const bytes = (file: string) => fs.readFileSync(file, "utf8");
