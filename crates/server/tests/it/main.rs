//! The only integration test binary of the server. It tests everything that a client sees.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test says by panicking that something is not as it should be"
)]

mod aliases;
mod arguments;
mod attacks;
mod beginning;
mod budget;
mod cli;
mod copies;
mod directories;
mod doctor_database;
mod documents;
mod errors;
mod files;
mod find;
mod hints;
mod history;
mod http;
mod http_access;
mod http_calls;
mod http_client;
mod http_siege;
// `cli::install::tests` tests where clients look on other systems.
#[cfg(target_os = "linux")]
mod install;
mod limits;
mod manners;
mod many;
mod mixed;
mod oddities;
mod own_texts;
#[cfg(target_os = "linux")]
mod person;
mod places;
mod progress;
mod protected;
#[cfg(target_os = "linux")]
mod remote;
mod replies;
mod rules;
mod scenarios;
mod schemas;
#[cfg(target_os = "linux")]
mod scopes;
mod searched;
mod session;
#[cfg(unix)]
mod several_machines;
#[cfg(unix)]
mod shell;
mod slips;
mod state_url;
mod stdio;
mod stopping;
#[cfg(unix)]
mod stories;
#[cfg(target_os = "linux")]
mod strangers;
#[cfg(target_os = "linux")]
mod takeover;
#[cfg(unix)]
mod views;
mod web;
mod world;

use std::path::Path;

#[test]
fn no_file_is_forgotten() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let own = include_str!("main.rs");
    let errors = include_str!("errors/mod.rs");
    for (directory, parent) in [(here.clone(), own), (here.join("errors"), errors)] {
        for entry in directory.read_dir().unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let Some(module) = name.strip_suffix(".rs").filter(|module| !["main", "mod"].contains(module))
            else {
                continue;
            };
            assert!(
                parent.contains(&format!("\nmod {module};")),
                "{module} is not a module of {directory:?}"
            );
        }
    }
}
