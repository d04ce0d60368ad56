//! Records the plan of a transaction (the file changes of one call) before anything is changed: a [`Record`]
//! in a [`Journal`]. Recovery handles the records of processes that died. `embedded/` keeps a file for each
//! record in the state directory; the journal that several machines share is in another crate.
//!
//! A record is text. Its parts are written at different times of the transaction. Each part ends with a
//! digest of all text before it, so an incomplete part is recognised and ignored:
//!
//! ```text
//! mcp-text-editor journal 4
//! edit 9f86d081884c7d65 1311 1764460800000000000 /home/me/project/a.txt
//! end 60303ae22b998861
//! exchange OLD NEW 1312 1764460805000000000
//! end fd61a03af4f77d87
//! committed
//! end 1b4f0e9851971998
//! ```
//!
//! The first part names every file and, by an id, the temporary files that are to be created for it. The
//! second part has each file's old and new state, by digest and by key (inode and time of creation), and the
//! step from the old to the new state. It is written when all temporary files are complete. The third part,
//! `committed`, is written when recovery must complete the transaction instead of rolling it back.

mod contents;
mod embedded;

pub(crate) use contents::Stuck;
#[cfg(test)]
pub(crate) use contents::escaped;
pub use contents::{ContentChange, Contents, Intent, Naming, Step, Subject, first_part, with_steps};
pub use contents::{FoundRecord, Journal, JournalOfMachines, Record};
