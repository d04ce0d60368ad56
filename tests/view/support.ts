// A browser, the built page, and a host that does what a test says.

import { readFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Frame, type Page } from "playwright-core";

export type Loose = Record<string, unknown>;

/** The tests are bundled; what they read is named from the checkout's root, where they are started. */
export const PAGE = readFileSync("crates/server/src/view/edit.html", "utf8");
const AXE = readFileSync("tests/view/node_modules/axe-core/axe.min.js", "utf8");

/** So long, in milliseconds, something that must come is waited for: the machine may be busy with all else that is tried. */
export const PATIENCE = Number(process.env["PATIENCE"] ?? 60_000);

const serving = new Set<http.Server>();
let launched: Promise<Browser> | undefined;

/** The browser of the system, one for all tests of a file. Nothing is fetched, and nothing is left of it. */
export function browser(): Promise<Browser> {
  launched ??= chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-color-profile=srgb", "--font-render-hinting=none"],
  });
  return launched;
}

/** Ends the browser, and the servers of tests that failed on the way. */
export async function closeBrowser(): Promise<void> {
  for (const server of serving) {
    server.closeAllConnections();
    server.close();
  }
  await (await launched)?.close();
  launched = undefined;
}

export interface Served {
  origin: string;
  close(): Promise<void>;
}

/** Serves on loopback what `answer` says of a path. */
export async function serve(answer: (path: string) => { type: string; body: string | Buffer } | undefined): Promise<Served> {
  const server = http.createServer((request, reply) => {
    const path = new URL(request.url ?? "/", "http://x").pathname;
    const found = answer(path);
    reply.writeHead(found ? 200 : path === "/favicon.ico" ? 204 : 404, { "content-type": found?.type ?? "text/plain" });
    reply.end(found?.body ?? "");
  });
  serving.add(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
}

export interface Message {
  id?: number | string;
  method?: string;
  params?: Loose;
  result?: Loose;
  error?: Loose;
}

export interface FakeHost {
  page: Page;
  frame: Frame;
  /** What the page has sent, in order. */
  heard: Message[];
  /** What went wrong in the page: errors, and what its policy refused. */
  complaints: string[];
  say(message: Message): Promise<void>;
  calls(tool: string): Message[];
  close(): Promise<void>;
}

/** What a host answers to a request; undefined is no answer at all. */
export type Answer = (request: Message) => Loose | undefined | Promise<Loose | undefined>;

export interface FakeOptions {
  answer?: Answer;
  hostContext?: Loose;
  hostCapabilities?: Loose;
  result?: Loose;
  input?: Loose;
  browser?: BrowserContextOptions;
  html?: string;
  /** How high the frame is; absent: as the page asks. */
  height?: number;
}

export const CAPABILITIES = { serverTools: {}, updateModelContext: { text: {} }, logging: {} };

const HOST = `<!doctype html><html lang="en"><title>host</title><style>body{margin:0;background:Canvas;color-scheme:light dark}iframe{border:0;width:100%;display:block}</style>
<iframe id="view" title="view" sandbox="allow-scripts"></iframe>
<script>
  addEventListener("message", ({ source, data }) => { if (source === view.contentWindow) heard(data); });
  say = (message) => view.contentWindow.postMessage(message, "*");
  show = (html) => { view.srcdoc = html; };
</script>`;

/** A host in a page, with the view in a sandboxed frame. */
export async function fakeHost(options: FakeOptions = {}): Promise<FakeHost> {
  const context = await (await browser()).newContext({ viewport: { width: 720, height: 900 }, ...options.browser });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const heard: Message[] = [];
  const complaints = watch(page);
  const say = (message: Message) => page.evaluate((given) => (window as unknown as { say(m: unknown): void }).say(given), { jsonrpc: "2.0", ...message });
  const initialize = () => ({
    protocolVersion: "2026-01-26",
    hostInfo: { name: "fake", version: "1" },
    hostCapabilities: options.hostCapabilities ?? CAPABILITIES,
    hostContext: options.hostContext ?? { displayMode: "inline", availableDisplayModes: ["inline", "fullscreen"] },
  });
  await page.exposeFunction("heard", async (message: Message) => {
    heard.push(message);
    if (message.method === "ui/notifications/size-changed" && options.height === undefined) {
      await page.evaluate((height) => {
        const frame = document.querySelector("iframe");
        if (frame) frame.style.height = `${height}px`;
      }, Number(message.params?.["height"] ?? 0));
    }
    if (message.method === "ui/notifications/initialized") {
      await say({ method: "ui/notifications/tool-input", params: { arguments: options.input ?? {} } });
      if (options.result) await say({ method: "ui/notifications/tool-result", params: options.result });
    }
    if (message.id === undefined || message.method === undefined) return;
    const given = options.answer ? await options.answer(message) : undefined;
    if (given) await say({ id: message.id, ...(("error" in given || "result" in given) ? given : { result: given }) });
    else if (message.method === "ui/initialize" && !options.answer) await say({ id: message.id, result: initialize() });
    else if (message.method === "ui/initialize" && given !== undefined) await say({ id: message.id, result: given });
  });
  const host = await serve((path) => (path === "/" ? { type: "text/html; charset=utf-8", body: HOST } : undefined));
  await page.goto(host.origin);
  if (options.height !== undefined) await page.evaluate((height) => void (document.querySelector("iframe")!.style.height = `${height}px`), options.height);
  await page.evaluate((html) => (window as unknown as { show(h: string): void }).show(html), options.html ?? PAGE);
  await page.waitForSelector("#view");
  const frame = await (await page.$("#view"))!.contentFrame();
  return {
    page,
    frame: frame!,
    heard,
    complaints,
    say,
    calls: (tool) => heard.filter(({ method, params }) => method === "tools/call" && params?.["name"] === tool),
    close: async () => {
      await context.close();
      await host.close();
    },
  };
}

/** What a good host says to `ui/initialize`; other requests go to `next`. */
export function polite(next: Answer, context: Loose = {}, capabilities: Loose = CAPABILITIES): Answer {
  return (request) =>
    request.method === "ui/initialize"
      ? {
          protocolVersion: "2026-01-26",
          hostInfo: { name: "fake", version: "1" },
          hostCapabilities: capabilities,
          hostContext: { displayMode: "inline", availableDisplayModes: ["inline", "fullscreen"], ...context },
        }
      : next(request);
}

/** Collects errors of a page and its frames, and every dialog, which nothing here may open. */
export function watch(page: Page): string[] {
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return complaints;
}

/** Every violation that axe finds, all rules of WCAG and best practice; the host's page around the frame is not asked. */
export async function violations(frame: Frame): Promise<string[]> {
  await frame.evaluate(AXE);
  const found = await frame.evaluate(() =>
    (window as unknown as { axe: { run(where: Document, options: object): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }> } }).axe.run(document, { rules: { "target-size": { enabled: true } } }),
  );
  return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary}`));
}

export type { BrowserContext, Frame, Page };
