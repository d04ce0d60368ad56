//! The screen on which edits are shown: [`Screen`].

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::render::escape::path_by_itself;
use crate::render::paths::shown;

/// The screen on which edits are shown, and its reader.
#[derive(Clone, Debug)]
pub struct Screen {
    /// The number of columns. If it is `None` (not known), no line is broken.
    pub width: Option<usize>,
    /// The number of lines; `None` if the output is not a terminal.
    pub height: Option<usize>,
    /// The time zone of the person.
    pub zone: TimeZone,
    /// The person's current directory, with links resolved, if it is known.
    pub here: Option<PathBuf>,
}

impl Screen {
    /// Prints a moment.
    pub(super) fn time(&self, time: SystemTime) -> String {
        let stamp = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
        stamp.to_zoned(self.zone.clone()).strftime("%a %Y-%m-%d %H:%M:%S").to_string()
    }

    /// Prints a moment in fewer columns.
    pub(super) fn short_time(&self, time: SystemTime) -> String {
        let stamp = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
        stamp.to_zoned(self.zone.clone()).strftime("%m-%d %H:%M:%S").to_string()
    }

    /// Prints a path. A path below the person's current directory is printed relative to it.
    pub(super) fn path(&self, path: &Path) -> String {
        let below = self.here.as_deref().and_then(|here| path.strip_prefix(here).ok());
        let path = below.filter(|below| !below.as_os_str().is_empty()).unwrap_or(path);
        path_by_itself(&shown(path)).into_owned()
    }
}
