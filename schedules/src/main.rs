//! Runs the code that threads of a process share under schedules that are chosen, and checks laws of it.
//!
//!     schedules [--schedules N] [--seed N] [--replay SCHEDULE] [LAW…]
//!
//! The modules are those of the product, file by file. The other parts of the product that they use have
//! small replacements here, and whatever waits for another thread is shuttle's, since `std` and `tokio` are
//! other crates. A law is broken by a failed assertion, by threads that all wait, and by a run without end;
//! the schedule that did it is printed, for `--replay`.

// Not the standard library: the one of this directory.
extern crate schedules_std as std;

mod around;
#[path = "../../crates/store/src/cancellation.rs"]
mod cancellation;
mod server;
mod store;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use shuttle::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

pub(crate) use crate::around::{access, attempts, error, os};
pub(crate) use crate::server::context;
pub(crate) use crate::store::{lock, read, search};

/// The depth that PCT is given. In a schedule it puts the running thread last at most one time less than
/// that.
const DEPTH: usize = 3;

type Law = (&'static str, fn());

const LAWS: &[Law] = &[
    ("scans", store::scans::law),
    ("search", store::found::law),
    ("closing", store::closing::law),
    ("hashing", store::hashing::law),
    ("turns", server::turns_law::law),
    ("answers", server::answers_law::law),
    ("intake", server::intake_law::law),
    ("places", server::places_law::law),
];

fn main() -> ExitCode {
    let (mut schedules, mut seed, mut replay, mut names) = (1_000, 1, None, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("a value");
        match argument.as_str() {
            "--schedules" => schedules = value().parse().expect("a number"),
            "--seed" => seed = value().parse().expect("a number"),
            "--replay" => replay = Some(value()),
            name => names.push(name.to_owned()),
        }
    }
    let (mut passed, mut failed) = (0, 0);
    for (name, law) in LAWS.iter().filter(|(name, _)| names.is_empty() || names.iter().any(|one| one == name))
    {
        let began = Instant::now();
        // Half of the schedules are drawn step by step; in the others few threads are held back, each for
        // long.
        let half = schedules / 2;
        let is_kept = match &replay {
            Some(schedule) => holds(ReplayScheduler::new_from_encoded(schedule), *law),
            None => {
                holds(RandomScheduler::new_from_seed(seed, schedules - half), *law)
                    && holds(PctScheduler::new_from_seed(seed, DEPTH, half), *law)
            }
        };
        if is_kept {
            passed += 1;
        } else {
            failed += 1;
        }
        let said = if is_kept { "holds" } else { "IS BROKEN" };
        println!("{name:8} {said}: {schedules} schedules, {} ms", began.elapsed().as_millis());
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Tells whether a law holds in all schedules.
fn holds(scheduler: impl Scheduler + 'static, law: fn()) -> bool {
    let mut config = Config::new();
    config.stack_size = 1 << 18;
    config.max_steps = MaxSteps::FailAfter(200_000);
    // That atomics are all sequentially consistent here is said in README.md.
    config.silence_warnings = true;
    config.failure_persistence = FailurePersistence::Print;
    let run = move || {
        // PCT wants a choice between threads in its first run, and a law may draw one that is over at once.
        let other = thread::spawn(|| ());
        thread::yield_now();
        other.join().expect("a thread that does nothing");
        law();
    };
    catch_unwind(AssertUnwindSafe(|| Runner::new(scheduler, config).run(run))).is_ok()
}
