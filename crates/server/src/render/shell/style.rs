//! The styles of the output on a terminal.

use anstyle::{AnsiColor, Style};

pub(super) const ID: Style = AnsiColor::Yellow.on_default();
pub(super) const STRONG: Style = Style::new().bold();
pub(super) const PLACE: Style = AnsiColor::Cyan.on_default();
pub(super) const ADDED: Style = AnsiColor::Green.on_default();
pub(super) const REMOVED: Style = AnsiColor::Red.on_default();
pub(super) const DIM: Style = Style::new().dimmed();
