//! Tests of the documents about the command line: scripts for shells, and pages for man(1).

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::session::BINARY;

/// The shells for which there is a script. The command of each parses a script from standard input, and runs
/// nothing.
const SHELLS: [(&str, &[&str]); 5] = [
    ("bash", &["bash", "-n"]),
    ("elvish", &["elvish", "-compileonly", "/dev/stdin"]),
    ("fish", &["fish", "--no-execute"]),
    (
        "powershell",
        &["pwsh", "-NoProfile", "-Command", "[void][ScriptBlock]::Create([Console]::In.ReadToEnd())"],
    ),
    ("zsh", &["zsh", "-n"]),
];

/// Returns what the program writes, which must succeed without any message.
fn written(arguments: &[&str]) -> String {
    let output = Command::new(BINARY).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the names of options in a text, with their dashes.
fn options(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .filter(|word| word.starts_with("--") && word.len() > 2)
        .collect()
}

/// Returns the subcommands of the program, or of one of them, as its help lists them.
fn subcommands(path: &[&str]) -> Vec<String> {
    let help = written(&[path, &["-h"]].concat());
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let names = list.lines().take_while(|line| !line.is_empty());
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn shells_complete_every_option_and_subcommand() {
    let help = written(&["--help"]);
    let names = subcommands(&[]);
    assert!(names.len() > 4, "{names:?}");
    for (shell, reads) in SHELLS {
        let script = written(&["completions", shell]);
        // fish has long options after `-l`, without their dashes.
        let text = script.replace("-l ", "--");
        let missing: Vec<_> = options(&help).difference(&options(&text)).copied().collect();
        assert!(missing.is_empty(), "{shell}: {missing:?}");
        let missing: Vec<_> = names.iter().filter(|name| !script.contains(name.as_str())).collect();
        assert!(missing.is_empty(), "{shell}: {missing:?}");
        // Each shell of this machine can parse its script. On Windows `bash` may belong to another system.
        if cfg!(windows) {
            continue;
        }
        let started = Command::new(reads[0])
            .args(&reads[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut started) = started else { continue };
        started.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        let output = started.wait_with_output().unwrap();
        assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The completions of values in each shell: the words typed so far, and some of the values that are offered.
const VALUES: &[(&[&str], &[&str])] = &[
    (&["install", "cl"], &["claude-code", "claude-desktop", "cline"]),
    (&["doctor", "vsc"], &["vscode"]),
    (&["call", "get_"], &["get_text_file_contents"]),
    (&["--tools", "claude"], &["claude-code"]),
    (&["install", "cursor", "--tools", "patch"], &["patch_text_file_contents"]),
    (&["--landlock", "r"], &["require"]),
    (&["completions", "fi"], &["fish"]),
];

#[test]
fn shells_complete_values() {
    for (shell, _) in SHELLS.iter().filter(|(shell, _)| ["bash", "zsh", "fish"].contains(shell)) {
        let script = written(&["completions", shell]);
        for value in VALUES.iter().flat_map(|(_, values)| *values) {
            assert!(script.contains(value), "{shell}: {value}");
        }
    }
    // zsh cannot be asked without a terminal. Its script looks for a subcommand at the right place.
    let zsh = written(&["completions", "zsh"]);
    let steps: Vec<&str> =
        zsh.lines().filter(|line| line.contains(" :{_") || line.contains("case $line[")).collect();
    insta::assert_snapshot!(steps.join("\n"), @r#"
    ": :{_mcp-text-editor_commands || _files -/}" \
            case $line[1] in
            case $line[2] in
    "#);
    // The shells of this machine that can be asked offer just these values. On Windows `bash` may belong to
    // another system.
    if cfg!(windows) {
        return;
    }
    let bash = r#"source "$1"; shift; COMP_WORDS=(mcp-text-editor "$@"); COMP_CWORD=$#
        _mcp__text__editor mcp-text-editor "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}" 2>/dev/null; printf '%s\n' "${COMPREPLY[@]}""#;
    let fish = r#"source $argv[1]; complete -C "mcp-text-editor "(string join -- " " $argv[2..]) | string split -f1 \t"#;
    let directory = tempfile::tempdir().unwrap();
    for (shell, asked) in [("bash", bash), ("fish", fish)] {
        let script = directory.path().join(shell);
        #[expect(clippy::disallowed_methods, reason = "a test sets its files up")]
        std::fs::write(&script, written(&["completions", shell])).unwrap();
        for (typed, values) in VALUES {
            let mut command = Command::new(shell);
            command.args(["-c", asked]).args((shell == "bash").then_some("bash"));
            let Ok(output) = command.arg(&script).args(*typed).current_dir(&directory).output() else {
                break;
            };
            let offered = String::from_utf8(output.stdout).unwrap();
            let mut offered: Vec<&str> = offered.lines().collect();
            offered.sort_unstable();
            assert_eq!(offered, *values, "{shell}: {typed:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// A page says what the help does, in the words of man(1).
#[test]
fn every_subcommand_has_a_page() {
    let page = written(&["man"]);
    let (head, _) = page.split_once(".SH SYNOPSIS").unwrap();
    insta::assert_snapshot!(head.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    check_pages(&mut Vec::new());
}

fn check_pages(path: &mut Vec<String>) {
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    let mut page = written(&[&["man"], &names[..]].concat());
    // Marks of fonts, and the backslash before a dash.
    for markup in ["\\fB", "\\fI", "\\fR", "\\"] {
        page = page.replace(markup, "");
    }
    let help = written(&[&names[..], &["--help"]].concat());
    let title = [&["mcp-text-editor"], &names[..]].concat().join("-");
    assert!(page.contains(&format!(".TH {title} 1 ")), "{page}");
    let missing: Vec<_> = options(&help).difference(&options(&page)).copied().collect();
    assert!(missing.is_empty(), "{path:?}: {missing:?}");
    for name in subcommands(&names) {
        assert!(page.contains(&format!("{title}-{name}(1)")), "{path:?} does not name {name}: {page}");
        path.push(name);
        check_pages(path);
        path.pop();
    }
}

#[test]
fn what_is_not_there_has_no_document() {
    for (arguments, said) in [
        (&["man", "edit"][..], "mcp-text-editor: there is no subcommand `edit`\n"),
        (&["man", "history", "undo"], "mcp-text-editor: there is no subcommand `history undo`\n"),
    ] {
        let output = Command::new(BINARY).args(arguments).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!((output.stdout, String::from_utf8(output.stderr).unwrap()), (Vec::new(), said.to_owned()));
    }
}
