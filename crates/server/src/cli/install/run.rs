//! The subcommand itself. It plans the changes of all files before it writes the first, writes them, and
//! reports.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::apply::{self, Configuration};
use super::clients::{Client, Instead, Item, STATE_VARIABLES};
use super::entry::{Words, start_of};
use super::http;
use super::machine::Machine;
use super::merge::{self, DesiredEntry, MergeRefused};
use super::request::{InstallError, InstallRequest};
use super::scopes;
use super::syntax::Syntax;
use super::{harmless, report};
use crate::cli::terminal::clipped;
use crate::config::{StateOptions, ToolSet};
use crate::render::escape::{on_lines, on_one_line};

/// The longest line that is shown about an entry under another name, in characters.
const LONGEST: usize = 2_000;

/// The most times that a change is planned anew. Each time another program has written, so each of many
/// `install` at once comes to its end.
const ROUNDS: usize = 256;

/// A file that is to be changed.
struct Planned {
    file: PathBuf,
    found: Option<Configuration>,
    text: String,
    /// The changes, for people.
    what: Vec<String>,
}

impl Planned {
    fn new(file: &Path, found: Option<Configuration>) -> Self {
        let text = found.as_ref().map_or_else(String::new, |found| found.text.clone());
        Self { file: file.to_owned(), found, text, what: Vec::new() }
    }

    /// Changes the text, and says so if it is another then.
    fn change(&mut self, text: String, what: String) {
        if text != self.text {
            self.text = text;
            self.what.push(what);
        }
    }

    fn changes(&self) -> bool {
        !self.what.is_empty()
    }
}

/// Carries out a person's request. Begins again where another program, such as another `install`, has changed
/// a configuration since it was read.
pub fn install(
    request: &InstallRequest,
    machine: &Machine,
    state: &StateOptions,
    out: &mut impl Write,
) -> Result<(), InstallError> {
    let Some(client) = request.client else { return report::list(machine, state, out) };
    for _ in 1..ROUNDS {
        match attempt(request, client, machine, state, out) {
            Err(InstallError::Changed(_)) => {}
            done => return done,
        }
    }
    attempt(request, client, machine, state, out)
}

/// Makes one attempt to change the configurations as they are now.
fn attempt(
    request: &InstallRequest,
    client: &'static Client,
    machine: &Machine,
    state: &StateOptions,
    out: &mut impl Write,
) -> Result<(), InstallError> {
    let project = request.project.as_deref();
    let files = client.files(machine, project).map_err(InstallError::Failed)?;
    if let Some(refused) = request.target.as_ref().and_then(|target| http::refused(client, &files, target)) {
        return Err(refused);
    }
    if let (Instead::ByHand(step), true, false) = (&client.instead, request.is_instead, request.is_removal) {
        let program = client.program;
        let why = format!(
            "nothing is written: {program}'s own editing tools cannot be switched off by install; {step}"
        );
        return Err(InstallError::Failed(why));
    }
    let mut items = client.approval(machine, project);
    if project.is_none() {
        let off = client.switched_off(machine, &files);
        let is_set = |item: &Item| {
            let parsed = apply::parsed(&item.file, Syntax::Json, state).ok().flatten();
            parsed.is_some_and(|parsed| merge::is_there(&parsed, item))
        };
        // A person may have switched some of them off: `install` does it with all.
        if request.is_instead || request.is_removal && off.iter().all(is_set) {
            items.extend(off);
        }
    }
    if request.is_removal || request.target.as_ref().is_some_and(|target| target.token_env.is_some()) {
        items.extend(client.token_inputs(&files));
    }
    if let Some(project) = project {
        for file in files.iter().chain(items.iter().map(|item| &item.file)) {
            harmless::inside(project, file).map_err(InstallError::Failed)?;
        }
    }
    let mut besides = Vec::new();
    if request.is_removal {
        remove(request, client, machine, &files, &items, state, out)?;
    } else {
        besides = write(request, client, machine, &files, &items, state, out)?;
    }
    let read = |file: &Path, syntax| apply::parsed(file, syntax, state).ok().flatten();
    for scope in scopes::outranking(client, machine, project, &read) {
        let line = if request.is_removal {
            scopes::still_there(client, &scope)
        } else {
            scopes::said_of(client, &scope, project.unwrap_or(&machine.here))
        };
        besides.push(format!("besides: {line}"));
    }
    for line in besides {
        writeln!(out, "  {}", on_one_line(&line))?;
    }
    Ok(())
}

/// Writes the entry and the items. Returns what else a person has to know.
fn write(
    request: &InstallRequest,
    client: &'static Client,
    machine: &Machine,
    files: &[PathBuf],
    items: &[Item],
    state: &StateOptions,
    out: &mut impl Write,
) -> Result<Vec<String>, InstallError> {
    let is_project = request.project.is_some();
    let tools = request.tools.as_ref().map(short_name).or(request.is_instead.then(|| "all".to_owned()));
    let in_words = |path: &PathBuf| match path.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(format!("{} is not Unicode, as a configuration is", path.display())),
    };
    let directories = request.directories.iter().map(in_words).collect::<Result<_, _>>();
    let wanted = DesiredEntry {
        client,
        machine,
        target: request.target.as_ref(),
        start: request.command.clone().unwrap_or_else(|| start(machine, is_project)),
        tools: tools.as_deref(),
        options: &request.options,
        directories: directories.map_err(InstallError::Failed)?,
        variables: if is_project { Vec::new() } else { variables(client, machine) },
        project: request.project.as_deref(),
        is_forced: request.is_forced,
    };
    let (mut words, mut planned, mut others) = (Words::default(), Vec::new(), Vec::new());
    for file in files {
        let found = apply::read(file, state).map_err(|why| by_hand(why, Some(wanted.by_hand())))?;
        let merged = merge::merge(found.as_ref().map_or("", |found| &found.text), &wanted);
        let (text, now) = merged.map_err(|refused| refusal(file, &refused, Some(wanted.by_hand())))?;
        words = now;
        let parsed = client.syntax.read(&text).unwrap_or_default();
        for other in merge::other_entries(&parsed, &client.servers, machine) {
            let line = format!("besides: {}; {}", other.what(true), other.mend(file));
            others.push(clipped(&line, LONGEST).into_owned());
        }
        let leads_to = request.target.as_ref().map_or_else(|| words.all().join(" "), |to| to.url.clone());
        let mut plan = Planned::new(file, found);
        plan.change(text, format!("{}: {}", client.place(), on_one_line(&leads_to)));
        planned.push(plan);
    }
    for item in items {
        plan_item(&mut planned, item, state, false)?;
    }
    // The trace is looked for before anything is written: a written file is a trace.
    let trace = client.trace(machine, files);
    if !carry_out(request, client, &planned, state, out)? {
        writeln!(out, "{}: nothing to change", client.program)?;
    }
    let mut lines = Vec::new();
    if trace.is_none() && !is_project {
        let program = client.program;
        lines.push(format!("not found on this machine: neither {program} nor a configuration of it"));
    }
    lines.extend(others);
    lines.extend(report::explain(request, client, &words));
    lines.extend(report::of_desktop(request, client, machine, files));
    Ok(lines)
}

/// Returns the variables that say where the person keeps the history, and that the client does not pass to
/// servers.
fn variables(client: &Client, machine: &Machine) -> Vec<(String, String)> {
    let lacks = |name: &&&str| !client.stdio.contains_key("env_vars") && !client.passes.gives(name);
    let value = |name: &&str| Some(((*name).to_owned(), machine.variable(name)?.to_str()?.to_owned()));
    STATE_VARIABLES.iter().filter(lacks).filter_map(value).collect()
}

/// Returns the words that start this program. In a project, whose entry other people use, too, this is the
/// bare name if `PATH` leads to the program by it.
fn start(machine: &Machine, is_project: bool) -> Vec<String> {
    let path = machine.variable("PATH");
    match machine.program.file_name().and_then(|name| name.to_str()) {
        Some(name) if is_project && machine.find_program(name, path).as_ref() == Some(&machine.program) => {
            vec![name.strip_suffix(".exe").unwrap_or(name).to_owned()]
        }
        _ => start_of(&machine.program),
    }
}

/// Adds the change of an item to the plan for its file: it is added or removed.
fn plan_item(
    planned: &mut Vec<Planned>,
    item: &Item,
    state: &StateOptions,
    is_removal: bool,
) -> Result<(), InstallError> {
    let change = if is_removal { merge::without } else { merge::with };
    let added = || merge::with("", item).ok().filter(|_| !is_removal);
    let refused = |broken| refusal(&item.file, &MergeRefused::Broken(broken), added());
    if !planned.iter().any(|plan| plan.file == item.file) {
        let found = apply::read(&item.file, state).map_err(|why| by_hand(why, added()))?;
        planned.push(Planned::new(&item.file, found));
    }
    if let Some(plan) = planned.iter_mut().find(|plan| plan.file == item.file) {
        let text = change(&plan.text, item).map_err(refused)?;
        let path = item.path.join(".");
        plan.change(
            text,
            if is_removal {
                format!("{} in {path} is taken out", item.item)
            } else {
                format!("{path}: {}: {}", item.item, item.effect)
            },
        );
    }
    Ok(())
}

/// Writes the planned changes, and reports them. Returns whether there were any.
fn carry_out(
    request: &InstallRequest,
    client: &Client,
    planned: &[Planned],
    state: &StateOptions,
    out: &mut impl Write,
) -> Result<bool, InstallError> {
    let mut wrote = false;
    for Planned { file, found, text, what } in planned.iter().filter(|planned| planned.changes()) {
        let origin = if request.is_removal { apply::REMOVAL } else { apply::ORIGIN };
        let done = apply::write(file, found.as_ref(), text, state, origin, request.is_dry_run)?;
        let path = shown(file);
        if request.is_dry_run {
            writeln!(out, "{}: would write {path}\n{}", client.program, on_lines(done.diff.trim_end()))?;
        } else {
            writeln!(out, "{}: wrote {path}\n  {}", client.program, what.join("\n  "))?;
            if let Some(id) = done.edit_id {
                writeln!(out, "  mcp-text-editor undo {id} takes it back")?;
            }
        }
        wrote = true;
    }
    Ok(wrote)
}

/// Takes the entry out. The edits that made it are undone if nothing else has changed since, so that the file
/// is as it was before. Else only the entry is removed.
fn remove(
    request: &InstallRequest,
    client: &'static Client,
    machine: &Machine,
    files: &[PathBuf],
    items: &[Item],
    state: &StateOptions,
    out: &mut impl Write,
) -> Result<(), InstallError> {
    let plan = |restored: &[PathBuf]| -> Result<Vec<Planned>, InstallError> {
        let mut planned = Vec::new();
        for file in files.iter().filter(|file| !restored.contains(file)) {
            let found = apply::read(file, state).map_err(InstallError::Failed)?;
            let text = found.as_ref().map_or("", |found| &found.text);
            let text = merge::remove(text, client, machine, request.is_forced);
            let text = text.map_err(|refused| refusal(file, &refused, None))?;
            let mut plan = Planned::new(file, found);
            plan.change(text, format!("{} is taken out", client.place()));
            planned.push(plan);
        }
        for item in items.iter().filter(|item| !restored.contains(&item.file)) {
            plan_item(&mut planned, item, state, true)?;
        }
        Ok(planned)
    };
    let mut restored = Vec::new();
    if !request.is_dry_run {
        for Planned { file, .. } in plan(&[])?.into_iter().filter(Planned::changes) {
            // What a file held before the first edit of it stays, even if it looks like our own.
            if apply::restore(&file, state).map_err(InstallError::Failed)? {
                writeln!(out, "{}: {} is as it was before", client.program, shown(&file))?;
                restored.push(file);
            }
        }
    }
    if !carry_out(request, client, &plan(&restored)?, state, out)? && restored.is_empty() {
        writeln!(out, "{}: there is no entry {} to take out", client.program, client.place())?;
    }
    Ok(())
}

/// Says why a file is left as it is, and what a person can do; `added` is the text that was to be added.
fn refusal(file: &Path, refused: &MergeRefused, added: Option<String>) -> InstallError {
    match refused {
        MergeRefused::NoDirectory { .. } => InstallError::Failed(refused.to_string()),
        MergeRefused::Broken(_) => by_hand(format!("{} is left as it is: {refused}", file.display()), added),
        _ => InstallError::Failed(format!("{} is left as it is: {refused}", file.display())),
    }
}

fn by_hand(why: String, added: Option<String>) -> InstallError {
    match added {
        None => InstallError::Failed(why),
        Some(added) => InstallError::ByHand {
            why,
            added: format!("By hand, this is to be added:\n{}\n", added.trim_end()),
        },
    }
}

/// Returns a path as one line.
fn shown(path: &Path) -> String {
    on_one_line(&path.to_string_lossy())
}

/// Returns the shortest name of a set of tools that `--tools` takes.
fn short_name(tools: &ToolSet) -> String {
    let found = ToolSet::NAMES.iter().find(|name| name.parse::<ToolSet>().as_ref() == Ok(tools));
    found.map_or_else(|| tools.to_string(), |name| (*name).to_owned())
}
