//! A whole call that edits files: [`edit`].

use std::io;
use std::path::PathBuf;

use mcp_text_editor_core::encoding::Label;

use crate::access::meant::search::{Purpose, Search};
use crate::attempts::Attempts;
use crate::commit::in_place::InPlace;
use crate::edit::attempt::{NamedFile, attempt};
use crate::edit::outcome::Outcome;
use crate::edit::problem::{EditProblem, Reason};
use crate::edit::request::{Edit, Options};
use crate::error::{Meant, Operation, StoreError};
use crate::lock::{Backoff, LockTimeout};
use crate::os;
use crate::workspace::Workspace;

/// Edits all files of a call, or none; every reason against it is found before it is refused.
pub(crate) fn edit(
    workspace: &Workspace,
    edits: &[Edit<'_>],
    options: Options<'_>,
) -> Result<Outcome, Vec<EditProblem>> {
    edit_named(workspace, edits, options).map_err(|problems| with_meant(workspace, edits, options, problems))
}

/// The same, without a look for what was meant by a path that leads to no file.
fn edit_named(
    workspace: &Workspace,
    edits: &[Edit<'_>],
    options: Options<'_>,
) -> Result<Outcome, Vec<EditProblem>> {
    let mut problems = Vec::new();
    let mut named = Vec::new();
    let roots = workspace.roots.for_writing();
    for (entry, edit) in edits.iter().enumerate() {
        let label = match edit.encoding.map(Label::parse) {
            Some(None) => {
                problems.push(EditProblem { entry, reason: Reason::UnknownEncoding });
                None
            }
            Some(Some(label)) => Some(label.encoding),
            None => None,
        };
        match roots.resolve(edit.file_path) {
            Ok(place) => {
                let is_asked =
                    place.names().any(|(path, relative)| workspace.in_place.matches(path, relative));
                let in_place = is_asked.then_some(InPlace::Asked);
                named.push(NamedFile { entry, edit: *edit, place, label, in_place });
            }
            Err(found) => {
                let reasons = found.into_iter().map(Reason::Path);
                problems.extend(reasons.map(|reason| EditProblem { entry, reason }));
            }
        }
    }
    let wait = LockTimeout {
        cancellation: options.cancellation,
        observer: workspace.observer,
        ..LockTimeout::default()
    };
    let (mut attempts, mut backoff) = (Attempts::new(options.cancellation), Backoff::new(&wait));
    loop {
        let since = workspace.deferred_close.now();
        let mut found = Vec::new();
        let outcome = attempt(workspace, &mut named, &mut found, problems.is_empty(), options, &mut backoff);
        match outcome {
            // Not counted as an attempt: it goes on as long as closing files makes room.
            Err((_, error)) if workspace.deferred_close.makes_room(since, &error) => continue,
            Err((_, error)) if attempts.again(&error) => continue,
            // Nor is this: it happens once for each file at most, and no other program has changed anything.
            Err((entry, error)) if overwrite_next(&mut named, entry, cannot_be_renamed(&error)) => continue,
            Err((entry, error)) => problems.push(EditProblem { entry, reason: Reason::Store(error) }),
            Ok(outcome) if problems.is_empty() && found.is_empty() => return Ok(outcome),
            Ok(_) => problems.append(&mut found),
        }
        problems.sort_by_key(|problem| problem.entry);
        return Err(problems);
    }
}

/// The problems, with the files that were meant by paths that lead to none. A past edit that is taken back names its files itself.
fn with_meant(
    workspace: &Workspace,
    edits: &[Edit<'_>],
    options: Options<'_>,
    problems: Vec<EditProblem>,
) -> Vec<EditProblem> {
    if options.undoes.is_some() {
        return problems;
    }
    let search = Search::new(&workspace.roots, Purpose::Editing, options.cancellation);
    let of_problem = |EditProblem { entry, reason }| {
        let Some(asked) = edits.get(entry) else { return EditProblem { entry, reason } };
        let reason = match reason {
            Reason::Path(problem) => Reason::Path(search.of_path(asked.file_path, problem)),
            Reason::Store(error) => {
                let mut error = search.of_error(asked.file_path, error);
                if let Some(meant) = &mut error.meant {
                    choose(workspace, asked, options, meant);
                }
                Reason::Store(error)
            }
            other => other,
        };
        EditProblem { entry, reason }
    };
    problems.into_iter().map(of_problem).collect()
}

/// Leaves of several files that may be meant the only one in which the edit could be made, if there is one: its text, or its digests,
/// tell which was read.
fn choose(workspace: &Workspace, asked: &Edit<'_>, options: Options<'_>, meant: &mut Meant) {
    if meant.paths.len() < 2 || !meant.are_all {
        return;
    }
    let dry = Options { dry_run: true, ..options };
    let fits = |path: &PathBuf| {
        let named = path.to_str().map(|file_path| Edit { file_path, ..*asked });
        named.is_some_and(|edit| edit_named(workspace, &[edit], dry).is_ok())
    };
    if let [only] = meant.paths.iter().filter(|path| fits(path)).collect::<Vec<_>>().as_slice() {
        meant.paths = vec![(*only).clone()];
    }
}

/// Why the name cannot be given to another file, if the error says that: something is mounted there that was not recognised before, the
/// file system withholds the name, or another program holds the file open.
fn cannot_be_renamed(error: &StoreError) -> Option<InPlace> {
    let source = error.source.as_ref().filter(|_| error.operation == Operation::Replace)?;
    if os::is_held_open(source) {
        return Some(InPlace::HeldOpen);
    }
    if os::keeps_its_name(source) {
        return Some(InPlace::NameWithheld);
    }
    match source.kind() {
        io::ErrorKind::ResourceBusy => Some(InPlace::Mounted),
        io::ErrorKind::CrossesDevices => Some(InPlace::NameWithheld),
        _ => None,
    }
}

/// Marks the file of an entry to be written over in the next attempt, if there is a reason; `false` if it was marked already.
fn overwrite_next(named: &mut [NamedFile<'_>], entry: usize, why: Option<InPlace>) -> bool {
    let file = named.iter_mut().find(|file| file.entry == entry);
    why.is_some_and(|why| file.is_some_and(|file| file.in_place.replace(why).is_none()))
}
