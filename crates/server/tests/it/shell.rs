//! Past edits as a person sees them at a terminal: paged, in colours, fitted to its width; and as programs
//! read them.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the server"
)]

use std::fmt::Write as _;
use std::io::Read as _;
use std::process::Stdio;

use mcp_text_editor_core::digest::Digest;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::history::Shell;
use crate::manners::terminal;

/// The variables about terminals that the environment of the tests may have.
const NAMES: [&str; 10] =
    ["PAGER", "GIT_PAGER", "LESS", "LV", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "TERM", "CI"];

/// Runs the program at a terminal of its own. Returns its exit code, and the text on the screen.
fn at_terminal(shell: &Shell, arguments: &[&str], variables: &[(&str, &str)]) -> (i32, String) {
    let (mut near, far) = terminal();
    let mut command = shell.command(arguments);
    for name in NAMES {
        command.env_remove(name);
    }
    command.env("TERM", "xterm").envs(variables.iter().copied());
    let mut child = command.stdin(far()).stdout(far()).stderr(far()).spawn().unwrap();
    // The command holds the terminal's other end. While it does, reading does not end.
    drop(command);
    let mut said = Vec::new();
    let mut block = [0; 4096];
    // The end comes as an error (EIO).
    while let Ok(count @ 1..) = near.read(&mut block) {
        said.extend(&block[..count]);
    }
    (child.wait().unwrap().code().unwrap(), String::from_utf8(said).unwrap().replace("\r\n", "\n"))
}

/// Makes a history of files whose names are long, wide or malicious. Returns the ids of the edits.
fn strange_files(shell: &Shell) -> Vec<String> {
    let long = format!("a/{}/file.rs", "long/".repeat(20));
    for (name, text) in [
        ("漢字/テスト.txt", "one\n".repeat(30)),
        (long.as_str(), "one\n".repeat(3)),
        ("e\u{1b}[31m\u{202e}vil.txt", "one\n".to_owned()),
        ("gone.txt", "one\n".to_owned()),
        ("old.txt", "one\n".to_owned()),
    ] {
        shell.world.write(name, &text);
    }
    let patch = |file: &str, replacements: Value| json!({"file_path": format!("$ROOT/{file}"), "patches": replacements});
    let files = json!([
        patch("漢字/テスト.txt", json!([{"old_string": "one\n".repeat(30), "new_string": "two\n".repeat(90)}])),
        patch(&long, json!([{"old_string": "one\n".repeat(3), "new_string": "1\n"}])),
        patch("e\u{1b}[31m\u{202e}vil.txt", json!([{"old_string": "one", "new_string": "\u{1b}]0;owned\u{7}"}])),
        {"file_path": "$ROOT/gone.txt", "remove": true, "file_hash": Digest::of(b"one\n").to_string()},
        {"file_path": "$ROOT/old.txt", "move_to": "$ROOT/new.txt"},
        {"file_path": "$ROOT/made.txt", "contents": "a\nb\n"},
    ]);
    let first = shell.edit("patch_text_file_contents", &json!({ "files": files }));
    // The place where the diff is cut does not depend on the length of the path, since the lines are longer.
    let second = shell.create("what-is-big.txt", &format!("{}\n", "long line ".repeat(100)).repeat(84));
    vec![first, second]
}

#[test]
fn numbers_of_lines_fit_the_terminal() {
    let shell = Shell::new();
    let ids = strange_files(&shell);
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut out = String::new();
    for columns in ["40", "80", "200"] {
        let (code, said) = at_terminal(
            &shell,
            &["history", "--stat"],
            &[("COLUMNS", columns), ("NO_COLOR", "1"), ("PAGER", "cat")],
        );
        assert_eq!(code, 0, "{said}");
        let widest = said.lines().map(UnicodeWidthStr::width).max().unwrap();
        assert!(widest <= columns.parse().unwrap(), "{widest} of {columns}: {said}");
        let _ = writeln!(out, "{columns} columns\n{}", shell.masked(&said, &ids));
    }
    // At a terminal an edit is a line by default.
    let (_, said) =
        at_terminal(&shell, &["history"], &[("COLUMNS", "80"), ("NO_COLOR", "1"), ("PAGER", "cat")]);
    assert!(said.lines().all(|line| line.width() <= 80), "{said}");
    assert_eq!(said.lines().count(), ids.len());
    for line in said.lines() {
        let line = format!("{}  DAY {}\n", &line[..12], &line[20..]);
        out.push_str(&shell.masked(&line, &ids));
    }
    insta::assert_snapshot!("stat", out);
}

#[test]
fn a_person_sees_colours_and_a_program_none() {
    let shell = Shell::new();
    strange_files(&shell);
    let (_, plain) = shell.run(&["history", "--stat"]);
    assert!(!plain.contains('\u{1b}'), "{plain}");
    let (_, coloured) = at_terminal(&shell, &["history", "--stat", "--no-pager"], &[]);
    assert!(coloured.contains("\u{1b}[33medit "), "{coloured}");
    assert_eq!(shell.run(&["history", "--stat", "--color", "always"]).1, coloured);
    let (_, said) = at_terminal(&shell, &["history", "--stat", "--no-pager", "--color", "never"], &[]);
    assert!(said.contains("edit ") && !said.contains('\u{1b}'), "{said}");
    for variables in [&[("NO_COLOR", "1")][..], &[("TERM", "dumb")]] {
        let (_, said) = at_terminal(&shell, &["history", "--stat", "--no-pager"], variables);
        assert!(said.contains("edit ") && !said.contains('\u{1b}'), "{variables:?}: {said}");
    }
    let forced = shell.command(&["history", "--stat"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(String::from_utf8(forced.stdout).unwrap().contains("\u{1b}[33medit "));
    // In no form can foreign text control the terminal.
    for arguments in [&["history"][..], &["history", "-p"], &["history", "--stat"], &["history", "--json"]] {
        let (_, said) = at_terminal(&shell, arguments, &[("PAGER", "cat")]);
        let orders = said.split('\u{1b}').skip(1).filter(|order| {
            let end = order.find(|last: char| last.is_ascii_alphabetic()).unwrap_or(0);
            !order.starts_with('[') || !order[end..].starts_with('m')
        });
        assert_eq!(orders.count(), 0, "{said:?}");
        assert!(
            !said.contains("\u{1b}[31m\u{202e}") && !said.contains('\u{202e}') && !said.contains('\u{7}'),
            "{said:?}"
        );
    }
}

#[test]
fn what_is_long_is_paged_and_a_pager_can_be_left_or_lack() {
    let shell = Shell::new();
    strange_files(&shell);
    let page = shell.state.path().join("page");
    let read = || std::fs::read_to_string(&page).unwrap_or_default();
    let keep = format!("cat > '{}'; echo paged $LESS", page.display());
    // GIT_PAGER comes before PAGER, both are commands for a shell, and less gets the options that git gives
    // it.
    let (code, said) = at_terminal(&shell, &["history", "-p"], &[("GIT_PAGER", &keep), ("PAGER", "false")]);
    assert_eq!((code, said.as_str()), (0, "paged FRX\n"));
    assert!(read().contains("\u{1b}[33medit ") && read().contains("created "), "{}", read());
    let (_, said) =
        at_terminal(&shell, &["history", "-p"], &[("PAGER", &keep), ("LESS", "S"), ("NO_COLOR", "1")]);
    assert_eq!((said.as_str(), read().contains('\u{1b}')), ("paged S\n", false));
    // The pager is left before it has read anything, or after a line.
    for left in ["true", "false", "head -n 1 > /dev/null"] {
        assert_eq!(at_terminal(&shell, &["history", "-p"], &[("PAGER", left)]), (0, String::new()), "{left}");
    }
    // The pager does not exist, is not wanted, or the output is no terminal.
    let whole = shell.run(&["history"]).1;
    for (arguments, variables) in [
        (&["history", "-p"][..], &[("PAGER", "/no/such/pager 2>&-; exit 127"), ("NO_COLOR", "1")][..]),
        (&["history", "-p"], &[("PATH", "/nowhere"), ("NO_COLOR", "1")]),
        (&["history", "-p"], &[("PAGER", ""), ("NO_COLOR", "1")]),
        (&["history", "-p"], &[("GIT_PAGER", "cat"), ("PAGER", &keep), ("NO_COLOR", "1")]),
        (&["history", "-p", "--no-pager"], &[("PAGER", &keep), ("NO_COLOR", "1")]),
    ] {
        assert_eq!(at_terminal(&shell, arguments, variables), (0, whole.clone()), "{variables:?}");
    }
    let (_, said) = at_terminal(&shell, &["history", "--json"], &[("PAGER", &keep)]);
    assert!(said.starts_with('{'), "programs are not paged: {said}");
    // It is no error if the reader closes the pipe.
    let mut child =
        shell.command(&["history", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(0), String::new()));
}

/// The files in the current directory may be anybody's.
#[test]
fn no_pager_of_a_project_is_started() {
    use std::os::unix::fs::PermissionsExt as _;
    let shell = Shell::new();
    shell.create("a.txt", "a\n");
    let ran = shell.state.path().join("ran");
    for name in ["less", "sh", "more"] {
        shell.world.write(name, format!("#!/bin/sh\ntouch '{}'\n", ran.display()));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(shell.world.path(name), mode).unwrap();
    }
    shell.world.write(".git/config", format!("[core]\n\tpager = touch '{}'\n", ran.display()));
    for path in [".:/usr/bin:/bin", ":/usr/bin:/bin", "."] {
        let (code, said) = at_terminal(&shell, &["history", "-p"], &[("PATH", path), ("LESS", "FRXE")]);
        assert!(code == 0 && said.contains("created"), "{said}");
        at_terminal(&shell, &["history", "-p"], &[("PATH", path), ("PAGER", "more 2> /dev/null")]);
        assert!(!ran.exists(), "{path}");
    }
}

/// A client has no terminal, and may name a directory that is missing.
#[cfg(unix)]
#[test]
fn at_a_terminal_a_word_that_is_nothing_here_is_not_served() {
    let (code, said) = at_terminal(&Shell::new(), &["histroy"], &[]);
    assert_eq!(code, 2);
    assert_eq!(
        said,
        "mcp-text-editor: there is no command and no directory histroy; try mcp-text-editor --help\n"
    );
}

/// Scripts read this form. docs/history.md has these members.
#[test]
fn programs_get_an_object_a_line() {
    let shell = Shell::new();
    let ids = strange_files(&shell);
    let undone = shell.run(&["undo", &ids[0]]);
    assert_eq!(undone.0, 0, "{}", undone.1);
    let (code, said) = shell.run(&["history", "--json"]);
    assert_eq!(code, 0, "{said}");
    let mut edits: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(edits.len(), 3);
    assert_eq!((&edits[0]["undoes"], &edits[2]["undone_by"]), (&edits[2]["edit_id"], &edits[0]["edit_id"]));
    for edit in &mut edits {
        let time = edit["time"].as_str().unwrap();
        assert!(time.len() == "2026-11-25T14:00:00.000Z".len() && time.ends_with('Z'), "{time}");
        edit["time"] = json!("$TIME");
        if edit.get("session").is_some() {
            edit["session"] = json!("$SESSION");
        }
        for file in edit["files"].as_array_mut().unwrap() {
            let diff = file["diff"].as_str().unwrap();
            assert!(diff.starts_with("--- ") || diff.starts_with("rename "), "{diff}");
            file["diff"] = json!(format!("{} lines", diff.lines().count()));
        }
    }
    let (code, shown) = shell.run(&["history", "show", "--json", &ids[1], &ids[0]]);
    assert_eq!((code, shown.lines().count()), (0, 2), "{shown}");
    let known: Vec<String> = edits.iter().map(|edit| edit["edit_id"].as_str().unwrap().to_owned()).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let text = serde_json::to_string_pretty(&edits).unwrap();
    insta::assert_snapshot!("json", shell.masked(&text, &known));
}

#[test]
fn edits_are_found_by_when_by_what_and_by_text() {
    let shell = Shell::new();
    let first = shell.create("a.txt", "one\n");
    let second = shell.create("dir/b.txt", "two\n");
    let third = shell.patch(&["a.txt"], "one", "three");
    let found = |arguments: &[&str]| {
        let (code, said) = shell.run(&[&["history", "--json"], arguments].concat());
        assert_eq!(code, 0, "{said}");
        let id =
            |line: &str| serde_json::from_str::<Value>(line).unwrap()["edit_id"].as_str().unwrap().to_owned();
        said.lines().map(id).collect::<Vec<_>>()
    };
    let all = [third.clone(), second.clone(), first.clone()];
    assert_eq!(found(&[]), all);
    assert_eq!(found(&["-n", "1"]), all[..1]);
    assert_eq!(found(&["--since", "1h"]), all);
    assert_eq!(found(&["--until", "yesterday"]), [""; 0]);
    assert_eq!(found(&["--since", &second]), all[..2]);
    assert_eq!(found(&["--until", &second]), all[2..]);
    assert_eq!(found(&["--tool", "Create"]), all[1..]);
    assert_eq!(found(&["--grep", "thr"]), all[..1]);
    assert_eq!(found(&["--grep", "b.txt", "."]), all[1..2]);
    assert_eq!(found(&["dir"]), all[1..2]);
    let said = |arguments: &[&str]| shell.run(&[&["history"], arguments].concat());
    assert_eq!(said(&["--grep", "no such"]), (0, "no edits like that are kept\n".to_owned()));
    let (code, wrong) = said(&["--since", "soon\u{1b}[2J"]);
    assert_eq!(code, 2);
    insta::assert_snapshot!(wrong, @r#"mcp-text-editor: --since: `soon\u001b[2J` is no time: type a day (2026-11-25, today, yesterday), a time ("2026-11-25 14:00", 14:00), how long ago (2h, "3 days"), or the id of an edit"#);
    let (code, unknown) = said(&["--since", "0123456789ab"]);
    assert_eq!(code, 1);
    insta::assert_snapshot!(unknown, @"mcp-text-editor: no edit 0123456789ab is kept; mcp-text-editor history lists those that are");
}

/// Runs the program at a terminal, at which a person types one of these lines each time the program asks.
fn typed(shell: &Shell, arguments: &[&str], lines: &[&str]) -> (i32, String) {
    use std::io::Write as _;
    let (mut near, far) = terminal();
    let mut command = shell.command(arguments);
    for name in NAMES {
        command.env_remove(name);
    }
    command.env("TERM", "dumb");
    let mut child = command.stdin(far()).stdout(far()).stderr(far()).spawn().unwrap();
    drop(command);
    let (mut said, mut block, mut lines, mut heard) = (Vec::new(), [0; 4096], lines.iter(), 0);
    while let Ok(count @ 1..) = near.read(&mut block) {
        said.extend(&block[..count]);
        let text = String::from_utf8_lossy(&said[heard..]).into_owned();
        if text.ends_with("?] ")
            && let Some(line) = lines.next()
        {
            heard = said.len();
            near.write_all(line.as_bytes()).unwrap();
        }
    }
    (child.wait().unwrap().code().unwrap(), String::from_utf8(said).unwrap().replace("\r\n", "\n"))
}

#[test]
fn a_person_is_asked_of_each_edit_and_nothing_is_done_before_the_last_yes() {
    let shell = Shell::new();
    shell.world.write("a.txt", "one\n");
    shell.world.write("b.txt", "one\n");
    let first = shell.patch(&["a.txt"], "one", "two");
    let second = shell.patch(&["a.txt", "b.txt"], "o", "0");
    let third = shell.patch(&["b.txt"], "ne", "NE");
    let ids = [first.as_str(), &second, &third];
    let held = || ["a.txt", "b.txt"].map(|name| std::fs::read_to_string(shell.world.path(name)).unwrap());
    let as_edited = held();
    // The newest edit is kept, so the second cannot be taken back, and so neither can the first.
    let (code, said) = typed(&shell, &["undo", "--interactive"], &["x\n", "n\n", "y\n", "y\n"]);
    assert_eq!((code, held()), (0, as_edited.clone()));
    insta::assert_snapshot!("asked", shell.masked(&said, &ids));
    // If the person goes away, or says no at the end, nothing is done.
    for lines in [&["\u{4}"][..], &["y\n", "\u{4}"], &["a\n", "n\n"], &["a\n", "\u{4}"], &["q\n"]] {
        let (code, said) = typed(&shell, &["undo", "-i"], lines);
        assert!(code == 0 && said.ends_with("nothing was changed\n"), "{lines:?}: {said}");
        assert_eq!(held(), as_edited, "{lines:?}");
    }
    let (code, said) = typed(&shell, &["undo", "-i", "--since", &second], &["a\n", "y\n"]);
    assert_eq!((code, held()), (0, ["tw0\n".replace('0', "o"), "one\n".to_owned()]), "{said}");
    // Edits that are taken back already are not asked about.
    let (code, said) = typed(&shell, &["undo", "-i"], &["y\n", "y\n"]);
    assert_eq!((code, held()), (0, ["one\n", "one\n"].map(str::to_owned)), "{said}");
    assert!(said.contains(&format!("(1/1) take back edit {first} of")), "{said}");
    let (code, said) = shell.run(&["undo", "-i"]);
    assert_eq!((code, &said), (1, &shell.run(&["undo"]).1));
    insta::assert_snapshot!(said, @"mcp-text-editor: there is no terminal at which to ask: name the edits (mcp-text-editor undo EDIT_ID …), or say all since a moment (--since WHEN --yes); --dry-run shows what would change");
}

/// The usage in an error is that of the command, whatever variables are set.
#[test]
fn an_error_shows_the_usage_of_the_command_alone() {
    let (code, said) = Shell::new().run(&["undo", "--no-such-option"]);
    assert_eq!(code, 2);
    assert!(said.contains("Usage: mcp-text-editor undo [OPTIONS] [EDIT_ID]...\n"), "{said}");
}

#[test]
fn several_edits_are_taken_back_all_or_none() {
    let shell = Shell::new();
    shell.world.write("a.txt", "one\n");
    let first = shell.patch(&["a.txt"], "one", "two");
    let second = shell.patch(&["a.txt"], "two", "three");
    let third = shell.patch(&["a.txt"], "three", "four");
    let made = shell.create("d/b.txt", "b\n");
    let ids = [first.as_str(), &second, &third, &made];
    let held = || std::fs::read_to_string(shell.world.path("a.txt")).unwrap();
    let (code, said) = shell.run(&["undo", &first, &third]);
    assert_eq!((code, held().as_str()), (1, "four\n"));
    insta::assert_snapshot!(shell.masked(&said, &ids), @r"
    edit $EDIT1 cannot be taken back:
    $ROOT/a.txt was changed again by edit $EDIT2
    the edit to be undone:
    @@ -1 +1 @@
    -one
    +two
    in the way: edit $EDIT2, made $TIME by patch_text_file_contents
    @@ -1 +1 @@
    -two
    +three
    these 3 go together: mcp-text-editor undo --with-later $EDIT1
    mcp-text-editor: something stands against 1 of 2 edits, and nothing was changed; --interactive leaves them out
    ");
    // The first digits of an id name it, if they name no other.
    let (code, said_of_digits) = shell.run(&["undo", &first[..6], &third[..11].to_ascii_uppercase()]);
    assert_eq!((code, said_of_digits), (1, said));
    let [(shown, whole), (unknown, said), (short, _)] =
        [&first[..6], "ffff0000fff", &first[..3]].map(|digits| shell.run(&["history", "show", digits]));
    assert_eq!(shell.run(&["history", &first[..6]]), (0, whole));
    assert_eq!((shown, unknown, short), (0, 1, 1), "{said}");
    let (code, said) = shell.run(&["undo", "--since", &first]);
    assert_eq!(code, 2);
    insta::assert_snapshot!(said, @"mcp-text-editor: --since takes every edit since back: --dry-run shows them, --interactive asks, --yes does it");
    let (code, said) = shell.run(&["undo", "--since", &second, "--path", "a.txt", "--dry-run"]);
    assert_eq!(
        (code, held().as_str(), said.matches("would be taken back").count()),
        (0, "four\n", 2),
        "{said}"
    );
    let (code, said) = shell.run(&["undo", &second, &third]);
    assert_eq!((code, held().as_str()), (0, "two\n"), "{said}");
    let (code, said) = shell.run(&["undo", "--since", &first, "--yes"]);
    assert_eq!((code, held().as_str(), said.matches("is undone").count()), (0, "one\n", 2), "{said}");
    assert_eq!(shell.world.tree().len(), 1, "what was made is gone, too");
    assert_eq!(
        shell.run(&["undo", "--since", &first, "--yes"]),
        (0, "there is nothing to take back\n".to_owned())
    );
}

/// Shows a long edit. The history keeps only a part of its diff.
#[test]
fn a_diff_that_is_kept_cut_is_shown_whole() {
    let shell = Shell::new();
    let lines = |word: &str| (0..4000).map(|line| format!("{word} {line}\n")).collect::<Vec<_>>().concat();
    let (old, new) = (lines("old"), lines("new").trim_end().to_owned());
    shell.world.write("long.txt", &old);
    let id = shell.patch(&["long.txt"], &old, &new);
    let (_, kept) = shell.run(&["history", "--json"]);
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["files"][0]["diff_is_cut"], true);
    let (code, said) = shell.run(&["history", "show", "--json", &id]);
    assert_eq!(code, 0, "{said}");
    let file = serde_json::from_str::<Value>(&said).unwrap()["files"][0].clone();
    assert_eq!((&file["lines_added"], &file["lines_removed"]), (&json!(4000), &json!(4000)));
    assert_eq!(file.get("diff_is_cut"), None);
    let diff = file["diff"].as_str().unwrap();
    let head: Vec<&str> = kept["files"][0]["diff"].as_str().unwrap().lines().take(2).collect();
    assert_eq!(diff.lines().take(2).collect::<Vec<_>>(), head);
    let (_, said) = shell.run(&["history", "show", &id]);
    assert!(said.contains("-old 3999\n") && said.contains("+new 3999\n\\ No newline"), "{}", said.len());
    let side = |sign: char| {
        let lines = diff.lines().skip(2).filter_map(|line| line.strip_prefix(sign));
        lines.map(|line| format!("{line}\n")).collect::<Vec<_>>().concat()
    };
    assert_eq!((side('-'), side('+').trim_end()), (old, new.as_str()));
    // If somebody else has changed the file since, only the kept part is shown.
    shell.world.write("long.txt", "another\n");
    let (_, said) = shell.run(&["history", "show", "--json", &id]);
    let file = serde_json::from_str::<Value>(&said).unwrap()["files"][0].clone();
    assert_eq!(file["diff_is_cut"], true);
}
