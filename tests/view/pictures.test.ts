// Pictures of the page, light and dark, in a chat and in a browser: for docs/history.md. `PICTURES=docs` writes them there, made small
// (pngquant, optipng); else they are made and thrown away, so that whoever breaks them hears of it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { after, test } from "node:test";
import * as stories from "./stories.ts";
import { PAGE, browser, closeBrowser, fakeHost, polite, serve, type Loose, type Page } from "./support.ts";

after(closeBrowser);

const kept = process.env["PICTURES"];
const where = kept ?? mkdtempSync("/tmp/mcp-text-editor-view-");
after(() => kept === undefined && rmSync(where, { recursive: true }));

/** At most so many bytes each, in the repository. */
const MOST_BYTES = 60_000;

async function picture(page: Page, name: string, height: number): Promise<void> {
  await page.setViewportSize({ width: page.viewportSize()?.width ?? 720, height: Math.ceil(height) });
  // A frame in a process of its own is drawn some time after it is laid out.
  await page.waitForTimeout(1_000);
  const path = `${where}/view-${name}.png`;
  await page.screenshot({ path });
  if (kept === undefined) return;
  execFileSync("pngquant", ["--force", "--skip-if-larger", "--quality", "70-95", "--strip", "--output", path, path]);
  execFileSync("optipng", ["-quiet", "-o5", path]);
  assert.ok(statSync(path).size < MOST_BYTES, `${path} has ${statSync(path).size} bytes`);
}

const chat = (story: Loose, scheme: "light" | "dark", width: number, more: Loose = {}) =>
  fakeHost({
    result: { content: [], _meta: { "mcp-text-editor/story": story } },
    answer: polite(
      ({ params }) => ({ structuredContent: params?.["name"] === "take_back_text_file_edit" ? more["reply"] : story }),
      { theme: scheme, timeZone: "UTC", displayMode: width > 1000 ? "fullscreen" : "inline" },
    ),
    browser: { viewport: { width, height: 400 }, colorScheme: scheme },
  });

for (const scheme of ["light", "dark"] as const) {
  test(`an edit in a chat, ${scheme}`, async () => {
    const host = await chat(stories.edit(), scheme, 720, { reply: stories.conflict() });
    await host.frame.waitForSelector(".card");
    await picture(host.page, `chat-${scheme}`, await host.frame.evaluate(() => document.documentElement.scrollHeight));
    await host.frame.click("text=Take back");
    await host.frame.waitForSelector(".failure");
    await picture(host.page, `conflict-${scheme}`, 420);
    await host.close();
  });

  test(`the history in a browser, ${scheme}`, async () => {
    const row = (id: string, time: string, tool: string, client: string, path: string, more: Loose = {}) => ({
      ...stories.EDIT, id, time, tool, client, files: [{ path: `/home/ada/app/${path}`, root: "/home/ada/app", relative: path, change: "changed" }], added: 2, removed: 1, line: 12, ...more,
    });
    const edits = [
      row("a1", "2026-11-25T09:14:00Z", "patch_text_file_contents", "claude-code", "src/greet.py", { moreFiles: 2, added: 9, removed: 4, line: 1 }),
      row("a2", "2026-11-25T09:02:00Z", "patch_text_file_contents", "claude-code", "src/names.py"),
      row("a3", "2026-11-25T08:57:00Z", "create_text_file", "claude-code", "src/names.py", { undoneBy: "x", canUndo: false, added: 12, removed: 0, line: undefined }),
      row("a4", "2026-11-24T17:40:00Z", "patch_text_file_contents", "cursor", "README.md"),
      row("a5", "2026-11-24T17:31:00Z", "append_text_file_contents", "cursor", "CHANGELOG.md"),
      row("a6", "2026-11-24T16:05:00Z", "move_text_file", "codex", "docs/usage.txt", { added: 0, removed: 0, line: undefined }),
    ];
    const html = PAGE.replace('data-frame="app"', 'data-frame="web"').replace("connect-src 'none'", "connect-src 'self'");
    const answers: Record<string, Loose> = {
      "/api/session": { secret: "x" },
      "/api/edits": { edits, roots: ["/home/ada/app"], tools: ["patch_text_file_contents"], clients: ["claude-code"], next: "more" },
      "/api/edits/a1": stories.edit(),
    };
    const host = await serve((path) => (path === "/" ? { type: "text/html; charset=utf-8", body: html } : answers[path] ? { type: "application/json", body: JSON.stringify(answers[path]) } : undefined));
    const context = await (await browser()).newContext({ viewport: { width: 1280, height: 760 }, colorScheme: scheme, timezoneId: "UTC" });
    const page = await context.newPage();
    // The days have their names by this clock; the server is asked for nothing new.
    await page.clock.setFixedTime(new Date("2026-11-25T10:00:00Z"));
    await page.route("**/api/now", () => undefined);
    await page.goto(`${host.origin}/#code`);
    await page.check("#select-a1");
    await page.check("#select-a2");
    await page.click("#edit-a1");
    await page.waitForSelector(".detail .card");
    await page.mouse.move(700, 700);
    await picture(page, `history-${scheme}`, 760);
    await context.close();
    await host.close();
  });
}
