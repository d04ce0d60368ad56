//! The failures that an acknowledged edit survives: [`Durability`].

/// The failures that an acknowledged edit survives.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Durability {
    /// The sudden end of the machine, such as a power cut: all is on disk before the edit is acknowledged.
    #[default]
    Machine,
    /// The sudden end of the process, but not of the machine.
    Process,
}
