//! What every call is given ([`Context`], [`Cancel`]) and what it gives back ([`Reply`]).

use std::fmt;
use std::sync::Arc;

use mcp_text_editor_store::store::Store;
use serde_json::Value;

use crate::cli::Config;

/// What holds for every call of a process.
#[derive(Debug)]
pub struct Context {
    /// The options of the process.
    pub config: Config,
    /// The files, and how they are kept safe; at least one root when serving.
    pub store: Store,
}

/// Whether the client has withdrawn the call. Work polls it between files and chunks, and never after a commit has begun.
#[derive(Clone)]
pub struct Cancel(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Cancel {
    /// A call that nobody can withdraw.
    #[must_use]
    pub fn never() -> Self {
        Self(None)
    }

    /// A call that is withdrawn once `asked` answers true; `asked` must be cheap, it is called often.
    pub fn new(asked: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(asked)))
    }

    /// Whether the client has withdrawn the call.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.as_ref().is_some_and(|asked| asked())
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

/// What a call that succeeded says.
#[derive(Clone, PartialEq, Debug)]
pub struct Reply {
    /// The text block: for a model, or the JSON of `structured`.
    pub text: String,
    /// The structured content, with `--output json`; must then fit the tool's output schema.
    pub structured: Option<Value>,
}
