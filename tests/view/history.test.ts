// The page with the program's own server (`history --web`), and as the file that the program writes (`history --html`). What is asserted are bytes on the
// disk.

import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { after, test, type TestContext } from "node:test";
import { NEW, OLD, PATCH, bytes, edit, edits, ended, patch, place, program, run, type Place } from "./program.ts";
import { PATIENCE, browser, closeBrowser, violations, watch, type BrowserContext, type Page } from "./support.ts";

after(closeBrowser);

interface Web {
  child: ChildProcess;
  context: BrowserContext;
  page: Page;
  link: string;
  origin: string;
  complaints: string[];
  close(): Promise<void>;
}

/** Serves the history of a place, and opens the link. */
async function web(at: Place, args: string[] = []): Promise<Web> {
  const child = program(["history", "--web", ...args], at.state);
  const lines = readline.createInterface({ input: child.stdout! });
  const link = String((await lines[Symbol.asyncIterator]().next()).value);
  const context = await (await browser()).newContext({ viewport: { width: 1280, height: 800 } });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const complaints = watch(page);
  await page.goto(link);
  const close = async () => {
    await context.close();
    await ended(child, () => child.kill());
  };
  return { child, context, page, link, origin: new URL(link).origin, complaints, close };
}

test("an edit is seen in a browser, taken back and done again, to the byte", async () => {
  const at = place();
  const id = edit(at, PATCH, patch(at.file, "Hello", "Good morning"));
  const { page, origin, complaints, close } = await web(at);
  await page.waitForSelector(".live.on");
  assert.equal(page.url(), `${origin}/`, "nothing that is valid stays in the address bar");
  await page.click(`#edit-${id}`);
  await page.waitForSelector(".detail .card");
  assert.deepEqual(await page.locator(".detail .code mark").allTextContents(), ["Hello", "Good morning"]);
  assert.deepEqual(await violations(page.mainFrame()), []);
  await page.click(".detail .primary:has-text('Take back')");
  await page.waitForSelector(".detail .primary:has-text('Redo')");
  assert.equal(bytes(at.file), OLD);
  await page.waitForSelector(".list .undone");
  await page.click(".detail .primary:has-text('Redo')");
  await page.waitForSelector(".detail .primary:has-text('Take back')");
  assert.equal(bytes(at.file), NEW);
  // A redo is called so, and can be taken back; what it made again was taken back, and is no more.
  await page.waitForSelector(".tag:has-text('redo')");
  for (const [at, tags, title] of [[1, "take-back", "Done again: 1 file as edited"], [0, "redo", "Did an edit of 1 file again"]] as const) {
    await page.click(`.edit >> nth=${at}`);
    await page.waitForSelector(`.detail h2:has-text('${title}')`);
    assert.ok((await page.locator(".edit").nth(at).locator(".tag").allTextContents()).includes(tags));
    assert.match((await page.textContent(".detail .primary")) ?? "", /Take back/);
  }
  await page.click(".detail .primary");
  await page.waitForSelector(".detail .primary:has-text('Redo')");
  assert.equal(bytes(at.file), OLD);
  await page.click(".detail .primary");
  await page.waitForSelector(".detail .primary:has-text('Take back')");
  assert.equal(bytes(at.file), NEW);
  await page.click(`#edit-${id}`);
  await page.waitForSelector(".detail h2:has-text('Edited 1 file')");
  // Somebody else writes.
  fs.writeFileSync(at.file, NEW.replace("morning", "night"));
  await page.click(".detail .primary:has-text('Take back')");
  await page.waitForSelector("text=It was not taken back. Nothing was changed.");
  assert.match(await page.innerText(".detail .way"), /greet\.py[\s\S]*changed/);
  assert.equal(bytes(at.file), NEW.replace("morning", "night"));
  // What the browser says of the answer (409).
  assert.deepEqual(complaints.filter((line) => !/status of 409/.test(line)), []);
  await close();
});

test("edits of other processes appear, and what another has taken back shows so", async () => {
  const at = place();
  const first = edit(at, PATCH, patch(at.file, "Hello", "Good morning"));
  const { page, complaints, close } = await web(at);
  await page.click(`#edit-${first}`);
  await page.waitForSelector(".live.on");
  await page.focus(`#edit-${first}`);
  const second = edit(at, "create_text_file", { file_path: path.join(at.root, "made.txt"), contents: "made\n" });
  await page.waitForSelector(`#edit-${second}`);
  assert.equal(await page.evaluate(() => document.activeElement?.id), `edit-${first}`, "the place in the list is kept");
  run(["undo", first], at);
  await page.waitForSelector(".list .undone");
  assert.equal(await page.locator(".edit").count(), 3);
  assert.deepEqual(complaints, []);
  await close();
});

test("several are taken back after a look at what conflicts, and all since one", async () => {
  const at = place();
  const other = path.join(at.root, "other.py");
  fs.writeFileSync(other, OLD);
  const first = edit(at, PATCH, patch(at.file, "Hello", "Good morning"));
  const second = edit(at, PATCH, patch(other, "Hello", "Good morning"));
  const third = edit(at, PATCH, patch(at.file, "Good morning", "Good night"));
  const as = () => [bytes(at.file), bytes(other)];
  const edited = as();
  const { page, close } = await web(at);
  await page.check(`#select-${first}`);
  await page.check(`#select-${second}`);
  await page.click("text=Take back 2 edits…");
  await page.waitForSelector("dialog >> text=One edit is in conflict. Nothing has been done.");
  assert.match(await page.innerText("dialog .conflict"), /was changed again by edit/);
  assert.deepEqual(as(), edited);
  assert.deepEqual(await violations(page.mainFrame()), []);
  await page.click("dialog >> text=Cancel");
  await page.click(`#edit-${second}`);
  await page.click("text=Take back this and all later edits in the list…");
  await page.waitForSelector("dialog .outcome >> nth=1");
  assert.equal(await page.locator("dialog .outcome").count(), 2, "the first one stays");
  await page.click("dialog .primary");
  await page.waitForSelector("dialog", { state: "detached" });
  assert.deepEqual(as(), [NEW, OLD]);
  // The list is asked for once the dialog is closed.
  await page.waitForSelector(".list .undone >> nth=1");
  assert.equal(await page.locator(".list .undone").count(), 2);
  assert.ok(await page.isDisabled(`#select-${third}`));
  await close();
});

test("what goes together is taken back together", async () => {
  const at = place();
  const first = edit(at, PATCH, patch(at.file, "Hello", "Good morning"));
  edit(at, PATCH, patch(at.file, "Good morning", "Good night"));
  const { page, close } = await web(at);
  await page.click(`#edit-${first}`);
  await page.click(".detail .primary:has-text('Take back')");
  await page.click("text=Take back these 2 edits together…");
  await page.waitForSelector("dialog .outcome >> nth=1");
  await page.click("dialog .primary");
  await page.waitForSelector("dialog", { state: "detached" });
  assert.equal(bytes(at.file), OLD);
  await close();
});

test("two states of a file are compared, and edits are searched for", async () => {
  const at = place();
  const first = edit(at, PATCH, patch(at.file, "Hello", "Good morning"));
  const second = edit(at, PATCH, patch(at.file, "Good morning", "Good night"));
  const { page, complaints, close } = await web(at);
  await page.click(`#edit-${second}`);
  await page.click("text=Compare states…");
  await page.waitForSelector("dialog .card");
  const options = await page.locator("dialog #from option").count();
  assert.equal(options, 3);
  await page.selectOption("dialog #from", { index: 2 });
  await page.waitForSelector("dialog .code mark:has-text('Hello')");
  assert.deepEqual(await page.locator("dialog .code mark").allTextContents(), ["Hello", "Good night"]);
  await page.keyboard.press("Escape");
  await page.fill("#filter-q", "HELLO");
  await page.waitForSelector(`#edit-${second}`, { state: "detached" });
  assert.equal(await page.locator(`#edit-${first}`).count(), 1);
  await page.click("text=Clear filters");
  await page.waitForSelector(`#edit-${second}`);
  assert.deepEqual(complaints, []);
  await close();
});

test("a reload keeps the page, and a second tab does not get it", async () => {
  const at = place();
  const id = edit(at, PATCH, patch(at.file, "Hello", "Good morning"));
  const { context, page, link, origin, close } = await web(at);
  await page.waitForSelector(`#edit-${id}`);
  await page.reload();
  await page.waitForSelector(`#edit-${id}`);
  const second = await context.newPage();
  for (const address of [`${origin}/`, link, `${origin}/#${"0".repeat(64)}`]) {
    await second.goto("about:blank");
    await second.goto(address);
    await second.waitForSelector("text=This page is not connected");
    assert.equal(await second.locator(".edit").count(), 0);
  }
  await second.close();
  await page.waitForSelector(".live.on");
  await close();
});

test("the program ends once the page is closed", async () => {
  const at = place();
  // As long as a busy machine may take to open the page.
  const { child, context, page } = await web(at, ["--idle-seconds", "10"]);
  await page.waitForSelector(".live.on");
  assert.equal(child.exitCode, null);
  const said: string[] = [];
  child.stderr!.on("data", (part) => said.push(String(part)));
  assert.equal(await ended(child, () => void page.close()), 0);
  assert.match(said.join(""), /the page was closed for 10 seconds, so this has ended/);
  await context.close();
});

test("the program ends: what is shown stays, and a press says why nothing comes of it", async () => {
  const at = place();
  const id = edit(at, PATCH, patch(at.file, "Hello", "Good morning"));
  const { child, page, close } = await web(at);
  await page.click(`#edit-${id}`);
  await page.waitForSelector(".detail .primary");
  assert.equal(await ended(child, () => child.kill("SIGINT")), 0);
  await page.waitForSelector("text=The connection is lost");
  await page.click(".detail .primary");
  await page.waitForSelector("text=The server has ended");
  assert.equal(bytes(at.file), NEW);
  await close();
});

test("names and texts that look like a program do nothing, in the browser and in the file", async () => {
  const at = place("<img src=x onerror=alert(1)>\u202egnp.<script>alert(2)<");
  edit(at, PATCH, patch(at.file, "Hello", "</script></template><!--<img src=x onerror=alert(3)>\u202e\u200b"));
  const { page, complaints, close } = await web(at);
  await page.click(".edit");
  await page.waitForSelector(".detail .card");
  const shown = async (page: Page) => {
    const text = await page.innerText("#root");
    assert.ok(text.includes("<img src=x onerror=alert(1)>") && text.includes("</script></template><!--<img") && text.includes("RLO") && text.includes("ZWSP"), text);
    assert.equal(await page.locator("#root img, #root script").count(), 0);
  };
  await shown(page);
  const written = path.join(at.root, "edits.html");
  run(["history", "--html", written], at);
  const file = await page.context().newPage();
  const asked: string[] = [];
  file.on("request", (request) => asked.push(request.url()));
  const said = watch(file);
  await file.goto(`file://${written}`);
  await file.waitForSelector(".card");
  await shown(file);
  assert.equal(await file.locator(".primary, input").count(), 0);
  assert.deepEqual(await violations(file.mainFrame()), []);
  assert.deepEqual([asked.length, said, complaints], [1, [], []]);
  await close();
});

test("a history that is damaged meanwhile is said", async () => {
  const at = place();
  const id = edit(at, PATCH, patch(at.file, "Hello", "Good morning"));
  const { page, close } = await web(at);
  await page.waitForSelector(`#edit-${id}`);
  await page.waitForSelector(".live.on");
  for (const name of fs.readdirSync(at.state)) {
    if (/^history/.test(name)) fs.rmSync(path.join(at.state, name));
  }
  fs.writeFileSync(path.join(at.state, "history.db"), "this is no database".repeat(1_000));
  await page.waitForSelector(".notice >> text=The history cannot be read");
  await close();
});

test("thousands of edits are listed page by page", async (t: TestContext) => {
  const at = place();
  const many = Number(process.env["EDITS"] ?? 2_000);
  await edits(at, many);
  const { page, complaints, close } = await web(at);
  await page.waitForSelector(".edit");
  assert.equal(await page.locator(".edit").count(), 100);
  await page.evaluate(() => {
    const seen = window as unknown as { longest: number };
    seen.longest = 0;
    new PerformanceObserver((list) => list.getEntries().forEach(({ duration }) => (seen.longest = Math.max(seen.longest, duration)))).observe({ type: "longtask" });
  });
  for (let pages = 1; pages * 100 < many; pages += 1) {
    await page.click("text=Show older edits");
    await page.waitForFunction((count) => document.querySelectorAll(".edit").length === count, Math.min(many, (pages + 1) * 100));
  }
  const longest = () => page.evaluate(() => Math.round((window as unknown as { longest: number }).longest));
  t.diagnostic(`${many} edits: the longest task while all were loaded had ${await longest()} ms`);
  assert.equal(await page.locator("text=Show older edits").isVisible(), false);
  // Another edit comes, and the place in the list is kept.
  await page.locator(".edit").last().focus();
  const last = await page.evaluate(() => document.activeElement?.id);
  const id = edit(at, PATCH, patch(at.file, "Hello", "Good morning"));
  await page.waitForSelector(`#edit-${id}`, { state: "attached" });
  assert.equal(await page.locator(".edit").count(), many + 1);
  assert.equal(await page.evaluate(() => document.activeElement?.id), last);
  await page.keyboard.press("Enter");
  await page.waitForSelector(".detail .card");
  t.diagnostic(`and the longest until one came and another was opened ${await longest()} ms`);
  assert.deepEqual(complaints, []);
  await close();
});
