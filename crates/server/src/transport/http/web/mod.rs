//! Serves a page that shows past edits to a browser on this machine, and the page's interface: JSON over HTTP
//! on loopback, protected by a secret.
//!
//! All resources of the server are bounded. The server ends by itself some time after the last page was
//! closed.

mod endpoint;
mod keys;
mod query;
mod serve;

pub use self::serve::{EndReason, PageListener, bind, serve};
