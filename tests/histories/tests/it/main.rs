//! The program as the recorder runs it.
#![expect(clippy::unwrap_used, reason = "a test says by panicking that something is not as it should be")]

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

const GOOD: &str = concat!(
    r#"{"name": "good", "paths": ["a"], "operations": ["#,
    r#"{"kind": "begin", "called": 0, "answered": 0, "files": {"a": [1]}}, "#,
    r#"{"kind": "read", "called": 1, "answered": 2, "path": "a", "found": [1]}, "#,
    r#"{"kind": "end", "called": 3, "answered": 3, "files": {"a": [1]}}]}"#
);

fn judged(input: &str, arguments: &[&str]) -> Output {
    let mut judge = Command::new(env!("CARGO_BIN_EXE_histories"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    judge.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    judge.wait_with_output().unwrap()
}

#[test]
fn each_history_gets_a_line() {
    let bad = GOOD.replace("good", "bad").replace(r#""found": [1]"#, r#""found": [2]"#);
    let out = judged(&format!("{GOOD}\n{bad}\n"), &[]);
    let said = String::from_utf8(out.stdout).unwrap();
    let verdicts = said.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        (line["verdict"].clone(), line["told"] == "")
    });
    assert!(out.status.success());
    assert!(verdicts.eq([("linearizable".into(), true), ("not linearizable".into(), false)]), "{said}");
    let undecided = judged(&format!("{GOOD}\n"), &["--steps", "2"]);
    assert!(String::from_utf8(undecided.stdout).unwrap().contains(r#""verdict":"undecided""#));
}

#[test]
fn what_is_no_history_is_an_error() {
    for input in ["{}\n", "no JSON\n", &format!("{}\n", GOOD.replace("begin", "began"))] {
        assert!(!judged(input, &[]).status.success(), "{input}");
    }
    assert!(!judged("", &["--stepz", "2"]).status.success());
}
