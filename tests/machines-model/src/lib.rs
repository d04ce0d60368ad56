//! A model of commit and recovery on several machines that share a file system and a database of records,
//! explored exhaustively: each order of the steps of three processes, with a process that dies, one that goes
//! on without its session, one that goes on without its file locks, and a machine that remembers names, at
//! any moment. A process that is stopped, or cut off, and comes back is one that takes its next step late, so
//! it is in every order. docs/scaling.md has the argument that this checks, as a table of steps.
//!
//! - `files`: the file system, in two kinds: one that exchanges names, and one that renames over them.
//! - `journal`: the records. Each function is one transaction of the database.
//! - `call`: the steps of a call, of taking it back, and of recovery, named as the functions of
//!   `crates/store` are.
//! - `process`: what each step does. `model`: what can happen, and what must hold.
//! - `rules`: the rules of the protocol. The tests leave each out, and must then find steps that lead to a
//!   loss.
//!
//! What is not in it: other programs that write to the files, directories that are made, the disk and its
//! caches, caches of the network file system but for recovery, and errors of single operations.
//! `tests/reliability` and `tests/machines` have those, with the program itself.
//!
//! What was looked at, 2026-11: **`stateright` 0.31.0** (taken) explores a model that is written in Rust,
//! breadth first, so that what it finds is short; it has one author, a dozen small dependencies, and its
//! latest version moved to those of today. It is used by the tests of this crate alone. TLC wants Java and
//! another language for the steps; `loom` and `shuttle` schedule threads of one process, and have no machines
//! that die.

#[cfg(test)]
mod call;
#[cfg(test)]
mod files;
#[cfg(test)]
mod journal;
#[cfg(test)]
mod model;
#[cfg(test)]
mod process;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod tests;
