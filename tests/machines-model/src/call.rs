//! The steps of a call: [`forward`]; of a call of which a step fails: [`backward`]; and of recovery:
//! [`recovery`]. The steps bear the names of the functions of `crates/store/src/commit` and
//! `crates/store/src/recovery` that take them.

use crate::rules::{Rules, Tree};

/// The change of one file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Change {
    /// It gets new content: a new file takes its name.
    Edit(u8),
    /// It is written over.
    Overwrite(u8),
    /// It is made.
    Create(u8),
    /// It is removed.
    Remove(u8),
    /// It gets another name, the second.
    Move(u8, u8),
}

impl Change {
    /// Returns the file that it is about: that which is there before, if one is.
    pub(crate) fn file(self) -> u8 {
        let (Self::Edit(file)
        | Self::Overwrite(file)
        | Self::Create(file)
        | Self::Remove(file)
        | Self::Move(file, _)) = self;
        file
    }

    /// Returns the files whose names it is about.
    pub(crate) fn names(self) -> impl Iterator<Item = u8> {
        let to = if let Self::Move(_, to) = self { Some(to) } else { None };
        [self.file()].into_iter().chain(to)
    }

    /// Tells whether a new file is made for it.
    fn is_staged(self) -> bool {
        matches!(self, Self::Edit(_) | Self::Overwrite(_) | Self::Create(_))
    }

    /// Tells whether it takes a name away.
    fn takes_away(self) -> bool {
        matches!(self, Self::Remove(_) | Self::Move(..))
    }
}

/// A step. The number is that of the change in its call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Step {
    // Of a call: `edit::attempt`, `recovery::gate`, `commit::transaction`.
    /// Locks its files.
    Lock,
    /// Asks which records name one of its files.
    Settle,
    /// Reads its files.
    Read,
    /// Writes the record, before the first temporary.
    Begin,
    /// Makes a temporary, whole and synced, or the directory for a name that is taken away.
    Stage(usize),
    /// The record says what each file was and will be.
    Prepared,
    /// Renames a file to a name that is ours.
    Withdraw(usize),
    /// Looks at the file that was renamed.
    CheckWithdrawn(usize),
    /// Gives a new file its name, or a moved one its new name.
    Give(usize),
    /// Changes names with the temporary.
    Exchange(usize),
    /// Looks at what came out.
    IsWhatWasRead(usize),
    /// Gives the old file a second name, where names cannot be exchanged.
    Aside(usize),
    /// Reads the file once more by its name.
    IsThereUnchanged(usize),
    /// Renames the temporary over the name.
    RenameOver(usize),
    /// Looks whether a file that is to be written over is what was read.
    Check(usize),
    /// The word *committed*.
    Committed,
    /// Takes the lock of the file once more, by the same handle.
    LockAgain(usize),
    /// Asks the database whether the record is still its own.
    Prove(usize),
    /// Writes over a part.
    WriteOver(usize),
    /// Writes over the rest.
    WriteRest(usize),
    /// Unlinks what was displaced or needed on the way.
    Finish(usize),
    /// Removes the record.
    Remove,
    /// Lets go of the locks, and answers.
    Answer,

    // Of a call that takes all back: `World::settle`, `Transaction::drop`.
    /// Asks whether the record is still its own; if not, all stays as it is.
    ProveBack,
    /// Changes names again.
    PutBack(usize),
    /// Looks whether the new file still has the name.
    Standing(usize),
    /// Renames the old file to its name.
    RenameBack(usize),
    /// Unlinks the second name of the old file.
    DropAside(usize),
    /// Renames the new file away, or the moved one, and looks at it.
    TakeAway(usize),
    /// Unlinks that, if it is what was given, or gives it its name back.
    TakenAway(usize),
    /// Gives the file the name back that was taken away.
    ComeBack(usize),
    /// Unlinks the temporaries.
    Drop(usize),
    /// Lets go of the locks, without an answer that anything was done.
    Refuse,

    // Of recovery: `recovery::recover`, `recovery::site`.
    /// Makes the record one's own.
    TakeOver,
    /// Takes a temporary of an earlier turn from whoever had that turn.
    Claim(usize, u8),
    /// The same for the second name of the old file.
    ClaimOld(usize, u8),
    /// The same for a file in a directory of the record, and removes that.
    ClaimTaken(usize, u8),
    /// Makes a directory for a name that is taken away.
    MakeRoom(usize),
    /// Says in the record that all that was needed is claimed.
    Ready,
    /// Locks the files that are there.
    LockAll,
    /// Looks at a file and its temporaries.
    Judge(usize),
    /// Puts the old file back.
    BringBack(usize),
    /// Gives the file its name back.
    GiveBack(usize),
    /// Unlinks the temporaries.
    Discard(usize),
}

/// The phase of a record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Phase {
    Begun,
    Prepared,
    Committed,
}

/// Returns the steps of a call, as long as none fails.
pub(crate) fn forward(call: &[Change], rules: &Rules) -> Vec<Step> {
    let mut steps = vec![Step::Lock, Step::Settle, Step::Read, Step::Begin];
    let all = || call.iter().copied().enumerate();
    let needs_room = |change: Change| change.takes_away() || matches!(change, Change::Create(_));
    for (at, change) in all() {
        if change.is_staged() || (rules.takes_into_directories && needs_room(change)) {
            steps.push(Step::Stage(at));
        }
    }
    steps.push(Step::Prepared);
    let withdraw = |at| [Step::Withdraw(at), Step::CheckWithdrawn(at)];
    let prove = |at| rules.proves_before_names.then_some(Step::Prove(at));
    for (at, change) in all() {
        if let Change::Move(..) = change {
            steps.extend(prove(at));
            steps.extend(withdraw(at));
        }
    }
    for (at, change) in all() {
        if matches!(change, Change::Create(_) | Change::Move(..)) {
            steps.push(Step::Give(at));
        }
    }
    for (at, change) in all() {
        if let Change::Edit(_) = change {
            match rules.tree {
                Tree::Exchanges => steps.extend([Step::Exchange(at), Step::IsWhatWasRead(at)]),
                Tree::Renames => {
                    steps.extend([Step::Aside(at), Step::IsThereUnchanged(at), Step::RenameOver(at)]);
                }
            }
        }
    }
    for (at, change) in all() {
        if let Change::Remove(_) = change {
            steps.extend(prove(at));
            steps.extend(withdraw(at));
        }
    }
    steps.extend(
        all().filter(|(_, change)| matches!(change, Change::Overwrite(_))).map(|(at, _)| Step::Check(at)),
    );
    steps.push(Step::Committed);
    for (at, change) in all() {
        if let Change::Overwrite(_) = change {
            steps.extend(write_over(at, rules.proves_before_writing, rules));
        }
    }
    steps.extend(all().map(|(at, _)| Step::Finish(at)));
    steps.extend([Step::Remove, Step::Answer]);
    steps
}

fn write_over(at: usize, proves: bool, rules: &Rules) -> impl Iterator<Item = Step> {
    let proof = [rules.locks_again.then_some(Step::LockAgain(at)), proves.then_some(Step::Prove(at))];
    proof.into_iter().flatten().chain([Step::WriteOver(at), Step::WriteRest(at)])
}

/// Returns what a call does once the step at `failed` has failed: those before it are taken back, unless it
/// is unknown whether the call is committed, or it is.
pub(crate) fn backward(forward: &[Step], failed: usize, rules: &Rules) -> Vec<Step> {
    let committed = forward.iter().position(|step| *step == Step::Committed);
    if committed.is_some_and(|at| failed > at || (failed == at && rules.leaves_what_is_in_doubt)) {
        return vec![Step::Refuse];
    }
    let mut steps = Vec::new();
    let done = forward.get(..failed).unwrap_or_default();
    // The second name that was given in vain goes at once.
    if let Some(Step::Aside(at)) = done.iter().rev().find(|step| !matches!(step, Step::IsThereUnchanged(_))) {
        steps.push(Step::DropAside(*at));
    }
    if rules.proves_before_rolling_back && done.contains(&Step::Prepared) {
        steps.push(Step::ProveBack);
    }
    for step in done.iter().rev() {
        match *step {
            Step::Exchange(at) => steps.push(Step::PutBack(at)),
            Step::RenameOver(at) => steps.extend([Step::Standing(at), Step::RenameBack(at)]),
            Step::Give(at) => steps.extend([Step::TakeAway(at), Step::TakenAway(at)]),
            Step::Withdraw(at) => steps.push(Step::ComeBack(at)),
            Step::Stage(at) => steps.push(Step::Drop(at)),
            Step::Begin => steps.push(Step::Remove),
            _ => {}
        }
    }
    steps.push(Step::Refuse);
    steps
}

/// Returns the steps of recovery in this turn, of a record that says so much.
pub(crate) fn recovery(call: &[Change], phase: Phase, turn: u8, rules: &Rules) -> Vec<Step> {
    let mut steps = Vec::new();
    let all = || call.iter().copied().enumerate();
    let turns = || 0..turn;
    for (at, change) in all() {
        // Each is claimed first from where an earlier turn could still move it on, so that none is missed on
        // its way.
        if rules.takes_into_directories && !matches!(change, Change::Edit(_) | Change::Overwrite(_)) {
            steps.extend(turns().map(|turn| Step::ClaimTaken(at, turn)));
        }
        steps.extend(turns().map(|turn| Step::Claim(at, turn)));
        if matches!(change, Change::Overwrite(_))
            || (matches!(change, Change::Edit(_)) && rules.tree == Tree::Renames)
        {
            steps.extend(turns().map(|turn| Step::ClaimOld(at, turn)));
        }
    }
    let is_back = phase == Phase::Prepared;
    let gives = |change| matches!(change, Change::Create(_) | Change::Move(..));
    if rules.takes_into_directories && is_back && call.iter().copied().any(gives) {
        steps.extend(all().filter(|(_, change)| gives(*change)).map(|(at, _)| Step::MakeRoom(at)));
        steps.push(Step::Ready);
    }
    steps.extend(rules.recovery_locks.then_some(Step::LockAll));
    for (at, change) in all() {
        match change {
            Change::Edit(_) if is_back => steps.extend([Step::Judge(at), Step::BringBack(at)]),
            Change::Overwrite(_) if phase == Phase::Committed => {
                steps.push(Step::Judge(at));
                steps.extend(write_over(at, rules.recovery_proves, rules));
            }
            Change::Create(_) | Change::Move(..) if is_back => {
                steps.push(Step::Judge(at));
                steps.extend(rules.recovery_proves.then_some(Step::Prove(at)));
                steps.extend([Step::TakeAway(at), Step::TakenAway(at)]);
            }
            _ => {}
        }
    }
    for (at, change) in all() {
        if change.takes_away() && phase != Phase::Committed {
            steps.push(Step::GiveBack(at));
        }
    }
    steps.extend(all().map(|(at, _)| Step::Discard(at)));
    steps.extend([Step::Remove, Step::Refuse]);
    steps
}
