//! Tools besides the server's own.

use std::fmt;
use std::pin::Pin;

use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ErrorData, JsonObject, Tool};
use rmcp::service::RequestContext;

/// A call in work.
pub type ExtraCall<'a> = Pin<Box<dyn Future<Output = Result<CallToolResult, ErrorData>> + Send + 'a>>;

/// Tools that a server has besides its own, for tests of the protocol. They may answer with any content that
/// the protocol has. Their calls wait for no turn, and are not counted.
pub trait ExtraTools: fmt::Debug + Send + Sync {
    /// Returns the tools as clients see them. It is called once.
    fn listed(&self) -> Vec<Tool>;

    /// Begins a call; `None` if there is no tool of this name. It is called only for names that no tool of
    /// the server has.
    fn call<'a>(
        &'a self,
        name: &str,
        arguments: JsonObject,
        request: &'a RequestContext<RoleServer>,
    ) -> Option<ExtraCall<'a>>;
}
