//! Calls that are in another tool's form: `old_str` and `new_str`, `edits` with `oldText`, a `command`,
//! `offset` and `limit`, lines or texts a level too high, a diff. Models know those forms by heart. Such a
//! call is not carried out. Its failure is one problem, which tells the whole call as this server takes it:
//! one answer with the right call helps more than a problem for each argument.
//!
//! Nothing here decides what a tool takes: a call is told only if the tool's own `parse` takes it, and what
//! `parse` takes as it stands is never told in another form.

mod command;
mod diff;
mod find;
mod foreign;
mod form;
mod given;
mod hunks;
mod look;
mod other;
mod patch;
mod place;
mod ranges;
mod reader;
mod search_replace;
mod unified;
mod v4a;

pub use self::form::in_another_form;
