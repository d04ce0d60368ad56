// Bundles the tests (TypeScript) and runs those that are named, or all; ends with `N passed, N failed`.
//
// They run from the checkout's root, against $MCP_TEXT_EDITOR_BIN. What comes from npm is in package-lock.json.

import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import path from "node:path";

const here = import.meta.dirname;
const root = path.join(here, "../..");
const out = path.join(here, "node_modules/.built");
const named = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
// --only=PATTERN runs the tests of such a name.
const only = process.argv.filter((argument) => argument.startsWith("--only=")).map((argument) => `--test-name-pattern=${argument.slice(7)}`);
const all = readdirSync(here).filter((name) => name.endsWith(".test.ts")).map((name) => name.slice(0, -".test.ts".length));
const chosen = named.length > 0 ? named : all;

mkdirSync(out, { recursive: true });
await build({
  entryPoints: chosen.map((name) => path.join(here, `${name}.test.ts`)),
  outdir: out,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  packages: "external",
  sourcemap: "inline",
  logLevel: "warning",
});
// The pages of hosts, with their libraries in them.
const hosts = path.join(here, "hosts");
await build({
  entryPoints: readdirSync(hosts).map((name) => path.join(hosts, name)),
  outdir: path.join(out, "hosts"),
  bundle: true,
  platform: "browser",
  format: "iife",
  jsx: "automatic",
  logLevel: "warning",
  define: { "process.env.NODE_ENV": '"production"' },
});

const result = spawnSync(
  process.execPath,
  ["--test", "--test-timeout=600000", "--enable-source-maps", "--test-concurrency=2", ...only, "--test-reporter=spec", "--test-reporter-destination=stdout", "--test-reporter=tap", `--test-reporter-destination=${path.join(out, "tap")}`, ...chosen.map((name) => path.join(out, `${name}.test.mjs`))],
  { cwd: root, stdio: ["ignore", "inherit", "inherit"] },
);
const { readFileSync } = await import("node:fs");
const count = (word) => Number(new RegExp(`^# ${word} (\\d+)$`, "m").exec(readFileSync(path.join(out, "tap"), "utf8"))?.[1] ?? 0);
console.log(`${count("pass")} passed, ${count("fail")} failed`);
process.exit(result.status ?? 1);
