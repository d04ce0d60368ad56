//! Recovers calls in the background: [`Background`] regularly polls for journal records that other machines
//! abandoned.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Weak;
use std::thread;
use std::time::Duration;

use crate::recovery::gate::end_abandoned;
use crate::workspace::Workspace;

/// The time between two polls. Each poll costs the database one query.
pub(crate) const INTERVAL: Duration = Duration::from_secs(5);

/// For each abandoned record, the number of consecutive polls that have found it.
#[derive(Default)]
pub(crate) struct Background(BTreeMap<PathBuf, u32>);

impl Background {
    /// Ends (completes or rolls back) the abandoned records of a shared journal that the previous poll also
    /// found. A process that only lost its database session claims its record again before the second poll.
    /// If a record cannot be ended, the time to the next attempt doubles, so that failures do not fill the
    /// log.
    pub(crate) fn poll(&mut self, workspace: &Workspace) {
        let previous = std::mem::take(&mut self.0);
        end_abandoned(workspace, |record| {
            let polls = previous.get(record).map_or(1, |polls| polls.saturating_add(1));
            self.0.insert(record.to_owned(), polls);
            polls > 1 && polls.is_power_of_two()
        });
    }
}

/// Starts a thread that polls once per `interval`, until the workspace is dropped.
pub(crate) fn begin(workspace: Weak<Workspace>, interval: Duration) -> std::io::Result<()> {
    let run = move || {
        let mut background = Background::default();
        loop {
            thread::sleep(interval);
            let Some(workspace) = workspace.upgrade() else { return };
            background.poll(&workspace);
        }
    };
    thread::Builder::new().name("recovery".to_owned()).spawn(run).map(drop)
}
