// The page with the program: two hosts of MCP Apps, over standard input and output and over HTTP. What is asserted are bytes on the disk.

import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import readline from "node:readline";
import { after, test } from "node:test";
import { NEW, OLD, PATCH, bytes, ended, patch, place, program, type Place } from "./program.ts";
import { PATIENCE, browser, closeBrowser, violations, watch, type Frame, type Loose, type Page } from "./support.ts";

after(closeBrowser);

const BUILT = "tests/view/node_modules/.built/hosts";

const HOST = (name: string) =>
  `<!doctype html><html lang="en"><title>${name}</title><style>body{margin:0}#host{height:700px}#host iframe{height:700px!important;width:100%}</style><div id="host"></div><script src="/${name}.js"></script>`;

interface Hosted {
  page: Page;
  complaints: string[];
  /** Calls a tool as the model would; the host shows its view. */
  call(tool: string, given: Loose): Promise<Loose>;
  /** The frame in which the view is, once it shows something that is `wanted`. */
  view(wanted: string): Promise<Frame>;
  told(): Promise<string[]>;
  tools(): Promise<{ name: string; _meta?: Loose }[]>;
  close(): Promise<void>;
}

/** A host with a server of its own for the files of a place. */
async function hosted(host: string, kind: "stdio" | "http", { root, state }: Place, args: string[] = []): Promise<Hosted> {
  let port = 0;
  let child: ChildProcess;
  const streams = new Set<http.ServerResponse>();
  if (kind === "http") {
    port = await freePort();
    child = program([...args, "--http", `127.0.0.1:${port}`, root], state);
    await answers(port, child);
  } else {
    child = program([...args, root], state);
    readline.createInterface({ input: child.stdout! }).on("line", (line) => streams.forEach((stream) => stream.write(`data: ${line}\n\n`)));
  }
  const server = http.createServer((request, reply) => {
    const at = new URL(request.url ?? "/", "http://x").pathname;
    const html = (body: string) => reply.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(body);
    if (at === "/") return html(HOST(host));
    if (at === "/sandbox") return html(HOST("sandbox").replace('<div id="host"></div>', ""));
    if (at.endsWith(".js")) return reply.writeHead(200, { "content-type": "text/javascript" }).end(fs.readFileSync(path.join(BUILT, path.basename(at))));
    if (at === "/relay" && request.method === "GET") return streams.add(reply.writeHead(200, { "content-type": "text/event-stream" })) && reply.write(":\n\n");
    if (at === "/relay") {
      let text = "";
      request.on("data", (part) => (text += part)).on("end", () => {
        child.stdin!.write(`${text}\n`);
        reply.writeHead(204).end();
      });
      return;
    }
    if (at === "/mcp") {
      const { origin: _, host: __, ...headers } = request.headers;
      const onward = http.request({ host: "127.0.0.1", port, path: "/mcp", method: request.method, headers }, (answer) => answer.pipe(reply.writeHead(answer.statusCode ?? 500, answer.headers)));
      onward.on("error", () => reply.destroy());
      return request.pipe(onward);
    }
    return reply.writeHead(204).end();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const context = await (await browser()).newContext({ viewport: { width: 760, height: 720 } });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const complaints = watch(page);
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await page.evaluate(async (kind) => {
    const host = window as unknown as { start(kind: string): Promise<unknown>; started: unknown };
    host.started = await host.start(kind);
  }, kind);
  const told = <T>(name: string) => page.evaluate((name) => (window as unknown as { started: { told: Record<string, unknown> } }).started.told[name], name) as Promise<T>;
  return {
    page,
    complaints,
    call: (tool, given) => page.evaluate(([tool, given]) => (window as unknown as { started: { call(t: string, g: Loose): Promise<Loose> } }).started.call(tool, given), [tool, given] as const),
    view: async (wanted) => {
      for (const end = Date.now() + PATIENCE; Date.now() < end; await page.waitForTimeout(50)) {
        for (const frame of page.frames().slice(1).reverse()) {
          // A frame may go away while it is asked.
          if (await frame.locator(wanted).count().catch(() => 0)) return frame;
        }
      }
      throw new Error(`no view shows ${wanted}: ${complaints.join("; ")} ${await page.frames().at(-1)?.locator("body").innerText()}`);
    },
    told: () => told("context"),
    tools: () => told("tools"),
    close: async () => {
      await context.close();
      await ended(child, () => child.kill());
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}

async function freePort(): Promise<number> {
  const probe = http.createServer();
  await new Promise<void>((done) => probe.listen(0, "127.0.0.1", done));
  const { port } = probe.address() as AddressInfo;
  await new Promise<void>((done) => probe.close(() => done()));
  return port;
}

async function answers(port: number, child: ChildProcess): Promise<void> {
  let said = "";
  child.stderr!.on("data", (part) => (said += part));
  for (const end = Date.now() + PATIENCE; Date.now() < end; await new Promise((done) => setTimeout(done, 50))) {
    if (await fetch(`http://127.0.0.1:${port}/healthz`).then(({ ok }) => ok, () => false)) return;
    if (child.exitCode !== null) break;
  }
  throw new Error(`the server does not answer: ${said}`);
}

for (const host of ["official", "mcp-ui"]) {
  for (const kind of ["stdio", "http"] as const) {
    test(`${host} host, ${kind}: an edit is shown, taken back and done again, to the byte; what is in the way is shown`, async () => {
      const at = place();
      const { call, view, told, complaints, close } = await hosted(host, kind, at);
      await call(PATCH, patch(at.file, "Hello", "Good morning"));
      assert.equal(bytes(at.file), NEW);
      let frame = await view("h1:has-text('Edited 1 file')");
      assert.deepEqual(await frame.locator(".code mark").allTextContents(), ["Hello", "Good morning"]);
      await frame.click("button:has-text('Take back')");
      await frame.waitForSelector("button:has-text('Redo')");
      assert.equal(bytes(at.file), OLD);
      for (const end = Date.now() + PATIENCE; (await told()).length === 0 && Date.now() < end; ) await frame.waitForTimeout(50);
      assert.match((await told())[0] ?? "", /took back edit [0-9a-f]+ in the view.*greet\.py/);
      await frame.click("button:has-text('Redo')");
      await frame.waitForSelector("button:has-text('Take back')");
      assert.equal(bytes(at.file), NEW);
      // Somebody else writes the same line.
      const others = NEW.replace("Good morning", "Good night");
      fs.writeFileSync(at.file, others);
      await frame.click("button:has-text('Take back')");
      await frame.waitForSelector("text=It was not taken back. Nothing was changed.");
      assert.equal(bytes(at.file), others);
      assert.match(await frame.innerText(".way"), /greet\.py[\s\S]*changed/);
      assert.deepEqual(await violations(frame), []);
      // A proposal, and what comes of it. The old text is a whole line: of a part the others' change would make it stale (R226).
      await call(PATCH, patch(at.file, "print('Good night')\n", "print('Good day')\n", { dry_run: true }));
      frame = await view("h1:has-text('Proposal')");
      assert.equal(bytes(at.file), others);
      await frame.click("button:has-text('Apply')");
      await frame.waitForSelector("h1:has-text('Applied')");
      assert.equal(bytes(at.file), NEW.replace("Good morning", "Good day"));
      // A failed edit.
      await call(PATCH, patch(at.file, "print('Good evening')\n", "print()\n"));
      frame = await view("h1:has-text('Nothing was changed')");
      assert.match(await frame.innerText(".failure"), /Good evening/);
      // `@mcp-ui/client` tells its view of its theme before they are connected, and complains of that itself; its SDK asks for a stream of events,
      // which a server without sessions has not.
      assert.deepEqual(complaints.filter((line) => host !== "mcp-ui" || !/^Error: Not connected$|status of 405/.test(line)), []);
      await close();
    });
  }
}

test("names and texts that look like a program do nothing, in the real thing too", async () => {
  const at = place("<img src=x onerror=alert(1)>\u202egnp.<script>alert(2)<");
  const { call, view, complaints, close } = await hosted("official", "stdio", at);
  await call(PATCH, patch(at.file, "Hello", "</script></template><img src=x onerror=alert(3)>\u202e\u200b"));
  const frame = await view("h1:has-text('Edited 1 file')");
  const text = await frame.innerText("#root");
  assert.ok(text.includes("<img src=x onerror=alert(1)>") && text.includes("</script></template><img") && text.includes("RLO") && text.includes("ZWSP"), text);
  assert.equal(await frame.locator("#root img, #root script").count(), 0);
  await frame.click("button:has-text('Take back')");
  await frame.waitForSelector("button:has-text('Redo')");
  assert.equal(bytes(at.file), OLD);
  assert.deepEqual(complaints, []);
  await close();
});

test("a page that is loaded again knows how the edit stands", async () => {
  const at = place();
  const { call, view, close, page } = await hosted("official", "stdio", at);
  await call(PATCH, patch(at.file, "Hello", "Good morning"));
  let frame = await view("h1:has-text('Edited 1 file')");
  await frame.click("button:has-text('Take back')");
  await frame.waitForSelector("button:has-text('Redo')");
  // The host loads the page anew, and tells it what it knows: the call and its first reply.
  await page.evaluate(() => {
    const view = document.querySelector<HTMLIFrameElement>("#view")!;
    view.srcdoc = `${view.srcdoc}<!-- again -->`;
  });
  frame = await view("h1:has-text('Taken back')");
  await frame.click("button:has-text('Redo')");
  await frame.waitForSelector("button:has-text('Take back')");
  assert.equal(bytes(at.file), NEW);
  await close();
});

test("line ends, a mark and the newline at the end are shown where they changed, and a diff that no reply has room for is whole", async () => {
  const at = place();
  fs.writeFileSync(at.file, "\ufeffone\r\ntwo\r\nHello");
  const { call, view, close } = await hosted("official", "stdio", at);
  await call(PATCH, patch(at.file, "Hello", "Hello\r\n"));
  let frame = await view("text=Newline added at the end");
  assert.deepEqual(await frame.locator(".code .end").allTextContents(), ["no newline", "CRLF"]);
  const lines = (word: string) => Array.from({ length: 1_500 }, (_, line) => `${word} line ${line} of a long file\n`).join("");
  const other = { file_path: path.join(at.root, "long.txt"), contents: lines("an old") };
  await call("create_text_file", other);
  await call(PATCH, patch(other.file_path, lines("an old"), lines("a new")));
  frame = await view("text=+1500");
  assert.match(await frame.innerText(".card"), /−1500/);
  await close();
});

test("1 MB lines and thousands of hunks arrive bounded, and are shown", async () => {
  const at = place();
  const lines = Array.from({ length: 30_000 }, (_, line) => `line ${line}\n`);
  fs.writeFileSync(at.file, `${"x".repeat(1_000_000)}Hello${"y".repeat(1_000)}\n${lines.join("")}`);
  const { call, view, close, complaints } = await hosted("official", "stdio", at);
  await call(PATCH, patch(at.file, "Hello", "Good morning"));
  const frame = await view("h1:has-text('Edited 1 file')");
  assert.ok((await frame.innerText("#root")).length < 20_000);
  await call(PATCH, { files: [{ file_path: at.file, patches: Array.from({ length: 900 }, (_, hunk) => ({ old_string: `line ${hunk * 30 + 1}\n`, new_string: `other ${hunk}\n` })) }] });
  const many = await view(".more");
  assert.ok((await many.locator(".row").count()) < 200);
  await many.click(".more");
  await many.waitForFunction(() => document.querySelectorAll(".row").length > 1_000);
  assert.deepEqual(complaints, []);
  await close();
});

test("edits outside the roots do not exist for a view, nor do tools that are not its own", async () => {
  const [mine, other] = [place(), place()];
  const elsewhere = await hosted("official", "stdio", { ...other, state: mine.state });
  const reply = JSON.stringify(await elsewhere.call(PATCH, patch(other.file, "Hello", "Good morning")));
  const [, id = "", capability = ""] = /"capabilities":{"([0-9a-f]{12})":"([^"]+)"/.exec(reply) ?? [];
  assert.match(id, /^[0-9a-f]{12}$/);
  await elsewhere.close();
  const { call, view, close } = await hosted("official", "stdio", mine, ["--tools", "edit"]);
  await call(PATCH, patch(mine.file, "Hello", "Good morning"));
  const frame = await view("h1:has-text('Edited 1 file')");
  // What a view that somebody has taken over would send.
  const ask = (name: string, given: Loose) =>
    frame.evaluate(
      ([name, given]) =>
        new Promise<string>((done) => {
          addEventListener("message", ({ data }) => data.id === "probe" && done(JSON.stringify(data)), { once: false });
          parent.postMessage({ jsonrpc: "2.0", id: "probe", method: "tools/call", params: { name, arguments: given } }, "*");
        }),
      [name, given] as const,
    );
  for (const tool of ["show_text_file_edit", "take_back_text_file_edit"]) {
    const said = await ask(tool, { edit_id: id, capability });
    assert.match(said, /isError|error/, said);
    assert.ok(!said.includes(other.root), said);
  }
  assert.equal(bytes(other.file), NEW);
  assert.ok(!(await ask("list_shown_text_file_edits", { capabilities: { [id]: capability } })).includes(other.root));
  const refused = await ask("remove_text_file", { file_path: mine.file });
  assert.match(refused, /error/i);
  assert.ok(fs.existsSync(mine.file));
  await close();
});

test("a history that is damaged: the edit is shown, and a press says what is wrong", async () => {
  const at = place();
  const { call, view, close } = await hosted("official", "stdio", at);
  await call(PATCH, patch(at.file, "Hello", "Good morning"));
  const frame = await view("h1:has-text('Edited 1 file')");
  for (const name of fs.readdirSync(at.state, { recursive: true, encoding: "utf8" })) {
    const file = path.join(at.state, name);
    if (/history/.test(name) && fs.statSync(file).isFile()) fs.writeFileSync(file, "this is no database".repeat(1_000));
  }
  await frame.click("button:has-text('Take back')");
  await frame.waitForSelector(".status.bad");
  assert.match(await frame.innerText(".card"), /history/);
  assert.equal(bytes(at.file), NEW);
  await close();
});

test("a client that shows no views is offered none", async () => {
  const at = place();
  const child = program([at.root], at.state);
  const lines = readline.createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const send = (message: Loose) => child.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  send({ id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "plain", version: "1" } } });
  await lines.next();
  send({ method: "notifications/initialized" });
  send({ id: 2, method: "tools/list" });
  const listed = String((await lines.next()).value);
  assert.ok(listed.includes(PATCH));
  assert.ok(!/_meta|ui:\/\/|show_text_file_edit/.test(listed), listed.slice(0, 400));
  child.kill();
});
