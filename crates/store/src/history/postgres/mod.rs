//! Past edits in a `PostgreSQL` database that several machines share: [`SharedArchive`].

mod archive;
mod conditions;
mod read;
#[cfg(test)]
pub(in crate::history) mod tests;
mod write;

pub(super) use archive::SharedArchive;
