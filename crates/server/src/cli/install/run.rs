//! Carries the subcommand out: plans the changes of all files before it writes the first file, writes them,
//! and reports.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::apply::{self, Configuration};
use super::clients::{Client, Item, STATE_VARIABLES};
use super::entry::{Words, start_of};
use super::environment::Environment;
use super::merge::{self, DesiredEntry, MergeRefused};
use super::request::{InstallError, InstallRequest};
use super::syntax::Syntax;
use super::{http, project_allowlist, scopes};
use crate::cli::terminal::clipped;
use crate::config::{StateOptions, ToolSet};
use crate::render::escape::{on_lines, on_one_line};

/// The maximum length of a line about an entry under another name, in characters.
const LONGEST: usize = 2_000;

/// The maximum number of attempts. A further attempt is made only after another program has written, so even
/// many simultaneous `install` processes all finish.
const ROUNDS: usize = 256;

/// Carries out a person's request. Starts over if another program, such as another `install`, has changed a
/// configuration since it was read.
pub fn install(
    request: &InstallRequest,
    env: &Environment,
    state: &StateOptions,
    out: &mut impl Write,
) -> Result<(), InstallError> {
    let Some(client) = request.client else { return apply::list(env, state, out) };
    let installation = Installation { request, client, env, state };
    for _ in 1..ROUNDS {
        match installation.attempt(out) {
            Err(InstallError::Changed(_)) => {}
            done => return done,
        }
    }
    installation.attempt(out)
}

/// A request for one client.
struct Installation<'a> {
    request: &'a InstallRequest,
    client: &'static Client,
    env: &'a Environment,
    state: &'a StateOptions,
}

impl Installation<'_> {
    /// Makes one attempt to change the configurations as they are now.
    fn attempt(&self, out: &mut impl Write) -> Result<(), InstallError> {
        let Self { request, client, env, state } = *self;
        let project = request.project.as_deref();
        let files = client.files(env, project).map_err(InstallError::Failed)?;
        if let Some(target) = &request.target {
            http::check(client, &files, target)?;
        }
        if let (Some(step), true, false) = (client.instead_by_hand, request.is_instead, request.is_removal) {
            let program = client.program;
            let why = format!(
                "nothing is written: {program}'s own editing tools cannot be switched off by install; {step}"
            );
            return Err(InstallError::Failed(why));
        }
        let read = |file: &Path, syntax| apply::parsed(file, syntax, state).ok().flatten();
        let mut items = client.approval(env, project);
        if project.is_none() {
            let off = client.switched_off(env, &files);
            let is_set = |item: &Item| {
                read(&item.file, Syntax::Json).is_some_and(|parsed| merge::is_there(&parsed, item))
            };
            // If only some are set, a person has set them, because `install` sets all of them.
            if request.is_instead || request.is_removal && off.iter().all(is_set) {
                items.extend(off);
            }
        }
        if request.is_removal || request.target.as_ref().is_some_and(|target| target.token_env.is_some()) {
            items.extend(client.token_inputs(&files));
        }
        if let Some(project) = project {
            for file in files.iter().chain(items.iter().map(|item| &item.file)) {
                project_allowlist::inside(project, file).map_err(InstallError::Failed)?;
            }
        }
        let mut besides = if request.is_removal {
            self.remove(&files, &items, out)?;
            Vec::new()
        } else {
            self.write(&files, &items, out)?
        };
        for scope in scopes::outranking(client, env, project, &read) {
            let line = if request.is_removal {
                scopes::still_there(client, &scope)
            } else {
                scopes::said_of(client, &scope, project.unwrap_or(&env.here))
            };
            besides.push(format!("besides: {line}"));
        }
        for line in besides {
            writeln!(out, "  {}", on_one_line(&line))?;
        }
        Ok(())
    }

    /// Writes the entry and the items. Returns further lines that a person has to know.
    fn write(
        &self,
        files: &[PathBuf],
        items: &[Item],
        out: &mut impl Write,
    ) -> Result<Vec<String>, InstallError> {
        let Self { request, client, env, state } = *self;
        let is_project = request.project.is_some();
        let tools = request.tools.as_ref().map(short_name).or(request.is_instead.then(|| "all".to_owned()));
        let in_words = |path: &PathBuf| match path.to_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(format!("{} is not Unicode, as a configuration is", path.display())),
        };
        let directories = request.directories.iter().map(in_words).collect::<Result<_, _>>();
        let wanted = DesiredEntry {
            client,
            env,
            target: request.target.as_ref(),
            start: request.command.clone().unwrap_or_else(|| start(env, is_project)),
            tools: tools.as_deref(),
            options: &request.options,
            directories: directories.map_err(InstallError::Failed)?,
            variables: if is_project { Vec::new() } else { variables(client, env) },
            project: request.project.as_deref(),
            is_forced: request.is_forced,
        };
        let (mut words, mut others) = (Words::default(), Vec::new());
        let mut plan = Plan { state, files: Vec::new() };
        for file in files {
            plan.change(file, &|| Some(wanted.by_hand()), |text| {
                let (text, now) = merge::merge(text, &wanted)?;
                words = now;
                let parsed = client.syntax.read(&text).unwrap_or_default();
                for other in merge::other_entries(&parsed, &client.servers, env) {
                    let line = format!("besides: {}; {}", other.what(true), other.mend(file));
                    others.push(clipped(&line, LONGEST).into_owned());
                }
                let target = wanted.target.map(|target| target.url.clone());
                let leads_to = target.unwrap_or_else(|| words.all().join(" "));
                Ok((text, format!("{}: {}", client.place(), on_one_line(&leads_to))))
            })?;
        }
        for item in items {
            let what = || format!("{}: {}: {}", item.path.join("."), item.item, item.effect);
            plan.change(&item.file, &|| merge::with("", item).ok(), |text| {
                Ok((merge::with(text, item)?, what()))
            })?;
        }
        // The trace of the client is searched for before anything is written, because a written file is a
        // trace, too.
        let trace = client.trace(env, files);
        if !self.carry_out(&plan, out)? {
            writeln!(out, "{}: nothing to change", client.program)?;
        }
        let mut lines = Vec::new();
        if trace.is_none() && !is_project {
            let program = client.program;
            lines.push(format!("not found on this machine: neither {program} nor a configuration of it"));
        }
        lines.extend(others);
        lines.extend(apply::explain(request, client, &words));
        lines.extend(apply::of_desktop(request, client, env, files));
        Ok(lines)
    }

    /// Removes the entry and the items.
    fn remove(&self, files: &[PathBuf], items: &[Item], out: &mut impl Write) -> Result<(), InstallError> {
        let Self { request, client, env, state } = *self;
        let mut plan = Plan { state, files: Vec::new() };
        for file in files {
            plan.change(file, &|| None, |text| {
                let text = merge::remove(text, client, env, request.is_forced)?;
                Ok((text, format!("{} is taken out", client.place())))
            })?;
        }
        for item in items {
            let what = || format!("{} in {} is taken out", item.item, item.path.join("."));
            plan.change(&item.file, &|| None, |text| Ok((merge::without(text, item)?, what())))?;
        }
        if !self.carry_out(&plan, out)? {
            writeln!(out, "{}: there is no entry {} to take out", client.program, client.place())?;
        }
        Ok(())
    }

    /// Writes the planned changes, and reports them. Returns whether there were any. A removal undoes the
    /// edits that wrote the entry if the file has not changed otherwise, which restores the file exactly.
    fn carry_out(&self, plan: &Plan<'_>, out: &mut impl Write) -> Result<bool, InstallError> {
        let Self { request, client, state, .. } = *self;
        let mut wrote = false;
        for Planned { file, found, text, what } in
            plan.files.iter().filter(|planned| !planned.what.is_empty())
        {
            let path = on_one_line(&file.to_string_lossy());
            wrote = true;
            if request.is_removal
                && !request.is_dry_run
                && apply::restore(file, state).map_err(InstallError::Failed)?
            {
                writeln!(out, "{}: {path} is as it was before", client.program)?;
                continue;
            }
            let origin = if request.is_removal { apply::REMOVAL } else { apply::ORIGIN };
            let done = apply::write(file, found.as_ref(), text, state, origin, request.is_dry_run)?;
            if request.is_dry_run {
                let diff: String = done.files.into_iter().filter_map(|file| file.diff).collect();
                writeln!(out, "{}: would write {path}\n{}", client.program, on_lines(diff.trim_end()))?;
            } else {
                writeln!(out, "{}: wrote {path}\n  {}", client.program, what.join("\n  "))?;
                if let Some(id) = done.edit_id {
                    writeln!(out, "  mcp-text-editor undo {id} takes it back")?;
                }
            }
        }
        Ok(wrote)
    }
}

/// A planned change of a file.
struct Planned {
    file: PathBuf,
    found: Option<Configuration>,
    text: String,
    /// The changes, for people.
    what: Vec<String>,
}

/// The planned changes of all files.
struct Plan<'a> {
    state: &'a StateOptions,
    files: Vec<Planned>,
}

impl Plan<'_> {
    /// Plans a change of a file. `change` returns the new text, and a description of the change for people;
    /// `added` is what a person has to add by hand if the file cannot be changed.
    fn change(
        &mut self,
        file: &Path,
        added: &dyn Fn() -> Option<String>,
        change: impl FnOnce(&str) -> Result<(String, String), MergeRefused>,
    ) -> Result<(), InstallError> {
        if !self.files.iter().any(|planned| planned.file == file) {
            let found = apply::read(file, self.state).map_err(|why| by_hand(why, added()))?;
            let text = found.as_ref().map_or_else(String::new, |found| found.text.clone());
            self.files.push(Planned { file: file.to_owned(), found, text, what: Vec::new() });
        }
        if let Some(planned) = self.files.iter_mut().find(|planned| planned.file == file) {
            let changed = change(&planned.text);
            let (text, what) = changed.map_err(|refused| refusal(file, &refused, added()))?;
            if text != planned.text {
                planned.text = text;
                planned.what.push(what);
            }
        }
        Ok(())
    }
}

/// Returns the variables that determine the path of the person's history, and that the client does not pass
/// to servers.
fn variables(client: &Client, env: &Environment) -> Vec<(String, String)> {
    let lacks = |name: &&&str| !client.stdio.contains_key("env_vars") && !client.passes.gives(name);
    let value = |name: &&str| Some(((*name).to_owned(), env.variable(name)?.to_str()?.to_owned()));
    STATE_VARIABLES.iter().filter(lacks).filter_map(value).collect()
}

/// Returns the words that start this program. In a project, whose entry other people also use, this is only
/// the program's name, if `PATH` leads from the name to the program.
fn start(env: &Environment, is_project: bool) -> Vec<String> {
    let path = env.variable("PATH");
    match env.program.file_name().and_then(|name| name.to_str()) {
        Some(name) if is_project && env.find_program(name, path).as_ref() == Some(&env.program) => {
            vec![name.strip_suffix(".exe").unwrap_or(name).to_owned()]
        }
        _ => start_of(&env.program),
    }
}

/// Says why a file is left unchanged, and what a person can do; `added` is the text that a person has to add.
fn refusal(file: &Path, refused: &MergeRefused, added: Option<String>) -> InstallError {
    match refused {
        MergeRefused::NoDirectory { .. } => InstallError::Failed(refused.to_string()),
        MergeRefused::ConfigError(_) => {
            by_hand(format!("{} is left as it is: {refused}", file.display()), added)
        }
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

/// Returns the shortest name of a set of tools that `--tools` takes.
fn short_name(tools: &ToolSet) -> String {
    let found = ToolSet::NAMES.iter().find(|name| name.parse::<ToolSet>().as_ref() == Ok(tools));
    found.map_or_else(|| tools.to_string(), |name| (*name).to_owned())
}
