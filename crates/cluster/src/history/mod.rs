//! Past edits in a `PostgreSQL` database that several machines share: [`SharedArchive`].

mod archive;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use archive::SharedArchive;
