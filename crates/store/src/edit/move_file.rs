//! Moving a file: both of its places, what is in the way, what is told of it. [`crate::commit::moving`] carries it out.

use std::io;
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::{Digest, Hasher};
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::file_names::same_name;

use crate::access::meant::search::{Purpose, Search};
use crate::access::place::WritablePlace;
use crate::access::windows_paths::in_diff;
use crate::attempts::Attempts;
use crate::commit::moving::{Arrived, Moved, Moving, move_file as carry_out, respell};
use crate::commit::publish_new::check_directory;
use crate::commit::remove::Around;
use crate::edit::existing::Existing;
use crate::edit::outcome::{Became, Edited, Outcome, Warning};
use crate::edit::problem::{EditProblem, Reason};
use crate::edit::request::Options;
use crate::error::{NameFault, Operation, ReadFault, StoreError, StoreErrorKind};
use crate::history::{EditId, FileEdit, NewEdit, NotKept, Undo};
use crate::lock::{Backoff, LockTimeout, LockedFile};
use crate::os::clock::now;
use crate::read::hash::read_and_hash;
use crate::recovery::{lock_settled_as_they_are, settle};
use crate::workspace::Workspace;

/// Moves a regular file, whatever is in it, and makes the directories above its new place that are missing. Nothing may be there.
pub(crate) fn move_file(
    workspace: &Workspace,
    from: &str,
    to: &str,
    options: Options<'_>,
) -> Result<Outcome, Vec<EditProblem>> {
    let roots = workspace.roots.for_writing();
    let (source, target) = (roots.resolve(from), roots.resolve(to));
    let editing = Search::new(&workspace.roots, Purpose::Editing, options.cancellation);
    let (source, target) = match (source, target) {
        (Ok(source), Ok(target)) => (source, target),
        (source, target) => {
            let creating = Search::new(&workspace.roots, Purpose::Creating, options.cancellation);
            let of_source = source.err().unwrap_or_default().into_iter();
            let of_target = target.err().unwrap_or_default().into_iter();
            let of_source = of_source.map(|problem| Reason::Path(editing.of_path(from, problem)));
            let of_target =
                of_target.map(|problem| of_target_of(Reason::Path(creating.of_path(to, problem))));
            return Err(in_entry(of_source.chain(of_target)));
        }
    };
    if source.is_named_by_link() {
        return Err(in_entry([Reason::IsALink { target: source.path().to_owned() }]));
    }
    let relocation =
        Relocation { workspace, source, target, from, to, expected: None, directories: &[], options };
    relocation.carry_out().map_err(|reasons| {
        in_entry(reasons.into_iter().map(|(end, reason)| match (end, reason) {
            (End::From, Reason::Store(error)) => Reason::Store(editing.of_error(from, error)),
            (End::From, reason) => reason,
            (End::To, reason) => of_target_of(reason),
        }))
    })
}

fn of_target_of(reason: Reason) -> Reason {
    Reason::OfTarget(Box::new(reason))
}

fn in_entry(reasons: impl IntoIterator<Item = Reason>) -> Vec<EditProblem> {
    reasons.into_iter().map(|reason| EditProblem { entry: 0, reason }).collect()
}

/// Which of the two places of a move is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    From,
    To,
}

/// Reasons against a move.
type Reasons = Vec<(End, Reason)>;

/// A move, with both of its places.
pub(super) struct Relocation<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) source: WritablePlace,
    pub(super) target: WritablePlace,
    /// The places, as the call named them.
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    /// What the file must hold.
    pub(super) expected: Option<Digest>,
    /// The directories that were made for the file where it is, outermost first.
    pub(super) directories: &'a [PathBuf],
    pub(super) options: Options<'a>,
}

/// What another path of a file means.
enum Aim {
    /// Another place.
    Elsewhere,
    /// The name that it has.
    Itself,
    /// The name that it has, to be spelled so: the file system takes both for one.
    Spelling(PathBuf),
}

impl<'a> Relocation<'a> {
    /// Moves the file, or only looks whether it could be moved.
    pub(super) fn carry_out(self) -> Result<Outcome, Reasons> {
        let wait = LockTimeout {
            cancellation: self.options.cancellation,
            observer: self.workspace.observer,
            ..LockTimeout::default()
        };
        let mut backoff = Backoff::new(&wait);
        let mut attempts = Attempts::new(self.options.cancellation);
        loop {
            match self.attempt(&mut backoff) {
                Err(reasons) if changed(&reasons).any(|error| attempts.again(error)) => {}
                Err(reasons) => return Err(reasons),
                Ok((outcome, around)) => {
                    drop(self);
                    around.into_iter().for_each(Around::remove);
                    return Ok(outcome);
                }
            }
        }
    }

    fn source_fails(&self, kind: StoreErrorKind) -> Reasons {
        of_source(StoreError::new(Operation::Move, self.source.path(), kind))
    }

    fn attempt(&self, backoff: &mut Backoff<'_>) -> Result<(Outcome, Option<Around<'a>>), Reasons> {
        let Self { workspace, source, target, options, .. } = self;
        settle(workspace, target, backoff).map_err(|error| vec![(End::To, Reason::Store(error))])?;
        let locked = lock_settled_as_they_are(workspace, &[source], backoff);
        let locked = match locked.map(|set| set.files.into_iter().next()) {
            Ok(Some(locked)) => locked,
            Ok(None) => return Err(self.source_fails(StoreErrorKind::Changed)),
            Err(problems) => {
                let mut reasons: Reasons =
                    problems.into_iter().map(|(_, error)| (End::From, Reason::Store(error))).collect();
                if changed(&reasons).next().is_none() {
                    reasons.extend(self.check_free().err().map(|reason| (End::To, *reason)));
                }
                return Err(reasons);
            }
        };
        let began = now();
        let digest = self.digest(&locked)?;
        if self.expected.is_some_and(|expected| expected != digest) {
            return Err(vec![(End::From, Reason::ChangedSince { digest: Some(digest) })]);
        }
        let aim = self.aim();
        if !matches!(aim, Aim::Itself) {
            source.check_may_go(Operation::Move).map_err(of_source)?;
        }
        if let Aim::Elsewhere = aim {
            self.check_free().map_err(|reason| vec![(End::To, *reason)])?;
        }
        let mut edited = Edited {
            entry: 0,
            became: Became::Moved { from: self.from.to_owned() },
            digest: Some(digest),
            total_lines: 0,
            regions: Vec::new(),
            diff: options.dry_run.then(|| renamed(Path::new(self.from), Path::new(self.to))),
            warnings: Vec::new(),
        };
        if let Aim::Itself = aim {
            edited.warnings.push(Warning::Unchanged);
        }
        if options.dry_run || matches!(aim, Aim::Itself) {
            return Ok((Outcome { edit_id: None, files: vec![edited] }, None));
        }
        edited.warnings.extend((!locked.is_guarded()).then_some(Warning::NotLocked));
        if let Aim::Spelling(path) = aim {
            let name = path.file_name().unwrap_or_default();
            respell(workspace, source, Path::new(name), options.cancellation).map_err(of_source)?;
            let arrived = Arrived { digest, directories: Vec::new(), copied: None };
            return Ok((Outcome::noted(edited, self.record(&path, &arrived)), None));
        }
        let is_settled = locked.file().identity().has_settled_content(began);
        let directories = self.directories;
        let moving = Moving { from: source, to: target, locked, digest, is_settled, directories };
        let moved =
            carry_out(workspace, moving, options.cancellation, |arrived| self.record(target.path(), arrived));
        let Moved { arrived, noted, was_recorded, around } = moved.map_err(|error| self.reasons(error))?;
        edited.digest = Some(arrived.digest);
        edited.warnings.extend(arrived.copied.map(Warning::Copied));
        let needs_journal = arrived.copied.is_some() || !arrived.directories.is_empty();
        edited.warnings.extend((needs_journal && !was_recorded).then_some(Warning::NoJournal));
        Ok((Outcome::noted(edited, noted), Some(around)))
    }

    /// The digest of the file, which must not change meanwhile.
    fn digest(&self, locked: &LockedFile) -> Result<Digest, Reasons> {
        let (file, cancellation) = (locked.file(), self.options.cancellation);
        let hashed = read_and_hash(file, Hasher::default(), |_| cancellation.check());
        let fail = |fault| of_source(StoreError::from_fault(Operation::Read, file.path(), fault));
        let digest = hashed.map_err(fail)?.digest();
        let is_unchanged = file.is_unchanged().map_err(|error: io::Error| fail(ReadFault::Io(error)))?;
        if is_unchanged { Ok(digest) } else { Err(self.source_fails(StoreErrorKind::Changed)) }
    }

    /// What the new path means. Where letter case does not count, a file has one place, however it is spelled.
    fn aim(&self) -> Aim {
        let Self { source, target, .. } = self;
        if target.is_named_by_link() || target.ends_in_slash {
            return Aim::Elsewhere;
        }
        let wanted = Path::new(self.to).file_name().unwrap_or_default();
        let is_respelled = || source.name() != wanted && same_name(source.name(), wanted);
        let respelled = || Aim::Spelling(source.path().with_file_name(wanted));
        if source.path() == target.path() {
            return if is_respelled() { respelled() } else { Aim::Itself };
        }
        // Here the two may be hard links, or names between which only this directory makes no difference.
        let is_same_place = source.path().parent() == target.path().parent()
            && is_respelled()
            && source.key().is_some_and(|key| target.key() == Some(key));
        let is_listed = || {
            let mut entries = target.directory.read_dir(".").into_iter().flatten().flatten();
            entries.any(|entry| entry.file_name() == wanted)
        };
        if is_same_place && !is_listed() { respelled() } else { Aim::Elsewhere }
    }

    /// Checks that nothing has the new place, as far as can be seen without trying.
    fn check_free(&self) -> Result<(), Box<Reason>> {
        let target = &self.target;
        match target.identity() {
            Err(error) if error.kind == StoreErrorKind::NotFound && !target.is_named_by_link() => {}
            Err(error) if error.kind != StoreErrorKind::NotFound => return Err(Reason::Store(error).into()),
            _ => return Err(self.taken().into()),
        }
        if target.ends_in_slash {
            let error = StoreError::new(Operation::Create, target.path(), StoreErrorKind::IsADirectory);
            let error = StoreError { name: Some(NameFault::SlashAfterNothing), ..error };
            return Err(Reason::Store(error).into());
        }
        Ok(check_directory(target).map_err(Reason::Store)?)
    }

    fn taken(&self) -> Reason {
        let target = &self.target;
        let about = target.directory.symlink_metadata(target.name());
        let is_directory = target.missing.is_empty() && about.is_ok_and(|about| about.is_dir());
        let by = Existing::at(self.workspace, target, None, self.options.cancellation);
        let inside = is_directory.then(|| target.path().join(self.source.name()));
        by.map_or_else(Reason::Store, |by| Reason::Taken { by: Box::new(by), inside })
    }

    fn reasons(&self, error: StoreError) -> Reasons {
        match error.kind {
            StoreErrorKind::AlreadyExists => vec![(End::To, self.taken())],
            _ if error.path == self.source.path() || matches!(error.kind, StoreErrorKind::Changed) => {
                of_source(error)
            }
            _ => vec![(End::To, Reason::Store(error))],
        }
    }

    fn record(&self, to: &Path, arrived: &Arrived) -> Result<EditId, NotKept> {
        let Self { workspace, source, target, options, .. } = self;
        workspace.history.keeps_place(source)?;
        workspace.history.keeps_place(target)?;
        let relative = target.relative().with_file_name(to.file_name().unwrap_or_default());
        let diff = renamed(source.path(), to);
        let file = |path: &Path, relative: &Path| FileEdit {
            path: path.to_owned(),
            relative: relative.to_owned(),
            encoding: Encoding::Utf8,
            before: None,
            after: None,
            // No bytes are kept: they are in the file.
            undo: Undo::Create { contents: Vec::new() },
            diff: diff.clone(),
        };
        let from = FileEdit { before: Some(arrived.digest), ..file(source.path(), source.relative()) };
        let to = FileEdit {
            after: Some(arrived.digest),
            undo: Undo::Remove { directories: arrived.directories.clone() },
            ..file(to, &relative)
        };
        let (tool, undoes) = (options.tool, options.undoes);
        workspace.history.record(&NewEdit { tool, undoes, files: vec![from, to] })
    }
}

fn of_source(error: StoreError) -> Reasons {
    vec![(End::From, Reason::Store(error))]
}

/// The errors that say that another program was first.
fn changed(reasons: &Reasons) -> impl Iterator<Item = &StoreError> {
    reasons.iter().filter_map(|(_, reason)| match reason {
        Reason::Store(error) if error.kind == StoreErrorKind::Changed => Some(error),
        _ => None,
    })
}

/// A move in the words of a diff, as git has them.
fn renamed(from: &Path, to: &Path) -> String {
    let [from, to] = [from, to].map(|path| path.to_string_lossy());
    format!("rename from {}\nrename to {}\n", in_diff(&from), in_diff(&to))
}
