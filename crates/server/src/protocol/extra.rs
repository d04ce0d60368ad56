//! Tools in addition to the server's own.

use std::fmt;
use std::pin::Pin;

use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ErrorData, JsonObject, Tool};
use rmcp::service::RequestContext;

/// A call in progress.
pub type ExtraCall<'a> = Pin<Box<dyn Future<Output = Result<CallToolResult, ErrorData>> + Send + 'a>>;

/// Tools that a server has in addition to its own, for tests of the protocol. They may return any content
/// that the protocol has. The limit on concurrent calls does not apply to them, and metrics do not count
/// them.
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
