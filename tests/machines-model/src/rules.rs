//! The abilities of the file system, and the rules of the protocol, each of which can be left out.

/// The way in which a file system replaces a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Tree {
    /// Two names are exchanged in one step.
    Exchanges,
    /// One is renamed over the other.
    Renames,
}

/// The way in which a temporary is taken from an earlier owner.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Claim {
    /// It is renamed to the name of this turn, then looked at.
    Renames,
    /// It is looked at, and unlinked if it was not published.
    LooksAndUnlinks,
    /// Not at all.
    Leaves,
}

/// The moment at which a read asks the database whether a record names its file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Asks {
    /// After it has read; then it looks whether the file is still the one that it read.
    BetweenReadAndLook,
    /// Before it reads, alone.
    Before,
    /// After it has read, alone.
    After,
    /// Never.
    Never,
}

/// The names that recovery looks at past the caches of its machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum PastCaches {
    All,
    /// Those of files alone.
    Files,
    /// Those of temporaries alone.
    Temporaries,
    Nothing,
}

/// The protocol.
#[expect(clippy::struct_excessive_bools, reason = "each is a rule, and they are independent")]
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rules {
    pub(crate) tree: Tree,
    /// Whether a write fails through a handle whose lock the file system has given to others (NFS under
    /// Linux).
    pub(crate) lost_locks_fail_writes: bool,
    /// Whether a session, once proven, always lasts until the step that needed the proof is done.
    pub(crate) sessions_outlast_steps: bool,
    /// Whether a process may take a record over only if the session of its owner is gone.
    pub(crate) takes_over_by_lock: bool,
    pub(crate) claim: Claim,
    /// A name is taken away into a directory of the record, which recovery removes first.
    pub(crate) takes_into_directories: bool,
    /// The session is proved right before a name is taken away.
    pub(crate) proves_before_names: bool,
    /// *begin* fails while another record names one of the files.
    pub(crate) begin_is_exclusive: bool,
    /// *prepared* is a conditional update.
    pub(crate) prepared_is_conditional: bool,
    /// *committed* is a conditional update.
    pub(crate) committed_is_conditional: bool,
    /// A call of which it is unknown whether it is committed takes nothing back.
    pub(crate) leaves_what_is_in_doubt: bool,
    /// A failed call takes nothing back before it has proved that its record is its own.
    pub(crate) proves_before_rolling_back: bool,
    /// The lock of a file is taken once more before it is written over.
    pub(crate) locks_again: bool,
    /// The session is proved right before a file is written over.
    pub(crate) proves_before_writing: bool,
    /// Recovery locks the files.
    pub(crate) recovery_locks: bool,
    /// Recovery, too, proves its session before a step that needs no temporary.
    pub(crate) recovery_proves: bool,
    pub(crate) asks: Asks,
    pub(crate) past_caches: PastCaches,
    /// Recovery decides nothing about a file that it sees at its name and at that of the temporary.
    pub(crate) must_agree: bool,
    /// Recovery knows files by their identity, not by their content.
    pub(crate) knows_identity: bool,
    /// Whether there are only two texts, and each edit turns one into the other.
    pub(crate) are_texts_equal: bool,
}

impl Rules {
    /// Returns the protocol as it is, on such a file system.
    pub(crate) fn of(tree: Tree) -> Self {
        Self {
            tree,
            lost_locks_fail_writes: false,
            sessions_outlast_steps: true,
            takes_over_by_lock: true,
            claim: Claim::Renames,
            takes_into_directories: false,
            proves_before_names: true,
            begin_is_exclusive: true,
            prepared_is_conditional: true,
            committed_is_conditional: true,
            leaves_what_is_in_doubt: true,
            proves_before_rolling_back: true,
            locks_again: false,
            proves_before_writing: true,
            recovery_locks: true,
            recovery_proves: true,
            asks: Asks::BetweenReadAndLook,
            past_caches: PastCaches::All,
            must_agree: true,
            knows_identity: true,
            are_texts_equal: false,
        }
    }
}
