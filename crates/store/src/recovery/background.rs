//! Recovery in the background: [`Background`] looks regularly for abandoned records of other machines.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Weak;
use std::thread;
use std::time::Duration;

use crate::recovery::gate::end_abandoned;
use crate::workspace::Workspace;

/// The time from one look to the next. Each costs the database one query.
pub(crate) const EVERY: Duration = Duration::from_secs(5);

/// Counts how many looks have found each abandoned record.
#[derive(Default)]
pub(crate) struct Background(BTreeMap<PathBuf, u32>);

impl Background {
    /// Ends the abandoned records of a shared journal that the last look found, too: between two looks, a
    /// process that only lost its session takes its record up again. If a record cannot be ended, the time to
    /// the next try doubles, so that it does not fill the log.
    pub(crate) fn look(&mut self, workspace: &Workspace) {
        let before = std::mem::take(&mut self.0);
        end_abandoned(workspace, |record| {
            let looks = before.get(record).map_or(1, |looks| looks.saturating_add(1));
            self.0.insert(record.to_owned(), looks);
            looks > 1 && looks.is_power_of_two()
        });
    }
}

/// Starts a thread that looks once in each period of this length, until the workspace is gone.
pub(crate) fn begin(workspace: Weak<Workspace>, every: Duration) -> std::io::Result<()> {
    let run = move || {
        let mut background = Background::default();
        loop {
            thread::sleep(every);
            let Some(workspace) = workspace.upgrade() else { return };
            background.look(&workspace);
        }
    };
    thread::Builder::new().name("recovery".to_owned()).spawn(run).map(drop)
}
