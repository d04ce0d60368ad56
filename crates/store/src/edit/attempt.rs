//! Makes one attempt at a call: locks and reads the files, resolves the request, writes the new content to
//! temporary files, and commits.

use std::sync::atomic::Ordering;

use crate::access::place::{DirectoryKey, WritablePlace};
use crate::commit::exchange::Method;
use crate::commit::staged::{Arrival, Staged};
use crate::commit::transaction::{Around, Landed};
use crate::edit::group::{Group, NamedFile, group};
use crate::edit::outcome::{EditProblem, Edited, Outcome, Reason, Warning};
use crate::edit::request::{EditOptions, Remember};
use crate::edit::snapshot::{Prepared, Staging, Task};
use crate::edit::{content, create, move_file, remove_file};
use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::history::{EditedFile, Entry, NewEdit, NotKept};
use crate::lock::{Backoff, LockedSet};
use crate::recovery::{lock_settled, settle};
use crate::workspace::Workspace;

/// Makes one attempt at a call. Adds the reasons against the call to `refusals`. An error comes with the
/// index of the call's entry that it concerns; [`StoreErrorKind::Changed`] means that another program or call
/// was faster.
pub(super) fn attempt<'w>(
    workspace: &'w Workspace,
    named: &mut Vec<NamedFile<'_>>,
    refusals: &mut Vec<EditProblem>,
    may_write: bool,
    options: EditOptions<'_>,
    backoff: &mut Backoff<'_>,
) -> Result<(Outcome, Around<'w>), (usize, StoreError)> {
    let Some(locked) = lock(workspace, named, refusals, options, backoff)? else {
        return Ok((Outcome { edit_id: None, entry: None, files: Vec::new() }, Around::default()));
    };
    let groups = group(named, locked, refusals);
    let mut staging = Staging::new(workspace);
    let result = prepare(workspace, &groups, &mut staging, refusals, may_write, options);
    let first = groups.first().map_or(0, |group| group.first.entry);
    let Staging { prepared, transaction, .. } = staging;
    let transaction = match (result, transaction) {
        (Ok(()), Some(transaction)) if refusals.is_empty() => transaction,
        (result, transaction) => {
            // The prepared files are dropped in reverse order: the last may be in a directory that was
            // created for an earlier one.
            let mut files: Vec<Edited> = prepared.into_iter().rev().map(|prepared| prepared.edited).collect();
            files.reverse();
            let left = transaction.map_or_else(Vec::new, |transaction| transaction.left());
            result.map_err(|(entry, error)| (entry, error.leaving(left.clone())))?;
            if let Some(made) = left.first() {
                let error =
                    StoreError::new(Operation::WriteTemporary, &made.path, StoreErrorKind::NotRestored);
                let reason = Reason::Store(error.leaving(left));
                refusals.push(EditProblem { entry: first, reason });
            }
            return Ok((Outcome { edit_id: None, entry: None, files }, Around::default()));
        }
    };
    // Files that do not change stay locked, too, until the changed files are committed.
    let (mut edited, mut staged, mut stay) = (Vec::new(), Vec::new(), Vec::new());
    let (mut of_staged, mut kept) = (Vec::new(), Vec::new());
    for (index, (group, Prepared { edited: mut file, staged: ready })) in
        groups.into_iter().zip(prepared).enumerate()
    {
        if let Some((ready, of_file)) = ready {
            let is_unlocked = group.locked.as_ref().is_some_and(|locked| !locked.is_guarded());
            file.warnings.extend(is_unlocked.then_some(Warning::NotLocked));
            of_staged.push(index);
            kept.push(of_file);
            staged.push(ready);
        } else {
            stay.extend(group.locked);
        }
        edited.push(file);
    }
    // Without a record in the shared journal, other machines cannot recover the call.
    let is_for_others = workspace.shared_journal().is_some() && !staged.is_empty();
    let lacks_journal = (is_for_others || needs_journal(&staged)) && !transaction.is_recorded();
    let remember = |landed: &[Landed]| {
        if let Some(Remember(remember)) = options.remember {
            remember();
            return (None, None);
        }
        match remember(workspace, options, kept, landed) {
            Ok(entry) => (Some(entry), None),
            Err(reason) => (None, Some(Warning::NotInHistory(reason))),
        }
    };
    let done = transaction
        .commit(staged, stay, options.cancellation, remember)
        .map_err(|error| (entry_of(named, &error).unwrap_or(first), error))?;
    for (index, landed) in of_staged.into_iter().zip(done.landed) {
        let Some(file) = edited.get_mut(index) else { continue };
        file.digest = landed.digest.or(file.digest);
        let warnings = [
            (landed.method == Some(Method::Renamed)).then_some(Warning::NotExchanged),
            lacks_journal.then_some(Warning::NoJournal),
        ];
        file.warnings.extend(warnings.into_iter().flatten());
    }
    // Warnings about the whole call are added to the first changed file.
    let changed = edited.iter_mut().find(|file| !file.warnings.contains(&Warning::Unchanged));
    let (entry, not_kept) = done.noted;
    if let Some(file) = changed {
        file.warnings.extend(workspace.first_without_state().map(Warning::NoState).or(not_kept));
    }
    let edit_id = entry.as_ref().map(|entry| entry.id.clone());
    Ok((Outcome { edit_id, entry, files: edited }, done.around))
}

/// Prepares each file of the call, and checks the number of replacements that the call expects.
fn prepare<'w>(
    workspace: &'w Workspace,
    groups: &[Group<'_>],
    staging: &mut Staging<'w>,
    refusals: &mut Vec<EditProblem>,
    may_write: bool,
    options: EditOptions<'_>,
) -> Result<(), (usize, StoreError)> {
    for group in groups {
        let may_write = may_write && refusals.is_empty();
        let options = EditOptions { replaced: staging.replaced(), ..options };
        let mut task = Task { workspace, group, options, staging, groups, may_write };
        let change = group.first.edit.change;
        let prepared = if change.creates() {
            create::prepare(&mut task)
        } else if change.removes() {
            remove_file::prepare(&mut task)
        } else if change.keeps() {
            move_file::prepare(&mut task)
        } else {
            content::prepare(&mut task)
        };
        match prepared.map_err(|error| (group.first.entry, error))? {
            Ok(prepared) => staging.prepared.push(prepared),
            Err(reasons) => refusals.extend(reasons),
        }
        if let Some(progress) = options.progress {
            progress.fetch_add(1, Ordering::Relaxed);
        }
    }
    let places = staging.replaced();
    if let (Some(expected), Some(first), true) = (options.expected, groups.first(), refusals.is_empty())
        && places != expected
    {
        let files = staging.prepared.iter().filter(|prepared| prepared.edited.replaced > 0).count();
        let reason = Reason::Count { expected, places, files };
        refusals.push(EditProblem { entry: first.first.entry, reason });
    }
    Ok(())
}

/// Tells whether a crash could leave the call only partly done.
fn needs_journal(staged: &[Staged]) -> bool {
    match staged {
        [Staged::Named { from: Some(_), to: Some(Arrival::Same { made, .. }) }]
            if !made.paths().is_empty() =>
        {
            true
        }
        [one] => !one.is_one_step(),
        several => !several.is_empty(),
    }
}

/// Keeps the edit in the history, with the keys of the roots of its files. These are the workspace's roots;
/// for an undo by a person, the roots of the undone edit.
fn remember(
    workspace: &Workspace,
    options: EditOptions<'_>,
    kept: Vec<Result<Vec<EditedFile>, NotKept>>,
    landed: &[Landed],
) -> Result<Entry, NotKept> {
    let mut files = Vec::new();
    for (of_file, landed) in kept.into_iter().zip(landed) {
        let mut rows = of_file?;
        for row in rows.iter_mut().filter(|_| landed.digest.is_some()) {
            row.before = row.before.and(landed.digest);
            row.after = row.after.and(landed.digest);
        }
        files.append(&mut rows);
    }
    let undoes = options.undoes.map(|undone| &undone.id);
    let root_keys = root_keys_of(workspace, &files);
    workspace.history.keep(NewEdit { by: options.by, undoes, files, root_keys }, options.undoes)
}

/// Returns the key of the root of each file.
pub(super) fn root_keys_of(workspace: &Workspace, files: &[EditedFile]) -> Vec<DirectoryKey> {
    let key = |file: &EditedFile| {
        let root = file.path.ancestors().nth(file.relative.iter().count());
        root.map_or_else(DirectoryKey::default, |root| workspace.roots.key_of(root))
    };
    files.iter().map(key).collect()
}

/// Locks the files that exist already. A file that cannot be locked is removed from `named`, and its reason
/// is added to `refusals`. Returns `None` if no file is left.
fn lock(
    workspace: &Workspace,
    named: &mut Vec<NamedFile<'_>>,
    refusals: &mut Vec<EditProblem>,
    options: EditOptions<'_>,
    backoff: &mut Backoff<'_>,
) -> Result<Option<LockedSet>, (usize, StoreError)> {
    for file in &*named {
        let new = if file.edit.change.creates() { Some(&file.place) } else { file.target.as_ref() };
        new.map_or(Ok(()), |place| settle(workspace, place, backoff)).map_err(|error| (file.entry, error))?;
    }
    loop {
        let there: Vec<&NamedFile<'_>> = named.iter().filter(|file| !file.edit.change.creates()).collect();
        if there.is_empty() {
            return Ok((!named.is_empty()).then(|| LockedSet { files: Vec::new(), file_of: Vec::new() }));
        }
        let places: Vec<&WritablePlace> = there.iter().map(|file| &file.place).collect();
        let is_written = |index: usize| there.get(index).is_none_or(|file| !file.edit.change.keeps());
        match lock_settled(workspace, &places, &is_written, backoff) {
            Ok(locked) => return Ok(Some(locked)),
            Err(problems) => {
                // The other files are still checked, because one reply is to have all reasons.
                let mut gone = Vec::new();
                for (index, error) in problems {
                    let Some(file) = there.get(index) else { continue };
                    // If the shared journal cannot be read, the calls of other machines are unknown. This
                    // concerns all files, and the check of each other file would wait for the journal again.
                    let is_of_all =
                        error.operation == Operation::ReadJournal && workspace.shared_journal().is_some();
                    if error.kind == StoreErrorKind::Changed || is_of_all {
                        return Err((file.entry, error));
                    }
                    gone.push(file.entry);
                    let of_target = file.target.as_ref().map_or(Ok(None), |to| {
                        let is_vacated = there.iter().any(|other| other.place.path() == to.path());
                        move_file::against(workspace, &file.place, (to, is_vacated), options)
                    });
                    let of_target = of_target.map_err(|error| (file.entry, error))?;
                    let reasons = [Some(Reason::Store(error)), of_target].into_iter().flatten();
                    refusals.extend(reasons.map(|reason| EditProblem { entry: file.entry, reason }));
                }
                if gone.is_empty() {
                    return Ok(None);
                }
                named.retain(|file| !gone.contains(&file.entry));
            }
        }
    }
}

/// Returns the index of the entry that an error concerns. If the call takes the error's path from one file
/// and gives it to another, the operation of the error decides between the two.
fn entry_of(named: &[NamedFile<'_>], error: &StoreError) -> Option<usize> {
    let is_its = |place: &WritablePlace| place.path() == error.path;
    let is_of_loss = matches!(error.operation, Operation::Move | Operation::Remove)
        && error.kind != StoreErrorKind::AlreadyExists;
    let loses = |file: &NamedFile<'_>| is_its(&file.place) && !file.edit.change.creates();
    let files = named.iter().filter(|file| is_its(&file.place) || file.target.as_ref().is_some_and(is_its));
    files.min_by_key(|file| loses(file) != is_of_loss).map(|file| file.entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::group::MoveMethod;
    use crate::edit::request::{Edit, EditChange};
    #[cfg(unix)]
    use crate::lock::LockTimeout;
    use crate::tests::world::World;
    #[cfg(unix)]
    use crate::tests::world::{options, unlink};

    /// One file moves to `b`, and another file moves away from `b`.
    #[test]
    fn an_error_about_a_name_of_two_files_is_about_the_one_whose_step_failed() {
        let world = World::new();
        world.write("@/root/a", "text");
        world.write("@/root/b", "text");
        let named = |(entry, [from, to]): (usize, [&str; 2])| NamedFile {
            entry,
            edit: Edit::new("", EditChange::Keep { after: None }),
            place: world.place(from),
            target: Some(world.place(to)),
            label: None,
            in_place: None,
            method: MoveMethod::default(),
        };
        let moves = [["@/root/a", "@/root/b"], ["@/root/b", "@/root/c"]];
        let named: Vec<_> = moves.into_iter().enumerate().map(named).collect();
        let about = |name: &str, operation, kind| {
            entry_of(&named, &StoreError::new(operation, &world.path(name), kind))
        };
        assert_eq!(about("@/root/b", Operation::Move, StoreErrorKind::Changed), Some(1));
        assert_eq!(about("@/root/b", Operation::Move, StoreErrorKind::AlreadyExists), Some(0));
        assert_eq!(about("@/root/b", Operation::Create, StoreErrorKind::Changed), Some(0));
        assert_eq!(about("@/root/a", Operation::Create, StoreErrorKind::Changed), Some(0));
        assert_eq!(about("@/root/c", Operation::Move, StoreErrorKind::Changed), Some(1));
        assert_eq!(about("@/root/d", Operation::Move, StoreErrorKind::Changed), None);
    }

    /// The call then starts again with all files: the reasons against the other files may no longer hold.
    #[test]
    #[cfg(unix)]
    fn a_name_that_has_become_a_link_since_ends_the_attempt() {
        let world = World::new();
        let path = world.path("@/root/b");
        world.write("@/root/b", "text\n");
        let named = |(entry, name): (usize, &str)| NamedFile {
            entry,
            edit: Edit::new("", EditChange::Append("more\n")),
            place: world.place(name),
            target: None,
            label: None,
            in_place: None,
            method: MoveMethod::default(),
        };
        let mut named: Vec<_> = ["@/root/gone", "@/root/b"].into_iter().enumerate().map(named).collect();
        unlink(&path);
        world.link("@/root/b", "@/outside");
        let (mut refusals, wait) = (Vec::new(), LockTimeout::default());
        let mut backoff = Backoff::new(&wait);
        let done = attempt(&world.workspace, &mut named, &mut refusals, true, options("test"), &mut backoff);
        let (entry, error) = done.unwrap_err();
        assert_eq!((entry, error.kind), (1, StoreErrorKind::Changed));
    }
}
