#!/usr/bin/env node
// Starts the program, which is in the package for this platform; npm installs that one of them that fits.
"use strict";

const name = `mcp-text-editor-rs-${process.platform}-${process.arch}`;
const windows = process.platform === "win32";
let program;
try {
  program = require.resolve(`${name}/bin/mcp-text-editor${windows ? ".exe" : ""}`);
} catch {
  console.error(
    `mcp-text-editor: the package ${name} is not installed: either there is none for this platform, ` +
      "or npm was told to leave optional packages out (--omit=optional)",
  );
  process.exit(1);
}
const options = process.argv.slice(2);
if (process.execve && !windows) {
  // Node 22.15 and later: this process becomes the program, and nothing of Node stays in memory.
  process.execve(program, [program, ...options], process.env);
}
const child = require("node:child_process").spawn(program, options, { stdio: "inherit", windowsHide: true });
const passedOn = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of passedOn) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`mcp-text-editor: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  // The program died of a signal: so does this.
  for (const one of passedOn) process.removeAllListeners(one);
  process.kill(process.pid, signal);
});
