//! All that can be wrong with an entry, found by reading it and by starting what it says.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::neutral::Neutral;
use super::session::{Answers, Start, ask};
use super::trust;
use crate::cli::install::clients::{Client, STATE_VARIABLES, Starts};
use crate::cli::install::entry::Words;
use crate::cli::install::machine::Machine;
use crate::cli::install::{Syntax, at, expanded, harmless};
use crate::cli::resolve::served_unasked;
use crate::render::directories;
use crate::tool_id::ToolId;

/// What is wrong, and what mends it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wrong {
    pub(super) what: String,
    pub(super) mend: String,
}

/// An entry in the configuration of a client, and where it is used.
pub(super) struct Entry<'a> {
    pub(super) client: &'static Client,
    pub(super) machine: &'a Machine,
    /// What the whole file says.
    pub(super) said: &'a Value,
    /// The project in which the client is used.
    pub(super) project: &'a Path,
    /// Whether the file is the project's.
    pub(super) is_project: bool,
    /// Whether the person has said that they trust the project: then all is started in it that the entry names. Else nothing that a project
    /// holds is run.
    pub(super) is_trusted: bool,
    /// Reads another configuration.
    pub(super) read: &'a dyn Fn(&Path, Syntax) -> Option<Value>,
}

/// What was found of an entry.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// What was done, for people.
    pub(super) done: Vec<String>,
    pub(super) wrong: Vec<Wrong>,
}

/// Codes of errors that tell of a file that was reached.
const REACHED: &[&str] = &["no_match", "not_found", "binary_file", "decode_failed", "protected_path"];

/// Checks an entry; `None` if there is none.
pub(super) fn check(entry: &Entry<'_>) -> Option<Report> {
    let Entry { client, machine, .. } = *entry;
    let there = at(entry.said, &client.entry())?;
    let mut report = Report::default();
    let mut wrong = |what: String, mend: String| report.wrong.push(Wrong { what, mend });
    let again = format!(
        "mcp-text-editor install {}{}",
        client.name,
        if entry.is_project { " --project DIR" } else { "" }
    );
    let words = Client::words(there).unwrap_or_default();
    let Some(own) = Words::of(&words) else {
        wrong(format!("it starts something else: {}", words.join(" ")), format!("{again} --force"));
        return Some(report);
    };
    if there.get("disabled") == Some(&Value::Bool(true)) || there.get("enabled") == Some(&Value::Bool(false))
    {
        wrong(
            "the entry is switched off".to_owned(),
            "take `disabled` or `enabled` out of it, or switch it on in the client".to_owned(),
        );
    }
    for (what, mend) in unapproved(entry, there, &own) {
        wrong(what, mend.unwrap_or_else(|| again.clone()));
    }
    if let Some(missing) = trust::missing(client, machine, entry.project, entry.is_project, entry.read) {
        let step = if entry.is_project { client.project_step } else { client.user_step };
        wrong(missing, step.unwrap_or("say so in the client").to_owned());
    }
    let variables = variables(entry, there);
    for name in STATE_VARIABLES {
        let (own, of_server) = (machine.variable(name), variables.get(&OsString::from(name)));
        if own.is_some() && own != of_server {
            wrong(
                format!(
                    "the server keeps its history elsewhere than your `mcp-text-editor history` looks: it does not get {name}"
                ),
                format!("give it {name} in the entry: in `env`, or for Codex by its name in `env_vars`"),
            );
        }
    }
    let path = variables.get(&OsString::from("PATH"));
    let name = words.first().map(String::as_str).unwrap_or_default();
    let is_relative = Path::new(name).components().count() > 1 && Path::new(name).is_relative();
    if is_relative && !entry.is_project && !entry.is_trusted {
        wrong(
            format!(
                "its command {name} is relative: in each project the one that this holds would be started"
            ),
            format!("name the whole path; {again} names that of this program"),
        );
        return Some(report);
    }
    let found = if is_relative {
        entry.project.join(name).to_str().and_then(|name| machine.find_program(name, None))
    } else {
        machine.find_program(name, path)
    };
    let Some(mut program) = found else {
        let path = path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        wrong(
            format!(
                "the command {name} is not there, or not in the PATH that {} gives it: {path}",
                client.program
            ),
            again,
        );
        return Some(report);
    };
    let expanded = expanded(client, &words, entry.project);
    let is_own = own.start.len() == 1 && is_same(&program, &machine.program);
    if is_own {
        // What was looked at, and not what a link of the project leads to by then.
        program.clone_from(&machine.program);
    }
    if let Err(why) = unasked(entry, there, &expanded, is_own) {
        wrong(
            format!(
                "it is the project's, and starts {}: that is not started unasked, since {why}",
                words.join(" ")
            ),
            format!(
                "look at it; then mcp-text-editor doctor {} --project {} --trust-project",
                client.name,
                entry.project.display()
            ),
        );
        return Some(report);
    }
    let of_client =
        if client.starts == Starts::Anywhere { machine.home.clone() } else { entry.project.to_owned() };
    let named = Words::of(&expanded).unwrap_or_default();
    let mut served: Vec<PathBuf> = named.directories.iter().map(|root| of_client.join(root)).collect();
    if served.is_empty() {
        match served_unasked(of_client.clone()) {
            Ok(root) => served.push(root),
            Err(unserved) => {
                let mend = format!("{again} DIR, with the directories that it may read and edit");
                wrong(directories::why(&unserved), mend);
                return Some(report);
            }
        }
    }
    let place = if is_own || entry.is_trusted { Ok(None) } else { Neutral::new().map(Some) };
    let neutral = match place {
        Ok(neutral) => neutral,
        Err(error) => {
            let mend = format!("{again}, which names this program");
            wrong(format!("there is no directory in which other programs could be started: {error}"), mend);
            return Some(report);
        }
    };
    let arguments = match &neutral {
        None => expanded.get(1..).unwrap_or_default().to_vec(),
        // What was relative to the client's directory would be another one here.
        Some(_) => {
            let directories = served.iter().map(|root| root.to_string_lossy().into_owned()).collect();
            Words { directories, ..named }.all().split_off(1)
        }
    };
    let directory = neutral.as_ref().map_or(of_client.as_path(), Neutral::path);
    for root in &served {
        let start = Start { program: &program, arguments: &arguments, variables: &variables, directory };
        match ask(&start, |tools| call(tools, root)) {
            Err(why) => {
                let mend =
                    format!("mend the command in the entry, or {again} --remove, then without --remove");
                report.wrong.push(Wrong { what: why, mend });
            }
            Ok(answers) => judge(&mut report, &answers, root, &again),
        }
    }
    let started = match neutral {
        None => format!("starts {} in {}", own.all().join(" "), of_client.display()),
        Some(_) => format!(
            "starts {} {} in an empty directory, not as {} does in {}: what is not this program may run what a project holds \
             (--trust-project starts it there)",
            program.display(),
            arguments.join(" "),
            client.program,
            of_client.display()
        ),
    };
    report.done.insert(0, started);
    report.wrong.dedup();
    Some(report)
}

/// Says why an entry is not started without being asked for: a project can come from anybody, so what it starts has to be this very program,
/// by itself, which serves and does no harm.
fn unasked(entry: &Entry<'_>, there: &Value, expanded: &[String], is_own: bool) -> Result<(), String> {
    if !entry.is_project || entry.is_trusted {
        return Ok(());
    }
    if !is_own {
        return Err("it is another program than this one".to_owned());
    }
    harmless::members(entry.client, there)?;
    harmless::arguments(entry.client, expanded.get(1..).unwrap_or_default(), entry.project)
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Returns what the client would ask a person for, with what mends it where `install` does not.
fn unapproved(entry: &Entry<'_>, there: &Value, own: &Words) -> Vec<(String, Option<String>)> {
    let Entry { client, machine, .. } = *entry;
    let asks = format!(
        "{} asks before it calls the tools, and cannot where nobody is there to be asked",
        client.program
    );
    let mut found = Vec::new();
    for name in ["trust", "default_tools_approval_mode", "autoApprove"] {
        let due = client.members(own).into_iter().find(|(member, _)| member == name).map(|(_, value)| value);
        if due.as_ref().is_some_and(|due| there.get(name) != Some(due)) {
            let due = due.unwrap_or_default();
            found.push((asks.clone(), Some(format!("set `{name}` to {due} in the entry"))));
        }
    }
    for item in (client.approval)(machine, entry.is_project.then_some(entry.project)) {
        let said = (entry.read)(&item.file, Syntax::Json);
        let list = said.as_ref().and_then(|said| at(said, item.path)).and_then(Value::as_array);
        if !list.is_some_and(|list| list.contains(&item.item)) {
            let (item, list, file) = (&item.item, item.path.join("."), item.file.display());
            found.push((format!("{item} is not in {list} of {file}: {asks}"), None));
        }
    }
    found
}

/// The environment that the client gives the server.
fn variables(entry: &Entry<'_>, there: &Value) -> BTreeMap<OsString, OsString> {
    let Entry { client, machine, .. } = *entry;
    let by_name: Vec<&str> = there
        .get("env_vars")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let passes = |name: &OsString| {
        let name = name.to_string_lossy().to_uppercase();
        by_name.contains(&name.as_str()) || client.passes.gives(&name)
    };
    let own = machine
        .variables
        .iter()
        .filter(|(name, _)| passes(name))
        .map(|(name, value)| (name.clone(), value.clone()));
    let added = ["env", "environment"].into_iter().filter_map(|name| there.get(name)?.as_object()).flatten();
    let added = added.filter_map(|(name, value)| {
        Some((machine.system.variable_name(name), OsString::from(value.as_str()?)))
    });
    own.chain(added).collect()
}

/// Chooses a call that reads a file of a directory and changes nothing: a file that is there, or one that is not.
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

/// Notes what answers mean.
fn judge(report: &mut Report, answers: &Answers, root: &Path, again: &str) {
    let Answers { version, tools, result, said } = answers;
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
        // What follows the name of the module.
        let words = words.split_once(": ").map_or(words, |(_, words)| words).trim();
        let mend = "mend what it tells; README.md has the options that the entry can name";
        report.wrong.push(Wrong { what: format!("it warns: {words}"), mend: mend.to_owned() });
    }
}
