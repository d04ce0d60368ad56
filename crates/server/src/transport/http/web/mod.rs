//! The page that shows past edits, for a browser on this machine, and what it asks: JSON over HTTP on
//! loopback, under a secret.
//!
//! Each part of it is bounded, and it ends by itself once no page is open any more.

mod endpoint;
mod events;
mod keys;
mod peer;
mod query;
mod serve;

pub use self::serve::{EndReason, PageListener, bind, serve};
