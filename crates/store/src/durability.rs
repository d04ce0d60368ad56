//! What an edit that was answered survives: [`Durability`].

/// What an edit that was answered survives.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Durability {
    /// The sudden end of the machine: all is on disk before the answer.
    #[default]
    Machine,
    /// The sudden end of the process.
    Process,
}
