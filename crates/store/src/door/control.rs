//! Defines the caller of a call, and the call's cancellation: [`Control`].

use std::path::Path;

use mcp_text_editor_core::shown_lines::ShownLines;

use crate::cancellation::Cancellation;
use crate::edit::Memory;
use crate::history::Caller;

/// The maximum number of characters that are kept of a client's name, and of a session's name.
const LONGEST: usize = 60;

/// The caller of a call, and the call's cancellation. [`Control::default`] is anonymous and cannot be
/// cancelled.
#[derive(Clone, Copy, Default, Debug)]
pub struct Control<'a> {
    pub(crate) by: Caller<'a>,
    pub(crate) cancellation: Cancellation<'a>,
    pub(crate) compared: Option<usize>,
    pub(crate) shown: Option<Memory<'a>>,
}

impl<'a> Control<'a> {
    /// Returns a control for a call that the history lists under `origin`, the name of a tool or a program.
    #[must_use]
    pub fn of(origin: &'a str) -> Self {
        let by = Caller { tool: origin, ..Caller::default() };
        Self { by, ..Self::default() }
    }

    /// Adds the names of the client and the session to the control. Only the first 60 characters of each name
    /// are kept. An empty name counts as no name.
    #[must_use]
    pub fn on_behalf_of(self, client: Option<&'a str>, session: Option<&'a str>) -> Self {
        let by = Caller { client: bounded(client), session: bounded(session), ..self.by };
        Self { by, ..self }
    }

    /// Makes an edit with this control also return the changes in each file as data
    /// ([`Edited::comparison`](crate::Edited::comparison)), with at most `most` bytes of text.
    #[must_use]
    pub fn comparing(self, most: usize) -> Self {
        Self { compared: Some(most), ..self }
    }

    /// Adds to the control the lines that the client was shown: `shown` returns these lines, given a file's
    /// real path. An edit then returns the lines that the client knows afterwards
    /// ([`Edited::shown`](crate::Edited::shown)), and the changes by others. An edit that is guarded only by
    /// text is refused if it concerns a part of a line that others changed.
    #[must_use]
    pub fn remembering(self, shown: &'a dyn Fn(&Path) -> Option<ShownLines>) -> Self {
        Self { shown: Some(Memory(shown)), ..self }
    }

    /// Makes a call with this control stop soon after `is_cancelled` returns `true`. `is_cancelled` is called
    /// often: between the blocks of a file, before each pause, and for the last time just before the first
    /// file is exchanged. A call that was cancelled has changed nothing.
    #[must_use]
    pub fn cancelled_by(self, is_cancelled: &'a dyn Fn() -> bool) -> Self {
        Self { cancellation: Cancellation::when(is_cancelled), ..self }
    }
}

fn bounded(name: Option<&str>) -> Option<&str> {
    let name = name.filter(|name| !name.is_empty())?;
    let end = name.char_indices().nth(LONGEST).map_or(name.len(), |(end, _)| end);
    name.get(..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_is_shown_without_asking_whether_it_is_cancelled() {
        let is_cancelled = || panic!("it was asked");
        let shown = format!("{:?}", Control::of("a tool").cancelled_by(&is_cancelled));
        assert!(
            shown.contains("tool: \"a tool\"") && shown.contains("cancellation: Cancellation"),
            "{shown}"
        );
    }
}
