//! The specification of files with which a history is compared: what they do, one call after the other.
//!
//! A file is a list of tags, each on a line of its own, or is not there. Each change of a file brings a tag
//! that nothing else has, so that content tells which changes were made. New files are often equal.
//!
//! - A call that was answered has found what it asks for, and has changed all of its files in one moment, to
//!   what the reply says.
//! - A call that was refused has changed nothing, and at some moment one of its reasons was true.
//! - A call without an answer (its server was killed) was carried out at some moment up to recovery, or
//!   never. "Never" is after the last look at the files: there it is allowed, and does nothing.
//! - A read takes no lock. While a call of several files is on its way it may find one of them changed before
//!   the others, and what a call has written that is then taken back, because its server was killed or
//!   another program was first. A file that is removed has lost its name a moment before the removal is
//!   final, and gets it back if the server is killed between the two. For such
//!   calls alone ([`Operation::beside`]), and only while they last, a read may see what they would have done,
//!   and so may a refusal because a file is missing, or there. A refusal for what a file holds, and a dry
//!   run, were made under its lock, and see whole calls, unless a call at the same time meets another
//!   program's file: the locks of the two files are not the same.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use todc_utils::specifications::Specification;

use crate::verdict;

/// The index of a path of a history.
pub(crate) type Path = usize;

/// The content of a file.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    /// The tags, a line each.
    pub(crate) tags: Vec<u64>,
    /// The server's name for it: the SHA-256 of the lines, in hexadecimal digits.
    pub(crate) digest: String,
}

impl Content {
    pub(crate) fn new(tags: Vec<u64>) -> Self {
        let mut hash = Sha256::new();
        for tag in &tags {
            hash.update(format!("tag {tag:06}\n"));
        }
        let digest = hash.finalize().iter().fold(String::new(), |mut digits, byte| {
            write!(digits, "{byte:02x}").ok();
            digits
        });
        Self { tags, digest }
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        self.tags == other.tags
    }
}

impl Eq for Content {}

impl Hash for Content {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.tags.hash(state);
    }
}

/// A file at a path, or none.
pub(crate) type File = Option<Arc<Content>>;

/// The demand of an entry of a call on its file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Guard {
    Nothing,
    IsAbsent,
    IsThere,
    HasDigest(String),
    HasTag(u64),
}

impl Guard {
    pub(crate) fn holds(&self, file: &File) -> bool {
        match (self, file) {
            (Self::Nothing, _) | (Self::IsAbsent, None) | (Self::IsThere, Some(_)) => true,
            (Self::HasDigest(digest), Some(content)) => content.digest == *digest,
            (Self::HasTag(tag), Some(content)) => content.tags.contains(tag),
            _ => false,
        }
    }
}

/// The effect of an entry of a call on its file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    Keep,
    /// This content, whatever was there.
    Set(Arc<Content>),
    /// These tags in the place of one.
    Swap(u64, Vec<u64>),
    /// One more tag. A program that has opened a file appends to it, whatever its name is by then: that of
    /// the only file there is.
    Push(u64),
    Remove,
}

/// One file of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) path: Path,
    pub(crate) guard: Guard,
    pub(crate) effect: Effect,
    pub(crate) to: Option<Path>,
}

impl Entry {
    /// Returns the file of this entry after the call, if the entry can be carried out.
    pub(crate) fn after(&self, file: &File) -> Option<File> {
        if !self.guard.holds(file) {
            return None;
        }
        match (&self.effect, file) {
            (Effect::Keep, _) => Some(file.clone()),
            (Effect::Set(content), _) => Some(Some(content.clone())),
            (Effect::Remove, _) => Some(None),
            (Effect::Push(tag), Some(content)) => {
                let tags = content.tags.iter().copied().chain([*tag]).collect();
                Some(Some(Arc::new(Content::new(tags))))
            }
            (Effect::Swap(tag, tags), Some(content)) => {
                let at = content.tags.iter().position(|one| one == tag)?;
                let mut all = content.tags.clone();
                all.splice(at..=at, tags.iter().copied());
                Some(Some(Arc::new(Content::new(all))))
            }
            (Effect::Push(_) | Effect::Swap(..), None) => None,
        }
    }
}

/// The claim of a refusal about a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Claim {
    IsAbsent,
    IsThere,
    HasDigest(String),
    /// The same, of a file that was locked.
    HeldDigest(String),
}

/// The operation, and what became of it.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// The state in which the history begins.
    Begin(Vec<File>),
    /// The state in which it ends, when all has come to rest.
    End(Vec<File>),
    Read(Path, File),
    /// Answered; with what the reply says that files hold, after the call or, of a dry run, before it.
    Done {
        entries: Vec<Entry>,
        told: BTreeMap<Path, String>,
        is_dry: bool,
    },
    /// Refused, for one of these reasons at least.
    Refused {
        entries: Vec<Entry>,
        claims: Vec<(Path, Claim)>,
    },
    /// Refused because others were in the way, or withdrawn: that says nothing of the files.
    InTheWay {
        entries: Vec<Entry>,
    },
    /// Not answered.
    Unknown {
        entries: Vec<Entry>,
    },
    /// The end of a part of a history; nobody has looked at the files.
    Pause,
}

impl Deed {
    /// Returns the entries of a call.
    pub(crate) fn entries(&self) -> &[Entry] {
        match self {
            Self::Done { entries, .. }
            | Self::Refused { entries, .. }
            | Self::InTheWay { entries }
            | Self::Unknown { entries } => entries,
            Self::Begin(_) | Self::End(_) | Self::Read(..) | Self::Pause => &[],
        }
    }
}

/// An operation as the checker has it.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) deed: Arc<Deed>,
    /// Calls of which a part may be seen by this one, or what is taken back.
    pub(crate) beside: Arc<[Arc<Deed>]>,
    /// Whether it may be of an instant in which one of these calls, which has met another program, puts back
    /// what it found: then a read may find what the call had made, or had found, or what that program wrote
    /// meanwhile, and a refusal or a dry run any of it.
    pub(crate) is_of_an_instant: bool,
}

/// All files between two calls.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct State {
    files: Vec<File>,
    /// The state of each file before its last change: a call may have been about to change that, or not have
    /// come to it yet.
    before: Vec<File>,
    has_ended: bool,
}

impl State {
    fn carried_out(&self, entries: &[Entry]) -> Option<Self> {
        let mut after = self.files.clone();
        let mut arriving = Vec::new();
        for entry in entries {
            let path = self.place_of(entry);
            let made = entry.after(self.files.get(path)?)?;
            *after.get_mut(path)? = None;
            arriving.extend(made.map(|content| (entry.to.unwrap_or(path), content)));
        }
        for (path, content) in arriving {
            let place = after.get_mut(path)?;
            if place.replace(content).is_some() {
                return None;
            }
        }
        let mut before = self.before.clone();
        for ((before, old), new) in before.iter_mut().zip(&self.files).zip(&after) {
            if old != new {
                before.clone_from(old);
            }
        }
        Some(Self { files: after, before, has_ended: self.has_ended })
    }

    fn place_of(&self, entry: &Entry) -> Path {
        match entry.effect {
            Effect::Push(_) if self.files.get(entry.path).is_some_and(Option::is_none) => {
                self.files.iter().position(Option::is_some).unwrap_or(entry.path)
            }
            _ => entry.path,
        }
    }

    /// Tells whether this holds of the files, or of a view of them while one of these calls lasts.
    fn shows(&self, beside: &[Arc<Deed>], holds: impl Fn(&Self) -> bool) -> bool {
        holds(self) || beside.iter().any(|deed| self.views(deed.entries()).iter().any(&holds))
    }

    /// Returns what may be seen of the files while a call changes them, besides the files as they are.
    fn views(&self, entries: &[Entry]) -> Vec<Self> {
        // All of it, or one file alone: of another it may find that it is too late, and take the first back.
        let all = self.carried_out(entries);
        let one_by_one = entries.iter().filter_map(|entry| self.carried_out(std::slice::from_ref(entry)));
        // Or a file that it has not come to yet, while another program has already replaced one that it has
        // changed.
        let not_yet = entries.iter().filter_map(|entry| self.without(entry));
        let mut views: Vec<Self> = all.into_iter().chain(one_by_one).chain(not_yet).collect();
        for entry in entries {
            // A file that is replaced by another of the call, or looked at before it is removed, has no name
            // for an instant.
            if entry.to.is_some() || entry.effect == Effect::Remove {
                let mut view = self.clone();
                view.files.get_mut(entry.path).into_iter().for_each(|place| *place = None);
                views.push(view);
            }
        }
        views
    }

    /// Returns the files as they were before this entry, if it was what changed them last.
    fn without(&self, entry: &Entry) -> Option<Self> {
        let mut view = self.clone();
        let paths = || [Some(entry.path), entry.to].into_iter().flatten();
        for path in paths() {
            view.files.get_mut(path)?.clone_from(self.before.get(path)?);
        }
        let again = view.carried_out(std::slice::from_ref(entry))?;
        paths().all(|path| again.files.get(path) == self.files.get(path)).then_some(view)
    }

    fn has_digest(&self, path: Path, digest: &str) -> bool {
        self.files.get(path).and_then(Option::as_ref).is_some_and(|content| content.digest == digest)
    }

    fn holds(&self, (path, claim): &(Path, Claim)) -> bool {
        let is_there = self.files.get(*path).is_some_and(Option::is_some);
        match claim {
            Claim::IsAbsent => !is_there,
            Claim::IsThere => is_there,
            Claim::HasDigest(digest) | Claim::HeldDigest(digest) => self.has_digest(*path, digest),
        }
    }
}

/// Files, as the checker has them.
pub(crate) struct Files;

impl Specification for Files {
    type State = State;
    type Operation = Operation;

    fn init() -> State {
        State::default()
    }

    fn apply(operation: &Operation, state: &State) -> (bool, State) {
        verdict::count_step();
        let after = match &*operation.deed {
            Deed::Begin(files) => {
                Some(State { files: files.clone(), before: files.clone(), has_ended: false })
            }
            Deed::End(files) => (state.files == *files).then(|| State { has_ended: true, ..state.clone() }),
            Deed::Read(..) | Deed::Refused { .. } | Deed::Done { is_dry: true, .. }
                if operation.is_of_an_instant =>
            {
                Some(state.clone())
            }
            Deed::Read(path, found) => state
                .shows(&operation.beside, |view| view.files.get(*path) == Some(found))
                .then(|| state.clone()),
            Deed::Done { entries, told, is_dry } => state.carried_out(entries).and_then(|after| {
                let told_of = if *is_dry { state } else { &after };
                told.iter()
                    .all(|(path, digest)| told_of.has_digest(*path, digest))
                    .then(|| if *is_dry { state.clone() } else { after })
            }),
            Deed::Refused { entries, claims } => {
                let is_told = |claim: &(Path, Claim)| {
                    let is_true = |view: &State| view.carried_out(entries).is_none() && view.holds(claim);
                    let is_locked = matches!(claim.1, Claim::HeldDigest(_));
                    if is_locked { is_true(state) } else { state.shows(&operation.beside, is_true) }
                };
                claims.iter().any(is_told).then(|| state.clone())
            }
            Deed::Pause => Some(State { has_ended: true, ..state.clone() }),
            Deed::InTheWay { .. } => Some(state.clone()),
            Deed::Unknown { .. } if state.has_ended => Some(state.clone()),
            Deed::Unknown { entries } => state.carried_out(entries),
        };
        match after {
            Some(after) => (true, after),
            None => (false, state.clone()),
        }
    }
}
