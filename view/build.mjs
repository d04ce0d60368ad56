// Builds the page: one file of HTML with its style and its script in it. With --check nothing is written, and the page that is committed must be
// the same to the byte. The same versions (package-lock.json) make the same bytes on any machine.

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const here = (path) => new URL(path, import.meta.url);
const built = here("../crates/server/src/view/edit.html");
const MOST_BYTES = 150_000;

// What would make HTML, or a program, of a string. The policy below has the browser refuse it, too.
const BANNED = /\b(innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|setHTMLUnsafe|setHTML|parseHTMLUnsafe|DOMParser|document\.write(ln)?|srcdoc|eval|new Function|setTimeout\("|import\()/;
for (const name of readdirSync(here("src/"))) {
  const found = BANNED.exec(readFileSync(here(`src/${name}`), "utf8"));
  if (found) throw new Error(`src/${name} has ${found[0]}: text goes into the page as text alone`);
}

const bundle = async (entry) => {
  const { outputFiles } = await build({
    entryPoints: [entry],
    absWorkingDir: new URL(".", import.meta.url).pathname,
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: ["chrome123", "firefox128", "safari17.5"],
    charset: "utf8",
    legalComments: "none",
  });
  return outputFiles[0].text.trim();
};
const sha = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const script = (await bundle("src/main.ts")).replaceAll("</script", "<\\/script");
const style = await bundle("src/style.css");
// No network, no frames, no forms; this script and this style alone; strings are never read as HTML. `history --web` puts 'self' in place of
// connect-src's 'none'. Fonts may come in a host's style sheet, not over the network.
const csp = [
  "default-src 'none'",
  `script-src ${sha(script)}`,
  `style-src ${sha(style)}`,
  "connect-src 'none'",
  "font-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const page = readFileSync(here("src/page.html"), "utf8").replace(/\{\{(\w+)\}\}/g, (_, name) => ({ csp, style, script })[name]);
const bytes = Buffer.byteLength(page);
if (bytes > MOST_BYTES) throw new Error(`the page has ${bytes} bytes; at most ${MOST_BYTES} are allowed`);
if (process.argv.includes("--check")) {
  if (readFileSync(built, "utf8") !== page) throw new Error("crates/server/src/view/edit.html is not what view/ builds: run `npm --prefix view run build`");
  console.log(`edit.html is what view/ builds: ${bytes} bytes`);
} else {
  writeFileSync(built, page);
  console.log(`crates/server/src/view/edit.html: ${bytes} bytes`);
}
