//! The machines, what can happen to them, and what must hold whatever does: [`Machines`].

use std::collections::BTreeMap;

use stateright::{Model, Property};

use crate::call::{Change, Step, backward, forward, recovery};
use crate::files::{About, Content, Files, Inode, Name, There};
use crate::journal::Journal;
use crate::process::{Doing, Process};
use crate::rules::{PastCaches, Rules};

/// The most times that a record can be taken over in a model.
const TURNS: u8 = 4;

/// The faults that can happen, and how often.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Faults {
    /// A process dies, its locks and its session with it.
    pub(crate) deaths: u8,
    /// A process goes on without its session.
    pub(crate) lost_sessions: u8,
    /// A process goes on without its file locks.
    pub(crate) lost_locks: u8,
    /// The last machine remembers all names as they are, and sees them so until it changes them itself.
    pub(crate) warm_caches: u8,
}

/// The machines that are explored.
#[derive(Clone, Debug)]
pub(crate) struct Machines {
    pub(crate) rules: Rules,
    /// The files that are there in the beginning.
    pub(crate) files: Vec<bool>,
    /// A machine each makes one of these calls.
    pub(crate) calls: Vec<Vec<Change>>,
    /// The last machine recovers what is abandoned, and reads these files one after the other. It alone does
    /// not die.
    pub(crate) reads: Vec<u8>,
    pub(crate) faults: Faults,
}

/// Everything at one moment.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    pub(crate) files: Files,
    pub(crate) journal: Journal,
    pub(crate) processes: Vec<Process>,
    pub(crate) faults: Faults,
    /// The names that the last machine remembers.
    pub(crate) remembered: BTreeMap<Name, There>,
    /// The content of each file if each call that is decided was made at the moment of its decision, one
    /// after the other.
    pub(crate) truth: Vec<Option<Content>>,
    /// The calls that are decided to be made.
    pub(crate) made: Vec<bool>,
    /// The calls that were answered `ok`.
    pub(crate) answered: Vec<bool>,
    /// A read has told what was never true.
    pub(crate) misread: bool,
    /// A process has died that had lost its record: it may have made a temporary after that.
    pub(crate) left_by_a_zombie: bool,
}

/// The next event. The number is that of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Happens {
    /// A process takes its next step.
    Goes(u8, Step),
    /// A process wants to send something to the database, and has no session.
    CannotSay(u8, Step),
    /// The order of a process to the database was carried out, and the session ended before the answer.
    IsNotAnswered(u8, Step),
    /// A machine that has nothing else to do begins to recover a record.
    Sweeps(u8),
    /// A read takes its next step.
    Reads(u8, Reading),
    Dies(u8),
    LosesSession(u8),
    LosesLocks(u8),
    Remembers,
}

/// The steps of a read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Reading {
    /// Opens the file and reads it.
    Read,
    /// Asks whether a record names it.
    Ask,
    /// Looks whether the name still means what was read.
    LookAgain,
}

impl Machines {
    /// Returns the steps that a process is at.
    pub(crate) fn steps(&self, process: &Process) -> Vec<Step> {
        let call = |call: u8| self.calls[usize::from(call)].as_slice();
        match process.doing {
            Doing::Idle | Doing::Done => Vec::new(),
            Doing::Call => forward(call(process.number), &self.rules),
            Doing::Back { failed } => {
                backward(&forward(call(process.number), &self.rules), usize::from(failed), &self.rules)
            }
            Doing::Recovery { call: of, phase, turn } => {
                if turn == 0 {
                    vec![Step::TakeOver]
                } else {
                    recovery(call(of), phase, turn, &self.rules)
                }
            }
        }
    }

    /// Returns the next step of a process.
    pub(crate) fn next_step(&self, process: &Process) -> Option<Step> {
        self.steps(process).get(usize::from(process.at)).copied()
    }

    /// Tells whether it has proved its session for the step that comes next, or is in the middle of that
    /// step.
    fn is_proved(&self, process: &Process) -> bool {
        let steps = self.steps(process);
        let last = usize::from(process.at).checked_sub(1).and_then(|last| steps.get(last));
        matches!(last, Some(Step::Prove(_) | Step::ProveBack | Step::WriteOver(_)))
    }

    /// Returns the content that a change gives its file.
    pub(crate) fn content_after(call: u8, change: Change, before: Option<Content>) -> Option<Content> {
        let bit = 1 << call;
        match change {
            Change::Edit(_) | Change::Overwrite(_) => before.map(|old| old.edited(bit)),
            Change::Create(_) => Some(Content::whole(bit)),
            Change::Remove(_) => None,
            Change::Move(..) => before,
        }
    }

    /// Decides the call: from now on it was made.
    pub(crate) fn decide(&self, state: &mut State, call: u8) {
        if std::mem::replace(&mut state.made[usize::from(call)], true) {
            return;
        }
        for change in &self.calls[usize::from(call)] {
            let file = usize::from(change.file());
            let after = Self::content_after(call, *change, state.truth[file]);
            if let Change::Move(_, to) = change {
                state.truth[file] = None;
                state.truth[usize::from(*to)] = after;
            } else {
                state.truth[file] = after;
            }
        }
    }

    /// Tells whether the record of a call belongs to a session that is there.
    pub(crate) fn is_in_work(state: &State, call: u8) -> bool {
        state.journal.0[usize::from(call)].as_ref().is_some_and(|record| {
            let owner = &state.processes[usize::from(record.owner)];
            owner.has_session && owner.is_about(call)
        })
    }

    /// Tells whether nothing is left to be done.
    fn is_quiet(&self, state: &State) -> bool {
        let mut actions = Vec::new();
        self.actions(state, &mut actions);
        actions.iter().all(|happens| {
            matches!(
                happens,
                Happens::Dies(_)
                    | Happens::LosesSession(_)
                    | Happens::LosesLocks(_)
                    | Happens::Remembers
                    | Happens::IsNotAnswered(..)
            )
        })
    }
}

/// Tells whether each file that no record names holds what the calls that were made give it, in the order in
/// which they were decided: it is neither torn, nor half of a call, nor without its name, nor changed by a
/// machine that came back.
fn is_whole(model: &Machines, state: &State) -> bool {
    (0..).zip(&state.truth).all(|(file, truth)| {
        state.journal.naming(&[file], &model.calls, None).next().is_some()
            || state.files.content_at(Name::File(file)) == *truth
    })
}

/// Tells whether each call that was answered was made.
fn is_kept(_: &Machines, state: &State) -> bool {
    state.answered.iter().zip(&state.made).all(|(answered, made)| !answered || *made)
}

/// Tells whether in the end there is no record, and nothing but the files.
fn is_ended(model: &Machines, state: &State) -> bool {
    if !model.is_quiet(state) {
        return true;
    }
    let has_records = state.journal.0.iter().any(Option::is_some);
    let is_clean = state.files.directories.is_empty()
        && state.files.names.keys().all(|name| matches!(name, Name::File(_)));
    !has_records
        && state.processes.iter().all(|process| !process.is_alive || process.is_done())
        && (is_clean || state.left_by_a_zombie)
}

impl Model for Machines {
    type State = State;
    type Action = Happens;

    fn init_states(&self) -> Vec<State> {
        let mut files = Files::default();
        for (file, is_there) in (0..).zip(&self.files) {
            if *is_there {
                let about = About { content: Content::whole(0), lock: None };
                files.names.insert(Name::File(file), Inode::First(file));
                files.inodes.insert(Inode::First(file), about);
            }
        }
        let callers =
            (0..).zip(&self.calls).map(|(number, call)| Process::new(number, Doing::Call, call.len()));
        let last = Process::new(u8::try_from(self.calls.len()).unwrap(), Doing::Idle, 0);
        vec![State {
            files,
            journal: Journal(vec![None; self.calls.len()]),
            processes: callers.chain([last]).collect(),
            faults: self.faults,
            remembered: BTreeMap::new(),
            truth: self.files.iter().map(|is_there| is_there.then_some(Content::whole(0))).collect(),
            made: vec![false; self.calls.len()],
            answered: vec![false; self.calls.len()],
            misread: false,
            left_by_a_zombie: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Happens>) {
        if state.faults.warm_caches > 0 && self.rules.past_caches != PastCaches::All {
            actions.push(Happens::Remembers);
        }
        for process in state.processes.iter().filter(|process| process.is_alive) {
            let number = process.number;
            let is_last = usize::from(number) == self.calls.len();
            if let Some(step) = self.next_step(process) {
                if self.is_open(state, process, step) {
                    actions.push(Happens::Goes(number, step));
                }
                if step.is_said() && step != Step::TakeOver && !process.has_session && step != Step::Begin {
                    actions.push(Happens::CannotSay(number, step));
                }
                if step == Step::Committed && process.has_session && state.faults.lost_sessions > 0 {
                    actions.push(Happens::IsNotAnswered(number, step));
                }
                if !is_last && state.faults.deaths > 0 {
                    actions.push(Happens::Dies(number));
                }
                let is_short = self.rules.sessions_outlast_steps && self.is_proved(process);
                if process.has_session && state.faults.lost_sessions > 0 && !is_short {
                    actions.push(Happens::LosesSession(number));
                }
                let holds = state.files.inodes.values().any(|about| about.lock == Some(number));
                if holds && state.faults.lost_locks > 0 {
                    actions.push(Happens::LosesLocks(number));
                }
            } else if is_last {
                let is_abandoned = |call| {
                    let record = state.journal.0[usize::from(call)].as_ref();
                    record.is_some_and(|record| record.turn < TURNS) && !Self::is_in_work(state, call)
                };
                if (0..).zip(&self.calls).any(|(call, _)| is_abandoned(call)) {
                    actions.push(Happens::Sweeps(number));
                }
                if let Some(reading) = self.next_reading(state, process) {
                    actions.push(Happens::Reads(number, reading));
                }
            }
        }
    }

    fn next_state(&self, last: &State, happens: Happens) -> Option<State> {
        let mut state = last.clone();
        match happens {
            Happens::Goes(number, step) => self.go(&mut state, number, step),
            Happens::CannotSay(number, step) => self.fail(&mut state, number, step),
            Happens::IsNotAnswered(number, step) => {
                let (call, turn) = (number, 0);
                if state.journal.is_mine(call, turn)
                    && state.journal.commit(call, self.rules.committed_is_conditional)
                {
                    self.decide(&mut state, call);
                }
                state.faults.lost_sessions -= 1;
                state.processes[usize::from(number)].has_session = false;
                self.fail(&mut state, number, step);
            }
            Happens::Sweeps(number) => {
                let call = (0..)
                    .zip(&state.journal.0)
                    .find(|(call, record)| record.is_some() && !Self::is_in_work(&state, *call))?
                    .0;
                state.processes[usize::from(number)].recover(call);
            }
            Happens::Reads(number, reading) => self.read(&mut state, number, reading),
            Happens::Dies(number) => {
                state.faults.deaths -= 1;
                state.files.unlock_all(number);
                let process = &mut state.processes[usize::from(number)];
                let is_zombie =
                    process.turn_of().is_some_and(|(call, turn)| !state.journal.is_mine(call, turn));
                state.left_by_a_zombie |= is_zombie;
                process.die();
            }
            Happens::LosesSession(number) => {
                state.faults.lost_sessions -= 1;
                state.processes[usize::from(number)].has_session = false;
            }
            Happens::Remembers => {
                state.faults.warm_caches -= 1;
                let there = |name: &Name| Some((*name, state.files.at(*name)?));
                state.remembered = state.files.names.keys().filter_map(there).collect();
            }
            Happens::LosesLocks(number) => {
                state.faults.lost_locks -= 1;
                state.files.unlock_all(number);
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("what no record names is whole", is_whole),
            Property::always("what was answered was made", is_kept),
            Property::always("what was read was true", |_, state: &State| !state.misread),
            Property::always("everything ends, and nothing is left", is_ended),
        ]
    }
}
