// The page as an MCP App, with a host that does what each test says: good, late, silent, hostile.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import * as stories from "./stories.ts";
import { PAGE, PATIENCE, closeBrowser, fakeHost, polite, violations, type Answer, type FakeOptions, type Loose, type Message } from "./support.ts";

after(closeBrowser);

const STORY = "mcp-text-editor/story";
const result = (story: Loose): Loose => ({ content: [{ type: "text", text: '{"result":"ok"}' }], _meta: { [STORY]: story } });
const reply = (story: Loose): Loose => ({ content: [], structuredContent: story });
const undone = () => stories.edit({ edit: stories.UNDO });
const redone = () => stories.edit({ edit: stories.REDO });
const tool = ({ method, params }: Message) => (method === "tools/call" ? params?.["name"] : method);

/** A server that takes back and does again. */
const server = (more: Record<string, (request: Message) => Loose | undefined> = {}): Answer => {
  const taken: string[] = [];
  return (request) => {
    const name = String(tool(request));
    if (more[name]) return more[name](request);
    const id = (request.params?.["arguments"] as Loose | undefined)?.["edit_id"];
    if (name === "show_text_file_edit") return reply(id === stories.EDIT.id ? stories.edit() : undone());
    if (name === "take_back_text_file_edit") return reply(taken.push(String(id)) % 2 === 1 ? undone() : redone());
    return {};
  };
};
const named = (id: string) => ({ edit_id: id, capability: stories.capability(id) });
const open = (options: FakeOptions & { next?: Answer; context?: Loose; capabilities?: Loose } = {}) =>
  fakeHost({ result: result(stories.edit()), answer: polite(options.next ?? server(), options.context, options.capabilities), ...options });

test("an edit shows its files, its lines, and what changed besides them", async () => {
  const host = await open();
  await host.frame.waitForSelector(".card");
  assert.equal(await host.frame.textContent("h1"), "Edited 3 files");
  const text = await host.frame.innerText(".files");
  for (const part of ["greet.py", "Created", "moved from README.txt", "BOM removed", "Line ends CRLF → LF", "Newline added at the end", "14 lines unchanged", "no newline"]) assert.ok(text.includes(part), part);
  assert.deepEqual(await host.frame.$$eval(".row.del .code mark", (found) => found.slice(0, 3).map((each) => each.textContent)), ["os", "getcwd, path", '" + ']);
  assert.ok(host.heard.some(({ method, params }) => method === "ui/notifications/size-changed" && Number(params?.["height"]) > 300));
  assert.deepEqual(host.complaints, []);
  await host.close();
});

test("lines that are not shown are counted; where nobody counted them, no number stands", async () => {
  const counts = async (long: Loose, more: Loose = {}) => {
    const host = await open({ result: result(stories.edit({ files: [stories.file("a", [stories.GREET], { cut: true, ...long }), stories.file("b", [stories.GREET])], ...more })) });
    await host.frame.waitForSelector(".card");
    const shown = await host.frame.$$eval(".counts", (all) => all.map((each) => each.querySelector(".sr")?.textContent));
    await host.close();
    return shown;
  };
  const [known, greet] = [{ added: 10_000, removed: 9_999 }, "3 lines added, 2 lines removed"];
  assert.deepEqual(await counts(known), ["10,003 lines added, 10,001 lines removed", "10,000 lines added, 9,999 lines removed", greet]);
  assert.deepEqual(await counts(known, { moreFiles: 1 }), ["10,000 lines added, 9,999 lines removed", greet]);
  assert.deepEqual(await counts({}), [greet]);
});

test("one press takes back, another does it again, and the model is told of both", async () => {
  const host = await open();
  await host.frame.click("text=Take back");
  await host.frame.waitForSelector("button:has-text('Redo')");
  assert.equal(await host.frame.textContent("h1"), "Taken back: 3 files as before");
  assert.match((await host.frame.textContent(".status")) ?? "", /Taken back\. The model is told/);
  const told = () => host.heard.filter(({ method }) => method === "ui/update-model-context").map(({ params }) => JSON.stringify(params));
  assert.match(told()[0] ?? "", /took back edit 6f1c0a93be27.*\/home\/ada\/app\/src\/greet\.py.*Read them before/);
  await host.frame.click("text=Redo");
  await host.frame.waitForSelector("button:has-text('Take back')");
  assert.equal(await host.frame.textContent("h1"), "Edited 3 files");
  assert.match(told()[1] ?? "", /did it again/);
  assert.deepEqual(host.calls("take_back_text_file_edit").map(({ params }) => params?.["arguments"]), [named(stories.EDIT.id), named(stories.UNDO.id)]);
  await host.close();
});

test("where the client tells the model nothing, the person is asked to", async () => {
  const host = await open({ capabilities: { serverTools: {} } });
  await host.frame.click("text=Take back");
  await host.frame.waitForSelector("text=This client does not tell the model");
  assert.equal(host.heard.filter(({ method }) => method === "ui/update-model-context").length, 0);
  await host.close();
});

test("what stands in the way is shown: the texts beside each other, and the later edit", async () => {
  const host = await open({
    next: server({ take_back_text_file_edit: () => reply(stories.conflict()), list_shown_text_file_edits: ({ params }) => ({ structuredContent: { edits: [{ ...stories.EDIT, id: "77aa00bb11cc", capabilities: { "77aa00bb11cc": JSON.stringify((params?.["arguments"] as Loose)["capabilities"]) } }] } }), show_text_file_edit: ({ params }) => reply(stories.edit({ edit: { ...stories.EDIT, id: (params?.["arguments"] as Loose)["edit_id"] } })) }),
  });
  await host.frame.click("text=Take back");
  await host.frame.waitForSelector("text=It was not taken back. Nothing was changed.");
  assert.match(await host.frame.innerText(".way"), /has changed since the edit[\s\S]*What the edit left[\s\S]*Hello[\s\S]*What is there[\s\S]*Good morning/);
  assert.equal(await host.frame.locator("button:has-text('Take back')").count(), 1);
  assert.deepEqual(await violations(host.frame), []);
  await host.frame.click("text=Show the later edit");
  await host.frame.waitForFunction(() => document.querySelectorAll(".card").length === 2);
  // It is one of those that the reply to this view names.
  const given = JSON.stringify(stories.EDIT.capabilities);
  assert.deepEqual(host.calls("show_text_file_edit").at(-1)?.params?.["arguments"], { edit_id: "77aa00bb11cc", capability: given });
  await host.close();
});

test("a proposal is applied by the same call, without dry_run", async () => {
  const input = { files: [{ file_path: "a" }], dry_run: true };
  const host = await open({ result: result(stories.proposal()), input, next: server({ patch_text_file_contents: () => result(stories.edit()) }) });
  assert.equal(await host.frame.textContent("h1"), "Proposal: would change 3 files");
  await host.frame.click("text=Apply");
  await host.frame.waitForSelector("h1:has-text('Applied: changed 3 files')");
  assert.deepEqual(host.calls("patch_text_file_contents")[0]?.params, { name: "patch_text_file_contents", arguments: { files: [{ file_path: "a" }] } });
  await host.frame.waitForSelector("button:has-text('Take back')");
  await host.close();
});

test("a failed edit shows what was asked for beside what is there", async () => {
  const host = await open({ result: { isError: true, ...result(stories.failure()) } });
  await host.frame.waitForSelector("h1:has-text('Nothing was changed')");
  assert.match(await host.frame.innerText(".failure"), /greet\.py lines 12–14[\s\S]*Asked for[\s\S]*What is there/);
  assert.deepEqual(await host.frame.$$eval(".actual mark", (found) => found.map((each) => each.textContent)), ["\t", "\t", "n", " greet(n)"]);
  await host.close();
});

test("a reply without a story is shown as it is", async () => {
  const host = await open({ result: { content: [{ type: "text", text: "<b>error</b>: no such file" }] } });
  await host.frame.waitForSelector("text=<b>error</b>: no such file");
  assert.equal(await host.frame.locator(".button").count(), 0);
  await host.close();
});

test("an edit that was taken back before the page was loaded again says so, and what undid it can be undone", async () => {
  const taken = stories.edit({ edit: { ...stories.EDIT, undoneBy: stories.UNDO.id } });
  const host = await open({ next: server({ show_text_file_edit: ({ params }) => reply((params?.["arguments"] as Loose)["edit_id"] === stories.EDIT.id ? taken : undone()) }) });
  await host.frame.waitForSelector("button:has-text('Redo')");
  // The same page once more: what the host has of the call is as old as before.
  await host.page.evaluate((html) => (window as unknown as { show(h: string): void }).show(`${html}<!-- again -->`), PAGE);
  const frame = (await (await host.page.$("#view"))!.contentFrame())!;
  await frame.waitForSelector("button:has-text('Redo')");
  assert.equal(await frame.textContent("h1"), "Taken back: 3 files as before");
  await host.close();
});

test("an edit that the history lacks, and one that cannot be taken back, say why there is no button", async () => {
  for (const [edit, said] of [[undefined, "The history does not hold this edit"], [{ ...stories.EDIT, canUndo: false }, "This edit cannot be taken back"]] as const) {
    const host = await open({ result: result(stories.edit({ edit })), next: server({ show_text_file_edit: () => reply(stories.edit({ edit })) }) });
    await host.frame.waitForSelector(`text=${said}`);
    assert.equal(await host.frame.locator(".primary").count(), 0);
    await host.close();
  }
});

test("the session's earlier edits open one below the other, each with its own button", async () => {
  const host = await open({ next: server({ list_shown_text_file_edits: () => ({ structuredContent: { edits: [stories.EDIT, { ...stories.UNDO, undoes: undefined }] } }) }) });
  await host.frame.click("text=Earlier edits of this session");
  await host.frame.click(".edits summary");
  await host.frame.waitForSelector(".edits .card");
  assert.equal(await host.frame.locator(".edits > li").count(), 1, "the edit that is shown is not among the earlier ones");
  assert.equal(await host.frame.locator(".edits .primary").count(), 1);
  assert.deepEqual(await violations(host.frame), []);
  await host.close();
});

test("a host that says nothing leaves a page that says so", async () => {
  const host = await fakeHost({ answer: () => undefined, browser: { viewport: { width: 720, height: 400 } } });
  await host.frame.waitForSelector("text=Waiting for the client");
  await host.frame.waitForSelector("text=The client does not answer", { timeout: 30_000 });
  await host.close();
});

test("a host that answers late, and twice, is believed once", async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((done) => (release = done));
  const host = await fakeHost({
    result: result(stories.edit()),
    answer: async (request) => {
      if (request.method === "ui/initialize") await held;
      return polite(server())(request);
    },
  });
  await host.frame.waitForSelector("text=Waiting for the client");
  release();
  await host.frame.waitForSelector(".card");
  const first = host.heard.find(({ method }) => method === "ui/initialize")?.id;
  await host.say({ id: first!, result: { hostContext: { theme: "dark" } } });
  await host.say({ method: "ui/notifications/tool-result", params: result(stories.edit()) });
  await host.frame.click("text=Take back");
  await host.frame.waitForSelector("button:has-text('Redo')");
  const call = host.calls("take_back_text_file_edit")[0]?.id;
  await host.say({ id: call!, result: reply(redone()) });
  await host.say({ method: "ui/notifications/tool-result", params: result(stories.edit()) });
  assert.equal(await host.frame.textContent(".primary"), "Redo");
  assert.equal(await host.frame.evaluate(() => document.documentElement.dataset["theme"]), undefined);
  assert.equal(host.heard.filter(({ method }) => method === "ui/notifications/initialized").length, 1);
  await host.close();
});

test("a take-back that nobody answers is not sent again: the page asks how the edit stands", async () => {
  const host = await open({ next: server({ take_back_text_file_edit: () => undefined }), browser: { viewport: { width: 720, height: 700 } } });
  await host.frame.waitForSelector("text=Take back");
  await host.frame.evaluate(() => {
    // The page's own clock runs on: its minute of patience is over.
    const later = window.setTimeout;
    Object.assign(window, { later });
    window.setTimeout = ((work: () => void, wait: number) => later(work, wait / 200)) as typeof window.setTimeout;
  });
  await host.frame.click("text=Take back");
  await host.frame.waitForSelector("text=There is no answer yet");
  // The next answer has the time that it needs.
  await host.frame.evaluate(() => Object.assign(window, { setTimeout: (window as unknown as { later: typeof window.setTimeout }).later }));
  await host.frame.click("text=Check again");
  await host.frame.waitForSelector("button:has-text('Take back')");
  assert.equal(host.calls("take_back_text_file_edit").length, 1);
  await host.close();
});

test("names and texts that look like a program do nothing, and characters that hide are named", async () => {
  const host = await open({ result: result(stories.hostile()), next: server({ show_text_file_edit: () => reply(stories.hostile()) }) });
  await host.frame.waitForSelector(".card");
  const text = await host.frame.innerText("#root");
  for (const part of ["<script>alert(1)</script>.txt", "</template></script><script>alert(2)</script>", "<img src=x onerror=alert(3)>", '<a href="javascript:alert(6)">']) assert.ok(text.includes(part), part);
  assert.deepEqual(await host.frame.$$eval("#root script, #root img, #root a", (found) => found.length), 0);
  assert.ok(!/[\u202a-\u202e\u2066-\u2069\u200b\ufeff\u0007]/u.test(text), "nothing turns the direction, and nothing hides");
  for (const name of ["RLO", "LRI", "PDI", "ZWSP", "NBSP", "U+0007", "BOM"]) assert.ok(text.includes(name), name);
  assert.deepEqual(host.complaints, []);
  await host.close();
});

test("a line of a megabyte is folded around what changed, and opens piece by piece", async () => {
  const host = await open({ result: result(stories.hostile()) });
  const line = host.frame.locator(".file").nth(2);
  await line.locator("mark").first().waitFor();
  assert.deepEqual(await line.locator("mark").allTextContents(), ["1", "2"]);
  assert.ok(((await line.textContent()) ?? "").length < 3_000);
  await line.locator(".more-text").first().click();
  assert.match((await line.locator(".more-text").first().textContent()) ?? "", /499,7\d\d characters/);
  await host.close();
});

test("10 000 hunks are folded, and all of them are there when they are asked for", async () => {
  const host = await open({ result: result(stories.many(10_000)), next: server({ show_text_file_edit: () => reply(stories.many(10_000)) }), height: 700 });
  await host.frame.waitForSelector(".card");
  assert.ok((await host.frame.locator(".row:not(.gap)").count()) <= 61);
  await host.frame.click("text=/Show 29,9\\d\\d lines more/");
  await host.frame.waitForFunction(() => document.querySelectorAll(".row:not(.gap)").length === 30_000, undefined, { polling: 500, timeout: 3 * PATIENCE });
  // The browser lays out what is in view alone.
  const hidden = await host.frame.$$eval(".rows", (groups) => groups.filter((group) => !group.firstElementChild?.checkVisibility({ contentVisibilityAuto: true })).length);
  assert.ok(hidden > 300, `${hidden} groups wait for the eye`);
  await host.close();
});

test("by the keyboard alone: the button is reached, pressed, and keeps the place", async () => {
  const host = await open();
  await host.frame.waitForSelector(".primary");
  const focused = () => host.frame.evaluate(() => document.activeElement?.textContent ?? "");
  await host.page.focus("#view");
  for (let press = 0; press < 6 && (await focused()) !== "Take back"; press += 1) await host.page.keyboard.press("Tab");
  assert.equal(await focused(), "Take back");
  await host.page.keyboard.press("Enter");
  await host.frame.waitForSelector("button:has-text('Redo')");
  assert.equal(await focused(), "Redo");
  await host.page.keyboard.press("Tab");
  assert.match(await focused(), /greet\.py/);
  await host.page.keyboard.press("Enter");
  assert.equal(await host.frame.evaluate(() => document.querySelector<HTMLDetailsElement>(".file")?.open), false);
  await host.close();
});

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds no violation, ${scheme}`, async () => {
    for (const [story, width] of [[stories.edit(), 700], [stories.edit(), 1200], [stories.proposal(), 700], [stories.failure(), 700], [stories.hostile(), 700], [stories.many(200), 700]] as const) {
      const host = await open({
        result: result(story),
        next: server({ show_text_file_edit: () => reply(story) }),
        context: { theme: scheme, displayMode: width > 1000 ? "fullscreen" : "inline" },
        browser: { viewport: { width, height: 800 }, colorScheme: scheme },
      });
      await host.frame.waitForSelector(".card");
      assert.deepEqual(await violations(host.frame), []);
      await host.close();
    }
  });
}

test("it follows the host: theme, variables, fonts, display mode; and takes nothing else from it", async () => {
  const host = await open({
    context: {
      theme: "light",
      displayMode: "inline",
      availableDisplayModes: ["inline", "fullscreen"],
      styles: {
        variables: { "--color-background-primary": "rgb(1, 2, 3)", "--font-sans": "Probe, sans-serif", "--color-text-info": "url(https://example.invalid/x)", display: "none" },
        css: { fonts: '@import url("https://example.invalid/x.css"); @font-face { font-family: Probe; src: url(data:font/woff2;base64,AA) } body { display: none }' },
      },
    },
    next: server({ "ui/request-display-mode": () => ({ mode: "fullscreen" }) }),
  });
  await host.frame.waitForSelector(".card");
  const style = () => host.frame.evaluate(() => {
    const { backgroundColor, fontFamily, display } = getComputedStyle(document.body);
    return { backgroundColor, fontFamily, display, scheme: document.documentElement.style.colorScheme, info: document.documentElement.style.getPropertyValue("--color-text-info") };
  });
  assert.deepEqual(await style(), { backgroundColor: "rgb(1, 2, 3)", fontFamily: "Probe, sans-serif", display: "block", scheme: "light", info: "" });
  await host.say({ method: "ui/notifications/host-context-changed", params: { theme: "dark" } });
  await host.frame.waitForFunction(() => document.documentElement.style.colorScheme === "dark");
  await host.frame.click("text=Expand");
  await host.frame.waitForSelector("text=Back to the chat");
  await host.close();
});

test("wide, old and new stand side by side; narrow, one below the other", async () => {
  const host = await open({ browser: { viewport: { width: 1200, height: 800 } }, context: { displayMode: "fullscreen" } });
  await host.frame.waitForSelector(".diff.split");
  await host.page.setViewportSize({ width: 600, height: 800 });
  await host.frame.waitForSelector(".diff:not(.split)");
  assert.equal(await host.frame.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth), false, "nothing is cut off");
  await host.close();
});

test("reduced motion is honoured: nothing moves", async () => {
  for (const [reducedMotion, seconds] of [["reduce", "0s"], ["no-preference", "0.12s, 0.12s"]] as const) {
    const host = await open({ browser: { reducedMotion } });
    await host.frame.waitForSelector(".primary");
    assert.equal(await host.frame.$eval(".primary", (element) => getComputedStyle(element).transitionDuration), seconds);
    await host.close();
  }
});

test("messages of other windows, and such as mean nothing, change nothing", async () => {
  const host = await open();
  await host.frame.waitForSelector(".card");
  await host.page.evaluate(() => {
    const other = document.createElement("iframe");
    other.srcdoc = `<script>parent[0].postMessage({ jsonrpc: "2.0", method: "ui/notifications/tool-cancelled", params: {} }, "*"); parent[0].postMessage({ jsonrpc: "2.0", method: "ui/notifications/tool-result", params: { content: [] } }, "*")</script>`;
    document.body.append(other);
    return new Promise((done) => (other.onload = done));
  });
  for (const message of [null, 1, "x", [], {}, { jsonrpc: "2.0" }, { jsonrpc: "2.0", id: 999, result: {} }, { jsonrpc: "2.0", method: 1 }, { jsonrpc: "2.0", method: "ui/notifications/host-context-changed", params: { styles: 1, theme: {}, locale: "not a language", timeZone: "Nowhere/x", safeAreaInsets: { top: "x" } } }])
    await host.page.evaluate((given) => (window as unknown as { say(m: unknown): void }).say(given), message);
  await host.say({ id: "7", method: "ping", params: {} });
  await host.say({ id: "8", method: "ui/nonsense", params: {} });
  await host.say({ id: "9", method: "ui/resource-teardown", params: {} });
  while (!host.heard.some(({ id }) => id === "9")) await host.page.waitForTimeout(20);
  const answer = (id: string) => host.heard.find((message) => message.id === id);
  assert.deepEqual([answer("7")?.result, answer("8")?.error?.["code"], answer("9")?.result], [{}, -32601, {}]);
  assert.equal(await host.frame.textContent("h1"), "Edited 3 files");
  assert.deepEqual(host.complaints, []);
  await host.close();
});

test("a story of which every part has the wrong type is shown as far as it is one", async () => {
  const wrong = { version: 1, kind: "edit", edit: { id: 1 }, files: [null, { path: 1 }, { path: "ok.txt", hunks: [{ oldStart: "x", lines: [{ kind: "?" }, { kind: "+", text: 1 }, { kind: "+", text: "kept", end: "??" }] }, 7], before: [], warnings: [1, "careful"] }], moreFiles: -1 };
  const host = await open({ result: result(wrong) });
  await host.frame.waitForSelector("h1:has-text('Edited 1 file')");
  assert.match(await host.frame.innerText(".files"), /careful[\s\S]*kept/);
  assert.deepEqual(host.complaints, []);
  await host.close();
});

test("the page asks for nothing but its own, and its policy lets nothing else", async () => {
  const host = await open();
  await host.frame.click("text=Take back");
  await host.frame.waitForSelector("button:has-text('Redo')");
  await host.frame.click("text=Earlier edits");
  const asked = new Set(host.heard.map(tool));
  const own = ["ui/initialize", "ui/notifications/initialized", "ui/notifications/size-changed", "ui/update-model-context", "show_text_file_edit", "take_back_text_file_edit", "list_shown_text_file_edits"];
  assert.deepEqual([...asked].filter((name) => !own.includes(String(name))), []);
  const refused = await host.frame.evaluate(async () => {
    const tries: Record<string, () => unknown> = {
      html: () => (document.body.innerHTML = "<p>"),
      // Not in this call, in which the browser's driver may do what a page may not.
      program: () => new Promise<void>((done, failed) => setTimeout(() => {
        try {
          done(new Function("return 1")());
        } catch (error) {
          failed(error);
        }
      })),
      network: () => fetch("http://127.0.0.1:9/"),
    };
    const said: string[] = [];
    for (const [name, attempt] of Object.entries(tries)) {
      try {
        await attempt();
        said.push(name);
      } catch {
        // Refused, as it must be.
      }
    }
    return said;
  });
  assert.deepEqual(refused, []);
  await host.close();
});

