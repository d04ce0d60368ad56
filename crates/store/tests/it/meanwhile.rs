//! Calls that edit, while another program does something to one of their files, before one of the calls that
//! they make to the system, each in turn; then another of these may be refused, or the process die. Whatever
//! that program wrote is still there, and the other files are all old or all new.
//!
//! The other program takes no locks, and is done before the call goes on. `refused.rs` says how many of these
//! trials are made. In files that are written over in their place it writes until the last moment: then
//! nobody can be kept from it.

use std::ffi::OsStr;
use std::fmt;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use mcp_text_editor_store::{LeftBehind, Remains, StoreError, StoreErrorKind};
use rustix::io::Errno;

use crate::mixed::{Step, Tree};
use crate::system_calls::{SystemCall, asked};
use crate::trials::{Drawn, Lacks, Ready, THEIRS, calls, different, ready};
use crate::world::World;

/// The number of calls from the last look at a file to the rename over it. What is done in between is lost
/// where names cannot be exchanged.
const LAST: usize = 4;

/// The deeds of another program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Deed {
    /// It puts a file of its own in the place of one, as most editors save.
    Replace,
    /// It writes at the end of one.
    Append,
    Remove,
    /// It makes one where there is none.
    Make,
}

impl Deed {
    /// Does it to the file of this name; returns whether it could be done.
    fn is_done(self, world: &World, name: &str) -> bool {
        let path = PathBuf::from(world.path(name));
        let write = |options: &mut OpenOptions| {
            // A lease would have it wait for this process, which waits for it.
            let opened = options.custom_flags(libc::O_NONBLOCK).open(&path);
            opened.and_then(|mut file| file.write_all(THEIRS.as_bytes())).is_ok()
        };
        match self {
            Self::Replace => {
                let elsewhere = world.directory.path().join("theirs");
                std::fs::write(&elsewhere, THEIRS).unwrap();
                path.exists() && std::fs::rename(&elsewhere, &path).is_ok()
            }
            Self::Append => write(OpenOptions::new().append(true)),
            Self::Remove => std::fs::remove_file(&path).is_ok(),
            Self::Make => write(OpenOptions::new().write(true).create_new(true)),
        }
    }
}

/// A call of some kind, what another program does meanwhile, and when the process dies.
struct Trial<'a> {
    kind: &'a str,
    steps: &'a [Step],
    /// True if the call takes these steps back.
    undoes: bool,
    lacks: Lacks,
    deed: Deed,
    name: &'a str,
    /// The number of calls to the system before the deed.
    after: usize,
    fate: Fate,
}

/// The fate of the process after the deed, when it has made some more calls to the system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Lives,
    /// The next of those calls is refused.
    IsRefused {
        after: usize,
    },
    /// All that follow are, which is as if it died.
    Dies {
        after: usize,
    },
}

impl Fate {
    /// Tells whether a call is refused that comes after so many others.
    fn refuses(self, made: usize) -> bool {
        match self {
            Self::Lives => false,
            Self::IsRefused { after } => made == after,
            Self::Dies { after } => made >= after,
        }
    }
}

impl fmt::Display for Trial<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, undoes, lacks, deed, name, after, fate, .. } = self;
        let undo = if *undoes { "undo " } else { "" };
        write!(
            f,
            "{undo}{kind}, on a file system that lacks {lacks:?}; {deed:?} {name} after {after} calls; {fate:?}"
        )
    }
}

impl Trial<'_> {
    /// Makes it, and returns what is wrong.
    fn make(&self) -> Vec<String> {
        let ready = ready(self.steps, self.undoes);
        let (mut made, mut at, mut is_refused, mut is_too_late) = (0, None, false, false);
        let (mut is_begun, mut is_moved) = (false, false);
        let answer = |call: &SystemCall| {
            if made == self.after && self.deed.is_done(&ready.world, self.name) {
                at = Some(call.to_string());
            }
            if at.is_none() {
                is_begun |= self.lacks.refuses(call).is_none() && ready.is_renamed(call);
                is_moved = self.is_moved_to(call);
            }
            let since = made.checked_sub(self.after + 1);
            made += 1;
            let is_close = at.is_none() || made - self.after < LAST;
            is_too_late |=
                is_close && (self.is_written_over(call) || at.is_some() && self.is_renamed_over(call));
            let is_now = since.is_some_and(|since| self.fate.refuses(since));
            is_refused |= is_now;
            is_now.then_some(Errno::IO).or_else(|| self.lacks.refuses(call))
        };
        let done = asked(answer, || ready.carry_out()).unwrap();
        let Some(at) = at else { return Vec::new() };
        if is_too_late {
            return Vec::new();
        }
        let Ready { world, before, mut after, .. } = ready;
        let is_dead = is_refused && matches!(self.fate, Fate::Dies { .. });
        let error = done.as_ref().err().and_then(|refused| refused.error.as_deref());
        let mut problems = Vec::new();
        // What it has removed meanwhile is not looked at again, nor is anything after an error on the way
        // back.
        let is_told = self.fate == Fate::Lives && self.deed != Deed::Remove;
        for left in error.into_iter().filter(|_| is_told).flat_map(|error| &error.left) {
            if !is_so(left, &world, &before) {
                problems.push(format!("{left:?}, and there is {:?}", world.now()));
            }
        }
        if let Some(error) = error.filter(|_| self.fate == Fate::Lives) {
            problems.extend(untold(error, &world));
            if !is_begun && error.kind == StoreErrorKind::Displaced {
                problems.push("nothing was changed when the other program acted".to_owned());
            }
        }
        let world = world.again();
        let mut now = world.now();
        // Where a name can only be claimed, a kill may leave the empty file.
        if self.lacks == Lacks::Links && is_dead {
            for tree in [&mut now, &mut after] {
                tree.retain(|name, text| {
                    before.contains_key(name) || name.ends_with('/') || !text.is_empty()
                });
            }
        }
        if world.records() > 0 || now.keys().any(|name| name.contains(".mte-")) {
            problems.push("something is left".to_owned());
        }
        if self.deed != Deed::Remove && !now.values().any(|text| text.ends_with(THEIRS)) {
            problems.push("what another program wrote is gone".to_owned());
        }
        // Whoever wrote last under a name keeps it, unless the call has just moved a file there: what it then
        // finds may have had the old name.
        let is_kept = || now.get(self.name).is_some_and(|text| text.ends_with(THEIRS));
        if matches!(self.deed, Deed::Replace | Deed::Make)
            && done.is_err()
            && !(is_dead || is_moved || is_kept())
        {
            problems.push(format!("it has lost the name: {now:?}"));
        }
        let whole: &[&Tree] = match &done {
            _ if is_dead => &[&before, &after],
            Ok(()) => &[&after],
            Err(_) => &[&before],
        };
        let root = PathBuf::from(world.path(""));
        let is_left = |name: &str| {
            error.is_some_and(|error| error.left.iter().any(|left| left.path == root.join(name)))
        };
        let is_other = |name: &&str| !self.concerns(name) && !is_left(name) && !name.ends_with('/');
        if !whole.iter().any(|whole| !different(whole, &now).iter().any(is_other)) {
            problems.push(format!("there is {now:?}"));
        }
        let said = done.map_or_else(|refused| refused.said, |()| "done".to_owned());
        problems.into_iter().map(|problem| format!("{self}; before {at}; {said}: {problem}")).collect()
    }

    /// Tells whether a call gives another file the name without a check of its own, since the file system
    /// has none.
    fn is_renamed_over(&self, call: &SystemCall) -> bool {
        let is_it = || Path::new(self.name).file_name() == Some(OsStr::new(&call.path(3)));
        self.lacks != Lacks::Nothing && call.name == "renameat" && is_it()
    }

    /// Tells whether a call moves a file from one name of its own to this name.
    fn is_moved_to(&self, call: &SystemCall) -> bool {
        let is_it = || Path::new(self.name).file_name() == Some(OsStr::new(&call.path(3)));
        call.name == "renameat2" && !call.path(1).starts_with(".mte-") && is_it()
    }

    /// Tells whether a call writes the file over in its place.
    fn is_written_over(&self, call: &SystemCall) -> bool {
        let is_write = ["pwrite64", "ftruncate"].contains(&call.name);
        is_write && is_linked(self.name) && is_linked(&call.file(0))
    }

    /// Tells whether the moment of the deed decides what is under a name.
    fn concerns(&self, name: &str) -> bool {
        let mut ends = self.steps.iter().map(Step::ends).map(|(from, to)| [from, to]);
        let is_end = ends.any(|ends| ends.contains(&Some(self.name)) && ends.contains(&Some(name)));
        is_end || name.contains(".displaced-") || is_linked(self.name) && is_linked(name)
    }
}

/// Returns what is wrong with an error that no failure of the system has led to.
fn untold(error: &StoreError, world: &World) -> Vec<String> {
    use StoreErrorKind::{Displaced, Io, NotRestored};
    let mut problems = Vec::new();
    let is_told = |path: &Path| error.left.iter().any(|left| left.path == path);
    for left in &error.left {
        // Of a file that is elsewhere now, its own name is told, too.
        if let Remains::Old(of) = &left.what
            && !is_told(of)
        {
            problems.push(format!("{of:?} is not told"));
        }
    }
    for name in world.now().into_keys().filter(|name| name.contains(".displaced-")) {
        if !is_told(Path::new(&world.path(&name))) {
            problems.push(format!("{name} is not told"));
        }
    }
    let is_displaced = !error.left.is_empty();
    if matches!(error.kind, Io | NotRestored) || is_displaced != (error.kind == Displaced) {
        problems.push(format!("{:?}, with {:?}", error.kind, error.left));
    }
    problems
}

/// Tells whether a name is one of the file that has two, and is written over in its place.
fn is_linked(name: &str) -> bool {
    name.contains("linked") && !name.contains(".mte-")
}

/// Tells whether a name means what an error says of it.
fn is_so(left: &LeftBehind, world: &World, before: &Tree) -> bool {
    let root = PathBuf::from(world.path(""));
    let text = std::fs::read_to_string(&left.path).ok();
    let is = |wanted: &dyn Fn(&str) -> bool| text.as_deref().is_some_and(wanted);
    match &left.what {
        Remains::Gone => text.is_none() || is(&|text| text.ends_with(THEIRS)),
        Remains::Old(of) => {
            let was = &before[of.strip_prefix(&root).unwrap().to_str().unwrap()];
            is(&|text| text.starts_with(was.as_str()) || text == THEIRS)
        }
        Remains::Changed | Remains::Made => left.path.exists(),
        Remains::PerhapsMade => true,
    }
}

/// Returns what can be done to the files of a call, by the names that they have or get.
fn deeds(before: &Tree, after: &Tree) -> Vec<(Deed, String)> {
    let mut all = Vec::new();
    for name in different(before, after).into_iter().filter(|name| !name.ends_with('/')) {
        all.push((Deed::Append, name.to_owned()));
        if is_linked(name) {
            continue;
        }
        all.push((Deed::Replace, name.to_owned()));
        if before.contains_key(name) {
            all.push((Deed::Remove, name.to_owned()));
        }
        if !(before.contains_key(name) && after.contains_key(name)) {
            all.push((Deed::Make, name.to_owned()));
        }
    }
    all
}

/// Makes trials of each call; `fate` draws what becomes of the process.
fn try_each(lacks: Lacks, fate: impl Fn(&mut Drawn) -> Fate) {
    // Where something is lacking a call makes several times as many calls to the system.
    let mut drawn = Drawn::new().rarer(if lacks == Lacks::Nothing { 1 } else { 10 });
    let (mut tried, mut problems) = (0, Vec::new());
    for (kind, steps, undoes) in calls() {
        let first = ready(&steps, undoes);
        let mut made = Vec::new();
        let count = |call: &SystemCall| {
            made.push(call.is_decisive());
            lacks.refuses(call)
        };
        if asked(count, || first.carry_out()).is_err() {
            return;
        }
        for (deed, name) in deeds(&first.before, &first.after) {
            for after in drawn.some_of(&made) {
                let fate = fate(&mut drawn);
                let trial = Trial { kind, steps: &steps, undoes, lacks, deed, name: &name, after, fate };
                problems.extend(trial.make());
                tried += 1;
            }
        }
    }
    println!("{tried} trials");
    assert!(problems.is_empty(), "{} of {tried}:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn nothing_of_another_program_is_lost() {
    try_each(Lacks::Nothing, |_| Fate::Lives);
}

#[test]
fn nothing_of_another_program_is_lost_on_a_way_back() {
    try_each(Lacks::Nothing, |drawn| Fate::IsRefused { after: drawn.below(60) });
}

#[test]
fn nothing_of_another_program_is_lost_to_a_recovery() {
    try_each(Lacks::Nothing, |drawn| Fate::Dies { after: drawn.below(60) });
}

#[test]
fn nothing_of_another_program_is_lost_where_names_cannot_be_exchanged() {
    try_each(Lacks::Exchange, |_| Fate::Lives);
    try_each(Lacks::Exchange, |drawn| Fate::IsRefused { after: drawn.below(60) });
    try_each(Lacks::Exchange, |drawn| Fate::Dies { after: drawn.below(60) });
}

#[test]
fn nothing_of_another_program_is_lost_where_files_have_one_name() {
    try_each(Lacks::Links, |_| Fate::Lives);
    try_each(Lacks::Links, |drawn| Fate::IsRefused { after: drawn.below(60) });
    try_each(Lacks::Links, |drawn| Fate::Dies { after: drawn.below(60) });
}

/// One program replaces the file before it is moved, another makes one of its name before it comes back.
#[test]
fn a_file_that_cannot_come_back_is_told() {
    let steps = [Step::Move("a", "d/moved")];
    let ready = ready(&steps, false);
    let mut deeds = vec![Deed::Make, Deed::Replace];
    let answer = |call: &SystemCall| {
        if ready.is_renamed(call)
            && let Some(deed) = deeds.pop()
        {
            assert!(deed.is_done(&ready.world, "a"));
        }
        None
    };
    let Ok(done) = asked(answer, || ready.carry_out()) else { return };
    let error = done.unwrap_err().error.unwrap();
    assert_eq!((error.kind.clone(), error.left.len()), (StoreErrorKind::Displaced, 2));
    assert!(error.left.iter().all(|left| is_so(left, &ready.world, &ready.before)), "{error}");
    let now = ready.world.now();
    assert_eq!((now["a"].as_str(), now["d/moved"].as_str()), (THEIRS, THEIRS));
}
