//! A person at a shell, with a home directory, a project and clients.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the server"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::session::BINARY;

/// A person's home, a project, and the variables that the person has set.
pub(crate) struct Person {
    _directory: tempfile::TempDir,
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
    pub(crate) variables: Vec<(&'static str, String)>,
}

impl Person {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let (home, project) = (top.join("home"), top.join("project"));
        for made in [&home, &project] {
            std::fs::create_dir(made).unwrap();
        }
        Self { _directory: directory, home, project, variables: Vec::new() }
    }

    /// Runs the program in the project. Returns its exit code, and its output.
    pub(crate) fn run(&self, arguments: &[&str]) -> (i32, String) {
        self.run_as(Path::new(BINARY), arguments)
    }

    /// Runs a copy of the program as [`Person::run`] runs it.
    pub(crate) fn run_as(&self, program: &Path, arguments: &[&str]) -> (i32, String) {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(&self.project)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", "/usr/bin:/bin")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        (output.status.code().unwrap(), self.masked(&said))
    }

    pub(crate) fn succeed(&self, arguments: &[&str]) -> String {
        let (code, said) = self.run(arguments);
        assert_eq!(code, 0, "{arguments:?}: {said}");
        said
    }

    pub(crate) fn masked(&self, text: &str) -> String {
        let text = text.replace(BINARY, "$PROGRAM").replace(self.project.to_str().unwrap(), "$PROJECT");
        let text = text.replace(self.home.to_str().unwrap(), "$HOME");
        let mut masked = String::new();
        for line in text.lines() {
            match line.split_once("mcp-text-editor undo ") {
                Some((before, _)) => {
                    writeln!(masked, "{before}mcp-text-editor undo EDIT_ID takes it back").unwrap();
                }
                None => writeln!(masked, "{line}").unwrap(),
            }
        }
        masked
    }

    /// Returns every file but the server's own, with its text.
    pub(crate) fn files(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut left = vec![self.home.clone(), self.project.clone()];
        while let Some(directory) = left.pop() {
            for entry in directory.read_dir().unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.ends_with("mcp-text-editor") {
                    left.push(path);
                } else if path.is_file() {
                    found
                        .push((self.masked(path.to_str().unwrap()), std::fs::read_to_string(&path).unwrap()));
                }
            }
        }
        found.sort();
        found
    }

    pub(crate) fn shown(&self) -> String {
        let files = self.files().into_iter();
        files.fold(String::new(), |shown, (name, text)| {
            format!("{shown}== {}\n{}", name.trim_end(), self.masked(&text))
        })
    }
}

/// Writes a program that a shell runs, and the directories above it. Another process does: what another test
/// starts meanwhile would hold our file open for writing for a moment, and such a program cannot be run.
pub(crate) fn script(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#;
    assert!(Command::new("sh").args(["-c", write]).arg(path).arg(text).status().unwrap().success());
}
