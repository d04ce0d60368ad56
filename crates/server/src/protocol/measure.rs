//! Counts calls. Only names of tools and codes of errors are recorded: no path, and no text.
//!
//! The counts go to the recorder of the `metrics` crate, which only a process that serves HTTP installs.
//! Without one a call is not even timed.

use std::time::Duration;

use mcp_text_editor_store::Observer;
use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};

use crate::problem::Failure;

/// Calls, by tool and by whether they succeeded.
pub const CALLS: &str = "mcp_text_editor_calls_total";
/// Calls that failed, by tool and by the code of their first problem.
pub const ERRORS: &str = "mcp_text_editor_errors_total";
/// The time that calls took, their wait for a turn included, by tool.
pub const CALL_SECONDS: &str = "mcp_text_editor_call_seconds";
/// The time that calls waited for locks. A call that need not wait is not counted.
pub const LOCK_WAIT_SECONDS: &str = "mcp_text_editor_lock_wait_seconds";
/// Edits that were cut off and have been ended or taken back.
pub const RECOVERIES: &str = "mcp_text_editor_recoveries_total";
/// Records of this process that are in work, in the database of several machines.
pub const RECORDS: &str = "mcp_text_editor_records_in_work";
/// The time spent on waiting for that database.
pub const DATABASE_WAIT_SECONDS: &str = "mcp_text_editor_database_wait_seconds";
/// The number of requests that the database did not carry out.
pub const DATABASE_ERRORS: &str = "mcp_text_editor_database_errors_total";

/// Tells the recorder what each name stands for.
pub fn describe() {
    describe_counter!(CALLS, "Calls of tools, by tool and result (ok, error).");
    describe_counter!(ERRORS, "Calls that failed, by tool and code of the first problem.");
    describe_histogram!(CALL_SECONDS, Unit::Seconds, "How long calls took, their wait for a turn included.");
    describe_histogram!(
        LOCK_WAIT_SECONDS,
        Unit::Seconds,
        "How long calls waited for locks, where they had to."
    );
    describe_counter!(RECOVERIES, "Edits that were cut off and have been ended or taken back.");
    describe_gauge!(RECORDS, "Records of this process in the database of several machines that are in work.");
    describe_histogram!(DATABASE_WAIT_SECONDS, Unit::Seconds, "How long the database was waited for.");
    describe_counter!(DATABASE_ERRORS, "How often the database did not do what it was asked for.");
    // These exist from the beginning, so that a rise from zero is seen.
    counter!(RECOVERIES).absolute(0);
    counter!(DATABASE_ERRORS).absolute(0);
    gauge!(RECORDS).set(0.0);
}

/// Counts a call.
pub(super) fn call(tool: &'static str, time: Duration, failure: Option<&Failure>) {
    let code = failure.and_then(|failure| failure.problems.first()).map(|problem| problem.code.as_str());
    let result = if failure.is_none() { "ok" } else { "error" };
    tracing::info!(tool, code = code.unwrap_or("ok"), seconds = time.as_secs_f64(), "call");
    counter!(CALLS, "tool" => tool, "result" => result).increment(1);
    histogram!(CALL_SECONDS, "tool" => tool).record(time);
    if let Some(code) = code {
        counter!(ERRORS, "tool" => tool, "code" => code).increment(1);
    }
}

/// Returns the observer that counts what only the store knows.
#[must_use]
pub fn observer() -> Observer {
    Observer {
        lock_waited: |time| histogram!(LOCK_WAIT_SECONDS).record(time),
        recovered: || counter!(RECOVERIES).increment(1),
        database_waited: |time| histogram!(DATABASE_WAIT_SECONDS).record(time),
        database_failed: || counter!(DATABASE_ERRORS).increment(1),
        records_in_work: |change| {
            let records = gauge!(RECORDS);
            if change < 0 { records.decrement(1.0) } else { records.increment(1.0) }
        },
    }
}
