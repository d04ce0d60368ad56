//! Starts the command of an entry, if that is safe, and judges the server's answers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use etcetera::base_strategy::{BaseStrategy as _, choose_native_strategy};
use serde_json::{Value, json};

use super::report::{Fault, Report, ServerEntry, fault};
use super::session::{ServerStart, SessionAnswers, ask};
use crate::cli::install::clients::{Client, WorkingDirectory};
use crate::cli::install::entry::Words;
use crate::cli::install::environment::is_same_file;
use crate::cli::install::{expanded, project_allowlist};
use crate::cli::resolve::served_unasked;
use crate::render::directories;
use crate::tool_id::ToolId;

/// The codes of errors that show that the server reached the file.
const REACHED: &[&str] = &["no_match", "not_found", "binary_file", "decode_failed", "protected_path"];

/// Starts the server that an entry names, once for each directory that it serves. The error says why it is
/// not started.
pub(super) fn start(
    entry: &ServerEntry<'_>,
    there: &Value,
    own: &Words,
    variables: &BTreeMap<OsString, OsString>,
) -> Result<Report, Fault> {
    let ServerEntry { client, env, .. } = *entry;
    let again = &entry.again();
    let words = Client::words(there).unwrap_or_default();
    let mut program = program(entry, &words, variables.get(&OsString::from("PATH")))?;
    let expanded = expanded(client, &words, entry.project);
    let is_own = own.start.len() == 1 && is_same_file(&program, &env.program);
    if is_own {
        // This program's own file, with which the entry's program was compared, is started, even if the
        // project's link now leads elsewhere.
        program.clone_from(&env.program);
    }
    unasked(entry, there, &expanded, is_own).map_err(|why| {
        let starts = words.join(" ");
        let problem =
            format!("it is the project's, and starts {starts}: that is not started unasked, since {why}");
        fault(problem, entry.trusting())
    })?;
    let of_client =
        if client.starts == WorkingDirectory::Anywhere { env.home.clone() } else { entry.project.to_owned() };
    let named = Words::of(&expanded, env).unwrap_or_default();
    let mut served: Vec<PathBuf> = named.directories.iter().map(|root| of_client.join(root)).collect();
    if served.is_empty() {
        let fix = format!("{again} DIR, with the directories that it may read and edit");
        let root = served_unasked(of_client.clone());
        served.push(root.map_err(|unserved| fault(directories::why(&unserved), fix))?);
    }
    let mut arguments = expanded.get(1..).unwrap_or_default().to_vec();
    let mut empty = None;
    if !is_own && !entry.is_trusted {
        empty = Some(EmptyDirectory::new().map_err(|error| {
            let problem = format!("there is no directory in which other programs could be started: {error}");
            fault(problem, format!("{again}, which names this program"))
        })?);
        // The server is started in another directory, so all paths are made absolute.
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
    let mut report = Report { notes: vec![started], ..Report::default() };
    let directory = empty.as_ref().map_or(of_client.as_path(), EmptyDirectory::path);
    for root in &served {
        let start = ServerStart { program: &program, arguments: &arguments, variables, directory };
        match ask(&start, |tools| call(tools, root)) {
            Err(why) => report.wrong(
                why,
                format!("mend the command in the entry, or {again} --remove, then without --remove"),
            ),
            Ok(answers) => judge(&mut report, &answers, root, again),
        }
    }
    Ok(report)
}

/// Finds the program that a command starts.
fn program(entry: &ServerEntry<'_>, words: &[String], path: Option<&OsString>) -> Result<PathBuf, Fault> {
    let again = entry.again();
    let name = words.first().map(String::as_str).unwrap_or_default();
    let is_relative = Path::new(name).components().count() > 1 && Path::new(name).is_relative();
    if is_relative && !entry.is_project() && !entry.is_trusted {
        return Err(fault(
            format!(
                "its command {name} is relative: in each project the one that this holds would be started"
            ),
            format!("name the whole path; {again} names that of this program"),
        ));
    }
    let found = if is_relative {
        entry.project.join(name).to_str().and_then(|name| entry.env.find_program(name, None))
    } else {
        entry.env.find_program(name, path)
    };
    found.ok_or_else(|| {
        let (client, path) =
            (entry.client.program, path.map(|path| path.to_string_lossy()).unwrap_or_default());
        let problem =
            format!("the command {name} is not there, or not in the PATH that {client} gives it: {path}");
        fault(problem, again)
    })
}

/// Checks that an entry may be started without `--trust-project`. A project can come from anybody, so its
/// entry must start this very program, directly, with harmless arguments. The error says why the entry may
/// not be started.
fn unasked(entry: &ServerEntry<'_>, there: &Value, expanded: &[String], is_own: bool) -> Result<(), String> {
    if !entry.is_project() || entry.is_trusted {
        return Ok(());
    }
    if !is_own {
        return Err("it is another program than this one".to_owned());
    }
    project_allowlist::members(entry.client, there)?;
    project_allowlist::arguments(entry.client, expanded.get(1..).unwrap_or_default(), entry.project)
}

/// Chooses a call that reads a file of a directory, and changes nothing. If the directory has no file, the
/// call names one that does not exist. `None` if no tool fits.
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
    let SessionAnswers { version, tools, result, said, .. } = answers;
    report.notes.push(format!("answers as version {version}, with {}", tools.join(", ")));
    let own = env!("CARGO_PKG_VERSION");
    if version != own {
        report.wrong(format!("the entry starts version {version}, and this is {own}"), again);
    }
    let code = result.strip_prefix("error: ").and_then(|rest| rest.split(':').next());
    if code.is_some_and(|code| !REACHED.contains(&code)) {
        let why = result.lines().next().unwrap_or_default();
        let problem = format!("no file in {} can be read: {why}", root.display());
        report.wrong(problem, format!("{again} DIR, with directories that are there"));
        return;
    }
    report.notes.push(format!("reads files in {}", root.display()));
    for line in said {
        let Some((_, words)) = line.split_once(" WARN ").or_else(|| line.split_once(" ERROR ")) else {
            continue;
        };
        // The text after the name of the module.
        let words = words.split_once(": ").map_or(words, |(_, words)| words).trim();
        let fix = "mend what it tells; docs/install.md has the options that the entry can name";
        report.wrong(format!("it warns: {words}"), fix);
    }
}

/// The maximum number of names that are tried for an [`EmptyDirectory`]: killed processes may have left their
/// directories.
const TRIES: u32 = 64;

/// An empty directory in which this process can start other programs. The directories above it do not belong
/// to a project. On drop, the directory is removed, with everything in it.
///
/// It is needed because package runners obey, and run, files in their working directory and above it: npx
/// obeys `node_modules/.bin`, `package.json` and `.npmrc`, uvx obeys `uv.toml` and `.python-version`.
/// Wrappers that choose a version of Node or Python do the same.
#[derive(Debug)]
pub(super) struct EmptyDirectory(PathBuf);

impl EmptyDirectory {
    /// Makes an empty directory in the person's cache directory. It is not made in the common directory for
    /// temporary files, where other users could put a `node_modules`.
    pub(super) fn new() -> io::Result<Self> {
        let places = choose_native_strategy().map_err(|_| ErrorKind::NotFound)?;
        let cache = places.cache_dir().join("mcp-text-editor");
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(&cache)?;
        builder.recursive(false);
        for number in 0..TRIES {
            let path = cache.join(format!("doctor-{}-{number}", std::process::id()));
            match builder.create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                done => return done.map(|()| Self(path)),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for EmptyDirectory {
    fn drop(&mut self) {
        // A directory that is left behind does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
