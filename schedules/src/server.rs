//! The data that tasks and threads share in the server.

pub(crate) mod answers_law;
pub(crate) mod intake_law;
pub(crate) mod places_law;
pub(crate) mod turns_law;

#[path = "../../crates/server/src/transport/http/intake.rs"]
mod intake;
#[path = "../../crates/server/src/transport/http/places.rs"]
mod places;
#[path = "../../crates/server/src/transport/stdio/shared.rs"]
#[expect(dead_code, reason = "nothing arrives that cannot be read")]
mod shared;
#[path = "../../crates/server/src/protocol/turns.rs"]
mod turns;

#[path = "../../crates/server/src/context"]
pub(crate) mod context {
    mod withdrawal;

    pub(crate) use self::withdrawal::Withdrawal;
}

/// Lets others go on.
async fn pause() {
    shuttle::future::yield_now().await;
}
