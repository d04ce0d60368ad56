//! Defines the failures that an acknowledged edit survives: [`Durability`].

/// The failures that an acknowledged edit survives.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Durability {
    /// The sudden end of the machine, such as a power cut: everything is on disk before the edit is
    /// acknowledged.
    #[default]
    Machine,
    /// The sudden end of the process, but not the sudden end of the machine.
    Process,
}
