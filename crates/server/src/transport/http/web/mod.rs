//! The page that shows past edits, for a browser on this machine, and its interface: JSON over HTTP on
//! loopback, protected by a secret.
//!
//! All resources of its server are bounded. The server ends by itself some time after the last page was
//! closed.

mod endpoint;
mod keys;
mod peer;
mod query;
mod serve;

pub use self::serve::{EndReason, PageListener, bind, serve};
