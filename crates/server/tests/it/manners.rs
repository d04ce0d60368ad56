//! Tests of the program's messages to a person at a terminal.

use std::process::{Command, Stdio};

const BINARY: &str = env!("CARGO_BIN_EXE_mcp-text-editor");

/// The lines of two screens.
const TWO_SCREENS: usize = 48;

/// Returns what the program prints at a width of 80 columns.
fn help(arguments: &[&str]) -> String {
    let mut command = Command::new(BINARY);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MCP_TEXT_EDITOR_") {
            command.env_remove(name);
        }
    }
    let output = command
        .args(arguments)
        .env("COLUMNS", "80")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap().replace(".exe", "")
}

#[test]
fn help_is_grouped_and_fits_two_screens() {
    let said = help(&["--help"]);
    assert_eq!(said, help(&["-h"]));
    for text in [&said, &help(&["call", "-h"]), &help(&["history", "--help"])] {
        assert!(text.lines().count() <= TWO_SCREENS, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
    insta::assert_snapshot!(said);
}

#[test]
fn all_of_the_help_has_every_option_and_the_limits() {
    let all = help(&["--help-all"]);
    for option in help(&["--help"]).split_whitespace().filter(|word| word.starts_with("--")) {
        let option = option.trim_end_matches([',', ';']);
        assert!(all.contains(option), "{option} is not in {all}");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn exit_codes_tell_what_failed() {
    let here = tempfile::tempdir().unwrap();
    let code = |arguments: &[&str]| {
        let output = Command::new(BINARY)
            .args(arguments)
            .current_dir(here.path())
            .env("MCP_TEXT_EDITOR_STATE_DIR", here.path().join("state"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        output.status.code()
    };
    for done in [&["."][..], &["tools"], &["history"], &["--help-all"], &["--version"]] {
        assert_eq!(code(done), Some(0), "{done:?}");
    }
    for failed in [
        &["undo", "e-none"][..],
        &["undo"],
        &["call", "no_tool"],
        &["call", "get_text_file_contents", "file_path=x"],
    ] {
        assert_eq!(code(failed), Some(1), "{failed:?}");
    }
    for wrong in [
        &["--no-option"][..],
        &["--limit", "files=none"],
        &["call", "--root", "missing", "get_text_file_contents"],
        &["call", "get_text_file_contents", "nonsense"],
        &["call", "get_text_file_contents", "--json=[]"],
    ] {
        assert_eq!(code(wrong), Some(2), "{wrong:?}");
    }
}

/// Returns a terminal: the person's end, and a function that returns ends for programs.
#[cfg(unix)]
pub(crate) fn terminal() -> (std::fs::File, impl Fn() -> std::os::fd::OwnedFd) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&near).unwrap();
    unlockpt(&near).unwrap();
    let name = ptsname(&near, Vec::new()).unwrap().into_string().unwrap();
    let far = move || std::fs::OpenOptions::new().read(true).write(true).open(&name).unwrap().into();
    (near.into(), far)
}

/// Starts the program at a terminal of its own, and ends its input. Returns its output on the terminal and on
/// standard output.
#[cfg(unix)]
fn by_hand(arguments: &[&str]) -> (String, String) {
    use std::io::{Read as _, Write as _};

    let (mut near, far) = terminal();
    let mut child = Command::new(BINARY)
        .args(arguments)
        .stdin(far())
        .stdout(Stdio::piped())
        .stderr(far())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    let mut block = [0; 1024];
    // The entry comes last. The input is ended only after it.
    while !String::from_utf8_lossy(&said).contains("}}}") {
        let count = near.read(&mut block).unwrap();
        said.extend(&block[..count]);
    }
    near.write_all(b"\x04").unwrap();
    let output = child.stdout.take().map(std::io::read_to_string).unwrap().unwrap();
    assert!(child.wait().unwrap().success());
    (String::from_utf8(said).unwrap(), output)
}

#[cfg(unix)]
#[test]
fn started_by_hand_it_says_what_it_is_and_waits_for_the_end_of_input() {
    let here = tempfile::tempdir().unwrap();
    let root = here.path().canonicalize().unwrap();
    let state = here.path().join("state");
    let (said, output) = by_hand(&["--state-dir", state.to_str().unwrap(), root.to_str().unwrap()]);
    assert_eq!(output, "");
    let lines: Vec<&str> = said.lines().collect();
    let [what, which, how] = lines[..] else { panic!("{said}") };
    assert!(what.contains("is an MCP server") && what.contains("Ctrl-D ends it"), "{said}");
    assert_eq!(which, format!("It reads and edits the files in {}.", root.display()));
    let (_, entry) = how.split_once(": ").unwrap();
    let entry: serde_json::Value = serde_json::from_str(entry).unwrap();
    let server = &entry["mcpServers"]["text-editor"];
    assert_eq!(server["args"], serde_json::json!([root]));
    assert_eq!(
        server["command"].as_str().map(std::path::PathBuf::from).unwrap().canonicalize().unwrap(),
        std::path::Path::new(BINARY).canonicalize().unwrap()
    );
}
