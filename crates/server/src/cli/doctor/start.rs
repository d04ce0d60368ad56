//! Starts the command of an entry, if that is harmless, and judges the server's answers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::empty_directory::EmptyDirectory;
use super::entry::{Report, ServerEntry, Wrong};
use super::session::{ServerStart, SessionAnswers, ask};
use crate::cli::install::clients::{Client, Starts};
use crate::cli::install::entry::Words;
use crate::cli::install::machine::is_same_file;
use crate::cli::install::{expanded, harmless};
use crate::cli::resolve::served_unasked;
use crate::render::directories;
use crate::tool_id::ToolId;

/// Codes of errors which show that the file was reached.
const REACHED: &[&str] = &["no_match", "not_found", "binary_file", "decode_failed", "protected_path"];

/// Starts the server that an entry names, once for each directory that it serves. The error says why it is
/// not started. `again` is the advice that mends the entry.
pub(super) fn start(
    entry: &ServerEntry<'_>,
    there: &Value,
    own: &Words,
    variables: &BTreeMap<OsString, OsString>,
    again: &str,
) -> Result<Report, Wrong> {
    let ServerEntry { client, machine, .. } = *entry;
    let words = Client::words(there).unwrap_or_default();
    let mut program = program(entry, &words, variables.get(&OsString::from("PATH")), again)?;
    let expanded = expanded(client, &words, entry.project);
    let is_own = own.start.len() == 1 && is_same_file(&program, &machine.program);
    if is_own {
        // The file that was compared is started, even if the project's link leads elsewhere by then.
        program.clone_from(&machine.program);
    }
    unasked(entry, there, &expanded, is_own).map_err(|why| Wrong {
        what: format!(
            "it is the project's, and starts {}: that is not started unasked, since {why}",
            words.join(" ")
        ),
        mend: entry.trusting(),
    })?;
    let of_client =
        if client.starts == Starts::Anywhere { machine.home.clone() } else { entry.project.to_owned() };
    let named = Words::of(&expanded, machine).unwrap_or_default();
    let mut served: Vec<PathBuf> = named.directories.iter().map(|root| of_client.join(root)).collect();
    if served.is_empty() {
        served.push(served_unasked(of_client.clone()).map_err(|unserved| Wrong {
            what: directories::why(&unserved),
            mend: format!("{again} DIR, with the directories that it may read and edit"),
        })?);
    }
    let mut arguments = expanded.get(1..).unwrap_or_default().to_vec();
    let mut empty = None;
    if !is_own && !entry.is_trusted {
        empty = Some(EmptyDirectory::new().map_err(|error| Wrong {
            what: format!("there is no directory in which other programs could be started: {error}"),
            mend: format!("{again}, which names this program"),
        })?);
        // A relative directory would be another one there, so all are absolute.
        let directories = served.iter().map(|root| root.to_string_lossy().into_owned()).collect();
        arguments = Words { directories, ..named }.all().split_off(1);
    }
    let started = if empty.is_none() {
        format!("starts {} in {}", own.all().join(" "), of_client.display())
    } else {
        format!(
            "starts {} {} in an empty directory, not as {} does in {}: what is not this program may run what a project holds \
             (--trust-project starts it there)",
            program.display(),
            arguments.join(" "),
            client.program,
            of_client.display()
        )
    };
    let mut report = Report { done: vec![started], ..Report::default() };
    let directory = empty.as_ref().map_or(of_client.as_path(), EmptyDirectory::path);
    for root in &served {
        let start = ServerStart { program: &program, arguments: &arguments, variables, directory };
        match ask(&start, |tools| call(tools, root)) {
            Err(what) => {
                let mend =
                    format!("mend the command in the entry, or {again} --remove, then without --remove");
                report.wrong.push(Wrong { what, mend });
            }
            Ok(answers) => judge(&mut report, &answers, root, again),
        }
    }
    Ok(report)
}

/// Finds the program that a command starts.
fn program(
    entry: &ServerEntry<'_>,
    words: &[String],
    path: Option<&OsString>,
    again: &str,
) -> Result<PathBuf, Wrong> {
    let name = words.first().map(String::as_str).unwrap_or_default();
    let is_relative = Path::new(name).components().count() > 1 && Path::new(name).is_relative();
    if is_relative && !entry.is_project && !entry.is_trusted {
        return Err(Wrong {
            what: format!(
                "its command {name} is relative: in each project the one that this holds would be started"
            ),
            mend: format!("name the whole path; {again} names that of this program"),
        });
    }
    let found = if is_relative {
        entry.project.join(name).to_str().and_then(|name| entry.machine.find_program(name, None))
    } else {
        entry.machine.find_program(name, path)
    };
    found.ok_or_else(|| Wrong {
        what: format!(
            "the command {name} is not there, or not in the PATH that {} gives it: {}",
            entry.client.program,
            path.map(|path| path.to_string_lossy()).unwrap_or_default()
        ),
        mend: again.to_owned(),
    })
}

/// Checks that an entry may be started without `--trust-project`. A project can come from anybody, so its
/// entry must start this very program, directly, and with arguments that do no harm. The error says why it
/// may not.
fn unasked(entry: &ServerEntry<'_>, there: &Value, expanded: &[String], is_own: bool) -> Result<(), String> {
    if !entry.is_project || entry.is_trusted {
        return Ok(());
    }
    if !is_own {
        return Err("it is another program than this one".to_owned());
    }
    harmless::members(entry.client, there)?;
    harmless::arguments(entry.client, expanded.get(1..).unwrap_or_default(), entry.project)
}

/// Chooses a call that reads a file of a directory and changes nothing. If the directory has no file, it
/// names one that does not exist. `None` if no tool fits.
fn call(tools: &[String], root: &Path) -> Option<(String, Value)> {
    let entries = root.read_dir().ok().into_iter().flatten().filter_map(Result::ok);
    let files =
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).map(|entry| entry.path());
    let file = files.min().unwrap_or_else(|| root.join("no-such-file"));
    let offers = |tool: ToolId| tools.iter().any(|name| name == tool.name());
    if offers(ToolId::Get) {
        let arguments = json!({"files": [{"file_path": file, "ranges": []}]});
        Some((ToolId::Get.name().to_owned(), arguments))
    } else if offers(ToolId::Patch) {
        let patch = json!({"old_string": "mcp-text-editor doctor looks for this", "new_string": ""});
        let arguments = json!({"files": [{"file_path": file, "patches": [patch]}], "dry_run": true});
        Some((ToolId::Patch.name().to_owned(), arguments))
    } else {
        None
    }
}

/// Adds the findings about a server's answers to the report.
fn judge(report: &mut Report, answers: &SessionAnswers, root: &Path, again: &str) {
    let SessionAnswers { version, tools, result, said } = answers;
    report.done.push(format!("answers as version {version}, with {}", tools.join(", ")));
    let own = env!("CARGO_PKG_VERSION");
    if version != own {
        let what = format!("the entry starts version {version}, and this is {own}");
        report.wrong.push(Wrong { what, mend: again.to_owned() });
    }
    let code = result.strip_prefix("error: ").and_then(|rest| rest.split(':').next());
    if code.is_some_and(|code| !REACHED.contains(&code)) {
        let why = result.lines().next().unwrap_or_default();
        let what = format!("no file in {} can be read: {why}", root.display());
        report.wrong.push(Wrong { what, mend: format!("{again} DIR, with directories that are there") });
        return;
    }
    report.done.push(format!("reads files in {}", root.display()));
    for line in said {
        let Some((_, words)) = line.split_once(" WARN ").or_else(|| line.split_once(" ERROR ")) else {
            continue;
        };
        // The words after the name of the module.
        let words = words.split_once(": ").map_or(words, |(_, words)| words).trim();
        let mend = "mend what it tells; docs/install.md has the options that the entry can name";
        report.wrong.push(Wrong { what: format!("it warns: {words}"), mend: mend.to_owned() });
    }
}
