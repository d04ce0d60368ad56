//! The program at a shell: its start, and its refusals to start.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use mcp_text_editor::tools;

use crate::session::HOME;
use crate::world::{elsewhere, real};

const BINARY: &str = env!("CARGO_BIN_EXE_mcp-text-editor");

/// Runs the program in a directory. Returns its exit code, standard output and standard error.
fn run_in(directory: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> (i32, String, String) {
    let output = Command::new(BINARY)
        .args(arguments)
        .current_dir(directory)
        .env(HOME, directory.parent().unwrap_or(directory))
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn names(listing: &str) -> Vec<String> {
    let listing: serde_json::Value = serde_json::from_str(listing).unwrap();
    listing["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

/// A client shows nobody why its server ended, so the server goes on. A person who makes a call sees the
/// error.
#[test]
fn roots_that_are_no_directories_stop_a_call_and_no_server() {
    let here = tempfile::tempdir().unwrap();
    let file = tempfile::NamedTempFile::new_in(here.path()).unwrap();
    let file = file.path().to_str().unwrap();
    for root in ["missing", file] {
        let (code, out, error) =
            run_in(here.path(), &["call", "--root", root, "get_text_file_contents"], &[]);
        assert_eq!((code, out.as_str()), (2, ""), "{root}: {error}");
        assert!(error.starts_with("mcp-text-editor: ") && error.contains("allowed directory"), "{error}");
        let (code, out, error) = run_in(here.path(), &[root], &[]);
        assert_eq!((code, out.as_str()), (0, ""), "{root}: {error}");
        assert!(error.contains(&format!("the configured directory {root} ")), "{error}");
    }
    assert_eq!(run_in(here.path(), &["."], &[]), (0, String::new(), String::new()));
}

#[test]
fn home_and_the_file_system_are_served_only_when_named() {
    let home = tempfile::tempdir().unwrap();
    let named = home.path().to_str().unwrap();
    for directory in [home.path().ancestors().last().unwrap(), home.path()] {
        let (code, out, error) = run_in(directory, &["call", "get_text_file_contents"], &[(HOME, named)]);
        assert_eq!((code, out.as_str()), (2, ""), "{error}");
        assert!(error.contains("which is served only when named: name a directory with --root"), "{error}");
        let (code, out, error) = run_in(directory, &[], &[(HOME, named)]);
        assert_eq!((code, out.as_str()), (0, ""), "{error}");
        assert!(error.contains("no directory was named, and the current one is the "), "{error}");
        assert_eq!(run_in(directory, &["."], &[(HOME, named)]), (0, String::new(), String::new()));
    }
    let inside = tempfile::tempdir_in(home.path()).unwrap();
    assert_eq!(run_in(inside.path(), &[], &[(HOME, named)]), (0, String::new(), String::new()));
}

#[test]
fn options_choose_the_tools() {
    let here = tempfile::tempdir().unwrap();
    let all: Vec<&str> = tools::ALL.iter().map(tools::Tool::name).collect();
    let check = |arguments: &[&str], environment: &[(&str, &str)], expected: &[&str]| {
        let (code, out, error) = run_in(here.path(), &[&["tools"], arguments].concat(), environment);
        assert_eq!(code, 0, "{error}");
        assert_eq!(names(&out), expected, "{arguments:?}");
    };
    let (beside, six, usual) = (&[all[1], "copy_text_lines", "replace_in_text_files"], &all[..6], &all[..10]);
    assert_eq!(
        usual[6..],
        ["copy_text_lines", "search_text_files", "replace_in_text_files", "list_text_files"]
    );
    let read_only = &["get_text_file_contents", "search_text_files", "list_text_files"];
    check(&[], &[], usual);
    check(&["--tools", "default"], &[], usual);
    check(&["--tools", "all"], &[], &all);
    check(&["--tools", "edit"], &[], six);
    check(&["--tools", "all", "--read-only"], &[], &[&read_only[..], &["list_text_file_edits"]].concat());
    check(&["--tools", "undo_text_file_edits"], &[], &["undo_text_file_edits"]);
    check(&["--tools", "read-only"], &[], read_only);
    check(&["--read-only"], &[], read_only);
    check(&["--mode", "claude-code"], &[], beside);
    check(&["--tools=claude-code"], &[], beside);
    check(&["--tools", "patch_text_file_contents, get_text_file_contents"], &[], &all[..2]);
    check(&[], &[("MCP_TEXT_EDITOR_TOOLS", "claude-code")], beside);
    check(&[], &[("MCP_TEXT_EDITOR_MODE", "claude-code")], beside);
    check(&[], &[("MCP_TEXT_EDITOR_READ_ONLY", "1")], read_only);
    check(&[], &[("MCP_TEXT_EDITOR_READ_ONLY", "0")], usual);
    check(&["--tools", "all"], &[("MCP_TEXT_EDITOR_TOOLS", "claude-code")], &all);
}

#[test]
fn wrong_options_are_refused() {
    let here = tempfile::tempdir().unwrap();
    let check = |arguments: &[&str], said: &str| {
        let (code, out, error) = run_in(here.path(), arguments, &[]);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {error}");
        assert!(error.contains(said), "{arguments:?}: {error}");
    };
    check(&["--tools", "edt"], "there is no tool `edt`");
    check(&["--tools", ","], "it names no tool");
    check(&["--tools", "edit", "--nonsense"], "--nonsense");
    check(&["--mode", "claude-code", "--tools", "read-only"], "give one of them");
    check(&["--read-only", "--tools", "claude-code"], "leaves none");
    check(&["--output", "xml"], "xml");
    check(&["--max-response-bytes", "0"], "0");
    check(&["--protect", "a["], "--protect: `a[` is no pattern");
    check(&["--in-place", "a["], "--in-place: `a[` is no pattern");
    check(&["--unprotect", "a["], "--unprotect: `a[` is no pattern");
    check(&["--no-history-for", "a["], "--no-history-for: `a[` is no pattern");
    for option in ["--protect", "--unprotect", "--in-place", "--no-history-for"] {
        let variable =
            format!("MCP_TEXT_EDITOR_{}", option.trim_start_matches('-').replace('-', "_").to_uppercase());
        let long = format!("*.x;a[{}", "x".repeat(20_000));
        let (code, out, error) = run_in(here.path(), &[], &[(&variable, &long)]);
        assert_eq!((code, out.as_str()), (2, ""), "{variable}");
        assert!(error.starts_with(&format!("mcp-text-editor: {option}: ")) && error.len() < 5_000, "{error}");
    }
}

#[test]
fn call_goes_through_a_session() {
    let here = tempfile::tempdir().unwrap();
    let (code, out, error) = run_in(
        here.path(),
        &[
            "call",
            "get_text_file_contents",
            &format!("file_path={}", elsewhere("/5")),
            "line_start=3",
            "line_end=1",
        ],
        &[],
    );
    assert_eq!(code, 1, "{error}");
    assert!(out.starts_with("error: invalid_range: "), "{out}");
    let path = elsewhere("/a");
    let files = format!(r#"files=[{{"file_path":"{path}","ranges":[{{"start":3,"end":1}}]}}]"#);
    let json = ["call", "--output", "json", "--root", ".", "get_text_file_contents", &files];
    let (code, out, _) = run_in(here.path(), &json, &[]);
    let said: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &said["code"], &said["errors"][0]["file_path"]),
        (1, &"invalid_range".into(), &path.into())
    );
    let (code, out, error) = run_in(here.path(), &["call", "get_text_file"], &[]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(error, "mcp-text-editor: Unknown tool: get_text_file; did you mean get_text_file_contents?\n");
    let (code, out, _) = run_in(here.path(), &["call", "--tools", "read-only", "create_text_file"], &[]);
    assert!(code == 1 && out.starts_with("error: tool_disabled: "), "{out}");
    for wrong in [["call", "x", "nonsense"], ["call", "x", "--json=[]"]] {
        assert_eq!(run_in(here.path(), &wrong, &[]).0, 2);
    }
    // At a shell a path means what it means for other commands.
    for arguments in [
        ["create_text_file", r#"--json={"file_path": "a", "contents": "text\n"}"#],
        ["get_text_file_contents", "file_path=a"],
        ["get_text_file_contents", r#"--json={"files": [{"file_path": "./a"}]}"#],
        ["search_text_files", r#"--json={"pattern": "text", "paths": ["a"]}"#],
        ["list_text_files", "path=."],
    ] {
        let (code, out, _) = run_in(here.path(), &[&["call", "--root", "."], &arguments[..]].concat(), &[]);
        assert!(
            code == 0 && (out.contains("text\n") || out.contains("ok") || out.ends_with("a\t5\n")),
            "{arguments:?}: {out}"
        );
    }
}

#[test]
fn a_word_that_is_another_programs_command_is_answered_with_that_of_this_one() {
    let here = tempfile::tempdir().unwrap();
    let suggestions =
        [("help", "--help"), ("version", "--version"), ("status", "doctor"), ("list", "history")];
    for (word, instead) in
        suggestions.into_iter().chain([("log", "history"), ("show", "history show EDIT_ID")])
    {
        let said = format!(
            "mcp-text-editor: there is no command and no directory {word}; try mcp-text-editor {instead}\n"
        );
        assert_eq!(run_in(here.path(), &[word], &[]), (2, String::new(), said));
        std::fs::create_dir(here.path().join(word)).unwrap();
        assert_eq!(run_in(here.path(), &[word], &[]).0, 0, "it is a directory");
    }
}

#[test]
fn a_reader_that_wants_no_more_is_no_error() {
    let here = tempfile::tempdir().unwrap();
    for arguments in [["tools"].as_slice(), &["man"], &["call", "--root", ".", "list_text_files"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(BINARY);
        command.args(arguments).current_dir(here.path()).env(HOME, here.path().parent().unwrap());
        let output = command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
    }
}

#[test]
fn the_environment_protects_as_the_options_do() {
    let here = tempfile::tempdir().unwrap();
    let create = |name: &str, options: &[&str], environment: &[(&str, &str)]| {
        let path = format!("file_path={}", real(here.path()).join(name).display());
        let arguments = [&["call", "create_text_file", &path, "contents=x"], options].concat();
        run_in(here.path(), &arguments, environment).1
    };
    let set = [("MCP_TEXT_EDITOR_PROTECT", "*.pem;locked/")];
    for name in ["a.pem", "locked/a", "a.lock", ".git/x"] {
        let said = create(name, &["--protect", "*.lock", "--protect", "*.pem", "--protect", "locked"], &[]);
        assert!(said.starts_with("error: protected_path: "), "{name}: {said}");
        let said = create(name, &[], &set);
        assert_eq!(said.starts_with("error: protected_path: "), name != "a.lock", "{name}: {said}");
    }
}

/// Edits a file that another program has open, and takes the edit back as a person does. Returns what that
/// program sees each time.
#[cfg(unix)]
#[expect(
    clippy::disallowed_methods,
    reason = "the other program opens the file, and its content is looked at, without the server"
)]
fn seen_by_a_holder(options: &[&str], environment: &[(&str, &str)]) -> [String; 2] {
    use std::io::{Read as _, Seek as _};

    let here = tempfile::tempdir().unwrap();
    std::fs::create_dir(here.path().join("config")).unwrap();
    let file = real(here.path()).join("config/app.toml");
    std::fs::write(&file, "old\n").unwrap();
    let mut held = std::fs::File::open(&file).unwrap();
    let mut seen = || {
        let mut text = String::new();
        held.rewind().unwrap();
        held.read_to_string(&mut text).unwrap();
        text
    };
    let state = here.path().join("state");
    let environment = [environment, &[("MCP_TEXT_EDITOR_STATE_DIR", state.to_str().unwrap())]].concat();
    let patches =
        serde_json::json!([{"file_path": file, "patches": [{"old_string": "old", "new_string": "new"}]}]);
    let files = format!("files={patches}");
    let call = [&["call", "--root", ".", "patch_text_file_contents", &files], options].concat();
    let (code, out, error) = run_in(here.path(), &call, &environment);
    assert_eq!(code, 0, "{out}{error}");
    let said: serde_json::Value = serde_json::from_str(&out).unwrap();
    let after = seen();
    let is_told = out.contains("the file matches --in-place, so it was edited in place");
    assert_eq!(is_told, after == "new\n", "{out}");
    let undo = [&["undo", said["edit_id"].as_str().unwrap()], options].concat();
    let (code, out, error) = run_in(here.path(), &undo, &environment);
    assert_eq!(code, 0, "{out}{error}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old\n");
    [after, seen()]
}

#[cfg(unix)]
#[test]
fn who_holds_on_to_a_file_sees_its_edits_where_that_is_asked_for() {
    let asked = ["new\n", "old\n"];
    assert_eq!(seen_by_a_holder(&["--in-place", "x", "--in-place", "*.toml"], &[]), asked);
    assert_eq!(seen_by_a_holder(&["--in-place", "config/*.toml"], &[]), asked);
    assert_eq!(seen_by_a_holder(&[], &[("MCP_TEXT_EDITOR_IN_PLACE", "x;config/*")]), asked);
    assert_eq!(seen_by_a_holder(&["--in-place", "app"], &[]), ["old\n", "old\n"]);
}

#[test]
fn the_environment_takes_protection_away_as_the_options_do() {
    let here = tempfile::tempdir().unwrap();
    let create = |name: &str, options: &[&str], environment: &[(&str, &str)]| {
        let path = format!("file_path={}", real(here.path()).join(name).display());
        let arguments =
            [&["call", "create_text_file", &path, "contents=x", "dry_run=true"], options].concat();
        run_in(here.path(), &arguments, environment).1.starts_with("error: protected_path: ")
    };
    let options = ["--unprotect", ".mcp.json", "--unprotect", ".claude/skills"];
    let set = [("MCP_TEXT_EDITOR_UNPROTECT", ".mcp.json;.claude/skills/")];
    for (name, is_refused) in
        [(".mcp.json", false), (".claude/skills/a/SKILL.md", false), (".claude/settings.json", true)]
    {
        assert!(create(name, &[], &[]), "{name}");
        assert_eq!(create(name, &options, &[]), is_refused, "{name}");
        assert_eq!(create(name, &[], &set), is_refused, "{name}");
        assert!(create(name, &["--protect", "*"], &set), "{name}");
    }
}

#[test]
fn call_reads_json_from_standard_input() {
    let here = tempfile::tempdir().unwrap();
    let sent = format!(r#"{{"file_path": "{}", "contents": 5}}"#, elsewhere("/a"));
    let mut child = Command::new(BINARY)
        .args(["call", "create_text_file", "--json", "-"])
        .current_dir(here.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(sent.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("`contents` must be a string, not the number 5; nothing was written"), "{said}");
}

/// Runs the program with another answer of the kernel to its first question about Landlock. The error says
/// why that cannot be done here.
#[cfg(target_os = "linux")]
fn with_landlock(answer: &str, arguments: &[&str]) -> Result<(bool, String), String> {
    let here = tempfile::tempdir().unwrap();
    let inject = format!("inject=landlock_create_ruleset:{answer}:when=1");
    let output = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e", &inject, BINARY, "--log-level", "info", "."])
        .args(arguments)
        .env("MCP_TEXT_EDITOR_STATE_DIR", here.path().join("state"))
        .current_dir(here.path())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("there is no strace: {error}"))?;
    let error = String::from_utf8(output.stderr).unwrap();
    if error.contains("ptrace") {
        return Err(error);
    }
    Ok((output.status.success(), error))
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_kernel_enforces_is_said_and_can_be_required() {
    for (answer, said) in [
        ("error=ENOSYS", "the kernel has no Landlock, or a sandbox denies it"),
        ("error=EOPNOTSUPP", "the kernel was started without Landlock"),
        // If the kernel answers 2, nothing of later versions is asked for.
        ("retval=2", "truncation, TCP"),
    ] {
        if answer == "retval=2" && !crate::attacks::has_landlock() {
            return eprintln!("skipped: this kernel has no Landlock that could be asked for less");
        }
        let run = |options: &[&str]| with_landlock(answer, options);
        let (started, error) = match run(&[]) {
            Ok(ran) => ran,
            Err(why) => return eprintln!("skipped: {why}"),
        };
        assert!(started && error.contains(" INFO ") && error.contains(said), "{answer}: {error}");
        let (started, error) = run(&["--landlock", "require"]).unwrap();
        assert!(!started && error.contains("\nmcp-text-editor: --landlock require: "), "{answer}: {error}");
        let (started, error) = run(&["--landlock", "off"]).unwrap();
        assert!(started && error.contains("Landlock: off"), "{answer}: {error}");
    }
}
