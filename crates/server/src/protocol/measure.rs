//! Counts and times calls, and serves the metrics for `/metrics`. Only names of tools and codes of errors are
//! recorded: no path, and no text.
//!
//! Only a process that serves HTTP has metrics. Other processes do not even time calls.

use std::sync::OnceLock;
use std::time::Duration;

use mcp_text_editor_store::Observer;
use prometheus_client::encoding::{EncodeLabelSet, prometheus_text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};

use crate::problem::Failure;

/// The content type of the text that [`text`] returns.
pub(crate) const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The bounds of the histograms' buckets, in seconds. An edit of a small file takes some milliseconds, the
/// wait for a lock up to ten seconds, and a call by default at most two minutes.
const BOUNDS: [f64; 14] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0, 120.0];

/// The metrics of the process, if it has any.
static METRICS: OnceLock<Metrics> = OnceLock::new();

/// The labels of a call that ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByResult {
    tool: &'static str,
    result: &'static str,
}

/// The labels of a call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByCode {
    tool: &'static str,
    code: &'static str,
}

/// The label of a call's time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByTool {
    tool: &'static str,
}

struct Metrics {
    registry: Registry,
    calls: Family<ByResult, Counter>,
    errors: Family<ByCode, Counter>,
    call_time: Family<ByTool, Histogram, fn() -> Histogram>,
    lock_wait: Histogram,
    recoveries: Counter,
    /// The number of this process's records in the shared database.
    records: Gauge,
    database_wait: Histogram,
    database_errors: Counter,
}

impl Metrics {
    fn new() -> Self {
        let mut registry = Registry::with_prefix("mcp_text_editor");
        let to = &mut registry;
        Self {
            calls: counted(to, "calls", "Calls of tools, by tool and result (ok, error)"),
            errors: counted(to, "errors", "Calls that failed, by tool and code of the first problem"),
            call_time: timed(
                to,
                "call",
                "How long calls took, their wait for a turn included",
                Family::new_with_constructor(times),
            ),
            lock_wait: timed(to, "lock_wait", "How long calls waited for locks, where they had to", times()),
            recoveries: counted(
                to,
                "recoveries",
                "Edits that were cut off and have been ended or taken back",
            ),
            records: counted(
                to,
                "records_in_work",
                "Records of this process in the database of several machines that are in work",
            ),
            database_wait: timed(to, "database_wait", "How long the database was waited for", times()),
            database_errors: counted(
                to,
                "database_errors",
                "How often the database did not do what it was asked for",
            ),
            registry,
        }
    }
}

/// Registers a counter or a gauge. The encoder adds `_total` to the name of a counter.
fn counted<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

/// Registers a metric of times. The encoder adds `_seconds` to the name.
fn timed<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register_with_unit(name, help, Unit::Seconds, metric.clone());
    metric
}

/// Makes a histogram of times.
fn times() -> Histogram {
    Histogram::new(BOUNDS)
}

/// Creates the metrics of the process, if it has none yet. Events are counted from then on.
pub(super) fn install() {
    METRICS.get_or_init(Metrics::new);
}

/// Returns the metrics in Prometheus' text format; an empty text if none are installed.
pub(crate) fn text() -> String {
    let mut text = String::new();
    count(|metrics| {
        let written = prometheus_text::encode(&mut text, &metrics.registry);
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    });
    text
}

/// Calls `with` with the metrics, if the process has any.
fn count<T>(with: impl FnOnce(&Metrics) -> T) {
    if let Some(metrics) = METRICS.get() {
        with(metrics);
    }
}

/// Counts and logs a call that has ended.
pub(super) fn call(tool: &'static str, time: Duration, failure: Option<&Failure>) {
    let code = failure.and_then(|failure| failure.problems.first()).map(|problem| problem.code.as_str());
    let result = if failure.is_none() { "ok" } else { "error" };
    tracing::info!(tool, code = code.unwrap_or("ok"), seconds = time.as_secs_f64(), "call");
    count(|metrics| {
        metrics.calls.get_or_create(&ByResult { tool, result }).inc();
        metrics.call_time.get_or_create(&ByTool { tool }).observe(time.as_secs_f64());
        if let Some(code) = code {
            metrics.errors.get_or_create(&ByCode { tool, code }).inc();
        }
    });
}

/// Returns the observer that counts the events of the store.
#[must_use]
pub fn observer() -> Observer {
    Observer {
        lock_waited: |time| count(|metrics| metrics.lock_wait.observe(time.as_secs_f64())),
        recovered: || count(|metrics| metrics.recoveries.inc()),
        database_waited: |time| count(|metrics| metrics.database_wait.observe(time.as_secs_f64())),
        database_failed: || count(|metrics| metrics.database_errors.inc()),
        records_in_work: |change| count(|metrics| metrics.records.inc_by(change)),
    }
}
