// Sessions with the official TypeScript SDK, both major versions, in both output modes; tests/npm has the versions.
//
// Over standard input and output, and over HTTP. Version 1 begins with `initialize`; version 2 does so too, or asks
// `server/discover` first. Each checks what comes as `structuredContent` against the tool's `outputSchema`.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const packages = createRequire(path.join(import.meta.dirname, "../npm/package.json"));
const load = async (name) => import(pathToFileURL(packages.resolve(name)));
const version = (name) => JSON.parse(fs.readFileSync(path.join(import.meta.dirname, "../npm/node_modules", name, "package.json"))).version;
const binary = process.env.MCP_TEXT_EDITOR_BIN ?? path.join(import.meta.dirname, "../../target/debug/mcp-text-editor");
const GET = "get_text_file_contents", PATCH = "patch_text_file_contents", APPEND = "append_text_file_contents";
const SIX = [GET, PATCH, "create_text_file", APPEND, "insert_text_file_contents", "delete_text_file_contents"];
const FINDING = ["search_text_files", "list_text_files"];
const OTHERS = ["copy_text_lines", FINDING[0], "replace_in_text_files", FINDING[1]];
const hash = (text) => createHash("sha256").update(text).digest("hex");

/** Holds another process's lock on a file while `work` runs: an edit waits for it, and reports progress. */
async function held(file, work) {
    const holder = spawn("flock", [file, "sh", "-c", "echo held; exec cat"], { stdio: ["pipe", "pipe", "inherit"] });
    const ended = new Promise((resolve) => holder.on("close", resolve));
    try {
        await new Promise((resolve) => holder.stdout.once("data", resolve));
        return await work();
    } finally {
        holder.stdin.end();
        await ended;
    }
}

/**
 * The session; `call` gives a result as the SDK has it, and `cancels` says whether the server learns of a call that is cancelled.
 * Returns how many calls there were, and a check for its end.
 */
async function steps(root, asJson, tools, call, cancels) {
    let calls = 0;
    const file = path.join(root, "made", "greeting.txt");
    const text = (result) => result.content.map((part) => part.text).join("\n");
    const holds = (wanted) => assert.equal(fs.readFileSync(file, "utf8"), wanted);
    const ok = async (tool, given, more) => {
        calls += 1;
        const result = await call(tool, given, more);
        assert.ok(!result.isError, text(result));
        if (asJson) assert.deepEqual(result.structuredContent, JSON.parse(text(result)));
        else assert.equal(result.structuredContent, undefined);
        return result;
    };
    const fails = async (code, tool, given) => {
        calls += 1;
        const before = fs.existsSync(file) && fs.readFileSync(file, "utf8");
        const result = await call(tool, given);
        assert.equal(result.isError, true, text(result));
        assert.equal(asJson ? JSON.parse(text(result)).code : text(result).split(": ")[1], code, text(result));
        assert.equal(fs.existsSync(file) && fs.readFileSync(file, "utf8"), before, "nothing was written");
        return text(result);
    };
    const patch = (old_string, new_string, more = {}) => ({ files: [{ file_path: file, patches: [{ old_string, new_string, ...more }] }] });

    assert.deepEqual(tools.map((tool) => tool.name), [...SIX, ...OTHERS]);
    for (const tool of tools) {
        assert.ok(tool.title && tool.description && tool.annotations.openWorldHint === false, tool.name);
        assert.equal(tool.annotations.readOnlyHint, [GET, ...FINDING].includes(tool.name), tool.name);
        assert.equal(tool.outputSchema !== undefined, asJson, tool.name);
    }
    await fails("not_found", GET, { file_path: file });
    await ok("create_text_file", { file_path: file, contents: "one\ntwo\n", dry_run: true });
    assert.ok(!fs.existsSync(path.dirname(file)), "a dry run makes no directory");
    await ok("create_text_file", { file_path: file, contents: "one\ntwo\n" });
    const read = await ok(GET, { file_path: file });
    if (asJson) assert.equal(read.structuredContent.files[0].file_hash, hash("one\ntwo\n"));
    else assert.ok(text(read).includes("1\tone\n2\ttwo\n"), text(read));
    await ok(PATCH, patch("two", "zwei", { ranges: [{ start: 2, end: 2 }] }));
    const dry = JSON.parse(text(await ok(PATCH, { ...patch("zwei", "deux"), dry_run: true })));
    assert.ok(dry.files[0].diff.includes("-zwei\n+deux\n"), dry.files[0].diff);
    holds("one\nzwei\n");
    // Another program edits the file; each error says what the call needs now.
    fs.writeFileSync(file, "zero\none\nzwei\n");
    const stale = await fails("hash_mismatch", APPEND, { file_path: file, file_hash: hash("one\nzwei\n"), contents: "three" });
    assert.ok(stale.includes(hash("zero\none\nzwei\n").slice(0, 16)), stale);
    await ok(APPEND, { file_path: file, file_hash: hash("zero\none\nzwei\n"), contents: "three" });
    const moved = await fails("content_mismatch", PATCH, patch("zwei", "two", { ranges: [{ start: 2, end: 2 }] }));
    if (asJson) assert.equal(JSON.parse(moved).errors[0].found_at[0].start, 3);
    await ok(PATCH, patch("zwei", "two", { ranges: [{ start: 3, end: 3 }] }));
    await fails("invalid_arguments", PATCH, { file_path: file, old_string: "one", new_string: "1", newstring: "1" });
    holds("zero\none\ntwo\nthree\n");

    // Progress while the call waits for a lock; and a call that is cancelled once it has reported some.
    const working = async (given, reports) => held(file, async () => {
        const controller = new AbortController();
        let answer;
        await new Promise((resolve) => {
            answer = call(PATCH, given, { signal: controller.signal, onprogress: resolve }).then((result) => ({ result }), (error) => ({ error }));
        });
        if (reports) return { answer };
        controller.abort("enough");
        assert.ok((await answer).error, "a cancelled call has no result");
        // Over HTTP the client closes a connection of its own, of which the server learns soon.
        await new Promise((resolve) => setTimeout(resolve, 1000));
        await ok(GET, { file_path: file });
        return { answer };
    });
    const waited = await (await working(patch("one", "eins"), true)).answer;
    assert.ok(waited.result && !waited.result.isError, String(waited.error));
    holds("zero\neins\ntwo\nthree\n");
    if (cancels) await working(patch("two", "zwei"), false);
    // A server ends its calls before it ends, so nothing can come after the session.
    return { calls: calls + (cancels ? 2 : 1), check: () => holds("zero\neins\ntwo\nthree\n") };
}

/** Starts a server over HTTP; gives its address, and how to end it. */
async function overHttp(root, env, options) {
    const server = spawn(binary, [...options, "--http", "127.0.0.1:0", root], { stdio: ["ignore", "ignore", "pipe"], env });
    const ended = new Promise((resolve) => server.on("close", resolve));
    let said = "";
    for await (const part of server.stderr.iterator({ destroyOnReturn: false })) {
        said += part;
        if (said.includes("\n")) break;
    }
    // What is logged later is read, too, so that the pipe is never full.
    server.stderr.resume();
    const [url] = /http:\/\/\S+\/mcp/.exec(said) ?? assert.fail(said);
    return { url, end: () => { server.kill("SIGTERM"); return ended; } };
}

async function session(name, modules, http, asJson, options) {
    const { Client, StdioClientTransport, StreamableHTTPClientTransport } = modules;
    const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "mte-ts-")));
    const state = fs.mkdtempSync(path.join(os.tmpdir(), "mte-ts-state-"));
    let server;
    try {
        const client = new Client({ name: "typescript", version: "0" }, options);
        const env = { PATH: process.env.PATH, MCP_TEXT_EDITOR_STATE_DIR: state };
        const given = asJson ? ["--output", "json"] : [];
        if (http) server = await overHttp(root, env, given);
        const transport = http ? new StreamableHTTPClientTransport(new URL(server.url))
            : new StdioClientTransport({ command: binary, args: [...given, root], env });
        await client.connect(transport);
        const { tools } = await client.listTools();
        // Version 1 has the schema of a result before the options.
        const call = (tool, given, more) => name.endsWith("/sdk")
            ? client.callTool({ name: tool, arguments: given }, undefined, more) : client.callTool({ name: tool, arguments: given }, more);
        // Before 2026-07-28 a call is cancelled by a message of its own, which a server without sessions cannot match with the call.
        const cancels = !http || options.versionNegotiation?.mode === "auto";
        const { calls, check } = await steps(root, asJson, tools, call, cancels);
        const revision = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? "initialize";
        await client.close();
        await server?.end();
        check();
        console.log(`${name} ${version(name)}, ${http ? "HTTP" : "stdio"}, ${options.versionNegotiation?.mode ?? "legacy"} (${revision}), ${asJson ? "json" : "text"}: ${calls} calls passed`);
    } finally {
        await server?.end();
        for (const made of [root, state]) fs.rmSync(made, { recursive: true, force: true });
    }
}

const one = { ...await load("@modelcontextprotocol/sdk/client/index.js"), ...await load("@modelcontextprotocol/sdk/client/stdio.js"),
    ...await load("@modelcontextprotocol/sdk/client/streamableHttp.js") };
const two = { ...await load("@modelcontextprotocol/client"), ...await load("@modelcontextprotocol/client/stdio") };
for (const http of [false, true]) {
    for (const asJson of [false, true]) {
        await session("@modelcontextprotocol/sdk", one, http, asJson, {});
        await session("@modelcontextprotocol/client", two, http, asJson, { versionNegotiation: { mode: "legacy" } });
        await session("@modelcontextprotocol/client", two, http, asJson, { versionNegotiation: { mode: "auto" } });
    }
}
