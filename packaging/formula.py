"""A formula for Homebrew, which installs the archives of a release; it is put into a tap, `OWNER/homebrew-tap`."""

from __future__ import annotations

from facts import PROGRAM, RELEASED, Target, sha256, version

SYSTEMS = {"darwin": "macos", "linux": "linux"}
CPUS = {"arm64": "arm", "x64": "intel"}


def source(target: Target, archives: dict[str, tuple[str, bytes]], repository: str) -> list[str]:
    name, data = archives[target.triple]
    url = f"https://github.com/{repository}/releases/download/v{version()}/{name}"
    return [f"    on_{CPUS[target.npm[1]]} do", f'      url "{url}"', f'      sha256 "{sha256(data)}"', "    end"]


def build(archives: dict[str, tuple[str, bytes]], repository: str) -> tuple[str, bytes]:
    """The formula for all archives that there are, by their targets' triples."""
    lines = [
        "class McpTextEditor < Formula",
        '  desc "MCP server through which language models edit text files"',
        f'  homepage "https://github.com/{repository}"',
        f'  version "{version()}"',
        '  license any_of: ["MIT", "Apache-2.0"]',
    ]
    for system, name in SYSTEMS.items():
        there = [target for target in RELEASED.values() if target.npm[0] == system and target.triple in archives]
        if there:
            lines += ["", f"  on_{name} do", *(line for target in there for line in source(target, archives, repository)), "  end"]
    lines += [
        "",
        "  def install",
        f'    bin.install "{PROGRAM}"',
        '    man1.install Dir["man/*.1"]',
        f'    bash_completion.install "completions/{PROGRAM}.bash" => "{PROGRAM}"',
        f'    zsh_completion.install "completions/_{PROGRAM}"',
        f'    fish_completion.install "completions/{PROGRAM}.fish"',
        "  end",
        "",
        "  test do",
        '    (testpath/"a.txt").write "one\\n"',
        '    path = (testpath/"a.txt").realpath',
        f'    system bin/"{PROGRAM}", "call", "--root", ".", "patch_text_file_contents", "file_path=#{{path}}",',
        '           "old_string=one", "new_string=two"',
        '    assert_equal "two\\n", path.read',
        f'    assert_match version.to_s, shell_output("#{{bin}}/{PROGRAM} --version")',
        "  end",
        "end",
        "",
    ]
    return f"{PROGRAM}.rb", "\n".join(lines).encode()
