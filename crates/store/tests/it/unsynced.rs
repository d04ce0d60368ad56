//! The things that a power cut would take, read off the system calls of a call that edits: [`Unsynced`].

use std::collections::BTreeSet;
use std::path::Path;

use crate::system_calls::SystemCall;

/// All that has been changed and is not known to be on disk. Each call counts as successful.
#[derive(Default, Debug)]
pub(crate) struct Unsynced {
    /// The files with bytes that are not on disk.
    files: BTreeSet<String>,
    /// The directories with names that are not on disk, but for those that only take names away from
    /// temporaries.
    directories: BTreeSet<String>,
    /// The names that were given to files whose bytes were not on disk.
    pub(crate) given_too_early: Vec<String>,
    /// The directories with new temporaries whose names are not on disk.
    temporaries: BTreeSet<String>,
    /// The calls that wrote to a file of the root while the name of its copy was not on disk.
    pub(crate) overwritten_too_early: Vec<String>,
    /// The calls that changed a file of the root, or a name there, while the record was not on disk.
    pub(crate) unrecorded: Vec<String>,
}

impl Unsynced {
    /// Follows a call.
    pub(crate) fn follow(&mut self, call: &SystemCall) {
        let is_write = ["write", "pwrite64", "ftruncate"].contains(&call.name);
        // A claim of a name is empty, and has nothing to lose.
        let holds_text = || std::fs::metadata(call.file(0)).is_ok_and(|about| about.len() > 0);
        let is_drawn = || ["/state/", "/.mte-"].iter().any(|part| call.file(0).contains(part));
        let is_of_file = is_write && !is_drawn() && holds_text();
        let is_of_name = ["linkat", "renameat", "renameat2", "unlinkat"].contains(&call.name);
        let is_in_work = self.files.iter().any(|path| path.contains("/state/journal/"));
        if is_in_work && (is_of_file || is_of_name && !call.file(0).contains("/state/")) {
            self.unrecorded.push(call.to_string());
        }
        if is_of_file && !self.temporaries.is_empty() {
            self.overwritten_too_early.push(call.to_string());
        }
        match call.name {
            "openat2" if call.path(1).starts_with(".mte-") => {
                let directory = call.file(0);
                if !Path::new(&directory).join(call.path(1)).exists() {
                    self.temporaries.insert(directory);
                }
            }
            "write" | "pwrite64" | "ftruncate" => drop(self.files.insert(call.file(0))),
            "copy_file_range" => drop(self.files.insert(call.file(2))),
            "fsync" => {
                self.files.remove(&call.file(0));
                self.temporaries.remove(&call.file(0));
                self.directories.remove(&call.file(0));
            }
            "fdatasync" => drop(self.files.remove(&call.file(0))),
            "mkdirat" => drop(self.directories.insert(call.file(0))),
            "linkat" | "renameat" | "renameat2" => self.rename(call),
            "unlinkat" if !call.path(1).starts_with(".mte-") => {
                self.directories.insert(call.file(0));
            }
            _ => {}
        }
    }

    fn rename(&mut self, call: &SystemCall) {
        let [from, to] = [0, 2].map(|at| (call.file(at), call.path(at + 1)));
        let [old, new] = [&from, &to].map(|(directory, name)| format!("{directory}/{name}"));
        // An exchange gives both names.
        let is_exchange = call.name == "renameat2" && call.low(4) == [2, 0, 0, 0];
        let given = [(&old, &new), (&new, &old)];
        for (file, name) in given.into_iter().take(if is_exchange { 2 } else { 1 }) {
            if self.files.contains(file) && !name.contains("/.mte-") {
                self.given_too_early.push(name.clone());
            }
        }
        // A file that goes to another directory is synced with both of its names: btrfs writes each directory
        // by itself. (The handle of one that was linked there has another path.)
        if from.0 != to.0 && !is_exchange && call.name != "linkat" {
            self.files.insert(new);
        }
        self.directories.extend([from.0, to.0]);
    }

    /// Returns all that is not on disk.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().chain(&self.directories).map(String::as_str)
    }
}
