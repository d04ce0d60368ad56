//! Reads the body of a request as it arrives. Its bytes are counted before they are held, and its time is
//! limited.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes};
use tokio::time::{Instant, sleep_until};

use super::intake::{Ended, Intake, Share};

/// The time that a client may take to send a body. The time in which the body waits for capacity does not
/// count, here and below.
const TIME: Duration = Duration::from_mins(1);

/// The time for which a slow body may keep others waiting. The next is the further time for each MiB of it
/// that has come.
const SLOW: Duration = Duration::from_secs(5);
const SLOW_MIB: Duration = Duration::from_secs(1);

/// The capacity that each request has from the start, in KiB: a body up to this length waits for no other.
pub(super) const REQUEST: u32 = 64;

/// The reason why a body was not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BodyError {
    /// It is longer than the limit.
    TooLong,
    /// It ended before its length, or breaks the framing of HTTP.
    Broken,
    /// It took too long.
    Late,
    /// It came slowly while others waited for its capacity.
    Slow,
    /// The process ends.
    Ended,
}

impl From<Ended> for BodyError {
    fn from(_: Ended) -> Self {
        Self::Ended
    }
}

/// Reads a body of at most `limit` bytes. The share grows before the bytes are held.
pub(super) async fn read<B: Body<Data = Bytes> + Unpin>(
    mut body: B,
    limit: usize,
    intake: &Arc<Intake>,
    share: &mut Share,
) -> Result<Vec<u8>, BodyError> {
    if body.size_hint().lower() > limit as u64 {
        return Err(BodyError::TooLong);
    }
    let most =
        body.size_hint().upper().map_or(limit, |upper| limit.min(usize::try_from(upper).unwrap_or(limit)));
    // A chunk can be one byte of a large buffer, so its bytes are copied.
    let (mut text, mut capacity) = (Vec::new(), REQUEST);
    let mut began = Instant::now();
    loop {
        let slow = began + SLOW + SLOW_MIB * u32::try_from(text.len() >> 20).unwrap_or(u32::MAX);
        let pressed = async {
            sleep_until(slow).await;
            intake.is_pressed().await;
        };
        let frame = tokio::select! {
            biased;
            ended = intake.ended() => return Err(ended.into()),
            () = sleep_until(began + TIME) => return Err(BodyError::Late),
            () = pressed => return Err(BodyError::Slow),
            frame = body.frame() => frame,
        };
        let Some(frame) = frame else { return Ok(text) };
        // A frame without data has trailers, which mean nothing here.
        let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else { continue };
        let length = text.len() + data.len();
        if length > limit {
            return Err(BodyError::TooLong);
        }
        if length > bytes(capacity) {
            // The capacity grows by a quarter at least, so that a body is not copied again and again.
            let larger = kib(length).max(kib(most).min(capacity.saturating_add(capacity / 4)));
            let asked = Instant::now();
            share.grow(larger - capacity).await?;
            began += asked.elapsed();
            capacity = larger;
        }
        if length > text.capacity() {
            let capacity = text.capacity().saturating_mul(2).clamp(length, bytes(capacity));
            text.reserve_exact(capacity - text.len());
        }
        text.extend_from_slice(&data);
    }
}

/// Reads the rest of an unwanted body, and keeps nothing of it. Otherwise a client that is still sending when
/// its connection is closed would learn of that, and not of the answer. Ends after `most` bytes, or after the
/// time `SLOW`.
pub(super) async fn discard<B: Body<Data = Bytes> + Unpin>(mut body: B, most: usize, intake: &Intake) {
    let late = Instant::now() + SLOW;
    let mut taken = 0;
    while taken <= most && !body.is_end_stream() {
        let frame = tokio::select! {
            _ = intake.ended() => return,
            () = sleep_until(late) => return,
            frame = body.frame() => frame,
        };
        let Some(Ok(frame)) = frame else { return };
        taken += frame.data_ref().map_or(0, Bytes::len);
    }
}

/// Returns the number of KiB that hold so many bytes.
pub(super) fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX)
}

fn bytes(kib: u32) -> usize {
    (kib as usize).saturating_mul(1024)
}
