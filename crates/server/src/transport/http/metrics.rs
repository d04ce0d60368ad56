//! `/metrics`: the metrics of the process, in the text format of Prometheus (version 0.0.4).

use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::protocol::measure;

/// The content type of the format.
pub(super) const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The bounds of the histograms' buckets, in seconds. An edit of a small file takes some milliseconds, the
/// wait for a lock up to ten seconds, and a call by default two minutes at most.
const BOUNDS: [f64; 14] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0, 120.0];

/// The interval in which samples are merged, so that they do not pile up if nobody reads the metrics.
const UPKEEP: Duration = Duration::from_secs(5);

/// The recorder of the process. There can be one only.
static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();

/// Installs the recorder, unless it is installed.
pub(super) fn install() -> io::Result<&'static PrometheusHandle> {
    if let Some(handle) = RECORDER.get() {
        return Ok(handle);
    }
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full(measure::CALL_SECONDS.to_owned()), &BOUNDS)
        .and_then(|builder| {
            builder.set_buckets_for_metric(Matcher::Full(measure::LOCK_WAIT_SECONDS.to_owned()), &BOUNDS)
        })
        .and_then(|builder| {
            builder.set_buckets_for_metric(Matcher::Full(measure::DATABASE_WAIT_SECONDS.to_owned()), &BOUNDS)
        })
        .map_err(io::Error::other)?
        .build_recorder();
    let handle = recorder.handle();
    // Another thread may have been first; then its recorder counts.
    let handle = RECORDER.get_or_init(|| {
        if metrics::set_global_recorder(recorder).is_err() {
            tracing::warn!("another recorder of metrics is installed, so /metrics is empty");
        }
        measure::describe();
        handle
    });
    Ok(handle)
}

/// Merges samples, for ever.
pub(super) async fn upkeep(handle: &PrometheusHandle) {
    loop {
        tokio::time::sleep(UPKEEP).await;
        handle.run_upkeep();
    }
}
