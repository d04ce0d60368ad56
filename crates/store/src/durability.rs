//! The failures that an acknowledged edit survives: [`Durability`].

/// The failures that an acknowledged edit survives.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Durability {
    /// The sudden end of the machine: all is on disk before the answer.
    #[default]
    Machine,
    /// The sudden end of the process.
    Process,
}
