// The page in a browser, and as a file of its own, with a server that says what each test wants; `real.test.ts` has the program's own.

import assert from "node:assert/strict";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import * as stories from "./stories.ts";
import { PAGE, PATIENCE, browser, closeBrowser, violations, watch, type Loose, type Page } from "./support.ts";

after(closeBrowser);

type Route = (request: { url: URL; body: Loose }) => { status?: number; body: Loose } | undefined;

interface Web {
  page: Page;
  origin: string;
  /** What was asked, as `GET /api/edits?…`. */
  asked: string[];
  posted: Loose[];
  complaints: string[];
  /** Another program makes an edit. */
  edit(): void;
  link(): string;
  close(): Promise<void>;
}

const rows = [
  { ...stories.EDIT, id: "aaaaaaaaaaa1", time: new Date().toISOString(), files: [{ path: "/home/ada/app/src/greet.py", root: "/home/ada/app", relative: "src/greet.py", change: "changed" }] },
  { ...stories.EDIT, id: "aaaaaaaaaaa2", time: "2026-03-05T12:02:00Z", tool: "create_text_file", client: "codex", files: [{ path: "/home/ada/app/tests/test_greet.py", root: "/home/ada/app", relative: "tests/test_greet.py", change: "created" }] },
  { ...stories.EDIT, id: "aaaaaaaaaaa3", time: "2026-03-05T11:40:00Z", client: "cursor", undoneBy: "aaaaaaaaaaa4", canUndo: false, files: [{ path: "/home/ada/notes/in\u202egnp.exe", root: "/home/ada/notes", relative: "in\u202egnp.exe", change: "changed" }] },
];
const listing = (edits: Loose[] = rows): Loose => ({ edits, roots: ["/home/ada/app", "/home/ada/notes"], tools: ["patch_text_file_contents", "create_text_file"], clients: ["claude-code", "codex", "cursor"] });
const results = (bad: string[], ids: string[], kind: string) =>
  ids.map((id) => ({ edit: rows.find((row) => row.id === id) ?? rows[0], roots: ["/home/ada/app", ...(id === "aaaaaaaaaaa2" ? ["/home/ada/notes"] : [])], story: bad.includes(id) ? stories.conflict() : stories.edit({ kind, edit: kind === "edit" ? { ...stories.UNDO, undoes: id } : undefined }) }));

/** The loopback server, as `history --web` is. */
async function web(routes: Record<string, Route> = {}, options: { width?: number; dark?: boolean } = {}): Promise<Web> {
  const asked: string[] = [];
  const posted: Loose[] = [];
  let newest = 0;
  let codes = 0;
  const valid = new Set<string>();
  const answer: Record<string, Route> = {
    "GET /api/edits": () => ({ body: listing() }),
    "GET /api/states": () => ({ body: { states: [{ id: "now", time: "2026-11-25T09:14:00Z", hash: "ab".repeat(32), now: true }, { id: "1", time: "2026-11-24T09:14:00Z", tool: "patch_text_file_contents", hash: "cd".repeat(32) }, { id: "0", time: "2026-11-23T09:14:00Z", hash: "ef".repeat(32) }] } }),
    "GET /api/difference": () => ({ body: stories.edit({ kind: "difference", edit: undefined, files: [(stories.edit()["files"] as Loose[])[0]] }) }),
    "POST /api/take-back": ({ body }) => ({ body: { results: results([], body["edits"] as string[], body["dryRun"] === true ? "proposal" : "edit") } }),
    ...routes,
  };
  const server = http.createServer(async (request, reply) => {
    const url = new URL(request.url ?? "/", "http://x");
    const key = `${request.method} ${url.pathname}`;
    if (key === "GET /") return reply.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(PAGE.replace('data-frame="app"', 'data-frame="web"').replace("connect-src 'none'", "connect-src 'self'"));
    if (!url.pathname.startsWith("/api/")) return reply.writeHead(204).end();
    if (url.pathname !== "/api/now") asked.push(`${request.method} ${url.pathname}${url.search}`);
    let text = "";
    for await (const part of request) text += part;
    const body = text ? (JSON.parse(text) as Loose) : {};
    const send = (status: number, given: Loose) => reply.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(given));
    const token = (request.headers.authorization ?? "").replace("Bearer ", "");
    if (key === "POST /api/session") {
      if (!valid.delete(token)) return send(401, {});
      return send(200, { secret: "the-secret" });
    }
    if (token !== "the-secret") return send(401, {});
    if (key === "GET /api/now") return send(200, { newest: String(newest), progress: null });
    if (request.method === "POST") posted.push(body);
    const one: Route = () => ({ body: stories.edit({ edit: { ...stories.EDIT, id: url.pathname.slice("/api/edits/".length) } }) });
    const found = (answer[key] ?? (url.pathname.startsWith("/api/edits/") ? one : undefined))?.({ url, body });
    if (found) send(found.status ?? 200, found.body);
    else send(404, {});
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const context = await (await browser()).newContext({ viewport: { width: options.width ?? 1280, height: 800 }, colorScheme: options.dark ? "dark" : "light" });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const complaints = watch(page);
  const link = () => {
    const code = `code-${(codes += 1)}`;
    valid.add(code);
    return `${origin}/#${code}`;
  };
  const close = async () => {
    await context.close();
    server.closeAllConnections();
    await new Promise<void>((done) => server.close(() => done()));
  };
  closing.add(() => server.closeAllConnections() ?? server.close());
  await page.goto(link());
  return { page, origin, asked, posted, complaints, link, close, edit: () => (newest += 1) };
}

const closing = new Set<() => unknown>();
after(() => closing.forEach((close) => close()));

test("the link works once and leaves the address bar; a reload keeps the page, a second tab does not get it", async () => {
  const { page, origin, close, asked } = await web();
  await page.waitForSelector(".edit");
  assert.equal(page.url(), `${origin}/`);
  await page.reload();
  await page.waitForSelector(".edit");
  assert.equal(asked.filter((line) => line === "POST /api/session").length, 1);
  const second = await page.context().newPage();
  for (const address of [`${origin}/`, `${origin}/#code-1`, `${origin}/#wrong`]) {
    await second.goto("about:blank");
    await second.goto(address);
    await second.waitForSelector("text=This page is not connected");
    assert.equal(await second.locator(".edit").count(), 0);
  }
  await close();
});

test("the history stands by day, with what each edit did", async () => {
  const { page, close, complaints } = await web();
  await page.waitForSelector(".edit");
  assert.deepEqual(await page.locator(".day").allTextContents(), ["Today", "Thursday, March 5, 2026"]);
  const list = await page.innerText(".list");
  for (const part of ["src/greet.py", "create_text_file", "codex", "taken back", "in RLO gnp.exe".replace(/ /g, "")]) assert.ok(list.replace(/[ \n]/g, "").includes(part.replace(/ /g, "")), part);
  await page.click(".edit >> nth=0");
  await page.waitForSelector(".detail .card");
  assert.equal(await page.textContent(".detail h2"), "Edited 3 files");
  assert.equal(await page.locator('.edit[aria-current="true"]').count(), 1);
  assert.deepEqual(complaints, []);
  await close();
});

test("the newest edit is open, rows tell edits apart, and keys lead through them", async () => {
  const told = rows.map((row, at) => ({ ...row, added: 3, removed: at, ...(at === 0 && { line: 7 }) }));
  const { page, posted, close } = await web({ "GET /api/edits": () => ({ body: listing(told) }) });
  const shown = () => page.getAttribute('.edit[aria-current="true"]', "id");
  await page.waitForSelector(".detail .primary");
  assert.equal(await shown(), "edit-aaaaaaaaaaa1");
  assert.match(await page.innerText("#edit-aaaaaaaaaaa1"), /^src\/greet\.py:7\s+\d\d:\d\d:\d\d\s+3 lines added, 0 lines removed\s+\+3\s/);
  assert.match(await page.innerText("#edit-aaaaaaaaaaa2"), /\+3\s*−1/);
  for (const [key, id] of [["j", 2], ["j", 3], ["j", 3], ["k", 2]]) {
    await page.keyboard.press(String(key));
    assert.equal(await shown(), `edit-aaaaaaaaaaa${id}`);
  }
  await page.waitForSelector('.detail[aria-busy="false"] .primary');
  await page.keyboard.press("u");
  await page.waitForSelector("text=Taken back.");
  assert.deepEqual(posted.at(-1), { edits: ["aaaaaaaaaaa2"], dryRun: false });
  await page.keyboard.press("?");
  assert.deepEqual(await page.locator("dialog kbd").allTextContents(), ["j", "k", "Enter", "u", "/", "?"]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await page.keyboard.type("greet");
  await page.waitForFunction(() => [...(CSS.highlights.get("hit") ?? [])].some((hit) => hit.toString() === "greet"));
  assert.equal(await shown(), "edit-aaaaaaaaaaa2", "what is typed is no key");
  // Firefox of 2024 marks nothing, and lists all the same.
  await page.evaluate(() => Reflect.deleteProperty(CSS, "highlights"));
  await page.fill("#filter-q", "names");
  await page.waitForFunction(() => performance.getEntriesByType("resource").some(({ name }) => name.includes("q=names")));
  assert.equal(await page.locator(".notice .warning").count(), 0);
  assert.equal(await page.getAttribute("text=Open in VS Code >> nth=0", "href"), "vscode://file/home/ada/app/src/greet.py:1");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.click("text=Copy path >> nth=0");
  await page.waitForSelector("text=Copied");
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "/home/ada/app/src/greet.py");
  await close();
});

test("search and filters are asked of the server, and can be cleared", async () => {
  const { page, asked, close } = await web();
  await page.waitForSelector(".edit");
  await page.fill("#filter-q", "greet & more");
  await page.click("text=Filters");
  await page.selectOption("#filter-root", "/home/ada/notes");
  await page.selectOption("#filter-client", "codex");
  await page.fill("#filter-since", "2026-11-24");
  const last = () => new URLSearchParams(asked.filter((line) => line.startsWith("GET /api/edits?")).at(-1)?.split("?")[1]);
  while (last().get("since") === null || last().get("q") === null) await page.waitForTimeout(30);
  assert.deepEqual([last().get("q"), last().get("root"), last().get("client")], ["greet & more", "/home/ada/notes", "codex"]);
  await page.click("text=Clear filters");
  while (last().get("q") !== null) await page.waitForTimeout(30);
  assert.equal(await page.inputValue("#filter-q"), "");
  await close();
});

test("several edits are taken back after a look: what conflicts is shown before anything is done, and can be left out", async () => {
  const { page, posted, close } = await web({
    "POST /api/take-back": ({ body }) => ({ body: { results: results(["aaaaaaaaaaa2"], body["edits"] as string[], body["dryRun"] === true ? "proposal" : "edit") } }),
  });
  await page.check("#select-aaaaaaaaaaa1");
  await page.check("#select-aaaaaaaaaaa2");
  assert.ok(await page.isDisabled("#select-aaaaaaaaaaa3"), "what cannot be taken back cannot be chosen");
  await page.click("text=Take back 2 edits…");
  await page.waitForSelector("dialog >> text=One edit is in conflict. Nothing has been done.");
  assert.match(await page.innerText("dialog .conflict"), /has changed since the edit/);
  assert.equal(await page.locator("dialog .primary").count(), 0, "nothing can be done while something conflicts");
  assert.deepEqual(await violations(page.mainFrame()), []);
  await page.click("text=Leave out what conflicts");
  await page.waitForSelector("dialog >> text=All of them can be taken back. Nothing has been done yet.");
  assert.ok(posted.every((body) => body["dryRun"] === true));
  await page.click("dialog .primary");
  await page.waitForSelector("dialog", { state: "detached" });
  assert.deepEqual(posted.at(-1), { edits: ["aaaaaaaaaaa1"], dryRun: false });
  await close();
});

test("all since a moment that the filters let through are taken back: those that were looked at, and whose they are", async () => {
  const { page, posted, close } = await web({
    "POST /api/take-back": ({ body }) => ({ body: { results: results([], (body["edits"] as string[] | undefined) ?? ["aaaaaaaaaaa1", "aaaaaaaaaaa2"], body["dryRun"] === true ? "proposal" : "edit") } }),
  });
  await page.click("text=Filters");
  await page.selectOption("#filter-tool", "patch_text_file_contents");
  await page.fill("#filter-q", "greet");
  await page.click(".edit >> nth=1");
  await page.waitForTimeout(300);
  await page.click("text=Take back this and all later edits in the list…");
  await page.waitForSelector("dialog .primary");
  assert.equal(await page.innerText("dialog .scope"), "Project: /home/ada/app (2), /home/ada/notes (1) · Client: claude-code (1), codex (1)");
  assert.match(await page.innerText("dialog .status, dialog [role=status]"), /^Take back 2 edits\?/);
  await page.click("dialog .primary");
  await page.waitForSelector("dialog", { state: "detached" });
  assert.deepEqual(posted, [{ since: "aaaaaaaaaaa2", filters: { tool: "patch_text_file_contents", q: "greet" }, dryRun: true }, { edits: ["aaaaaaaaaaa1", "aaaaaaaaaaa2"], dryRun: false }]);
  await close();
});

test("one press takes one edit back", async () => {
  const { page, posted, close } = await web();
  await page.click(".edit >> nth=0");
  await page.click(".detail .primary");
  await page.waitForSelector(".detail .primary:has-text('Redo')");
  assert.deepEqual(posted, [{ edits: ["aaaaaaaaaaa1"], dryRun: false }]);
  await close();
});

test("two states of a file are chosen and compared", async () => {
  const { page, asked, close } = await web();
  await page.click(".edit >> nth=0");
  await page.click("text=Compare states… >> nth=0");
  await page.waitForSelector("dialog .card");
  await page.selectOption("dialog #from", "0");
  while (!asked.at(-1)?.includes("from=0")) await page.waitForTimeout(20);
  assert.match(asked.at(-1) ?? "", /^GET \/api\/difference\?path=%2Fhome%2Fada%2Fapp%2Fsrc%2Fgreet\.py&from=0&to=now$/);
  assert.deepEqual(await violations(page.mainFrame()), []);
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await close();
});

test("unchanged lines beside a hunk are read and shown at a press", async () => {
  const ask = ({ url }: { url: URL }) => {
    const [start, count] = ["start", "count"].map((name) => Number(url.searchParams.get(name)));
    return { body: { lines: Array.from({ length: count! }, (_, at) => ({ kind: " ", text: `line ${start! + at}` })) } };
  };
  const lines = stories.file("src/greet.py", [stories.GREET, stories.hunk(100, 101, ["-a", "+b"])], { before: { lines: 120 } });
  const { page, asked, close, complaints } = await web({
    "GET /api/lines": ask,
    "GET /api/edits/aaaaaaaaaaa1": () => ({ body: stories.edit({ edit: { ...stories.EDIT, id: "aaaaaaaaaaa1" }, files: [lines] }) }),
  });
  const shown = () => page.locator(".detail .row").evaluateAll((rows) => rows.map((row) => row.textContent ?? ""));
  const focused = () => page.evaluate(() => document.activeElement?.textContent);
  await page.getByRole("button", { name: "90 lines unchanged" }).click();
  await page.getByRole("button", { name: "50 lines unchanged" }).waitFor();
  const texts = await shown();
  assert.deepEqual(texts.filter((text) => /line (11|30|31|81|100)$/.test(text)), ["10line 1111line 11", "29line 3030line 30", "80line 8181line 81", "99line 100100line 100"]);
  assert.equal(await focused(), "50 lines unchanged");
  await page.getByRole("button", { name: "20 lines unchanged" }).click();
  await page.getByText("line 121", { exact: true }).first().waitFor();
  assert.equal(await focused(), "101line 102102line 102");
  assert.equal(asked.filter((line) => line.startsWith("GET /api/lines?edit=")).length, 3);
  assert.deepEqual(await violations(page.mainFrame()), []);
  assert.deepEqual(complaints, []);
  await close();
});

test("edits appear as they come, and the place in the list is kept", async () => {
  let edits: Loose[] = rows.slice(1);
  const { page, edit, close } = await web({ "GET /api/edits": () => ({ body: listing(edits) }) });
  await page.waitForSelector(".live.on");
  await page.focus("#edit-aaaaaaaaaaa3");
  edits = rows;
  edit();
  await page.waitForSelector("#edit-aaaaaaaaaaa1");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "edit-aaaaaaaaaaa3");
  await page.keyboard.press("ArrowUp");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "edit-aaaaaaaaaaa2");
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".detail .card");
  await close();
});

test("a history that is locked or damaged, and a server that has ended, are said", async () => {
  let status = 423;
  const { page, edit, close } = await web({ "GET /api/edits": () => ({ status, body: { error: { code: "busy", reason: status === 423 ? "the history is locked" : "the history is damaged", hint: "Wait." } } }) });
  await page.waitForSelector("text=the history is locked Wait.");
  status = 500;
  await page.waitForSelector(".live.on");
  edit();
  await page.waitForSelector("text=the history is damaged Wait.");
  await close();
});

test("the server ends: what is shown stays, and a press says why nothing comes of it", async () => {
  const host = await web();
  await host.page.click(".edit >> nth=0");
  await host.page.waitForSelector(".detail .primary");
  await host.page.route("**/api/**", (route) => route.abort());
  await host.page.click(".detail .primary");
  await host.page.waitForSelector("text=The server has ended");
  await host.close();
});

for (const dark of [false, true]) {
  test(`axe finds no violation in the history, ${dark ? "dark" : "light"}`, async () => {
    for (const width of [1280, 600]) {
      const { page, close } = await web({}, { width, dark });
      await page.waitForSelector(".live.on");
      await page.check("#select-aaaaaaaaaaa1");
      assert.deepEqual(await violations(page.mainFrame()), []);
      await page.click(".edit >> nth=0");
      await page.waitForSelector(".detail .card");
      assert.deepEqual(await violations(page.mainFrame()), []);
      if (width === 600) {
        await page.click("text=Back to the list");
        assert.equal(await page.evaluate(() => document.activeElement?.id), "edit-aaaaaaaaaaa1");
      }
      await close();
    }
  });
}

test("a file of its own shows its edits, offers nothing, and asks for nothing", async () => {
  const data = { title: "Edits of app </script><script>alert(1)</script>", made: "2026-11-25T10:00:00Z", edits: rows, stories: Object.fromEntries(rows.map(({ id }) => [id, stories.hostile()])) };
  const html = PAGE.replace('data-frame="app"', 'data-frame="file"').replace('<script type="application/json" id="data"></script>', () => `<script type="application/json" id="data">${JSON.stringify(data).replaceAll("<", "\\u003c")}</script>`);
  const context = await (await browser()).newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const complaints = watch(page);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  const { mkdtempSync, rmSync, writeFileSync } = await import("node:fs");
  const directory = mkdtempSync("/tmp/mcp-text-editor-view-");
  writeFileSync(`${directory}/edits.html`, html);
  await page.goto(`file://${directory}/edits.html`);
  await page.waitForSelector(".card");
  assert.equal(await page.textContent("h1"), data.title);
  assert.equal(await page.locator(".primary, input").count(), 0);
  await page.click(".edit >> nth=1");
  assert.deepEqual(await violations(page.mainFrame()), []);
  assert.deepEqual([asked.length, complaints], [1, []]);
  rmSync(directory, { recursive: true });
  await context.close();
});
