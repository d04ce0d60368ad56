// Stories as the server sends them, made by hand: what the page must show, without a server.

type Loose = Record<string, unknown>;

/** Lines of a diff, each with its sign first; what stands behind "\0" is its line end. */
export function hunk(oldStart: number, newStart: number, lines: readonly string[]): Loose {
  return {
    oldStart,
    newStart,
    lines: lines.map((line) => {
      const [text = "", end] = line.slice(1).split("\0");
      return { kind: line[0], text, ...(end && { end }) };
    }),
  };
}

const facts = (more: Loose = {}) => ({ hash: "ab".repeat(32), lines: 60, encoding: "utf-8", bom: false, lineEnding: "lf", finalNewline: true, bytes: 1800, ...more });

export function file(path: string, hunks: Loose[], more: Loose = {}): Loose {
  return { path: `/home/ada/app/${path}`, root: "/home/ada/app", relative: path, change: "changed", before: facts(), after: facts(), hunks, ...more };
}

/** What the server wants to see with an edit's id. */
export const capability = (id: string) => `for ${id}`;
const may = (id: string) => ({ capabilities: { [id]: capability(id) } });
export const EDIT = { id: "6f1c0a93be27", time: "2026-11-25T09:14:00Z", tool: "patch_text_file_contents", client: "claude-code", canUndo: true, ...may("6f1c0a93be27") };
export const UNDO = { ...EDIT, id: "0b77aa10cc31", time: "2026-11-25T09:16:00Z", tool: "undo_text_file_edits", undoes: EDIT.id, ...may("0b77aa10cc31") };
export const REDO = { ...UNDO, id: "94d2a4be8f05", undoes: UNDO.id, ...may("94d2a4be8f05") };

export const GREET = hunk(1, 1, [
  "+#!/usr/bin/env python3",
  " import sys",
  "-from os import getcwd, path",
  "+from pathlib import Path",
  " ",
  " ",
  " def greet(name):",
  '-    print("Hello, " + name)',
  '+    print(f"Hello, {name}!")',
  " ",
  " ",
  " def main():",
]);

export const edit = (more: Loose = {}): Loose => ({
  version: 1,
  kind: "edit",
  edit: EDIT,
  files: [
    file("src/greet.py", [
      GREET,
      hunk(24, 25, [
        "     names = sys.argv[1:]",
        "-    for n in names: greet(n)",
        "+    for name in names or [Path.home().name]:",
        "+        greet(name)",
        " ",
        ' if __name__ == "__main__":',
      ]),
    ]),
    file("tests/test_greet.py", [hunk(1, 1, ["+from src.greet import greet", "+", "+", "+def test_greet(capsys):", '+    greet("Ada")', '+    assert capsys.readouterr().out == "Hello, Ada!\\n"'])], {
      change: "created",
      before: undefined,
    }),
    file("docs/usage.txt", [hunk(3, 3, [" Usage", "-  greet NAME\0crlf", "+  greet [NAME …]", "-Say hello.\0none", "+Say hello to somebody."])], {
      change: "moved",
      movedFrom: "/home/ada/app/README.txt",
      before: facts({ lineEnding: "crlf", finalNewline: false, bom: true }),
      after: facts(),
    }),
  ],
  ...more,
});

export const proposal = (): Loose => edit({ kind: "proposal", edit: undefined, tool: { name: "patch_text_file_contents" } });

export const failure = (): Loose => ({
  version: 1,
  kind: "failure",
  files: [],
  failure: {
    code: "content_mismatch",
    reason: "the text of lines 12-14 is not old_string; nothing was written",
    problems: [
      {
        code: "content_mismatch",
        reason: "the text of lines 12-14 is not old_string",
        path: "/home/ada/app/src/greet.py",
        start: 12,
        end: 14,
        asked: 'def main():\n    names = sys.argv[1:]\n    for name in names:\n',
        actual: "def main():\n\tnames = sys.argv[1:]\n\tfor n in names: greet(n)\n",
        hint: "the file is indented by tabs",
      },
    ],
  },
});

export const conflict = (): Loose => ({
  version: 1,
  kind: "failure",
  files: [],
  failure: {
    code: "conflict",
    reason: "src/greet.py has changed since the edit; nothing was written",
    problems: [
      {
        code: "conflict",
        reason: "src/greet.py has changed since the edit",
        path: "/home/ada/app/src/greet.py",
        start: 7,
        asked: '    print(f"Hello, {name}!")\n',
        actual: '    print(f"Good morning, {name}!")\n',
        edit: "77aa00bb11cc",
      },
    ],
  },
});

/** A diff of so many hunks, three lines each. */
export const many = (hunks: number): Loose =>
  edit({ files: [file("long.txt", Array.from({ length: hunks }, (_, at) => hunk(at * 10 + 1, at * 10 + 1, [` line ${at}`, `-old words of ${at}`, `+new words of ${at}`])))] });

/** Names and texts that would do something, if anything here were read as HTML, or shown as it is. */
export const hostile = (): Loose =>
  edit({
    edit: { ...EDIT, tool: "<img src=x onerror=alert(1)>", client: "\u202eevil" },
    files: [
      file("<script>alert(1)</script>.txt", [hunk(1, 1, ["-</template></script><script>alert(2)</script>", "+<img src=x onerror=alert(3)> ${alert(4)} {{alert(5)}}"])]),
      file("in\u202egnp.exe", [hunk(1, 1, ["-if (admin) {", "+if (admin\u202e \u2066// check\u2069 \u2066) {", "+a\u200bb\u00a0c\u0007d\ufeff \t", '+<a href="javascript:alert(6)">x</a>'])]),
      file("long.min.js", [hunk(1, 1, [`-${"a=1;".repeat(130_000)}x=1;${"b=2;".repeat(130_000)}`, `+${"a=1;".repeat(130_000)}x=2;${"b=2;".repeat(130_000)}`])]),
    ],
  });
