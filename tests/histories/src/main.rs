//! Judges histories of calls that `recorder.py` has recorded, a line of JSON each: what each call was, when
//! it was sent and answered, and what was answered. The verdict is another's: `WGLChecker` of the crate
//! `todc-utils` finds an order of the calls, in which each takes effect at one moment between its beginning
//! and its end, and that the model ([`model`]) allows, or says that there is none.
//!
//! What was looked at, 2026-11, on the registries of Rust, Python and Node (the last two have nothing that
//! judges a history):
//!
//! - **`todc-utils` 0.1.1** (taken): Wing and Gong's search with Lowe's memory of states, as Horn and
//!   Kroening describe it, which is also Porcupine's. No dependency, a hundred lines that can be read, and
//!   Jepsen's 104 logs of etcd in its package. It has neither bounds nor calls without an answer nor parts:
//!   bounds are here ([`verdict`]), calls without an answer and parts in the model.
//! - porcupine-rs 0.3.0: Porcupine in Rust, newer and faster on long histories, with a limit of time, parts
//!   and pictures. Its lock has 110 packages, criterion and `paste` among them, which nobody maintains
//!   (RUSTSEC-2024-0436). Histories here are short.
//! - stateright 0.31.0 (`LinearizabilityTester`): takes calls without an answer, but tries orders without
//!   remembering states, and each thread has one call at a time; made for histories of a few calls.
//! - lincheck 0.2.1, traceforge 0.2.1: explore programs, and judge no history of another. Porcupine and
//!   Knossos themselves are Go and Clojure.
//!
//! A history is undecided if the search takes more steps than it may (`--steps`): that is told, and is
//! neither good nor bad.

mod history;
mod model;
#[cfg(test)]
mod tests;
mod verdict;

use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;

use serde_json::json;

use crate::history::History;
use crate::verdict::{Verdict, judge};

/// The most times that the search may ask the model, unless `--steps` says otherwise.
const STEPS: u64 = 300_000;

/// Reads histories from standard input, and writes a line of JSON about each. Ends with 1 if one cannot be
/// read.
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let steps = match arguments.as_slice() {
        [] => Some(STEPS),
        [option, steps] if option == "--steps" => steps.parse().ok(),
        _ => None,
    };
    let mut out = io::stdout().lock();
    let done = steps.ok_or_else(|| "usage: histories [--steps N]".into()).and_then(|steps| {
        for line in io::stdin().lock().lines() {
            let history = History::parse(&line.map_err(|error| error.to_string())?)?;
            let verdict = judge(&history, steps);
            let said = json!({
                "name": history.name,
                "operations": history.operations.len(),
                "verdict": verdict.name(),
                "told": if let Verdict::Not { from } = &verdict { from.as_str() } else { "" },
            });
            writeln!(out, "{said}").and_then(|()| out.flush()).map_err(|error| error.to_string())?;
        }
        Ok(())
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err::<(), String>(error) => {
            writeln!(io::stderr(), "{error}").ok();
            ExitCode::FAILURE
        }
    }
}
