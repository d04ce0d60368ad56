//! One process of one machine: what it remembers, and what each step does.

use crate::call::{Change, Phase, Step};
use crate::files::{About, Content, Failed, Files, Inode, Name, Temporary, There};
use crate::journal::Record;
use crate::model::{Machines, Reading, State};
use crate::rules::{Asks, Claim, PastCaches, Tree};

/// The work of a process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Doing {
    /// Nothing, until there is something to recover or to read.
    Idle,
    /// Its call.
    Call,
    /// Taking its call back, since this step failed.
    Back { failed: u8 },
    /// Recovering a record, which it has taken over once the turn is not 0.
    Recovery { call: u8, phase: Phase, turn: u8 },
    /// Nothing any more.
    Done,
}

/// A process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Process {
    pub(crate) number: u8,
    pub(crate) is_alive: bool,
    /// Whether the database session of its record exists.
    pub(crate) has_session: bool,
    pub(crate) doing: Doing,
    /// The number of its steps that are done.
    pub(crate) at: u8,
    /// The state of each file of its call, as it has read it.
    read: Vec<Option<(Inode, Content)>>,
    /// Each file before the call, as the record says that it has taken over.
    before: Vec<Option<There>>,
    /// The facts that it saw when it last looked.
    seen: Seen,
    /// Something could not be put back.
    is_not_restored: bool,
    /// The number of files that the last machine has read, and how far it is with the next.
    reading: u8,
    at_reading: Option<(Reading, Option<There>, Option<Content>)>,
}

/// The facts that a process saw when it looked, and acts upon in its next step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Seen {
    /// There is nothing to be done.
    Nothing,
    /// It is as expected.
    Expected,
    /// The old content has its second name.
    Aside,
}

impl Process {
    pub(crate) fn new(number: u8, doing: Doing, changes: usize) -> Self {
        Self {
            number,
            is_alive: true,
            has_session: false,
            doing,
            at: 0,
            read: vec![None; changes],
            before: Vec::new(),
            seen: Seen::Nothing,
            is_not_restored: false,
            reading: 0,
            at_reading: None,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.doing, Doing::Done | Doing::Idle)
    }

    /// Returns the call whose record it relies on, and the turn in which it does.
    pub(crate) fn turn_of(&self) -> Option<(u8, u8)> {
        match self.doing {
            Doing::Call if self.at > 3 => Some((self.number, 0)),
            Doing::Back { .. } => Some((self.number, 0)),
            Doing::Recovery { call, turn, .. } if turn > 0 => Some((call, turn)),
            _ => None,
        }
    }

    /// Tells whether its session is that of the record of this call.
    pub(crate) fn is_about(&self, call: u8) -> bool {
        self.turn_of().is_some_and(|(own, _)| own == call)
    }

    pub(crate) fn recover(&mut self, call: u8) {
        self.turn_to(Doing::Recovery { call, phase: Phase::Begun, turn: 0 });
    }

    /// Kills it: what it knew is gone.
    pub(crate) fn die(&mut self) {
        *self = Self { is_alive: false, ..Self::new(self.number, Doing::Done, 0) };
    }

    fn turn_to(&mut self, doing: Doing) {
        self.doing = doing;
        self.at = 0;
        self.seen = Seen::Nothing;
        self.before.clear();
        if let Doing::Call = doing {
            self.read.fill(None);
        }
        if !matches!(doing, Doing::Back { .. }) {
            self.has_session = false;
            self.is_not_restored = false;
        }
        if let Doing::Done = doing {
            self.read.fill(None);
        }
    }
}

impl Step {
    /// Tells whether the step sends something to the database.
    pub(crate) fn is_said(self) -> bool {
        matches!(
            self,
            Self::Begin
                | Self::Prepared
                | Self::Committed
                | Self::Prove(_)
                | Self::ProveBack
                | Self::Remove
                | Self::TakeOver
                | Self::Ready
        )
    }
}

impl Machines {
    fn files_of(&self, call: u8) -> Vec<u8> {
        self.calls[usize::from(call)].iter().flat_map(|change| change.names()).collect()
    }

    fn can_lock(state: &State, files: &[u8], by: u8) -> bool {
        files.iter().all(|file| {
            let inode = state.files.names.get(&Name::File(*file));
            let about = inode.and_then(|inode| state.files.inodes.get(inode));
            about.is_none_or(|about| about.lock.is_none_or(|holder| holder == by))
        })
    }

    fn lock(state: &mut State, files: &[u8], by: u8) {
        for file in files {
            if let Some(inode) = state.files.names.get(&Name::File(*file)).copied() {
                let _ = state.files.lock(inode, by);
            }
        }
    }

    /// Tells whether a process need not wait for another to take this step.
    pub(crate) fn is_open(&self, state: &State, process: &Process, step: Step) -> bool {
        match step {
            Step::Lock => {
                let files = self.files_of(process.number);
                let mut named = state.journal.naming(&files, &self.calls, None);
                Self::can_lock(state, &files, process.number)
                    && named.all(|(call, _)| !Self::is_in_work(state, call))
            }
            Step::LockAll => match process.doing {
                Doing::Recovery { call, .. } => Self::can_lock(state, &self.files_of(call), process.number),
                _ => false,
            },
            _ => true,
        }
    }

    /// Returns what the last machine does next of its reads; it waits for a record that is in work.
    pub(crate) fn next_reading(&self, state: &State, process: &Process) -> Option<Reading> {
        let file = *self.reads.get(usize::from(process.reading))?;
        match process.at_reading {
            None => {
                let waits = self.rules.asks != Asks::Never && self.rules.asks != Asks::After;
                let mut named = state.journal.naming(std::slice::from_ref(&file), &self.calls, None);
                (!waits || named.all(|(call, _)| !Self::is_in_work(state, call))).then_some(Reading::Read)
            }
            Some((reading, ..)) => Some(reading),
        }
    }

    pub(crate) fn read(&self, state: &mut State, number: u8, reading: Reading) {
        let process = usize::from(number);
        let file = self.reads[usize::from(state.processes[process].reading)];
        let there = |state: &State| {
            let inode = state.files.names.get(&Name::File(file)).copied();
            inode.and_then(|inode| state.files.inodes.get(&inode).map(|about| (inode, about.content)))
        };
        let naming: Vec<u8> =
            state.journal.naming(&[file], &self.calls, None).map(|(call, _)| call).collect();
        let found = there(state);
        let truth = state.truth[usize::from(file)];
        let kept = state.processes[process].at_reading;
        let accept = |state: &mut State, read: Option<(Inode, Content)>, was_true: Option<Content>| {
            let content = read.map(|(_, content)| content);
            state.misread |= content != was_true && content != truth;
            state.processes[process].reading += 1;
            state.processes[process].at_reading = None;
        };
        let recover_first = |state: &mut State| {
            let abandoned = naming.iter().find(|call| !Self::is_in_work(state, **call));
            let process = &mut state.processes[process];
            process.at_reading = None;
            if let Some(call) = abandoned {
                process.recover(*call);
            }
        };
        match (reading, kept) {
            (Reading::Read, _) if self.rules.asks == Asks::Never => accept(state, found, truth),
            // Asked at the moment before: a record that begins after that is not seen.
            (Reading::Read, None) if self.rules.asks == Asks::Before => {
                if naming.is_empty() {
                    state.processes[process].at_reading = Some((Reading::Read, None, None));
                } else {
                    recover_first(state);
                }
            }
            (Reading::Read, Some(_)) if self.rules.asks == Asks::Before => accept(state, found, truth),
            (Reading::Read, _) => state.processes[process].at_reading = Some((Reading::Ask, found, truth)),
            (Reading::Ask, Some((_, read, was_true))) => {
                if !naming.is_empty() {
                    recover_first(state);
                } else if self.rules.asks == Asks::After {
                    accept(state, read, was_true);
                } else {
                    state.processes[process].at_reading = Some((Reading::LookAgain, read, was_true));
                }
            }
            (Reading::LookAgain, Some((_, read, was_true))) => {
                if read == found {
                    accept(state, read, was_true);
                } else {
                    state.processes[process].at_reading = None;
                }
            }
            (Reading::Ask | Reading::LookAgain, None) => {}
        }
    }

    /// Has a process take a step.
    pub(crate) fn go(&self, state: &mut State, number: u8, step: Step) {
        let before = state.files.clone();
        let taken = self.take(state, number, step);
        if !matches!(step, Step::Claim(..) | Step::ClaimOld(..)) {
            self.forget_changed(state, number, &before);
        }
        match taken {
            Ok(true) => state.processes[usize::from(number)].at += 1,
            // It is elsewhere already, or has more to do.
            Ok(false) => {}
            Err(Failed) => self.fail(state, number, step),
        }
    }

    /// Has a step of a process fail.
    pub(crate) fn fail(&self, state: &mut State, number: u8, step: Step) {
        let process = &mut state.processes[usize::from(number)];
        match process.doing {
            // Without a record what is left is another's.
            Doing::Call if step == Step::Remove => process.at += 1,
            Doing::Call if process.at <= 3 => {
                state.files.unlock_all(number);
                process.turn_to(Doing::Done);
            }
            Doing::Call => {
                let failed = process.at;
                process.turn_to(Doing::Back { failed });
            }
            // All stays, but what was never put in place.
            Doing::Back { .. } if step == Step::ProveBack => {
                process.is_not_restored = true;
                let process = process.clone();
                let steps = self.steps(&process);
                let is_next = |step: &Step| matches!(step, Step::Drop(_) | Step::Refuse);
                let at = steps.iter().position(is_next).unwrap_or(steps.len());
                state.processes[usize::from(number)].at = u8::try_from(at).unwrap();
            }
            Doing::Back { .. } => {
                process.is_not_restored |= step != Step::Remove;
                process.at += 1;
            }
            Doing::Recovery { call, turn, .. } => {
                state.files.unlock_all(number);
                // Removes the directories that it has made; one that is not empty is another's by now.
                for (change, _) in (0..).zip(&self.calls[usize::from(call)]) {
                    let _ = state.files.remove_directory(Temporary { call, change, turn });
                }
                self.resume(state, number);
            }
            Doing::Idle | Doing::Done => {}
        }
    }

    /// Has a process go on, after a recovery, with its call, or as the last machine with its reads.
    fn resume(&self, state: &mut State, number: u8) {
        let is_last = usize::from(number) == self.calls.len();
        state.processes[usize::from(number)].turn_to(if is_last { Doing::Idle } else { Doing::Call });
    }

    /// Takes one step. Returns whether it is done with that step.
    #[expect(clippy::too_many_lines, clippy::match_same_arms, reason = "a list of all steps, in their order")]
    fn take(&self, state: &mut State, number: u8, step: Step) -> Result<bool, Failed> {
        let own = usize::from(number);
        let process = state.processes[own].clone();
        let (call, turn) = match process.doing {
            Doing::Recovery { call, turn, .. } => (call, turn),
            _ => (number, 0),
        };
        let changes = &self.calls[usize::from(call)];
        let rules = &self.rules;
        let is_recovery = matches!(process.doing, Doing::Recovery { .. });
        let temporary = |at: usize, turn: u8| {
            let turn = if rules.claim == Claim::Renames { turn } else { 0 };
            Temporary { call, change: u8::try_from(at).unwrap(), turn }
        };
        let file = |at: usize| Name::File(changes[at].file());
        let new = |at: usize| Name::New(temporary(at, turn));
        let old = |at: usize| Name::Old(temporary(at, turn));
        let taken = |at: usize| {
            if rules.takes_into_directories { Name::Taken(temporary(at, turn)) } else { new(at) }
        };
        let made = |at: usize| Inode::Made { call, change: u8::try_from(at).unwrap() };
        let before = |at: usize| if is_recovery { process.before[at] } else { process.read[at] };
        let content = |there: Option<There>| there.map(|(_, content)| content);
        let after = |at: usize| {
            let after = Self::content_after(call, changes[at], content(before(at)))?;
            match changes[at] {
                Change::Overwrite(_) | Change::Move(..) => before(at).map(|(inode, _)| (inode, after)),
                _ => Some((made(at), after)),
            }
        };
        let seen_at = |state: &State, name: Name| self.look(state, &process, name);
        let see = |state: &mut State, seen: Seen| state.processes[own].seen = seen;
        match step {
            Step::Lock => {
                let files = self.files_of(call);
                Self::lock(state, &files, number);
            }
            Step::Settle => {
                let files = self.files_of(call);
                let mut named = state.journal.naming(&files, &self.calls, None);
                if let Some(found) = named.next().map(|(call, _)| call) {
                    state.files.unlock_all(number);
                    if Self::is_in_work(state, found) {
                        state.processes[own].turn_to(Doing::Call);
                    } else {
                        state.processes[own].recover(found);
                    }
                    return Ok(false);
                }
            }
            Step::Read => {
                for (at, change) in changes.iter().enumerate() {
                    let there = state.files.at(file(at));
                    let is_new = matches!(change, Change::Create(_));
                    // Another change of the call can free the name.
                    let is_freed = changes
                        .iter()
                        .any(|other| matches!(other, Change::Move(from, _) if *from == change.file()));
                    if there.is_some() == is_new && !(is_new && is_freed) {
                        return Err(Failed);
                    }
                    state.processes[own].read[at] = there.filter(|_| !is_new);
                }
            }
            Step::Begin => {
                let files = self.files_of(call);
                if rules.begin_is_exclusive
                    && state.journal.naming(&files, &self.calls, None).next().is_some()
                {
                    state.files.unlock_all(number);
                    state.processes[own].turn_to(Doing::Call);
                    return Ok(false);
                }
                let before = vec![None; changes.len()];
                state.journal.0[usize::from(call)] =
                    Some(Record { phase: Phase::Begun, owner: number, turn: 0, before });
                state.processes[own].has_session = true;
            }
            Step::Stage(at) => {
                let lock = Some(number);
                if let Some((_, content)) = after(at).filter(|_| !matches!(changes[at], Change::Move(..))) {
                    state.files.create(new(at), made(at), About { content, lock })?;
                }
                match changes[at] {
                    Change::Overwrite(_) => {
                        let (_, content) = before(at).ok_or(Failed)?;
                        let copy = Inode::Copy { call, change: u8::try_from(at).unwrap() };
                        state.files.create(old(at), copy, About { content, lock })?;
                    }
                    Change::Edit(_) => {}
                    Change::Create(_) | Change::Remove(_) | Change::Move(..) => {
                        if rules.takes_into_directories {
                            state.files.directories.insert(temporary(at, turn));
                        }
                    }
                }
            }
            Step::Prepared => {
                if !state.journal.prepare(call, process.read.clone(), rules.prepared_is_conditional) {
                    return Err(Failed);
                }
            }
            Step::Withdraw(at) => state.files.rename(file(at), taken(at))?,
            Step::CheckWithdrawn(at) => {
                if state.files.at(taken(at)) != process.read[at] {
                    return Err(Failed);
                }
            }
            Step::Give(at) => match changes[at] {
                Change::Move(_, to) => state.files.rename_new(taken(at), Name::File(to))?,
                _ => state.files.rename_new(new(at), file(at))?,
            },
            Step::Exchange(at) => {
                state.files.exchange(file(at), new(at))?;
            }
            Step::IsWhatWasRead(at) => {
                // Where recovery has the temporary by now, the look fails, and nothing can be taken back.
                if state.files.at(new(at)) != process.read[at] {
                    return Err(Failed);
                }
            }
            Step::Aside(at) => state.files.link(file(at), old(at))?,
            Step::IsThereUnchanged(at) | Step::Check(at) => {
                if state.files.content_at(file(at)) != content(before(at)) {
                    return Err(Failed);
                }
            }
            Step::RenameOver(at) => {
                state.files.rename(new(at), file(at))?;
            }
            Step::Committed => {
                if !state.journal.commit(call, rules.committed_is_conditional) {
                    return Err(Failed);
                }
                self.decide(state, call);
            }
            Step::LockAgain(at) => {
                if let Some(inode) = self.written_inode(state, &process, at) {
                    state.files.lock(inode, number)?;
                }
            }
            Step::Prove(_) if is_recovery && process.seen == Seen::Nothing => {}
            Step::Prove(_) | Step::ProveBack => {
                if !state.journal.is_mine(call, turn) {
                    return Err(Failed);
                }
                // With a new session, if the last is gone.
                state.processes[own].has_session = true;
            }
            Step::WriteOver(_) | Step::WriteRest(_) if is_recovery && process.seen == Seen::Nothing => {}
            Step::WriteOver(at) | Step::WriteRest(at) => {
                let is_torn = matches!(step, Step::WriteOver(_));
                let content = content(after(at)).map(|whole| Content { is_torn, ..whole });
                let inode = self.written_inode(state, &process, at);
                if let Some(about) = inode.and_then(|inode| state.files.inodes.get_mut(&inode)) {
                    if rules.lost_locks_fail_writes && about.lock != Some(number) {
                        return Err(Failed);
                    }
                    about.content = content.unwrap_or(about.content);
                }
            }
            Step::Finish(at) => {
                match (changes[at], rules.tree) {
                    (Change::Edit(_), Tree::Exchanges) => {
                        if state.files.names.get(&new(at)).copied()
                            == process.read[at].map(|(inode, _)| inode)
                        {
                            state.files.unlink(new(at));
                        }
                    }
                    (Change::Edit(_), Tree::Renames) => state.files.unlink(old(at)),
                    (Change::Overwrite(_), _) => {
                        state.files.unlink(new(at));
                        state.files.unlink(old(at));
                    }
                    (Change::Remove(_), _) => state.files.unlink(taken(at)),
                    (Change::Create(_) | Change::Move(..), _) => {}
                }
                let _ = state.files.remove_directory(temporary(at, turn));
            }
            Step::Remove => {
                if process.is_not_restored {
                    return Ok(true);
                }
                if !state.journal.remove(call, turn) && is_recovery {
                    return Err(Failed);
                }
            }
            Step::Answer => {
                state.answered[usize::from(call)] = true;
                state.files.unlock_all(number);
                state.processes[own].turn_to(Doing::Done);
                return Ok(false);
            }
            Step::PutBack(at) => state.files.exchange(file(at), new(at))?,
            Step::Standing(at) => {
                let is_new = state.files.names.get(&file(at)) == Some(&made(at));
                see(state, if is_new { Seen::Expected } else { Seen::Nothing });
            }
            Step::RenameBack(at) => {
                if process.seen == Seen::Expected {
                    state.files.rename(old(at), file(at))?;
                } else {
                    state.files.unlink(old(at));
                }
            }
            Step::DropAside(at) => state.files.unlink(old(at)),
            Step::TakeAway(_) | Step::TakenAway(_) if is_recovery && process.seen == Seen::Nothing => {}
            Step::TakeAway(at) => {
                let from = Self::given(changes[at]);
                if state.files.names.contains_key(&from) {
                    state.files.rename(from, taken(at))?;
                }
            }
            Step::TakenAway(at) => {
                let aside = seen_at(state, taken(at));
                // A creation has made it, a move has found it.
                let is_ours = self.is_same(aside, after(at));
                if aside.is_some() && !is_ours {
                    state.files.rename_new(taken(at), Self::given(changes[at]))?;
                } else if let Change::Create(_) = changes[at] {
                    state.files.unlink(taken(at));
                } else if is_recovery && aside.is_some() && taken(at) != new(at) {
                    state.files.rename_new(taken(at), new(at))?;
                }
            }
            Step::ComeBack(at) => state.files.rename_new(taken(at), file(at))?,
            Step::Drop(at) => {
                if state.files.names.get(&new(at)) == Some(&made(at)) {
                    state.files.unlink(new(at));
                }
                if let Change::Overwrite(_) = changes[at] {
                    state.files.unlink(old(at));
                }
                let _ = state.files.remove_directory(temporary(at, turn));
            }
            Step::Refuse => {
                state.files.unlock_all(number);
                if is_recovery {
                    self.resume(state, number);
                } else {
                    state.processes[own].turn_to(Doing::Done);
                }
                return Ok(false);
            }
            Step::TakeOver => {
                let is_free = !rules.takes_over_by_lock || !Self::is_in_work(state, call);
                let record = state.journal.0[usize::from(call)].as_mut().filter(|_| is_free);
                let Some(record) = record else {
                    self.resume(state, number);
                    return Ok(false);
                };
                record.turn += 1;
                record.owner = number;
                let (phase, turn, before) = (record.phase, record.turn, record.before.clone());
                state.processes[own].turn_to(Doing::Recovery { call, phase, turn });
                state.processes[own].has_session = true;
                state.processes[own].before = before;
                return Ok(false);
            }
            Step::Claim(at, from) => {
                let from = Name::New(temporary(at, from));
                match rules.claim {
                    Claim::Renames => {
                        self.claim(state, number, from, new(at))?;
                    }
                    Claim::LooksAndUnlinks if process.seen == Seen::Nothing => {
                        let is_new = state.files.names.get(&from) == Some(&made(at));
                        see(state, if is_new { Seen::Expected } else { Seen::Aside });
                        return Ok(false);
                    }
                    Claim::LooksAndUnlinks => {
                        if process.seen == Seen::Expected {
                            state.files.unlink(from);
                        }
                        see(state, Seen::Nothing);
                    }
                    Claim::Leaves => {}
                }
            }
            Step::ClaimOld(at, from) => {
                let from = Name::Old(temporary(at, from));
                if rules.claim == Claim::Renames {
                    self.claim(state, number, from, old(at))?;
                }
            }
            Step::ClaimTaken(at, from) => {
                let from = Temporary { turn: from, ..temporary(at, turn) };
                if state.files.names.contains_key(&Name::Taken(from)) {
                    state.files.rename(Name::Taken(from), new(at))?;
                    return Ok(false);
                }
                state.files.remove_directory(from)?;
            }
            Step::MakeRoom(at) => {
                state.files.directories.insert(temporary(at, turn));
            }
            Step::Ready => {
                if !state.journal.is_mine(call, turn) {
                    return Err(Failed);
                }
            }
            Step::LockAll => {
                let files = self.files_of(call);
                Self::lock(state, &files, number);
            }
            Step::Judge(at) => {
                let given = seen_at(state, Self::given(changes[at]));
                let (new, old) = (seen_at(state, new(at)), seen_at(state, old(at)));
                let seen = self.judge(changes[at], given, (new, old), after(at), before(at))?;
                see(state, seen);
            }
            Step::BringBack(at) => match process.seen {
                Seen::Nothing => {}
                Seen::Expected => state.files.exchange(file(at), new(at))?,
                Seen::Aside => state.files.rename(old(at), file(at))?,
            },
            Step::GiveBack(at) => {
                if state.files.names.contains_key(&new(at)) {
                    state.files.rename_new(new(at), file(at))?;
                }
            }
            Step::Discard(at) => {
                for turn in 0..=turn {
                    let of = Temporary { turn, ..temporary(at, turn) };
                    state.files.unlink(Name::New(of));
                    state.files.unlink(Name::Old(of));
                }
                let _ = state.files.remove_directory(temporary(at, turn));
            }
        }
        Ok(true)
    }

    /// Returns the name that a change gives.
    fn given(change: Change) -> Name {
        match change {
            Change::Move(_, to) => Name::File(to),
            _ => Name::File(change.file()),
        }
    }

    /// Returns the file that a process has open to be written over.
    fn written_inode(&self, state: &State, process: &Process, at: usize) -> Option<Inode> {
        match process.doing {
            Doing::Recovery { call, .. } => {
                let name = Name::File(self.calls[usize::from(call)][at].file());
                self.look(state, process, name).map(|(inode, _)| inode)
            }
            _ => process.read[at].map(|(inode, _)| inode),
        }
    }

    /// Takes a temporary from an earlier owner, if it is there. What a machine remembers of the name goes
    /// with the name.
    fn claim(&self, state: &mut State, number: u8, from: Name, to: Name) -> Result<(), Failed> {
        let remembered = state.remembered.get(&from).copied().filter(|_| self.remembers(number));
        let is_there = state.files.names.contains_key(&from);
        if is_there {
            state.files.rename(from, to)?;
        }
        if self.remembers(number) {
            state.remembered.remove(&from);
            state.remembered.remove(&to);
            state.remembered.extend(remembered.filter(|_| is_there).map(|there| (to, there)));
        }
        Ok(())
    }

    fn remembers(&self, number: u8) -> bool {
        usize::from(number) == self.calls.len()
    }

    /// Has a process forget the names that it has just changed.
    fn forget_changed(&self, state: &mut State, number: u8, before: &Files) {
        if self.remembers(number) {
            let names = &state.files.names;
            state.remembered.retain(|name, _| before.names.get(name) == names.get(name));
        }
    }

    /// Returns what a process sees of a name: where recovery does not look past the caches of its machine, it
    /// sees what that remembers.
    fn look(&self, state: &State, process: &Process, name: Name) -> Option<There> {
        let is_past = match (self.rules.past_caches, name) {
            (PastCaches::All, _) | (PastCaches::Files, Name::File(_)) => true,
            (PastCaches::Temporaries, _) => !matches!(name, Name::File(_)),
            (PastCaches::Files | PastCaches::Nothing, _) => false,
        };
        let is_cached = !is_past && self.remembers(process.number);
        state.remembered.get(&name).copied().filter(|_| is_cached).or_else(|| state.files.at(name))
    }

    /// Tells whether recovery takes two files for one.
    fn is_same(&self, one: Option<There>, other: Option<There>) -> bool {
        match (one, other) {
            (Some((one, _)), Some((other, _))) if self.rules.knows_identity => one == other,
            (Some((_, one)), Some((_, other))) if self.rules.are_texts_equal => {
                (one.is_torn, one.is_other) == (other.is_torn, other.is_other)
            }
            (Some((_, one)), Some((_, other))) => one == other,
            (None, None) => true,
            _ => false,
        }
    }

    /// Returns what recovery finds of a file: that at the name which the change gives, `now`, its temporary,
    /// and its second name. Fails if what it sees cannot be.
    fn judge(
        &self,
        change: Change,
        now: Option<There>,
        (new, old): (Option<There>, Option<There>),
        after: Option<There>,
        before: Option<There>,
    ) -> Result<Seen, Failed> {
        let content = |there: Option<There>| there.map(|(_, content)| content);
        Ok(match change {
            Change::Edit(_) => {
                let temporary = new.filter(|new| !self.is_same(Some(*new), after));
                let displaced = temporary.or(old);
                let is_new = self.is_same(now, after);
                // No step gives one file both names, so one of them is only remembered.
                if self.rules.must_agree && new.is_some() && self.is_same(new, now) {
                    return Err(Failed);
                }
                if displaced.is_none() || self.is_same(displaced, now) || !is_new {
                    Seen::Nothing
                } else if temporary.is_some() {
                    Seen::Expected
                } else {
                    Seen::Aside
                }
            }
            Change::Overwrite(_) => {
                let (now, after) = (content(now), content(after));
                let is_half_done =
                    now.is_some_and(|now| now.is_torn && after.is_some_and(|new| new.calls == now.calls));
                let is_there = content(new) == after;
                if is_there && (now == content(before) || is_half_done) {
                    Seen::Expected
                } else {
                    Seen::Nothing
                }
            }
            Change::Create(_) | Change::Move(..) if now.is_some() && self.is_same(now, after) => {
                Seen::Expected
            }
            Change::Create(_) | Change::Move(..) | Change::Remove(_) => Seen::Nothing,
        })
    }
}
