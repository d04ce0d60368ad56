//! Carries out a whole call that edits files, with all of its attempts: [`edit`].

use std::io;
use std::path::PathBuf;

use mcp_text_editor_core::encoding::Label;

use crate::access::place::WritablePlace;
use crate::access::roots::{ForWriting, PathError};
use crate::access::suggested::{LikelyFiles, Purpose};
use crate::attempts::Attempts;
use crate::commit::in_place::InPlace;
use crate::edit::attempt::attempt;
use crate::edit::group::{MoveMethod, NamedFile};
use crate::edit::outcome::{EditProblem, Outcome, Reason};
use crate::edit::request::{Edit, EditOptions};
use crate::edit::{create, move_file};
use crate::error::{Operation, StoreError, StoreErrorKind, Suggestion};
use crate::lock::{Backoff, LockTimeout};
use crate::os;
use crate::workspace::Workspace;

/// Edits, creates, moves and removes all files of a call, or none. The error is the list of all reasons
/// against the call.
pub(crate) fn edit(
    workspace: &Workspace,
    edits: &[Edit<'_>],
    options: EditOptions<'_>,
) -> Result<Outcome, Vec<EditProblem>> {
    edit_named(workspace, edits, options)
        .map_err(|problems| with_likely_files(workspace, edits, options, problems))
}

/// Does the same as [`edit`], but for a path without a file, does not search for the files that the client
/// may have meant.
fn edit_named(
    workspace: &Workspace,
    edits: &[Edit<'_>],
    options: EditOptions<'_>,
) -> Result<Outcome, Vec<EditProblem>> {
    let mut problems = Vec::new();
    let mut named = Vec::new();
    let roots = workspace.roots.for_writing();
    for (entry, edit) in edits.iter().enumerate() {
        match resolve(workspace, &roots, entry, edit) {
            Ok(file) => named.push(file),
            Err(reasons) => problems.extend(reasons.into_iter().map(|reason| EditProblem { entry, reason })),
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
        let done = attempt(workspace, &mut named, &mut found, problems.is_empty(), options, &mut backoff);
        match done {
            // The attempt is not counted: it is repeated as long as closing files frees file descriptors.
            Err((_, error)) if workspace.deferred_close.makes_room(since, &error) => continue,
            Err((_, error)) if attempts.again(&error) => continue,
            // The attempt is not counted either: the method changes at most a few times for each file, and no
            // other program has changed anything.
            Err((entry, error)) if otherwise_next(&mut named, entry, &error) => continue,
            Err((entry, error)) => {
                // If the path belongs to a file of the call that could not be locked, the path is taken only
                // because that file was left out.
                let is_about_it =
                    |reason: &Reason| matches!(reason, Reason::Store(told) if told.path == error.path);
                let is_told = found.iter().any(|problem| is_about_it(&problem.reason));
                if error.kind != StoreErrorKind::AlreadyExists || !is_told {
                    problems.push(reason(workspace, &named, (entry, error), options));
                }
                problems.append(&mut found);
            }
            Ok((outcome, around)) if problems.is_empty() && found.is_empty() => {
                drop(named);
                around.remove();
                return Ok(outcome);
            }
            Ok(_) => problems.append(&mut found),
        }
        problems.sort_by_key(|problem| problem.entry);
        return Err(problems);
    }
}

/// Returns an entry of a call with its paths and its encoding resolved, or every reason why they cannot be
/// resolved.
fn resolve<'a>(
    workspace: &Workspace,
    roots: &ForWriting<'_>,
    entry: usize,
    edit: &Edit<'a>,
) -> Result<NamedFile<'a>, Vec<Reason>> {
    let label = edit.encoding.map(Label::parse);
    let place = roots.resolve(edit.file_path);
    let target = edit.move_to.map(|to| roots.resolve(to)).transpose();
    match (place, target, label) {
        (Ok(place), Ok(target), None | Some(Some(_))) => {
            let is_asked = place.names().any(|(path, relative)| workspace.in_place.matches(path, relative));
            let in_place = is_asked.then_some(InPlace::Asked);
            if (edit.move_to.is_some() || edit.change.removes()) && place.is_named_by_link() {
                return Err(vec![Reason::IsALink { target: place.path().to_owned() }]);
            }
            let (edit, label, method) = (*edit, label.flatten(), MoveMethod::default());
            Ok(NamedFile { entry, edit, place, target, label, in_place, method })
        }
        (place, target, label) => {
            let reasons =
                |found: Result<WritablePlace, Vec<PathError>>| found.err().unwrap_or_default().into_iter();
            let of_target = target.err().unwrap_or_default().into_iter();
            let of_target = of_target.map(|problem| Reason::OfTarget(Box::new(Reason::Path(problem))));
            let of_label = (label == Some(None)).then_some(Reason::UnknownEncoding);
            let of_place = reasons(place).map(Reason::Path);
            // The order is kept because replies have always had the reasons in this order.
            Err(if edit.change.creates() {
                of_place.chain(of_label).collect()
            } else {
                of_label.into_iter().chain(of_place).chain(of_target).collect()
            })
        }
    }
}

/// Converts the error with which an attempt failed to the reason why the call is refused.
fn reason(
    workspace: &Workspace,
    named: &[NamedFile<'_>],
    (entry, error): (usize, StoreError),
    options: EditOptions<'_>,
) -> EditProblem {
    let file = named.iter().find(|file| file.entry == entry);
    let reason = match file {
        Some(file) if file.edit.change.creates() => create::reason(workspace, file, error, options),
        Some(NamedFile { place, target: Some(target), .. }) => {
            move_file::reason(workspace, [place, target], error, options)
        }
        _ => Reason::Store(error),
    };
    EditProblem { entry, reason }
}

/// Adds, to each problem of a path without a file, the files that the client may have meant. For an undo,
/// adds nothing: its paths come from the history.
fn with_likely_files(
    workspace: &Workspace,
    edits: &[Edit<'_>],
    options: EditOptions<'_>,
    problems: Vec<EditProblem>,
) -> Vec<EditProblem> {
    if options.undoes.is_some() {
        return problems;
    }
    let [editing, creating] = [Purpose::Editing, Purpose::Creating]
        .map(|purpose| LikelyFiles::new(&workspace.roots, purpose, options.cancellation));
    let of_problem = |EditProblem { entry, reason }| {
        let Some(asked) = edits.get(entry) else { return EditProblem { entry, reason } };
        let reason = match reason {
            Reason::Path(problem) if asked.change.creates() => {
                Reason::Path(creating.of_path(asked.file_path, problem))
            }
            Reason::Path(problem) => Reason::Path(editing.of_path(asked.file_path, problem)),
            Reason::OfTarget(reason) => Reason::OfTarget(Box::new(match (*reason, asked.move_to) {
                (Reason::Path(problem), Some(to)) => Reason::Path(creating.of_path(to, problem)),
                (reason, _) => reason,
            })),
            Reason::Store(error) if !asked.change.creates() => {
                let mut error = editing.of_error(asked.file_path, error);
                if let Some(suggested) = &mut error.suggested {
                    choose(workspace, asked, options, suggested);
                }
                Reason::Store(error)
            }
            other => other,
        };
        EditProblem { entry, reason }
    };
    problems.into_iter().map(of_problem).collect()
}

/// Reduces several suggested files to the only one in which the edit could be made, if there is exactly one.
/// The text or the digests of the edit show which file the client has read.
fn choose(workspace: &Workspace, asked: &Edit<'_>, options: EditOptions<'_>, suggested: &mut Suggestion) {
    if suggested.paths.len() < 2 || !suggested.are_all {
        return;
    }
    let dry = EditOptions { dry_run: true, ..options };
    let fits = |path: &PathBuf| {
        let named = path.to_str().map(|file_path| Edit { file_path, ..*asked });
        named.is_some_and(|edit| edit_named(workspace, &[edit], dry).is_ok())
    };
    if let [only] = suggested.paths.iter().filter(|path| fits(path)).collect::<Vec<_>>().as_slice() {
        suggested.paths = vec![(*only).clone()];
    }
}

/// Returns the reason why the file must be overwritten in place, if the error shows one: it is a mount point
/// that was not recognised before, its file system refuses to give its name to another file, or another
/// program holds it open. Returns `None` for any other error.
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

/// Selects another method for the file of an entry in the next attempt, if the error shows that another is
/// possible: overwriting the file in place, or the next [`MoveMethod`]. Returns `false` if there is none, or
/// if it was used already.
fn otherwise_next(named: &mut [NamedFile<'_>], entry: usize, error: &StoreError) -> bool {
    let Some(file) = named.iter_mut().find(|file| file.entry == entry) else { return false };
    if let Some(why) = cannot_be_renamed(error) {
        return file.in_place.replace(why).is_none();
    }
    let next = if file.target.is_some() { file.method.after(error) } else { None };
    if let Some(method) = next {
        file.method = method;
    }
    next.is_some()
}

#[cfg(test)]
mod tests {
    use mcp_text_editor_core::resolve::Patch;

    use super::*;
    use crate::edit::outcome::Warning;
    use crate::edit::request::EditChange;
    use crate::tests::world::{World, options};

    #[test]
    fn an_error_of_a_move_leads_to_another_way_at_most_twice() {
        let error = |kind: io::ErrorKind| StoreError::from_io(Operation::Move, "/a".as_ref(), kind.into());
        let (other, none) = (error(io::ErrorKind::CrossesDevices), error(io::ErrorKind::PermissionDenied));
        let without = error(io::ErrorKind::Unsupported);
        assert_eq!(MoveMethod::OneStep.after(&other), Some(MoveMethod::Copied));
        assert_eq!(MoveMethod::OneStep.after(&without), Some(MoveMethod::Linked));
        assert_eq!(MoveMethod::OneStep.after(&none), None);
        assert_eq!(MoveMethod::Linked.after(&none), Some(MoveMethod::Copied));
        assert_eq!(MoveMethod::Copied.after(&other), None);
        let changed = error(io::ErrorKind::StaleNetworkFileHandle);
        assert_eq!(MoveMethod::Linked.after(&changed), None);
    }

    #[test]
    fn an_error_that_leaves_another_way_is_told_apart() {
        use io::ErrorKind::{CrossesDevices, IsADirectory, NotFound, ResourceBusy};
        for (operation, kind, why) in [
            (Operation::Replace, ResourceBusy, Some(InPlace::Mounted)),
            (Operation::Replace, CrossesDevices, Some(InPlace::NameWithheld)),
            (Operation::Replace, NotFound, None),
            (Operation::Replace, IsADirectory, None),
            (Operation::Read, ResourceBusy, None),
        ] {
            let error = StoreError::from_io(operation, "/a".as_ref(), kind.into());
            assert_eq!(cannot_be_renamed(&error), why, "{error}");
        }
    }

    #[test]
    fn a_move_that_failed_tells_which_path_it_is_about() {
        let world = World::new();
        world.write("@/root/a", "text\n");
        let [from, to] = ["@/root/a", "@/root/b"].map(|name| world.path(name));
        let change = EditChange::Keep { after: None };
        let edit = Edit { move_to: to.to_str(), ..Edit::new(from.to_str().unwrap(), change) };
        let named = [resolve(&world.workspace, &world.workspace.roots.for_writing(), 0, &edit).unwrap()];
        for (path, kind, is_of_target) in [
            (&from, StoreErrorKind::PermissionDenied, false),
            (&to, StoreErrorKind::PermissionDenied, true),
            (&from, StoreErrorKind::Changed, false),
            (&to, StoreErrorKind::Changed, false),
        ] {
            let error = StoreError::new(Operation::Move, path, kind);
            let told = reason(&world.workspace, &named, (0, error), options("test"));
            assert_eq!(matches!(told.reason, Reason::OfTarget(_)), is_of_target, "{told:?}");
        }
    }

    #[test]
    fn a_file_that_is_to_be_made_is_not_one_that_is_missing() {
        let world = World::new();
        world.write("@/root/x/a", "text\n");
        let path = world.path("@/root/a");
        for (change, is_suggested) in
            [(EditChange::Append("more\n"), true), (EditChange::Create("\n"), false)]
        {
            let edits = [Edit::new(path.to_str().unwrap(), change)];
            let error = StoreError::new(Operation::Open, &path, StoreErrorKind::NotFound);
            let problem = EditProblem { entry: 0, reason: Reason::Store(error) };
            let told = with_likely_files(&world.workspace, &edits, options("test"), vec![problem]);
            let [EditProblem { reason: Reason::Store(error), .. }] = &told[..] else { panic!("{told:?}") };
            assert_eq!(error.suggested.is_some(), is_suggested);
        }
    }

    /// Moves files by this method, as if the file system supported no other, and applies these patches to
    /// each.
    fn moved(
        world: &World,
        method: MoveMethod,
        ends: &[(&str, &str)],
        patches: &[Patch],
    ) -> Result<Outcome, StoreErrorKind> {
        let paths: Vec<[PathBuf; 2]> = ends
            .iter()
            .map(|(from, to)| [from, to].map(|name| world.path(&format!("@/root/{name}"))))
            .collect();
        let edits = paths.iter().map(|[from, to]| {
            let change = if patches.is_empty() {
                EditChange::Keep { after: None }
            } else {
                EditChange::Patch(patches)
            };
            Edit { move_to: to.to_str(), ..Edit::new(from.to_str().unwrap(), change) }
        });
        let edits: Vec<_> = edits.collect();
        let roots = world.workspace.roots.for_writing();
        let named = edits
            .iter()
            .enumerate()
            .map(|(entry, edit)| resolve(&world.workspace, &roots, entry, edit).unwrap());
        let mut named: Vec<_> = named.map(|file| NamedFile { method, ..file }).collect();
        let (mut found, wait) = (Vec::new(), LockTimeout::default());
        let mut backoff = Backoff::new(&wait);
        let done =
            attempt(&world.workspace, &mut named, &mut found, true, options("move_text_file"), &mut backoff);
        let (outcome, around) = done.map_err(|(_, error)| error.kind)?;
        drop(named);
        around.remove();
        if found.is_empty() { Ok(outcome) } else { Err(StoreErrorKind::AlreadyExists) }
    }

    const METHODS: [MoveMethod; 3] = [MoveMethod::OneStep, MoveMethod::Linked, MoveMethod::Copied];

    #[test]
    fn a_file_is_moved_whatever_the_file_system_lacks() {
        for method in if cfg!(windows) { &METHODS[1..] } else { &METHODS[..] } {
            let world = World::new();
            world.write("@/root/a", "content\n");
            world.write("@/root/b", "another\n");
            let before = world.file("@/root/a");
            let outcome = moved(&world, *method, &[("a", "x/y/c")], &[]).unwrap();
            let is_copied =
                outcome.files[0].warnings.iter().any(|warning| matches!(warning, Warning::Copied(_)));
            assert_eq!(is_copied, *method == MoveMethod::Copied);
            assert_eq!(world.content("@/root/x/y/c"), "content\n");
            assert_eq!(
                world.file("@/root/x/y/c") == before,
                !is_copied,
                "only what is copied is another file"
            );
            moved(&world, *method, &[("x/y/c", "b"), ("b", "x/y/c")], &[]).unwrap();
            assert_eq!(world.content("@/root/x/y/c"), "another\n");
            moved(&world, *method, &[("x/y/c", "d")], &[Patch::text("another", "new")]).unwrap();
            assert_eq!(world.content("@/root/d"), "new\n");
            let names = ["outside", "root", "root/b", "root/d", "root/x", "root/x/y"];
            assert_eq!(world.names(), names);
        }
    }

    #[test]
    fn what_has_the_new_name_stays_whatever_the_file_system_lacks() {
        for method in METHODS {
            let world = World::new();
            world.write("@/root/a", "content\n");
            world.write("@/root/x/b", "theirs\n");
            assert_eq!(
                moved(&world, method, &[("a", "x/b")], &[]).unwrap_err(),
                StoreErrorKind::AlreadyExists
            );
            assert_eq!(
                (world.content("@/root/a"), world.content("@/root/x/b")),
                ("content\n".into(), "theirs\n".into())
            );
            assert_eq!(world.names().len(), 5);
        }
    }

    /// The target is the place of the old spelling, as on a file system that treats both spellings as one
    /// name.
    #[test]
    fn a_name_gets_its_new_spelling_unless_nothing_is_to_be_written() {
        let world = World::new();
        world.write("@/root/a", "text\n");
        let [path, to] = ["@/root/a", "@/root/A"].map(|name| world.path(name));
        let change = EditChange::Keep { after: None };
        let edit = Edit { move_to: to.to_str(), ..Edit::new(path.to_str().unwrap(), change) };
        let wait = LockTimeout::default();
        for (dry_run, name) in [(true, "root/a"), (false, "root/A")] {
            let file = resolve(&world.workspace, &world.workspace.roots.for_writing(), 0, &edit).unwrap();
            let mut named = vec![NamedFile { target: Some(world.place("@/root/a")), ..file }];
            let (mut found, mut backoff) = (Vec::new(), Backoff::new(&wait));
            let options = EditOptions { dry_run, ..options("test") };
            let done = attempt(&world.workspace, &mut named, &mut found, true, options, &mut backoff);
            let (outcome, around) = done.unwrap();
            around.remove();
            assert_eq!(outcome.files[0].diff.is_some(), dry_run);
            // Wine does not rename a file if only the letter case of its name changes.
            if cfg!(unix) {
                assert_eq!(world.names(), ["outside", "root", name]);
            }
        }
    }

    /// A file that another program has open for writing is not copied: the copy could lack what that program
    /// writes.
    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_open_for_writing_is_not_made_anew() {
        let world = World::new();
        world.write("@/root/a", "content\n");
        let writer = std::fs::OpenOptions::new().append(true).open(world.path("@/root/a")).unwrap();
        let patches = [Patch::text("content", "new")];
        for (method, patches) in [(MoveMethod::Copied, &[][..]), (MoveMethod::OneStep, &patches)] {
            assert_eq!(
                moved(&world, method, &[("a", "x/b")], patches).unwrap_err(),
                StoreErrorKind::HeldOpen
            );
        }
        assert_eq!(
            moved(&world, MoveMethod::Linked, &[("a", "x/b")], &[]).unwrap_err(),
            StoreErrorKind::Changed
        );
        assert_eq!(world.names(), ["outside", "root", "root/a"], "no directory is left");
        moved(&world, MoveMethod::OneStep, &[("a", "x/b")], &[]).unwrap();
        drop(writer);
        moved(&world, MoveMethod::Copied, &[("x/b", "a")], &patches).unwrap();
        assert_eq!(world.content("@/root/a"), "new\n");
    }
}
