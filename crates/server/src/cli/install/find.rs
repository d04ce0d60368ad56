//! Finds a client by a typed name, and looks for it on the machine.

use std::path::{Path, PathBuf};

use super::clients::{CLIENTS, Client};
use super::machine::Machine;
use crate::render::escape::on_one_line;

/// The shortest name that is looked for within others, in characters.
const SHORTEST: usize = 3;

impl Client {
    /// Finds a client by its name on the command line.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// Finds a client by its name as it was typed. The error names those that may have been meant.
    pub fn find(typed: &str) -> Result<&'static Self, String> {
        Self::named(typed).ok_or_else(|| {
            let names = |clients: &[&Self], last: &str| {
                let names: Vec<&str> = clients.iter().map(|client| client.name).collect();
                match names.split_last() {
                    Some((name, before)) if !before.is_empty() => {
                        format!("{} {last} {name}", before.join(", "))
                    }
                    _ => names.concat(),
                }
            };
            let why = match suggested(typed).as_slice() {
                [] => format!("there are {}", names(&CLIENTS.iter().collect::<Vec<_>>(), "and")),
                suggested => format!("did you mean {}?", names(suggested, "or")),
            };
            format!("there is no client `{}`; {why}", on_one_line(typed))
        })
    }

    /// Returns a trace of the client on a machine: one of its files, its program, or the directory of a file.
    /// `None` if there is none.
    #[must_use]
    pub fn trace(&self, machine: &Machine, files: &[PathBuf]) -> Option<PathBuf> {
        let path = machine.variable("PATH");
        let file = files.iter().find(|file| file.exists()).cloned();
        let program = || self.programs.iter().find_map(|name| machine.find_program(name, path));
        let directory = || {
            let above = files.iter().filter_map(|file| file.parent());
            above.into_iter().find(|above| *above != machine.home && above.is_dir()).map(Path::to_owned)
        };
        file.or_else(program).or_else(directory)
    }
}

/// Returns the clients that a typed name may mean: those whose name has the same letters and digits, in any
/// case; else those whose names contain it or are contained in it; else those whose names differ by a typing
/// error.
fn suggested(typed: &str) -> Vec<&'static Client> {
    let typed = plain(typed);
    let names = |client: &Client| [client.name, client.program].map(plain);
    let all = |client: &Client| -> Vec<String> {
        names(client).into_iter().chain(client.programs.iter().map(|name| plain(name))).collect()
    };
    let is_within = |one: &str, other: &str| one.len() >= SHORTEST && other.contains(one);
    let is_slip = |name: &str| strsim::damerau_levenshtein(&typed, name) <= (name.len() / 4).max(1);
    let found = |is_meant: &dyn Fn(&Client) -> bool| -> Vec<&'static Client> {
        CLIENTS.iter().filter(|client| is_meant(client)).collect()
    };
    let tiers = [
        found(&|client| names(client).contains(&typed)),
        found(&|client| all(client).iter().any(|name| is_within(name, &typed) || is_within(&typed, name))),
        found(&|client| typed.len() >= SHORTEST && all(client).iter().any(|name| is_slip(name))),
    ];
    tiers.into_iter().find(|tier| !tier.is_empty()).unwrap_or_default()
}

fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .take(64)
        .collect()
}
