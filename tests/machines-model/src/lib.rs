//! A model of commit and recovery on several machines that share a file system and a database of records,
//! explored exhaustively: each order of the steps of three processes, with a process that dies, one that goes
//! on without its session, one that goes on without its file locks, and a machine that remembers names, at
//! any moment. A process that is stopped, or cut off, and comes back is one that takes its next step late, so
//! it is in every order.
//!
//! # The argument that this checks
//!
//! A record has a number, the *epoch*; a process that takes the record over adds one to it, in the
//! transaction that makes the record its own. Temporary files are the tokens: a takeover begins with
//! `fence`, which renames each of them to a name of the new epoch, those of the first owner first, before it
//! looks at anything. A process that has lost its record, and goes on, meets this at its next step:
//!
//! - `begin` needs that no other record names one of the files (a unique key); it begins again.
//! - `stage` needs nothing: a temporary has a name that nobody else knows. `prepare` finds that the record is
//!   not its own (a conditional update), and unlinks the temporary. If the process dies between the two, the
//!   temporary stays.
//! - `publish`, `exchange` and `rename_over` need the temporary under the owner's name, and get `ENOENT`.
//!   They take nothing back, since that needs the temporary, too.
//! - `withdraw`, `move`, `respell` and `overwrite` prove right before that the record is its own. They do
//!   nothing, but for the window below. So does the way back.
//! - `commit` and `end` are conditional. Without an answer `commit` asks again with its next session, and
//!   leaves all as it is if it cannot.
//! - `unlink` of displaced content needs the word *committed*, and finds no such name.
//! - Recovery takes over only if the owner's session is gone and the record is as it was found. Its
//!   exchanges, renames and unlinks need the temporary under the name of its own epoch. Where it removes a
//!   name or overwrites a file, it locks the file and proves right before.
//! - A read reads, asks whether a record names the file, and looks whether the name still means what it read.
//!
//! The window: a step that needs no temporary can be delayed after its proof. The session lasts 4 s (cut off)
//! or 10 s (stopped) longer, so until then nobody else has the record. After that the process can still
//! remove a name, or overwrite a file, only if its file locks are lost, too: else recovery waits for them. A
//! name that was removed so is restored in the process's next step, which looks. To close the window for
//! names, the record would need a directory into which names are moved and which recovery removes first.
//!
//! # The parts
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
