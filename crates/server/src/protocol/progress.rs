//! Reports progress: notifies a client that has asked for it that its call is still running.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;

use crate::context::{Cancel, Reply};
use crate::problem::Failure;

/// The interval of the reports. The least patient clients give up after ten seconds without one, opencode
/// after sixty.
pub(super) const INTERVAL: Duration = Duration::from_secs(5);

/// Waits for a call. If the client has sent a progress token, notifies it in each interval that the call is
/// still running, but never after the call has ended.
pub(super) async fn reported(
    work: impl Future<Output = Result<Reply, Failure>>,
    interval: Duration,
    tool: &'static str,
    is_at_work: &AtomicBool,
    cancel: &Cancel,
    request: &RequestContext<RoleServer>,
) -> Result<Reply, Failure> {
    let Some(token) = request.meta.get_progress_token() else { return work.await };
    let mut work = pin!(work);
    let began = Instant::now();
    loop {
        if let Ok(outcome) = tokio::time::timeout(interval, work.as_mut()).await {
            return outcome;
        }
        if cancel.is_cancelled() {
            continue;
        }
        let elapsed = began.elapsed();
        let what = if is_at_work.load(Ordering::Relaxed) { "at work" } else { "waiting for its turn" };
        let files = match cancel.files_done().load(Ordering::Relaxed) {
            0 => String::new(),
            files => format!(", {files} files so far"),
        };
        let progress = ProgressNotificationParam::new(token.clone(), elapsed.as_secs_f64())
            .with_message(format!("{tool}: {what} for {} s{files}", elapsed.as_secs()));
        // A send error is ignored: the client has disconnected.
        let _ = request.peer.notify_progress(progress).await;
    }
}
