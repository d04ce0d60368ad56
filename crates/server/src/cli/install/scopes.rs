//! Lists all places in which a client that is used in a project looks for the entry of a server. These are
//! more than the files that `install` writes.
//!
//! The order of places was observed in Claude Code 2.1.197, Codex CLI 0.169.0, opencode 1.18.33 and Copilot
//! CLI 1.0.102 (`mcp list`, `mcp get`). For the other clients, it is the order in their documentation.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::clients::{Client, LooksIn, NAME, files_at};
use super::config_error::at;
use super::environment::{Environment, below, is_of_package};
use super::syntax::Syntax;

/// A function that reads a configuration; `None` if it does not exist or cannot be read.
pub(crate) type ReadIfThere<'a> = &'a dyn Fn(&Path, Syntax) -> Option<Value>;

/// The owner of a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holder {
    /// The person.
    Person,
    /// The project, which can come from anybody.
    Project,
    /// The administrator of the machine.
    Machine,
}

/// A place in which a client looks for an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Scope {
    /// The file.
    pub(crate) file: PathBuf,
    path: Vec<String>,
    /// The owner of the file.
    pub(crate) holder: Holder,
    /// The directory for which the entry is, if it is only for one directory.
    pub(crate) directory: Option<PathBuf>,
    /// Whether `install` writes to the file.
    pub(crate) is_written: bool,
    /// The rank. If several places have the entry, the client uses the place with the lowest rank.
    pub(crate) rank: usize,
}

impl Scope {
    /// Returns the path of our entry in the file.
    pub(crate) fn path(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    /// Returns the place of our entry in the file, in words.
    pub(crate) fn place(&self) -> String {
        self.path.join(".")
    }

    /// Returns our entry in the file's value.
    pub(crate) fn entry_in<'a>(&self, parsed: &'a Value) -> Option<&'a Value> {
        at(parsed, &self.path()).filter(|there| !there.is_null())
    }
}

/// Returns the places in which a client that is used in a project looks, in the order of their ranks.
pub(crate) fn scopes(
    client: &Client,
    env: &Environment,
    project: &Path,
    read: ReadIfThere<'_>,
) -> Vec<Scope> {
    let entry: Vec<String> = client.entry().into_iter().map(str::to_owned).collect();
    let of = |files: Vec<PathBuf>, holder, directory: Option<&Path>, is_written| -> Vec<Scope> {
        let (path, directory) = (entry.clone(), directory.map(Path::to_owned));
        let scope = Scope { file: PathBuf::new(), path, holder, directory, is_written, rank: 0 };
        files.into_iter().map(|file| Scope { file, ..scope.clone() }).collect()
    };
    let own = client.files(env, None).unwrap_or_default();
    let local = own.iter().filter_map(|file| local(file, client, project, read)).collect();
    let first = client.machine_variable.and_then(|variable| env.variable(variable));
    let first = first.map(|file| vec![PathBuf::from(file)]);
    let of_machine = |places| files_at(places, env, &|path| path.exists());
    let first = first.unwrap_or_else(|| of_machine(&client.machine_first));
    let mut ranked = vec![of(first, Holder::Machine, None, false), local];
    for directory in directories(client, project) {
        let also = client.also_reads.map(|names| below(directory, names));
        ranked.push(of(also.into_iter().collect(), Holder::Project, Some(directory), false));
        let files = client.files(env, Some(directory)).unwrap_or_default();
        ranked.push(of(files, Holder::Project, Some(directory), true));
    }
    // A Windows package looks into its own part of `AppData` first.
    let (of_package, own) = own.into_iter().partition(|file| is_of_package(file));
    ranked.extend([of_package, own].map(|files| of(files, Holder::Person, None, true)));
    ranked.push(of(of_machine(&client.machine_last), Holder::Machine, None, false));
    let ranked = ranked.into_iter().enumerate();
    ranked.flat_map(|(rank, same)| same.into_iter().map(move |scope| Scope { rank, ..scope })).collect()
}

/// Returns the places with an entry that a client uses instead of the entry that `install` writes, which is
/// the person's own or the project's.
pub(crate) fn outranking(
    client: &Client,
    env: &Environment,
    project: Option<&Path>,
    read: ReadIfThere<'_>,
) -> Vec<Scope> {
    let mut all = scopes(client, env, project.unwrap_or(&env.here), read);
    // `install` writes to all of a person's own files that are not for a single directory.
    let is_own = |scope: &Scope| scope.is_written && scope.directory.as_deref() == project;
    let Some(rank) = all.iter().filter(|scope| is_own(scope)).map(|scope| scope.rank).max() else {
        return Vec::new();
    };
    let has_entry = |scope: &Scope| {
        read(&scope.file, client.syntax).is_some_and(|parsed| scope.entry_in(&parsed).is_some())
    };
    all.retain(|scope| scope.rank < rank && !is_own(scope) && has_entry(scope));
    all
}

/// Says that the client uses the entry at `first` in a project, and not an entry of a higher rank number.
pub(crate) fn said_of(client: &Client, first: &Scope, project: &Path) -> String {
    let (program, project, file) = (client.program, project.display(), first.file.display());
    let place = first.place();
    match (first.holder, &first.directory) {
        (Holder::Project, _) => {
            format!(
                "in {project} {program} uses {place} in {file} instead, if it uses what the project holds"
            )
        }
        (_, Some(_)) => {
            format!("in {project} {program} uses {place} in {file} instead; {}", taken_out(first))
        }
        (_, None) => format!("{program} uses {place} in {file} instead"),
    }
}

/// Says that an entry was not removed.
pub(crate) fn still_there(client: &Client, scope: &Scope) -> String {
    let mend = match (scope.holder, &scope.directory) {
        (Holder::Person, Some(_)) => format!("; {}", taken_out(scope)),
        _ => String::new(),
    };
    format!("{} still has {} in {}{mend}", client.program, scope.place(), scope.file.display())
}

/// Says how to remove a person's own entry that `install` does not write.
pub(crate) fn taken_out(scope: &Scope) -> String {
    let directory = scope.directory.as_deref().unwrap_or(&scope.file).display();
    format!("`claude mcp remove --scope local {NAME}`, run in {directory}, takes it out")
}

/// Returns the place of an entry that `claude mcp add` has written: it is the person's own, and only for one
/// project. Claude Code identifies the project by the top of its repository.
fn local(file: &Path, client: &Client, project: &Path, read: ReadIfThere<'_>) -> Option<Scope> {
    let entry = client.entry();
    if client.name != "claude-code" {
        return None;
    }
    let project = project_of_claude(project)?;
    let parsed = read(file, client.syntax)?;
    // Paths are compared, since on Windows the key has other separators.
    let key = parsed.get("projects")?.as_object()?.keys().find(|key| Path::new(key) == project)?;
    let path = ["projects", key.as_str()].into_iter().chain(entry).map(str::to_owned).collect();
    let (file, holder, directory) = (file.to_owned(), Holder::Person, Some(project));
    Some(Scope { file, path, holder, directory, is_written: false, rank: 0 })
}

/// Returns the directory that identifies a project for Claude Code: the top of its repository, or the
/// directory itself if there is no repository. For a worktree, it is the top of the main repository. Links
/// are followed.
pub(crate) fn project_of_claude(project: &Path) -> Option<PathBuf> {
    let real = plain(&project.canonicalize().ok()?);
    let Some(top) = top_of_repository(&real) else { return Some(real) };
    Some(repository_of_worktree(top).unwrap_or_else(|| top.to_owned()))
}

/// Returns the top of the main repository if `top` is a worktree. The worktree and the repository must name
/// each other, since the author of a project can make it name any repository.
fn repository_of_worktree(top: &Path) -> Option<PathBuf> {
    let link = top.join(".git");
    let own = top.join(line_of(&link)?.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let common = own.join(line_of(&own.join("commondir"))?).canonicalize().ok()?;
    let knows = own.join(line_of(&own.join("gitdir"))?).canonicalize().ok()? == link.canonicalize().ok()?;
    let is_of = own.starts_with(common.join("worktrees"));
    let is_plain = common.file_name().is_some_and(|name| name == ".git");
    (knows && is_of && is_plain).then(|| common.parent().map(plain)).flatten()
}

/// Returns the first line of a short file of git.
#[expect(
    clippy::disallowed_methods,
    reason = "git's own file, of which a path is wanted; it lies in no root"
)]
fn line_of(path: &Path) -> Option<String> {
    const LONGEST: u64 = 8 << 10;
    let is_short = path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LONGEST);
    let text = is_short.then(|| std::fs::read_to_string(path).ok()).flatten()?;
    Some(text.lines().next()?.trim().to_owned())
}

/// Returns a path as people and programs write it: without `\\?\`, with which resolved paths begin on
/// Windows.
fn plain(path: &Path) -> PathBuf {
    let text = path.to_str().and_then(|text| text.strip_prefix(r"\\?\"));
    text.filter(|text| !text.starts_with("UNC")).map_or_else(|| path.to_owned(), PathBuf::from)
}

fn top_of_repository(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|directory| directory.join(".git").symlink_metadata().is_ok())
}

/// Returns the directories of a project in which a client looks, in order of precedence.
fn directories<'a>(client: &Client, project: &'a Path) -> Vec<&'a Path> {
    let top = match client.looks_in {
        LooksIn::Project => project,
        LooksIn::Repository => top_of_repository(project).unwrap_or(project),
        LooksIn::Ancestors => Path::new(""),
    };
    project.ancestors().take_while(|directory| directory.starts_with(top)).collect()
}
