//! Words what a failed call has left on the disk. An error with these words does not say, too, that nothing
//! was written.

use mcp_text_editor_store::{LeftBehind, Remains};

use crate::render::paths::shown;

/// Says what each of these paths now holds; empty if the call has left nothing behind.
pub(super) fn left(left: &[LeftBehind]) -> String {
    let one = |LeftBehind { path, what }: &LeftBehind| {
        let path = shown(path);
        match what {
            Remains::Changed => format!("{path} may hold its new content"),
            Remains::Gone => format!("what was {path} has not that name any more"),
            Remains::Old(of) => format!("{path} holds what was in {}", shown(of)),
            Remains::Made => format!("{path} is left behind"),
            Remains::PerhapsMade => format!("{path} may be left behind"),
        }
    };
    left.iter().map(one).collect::<Vec<_>>().join(", and ")
}
