#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]

use std::fmt;
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Label;
use mcp_text_editor_core::splice::{Splice, SpliceSet};
use proptest::prelude::*;

use super::*;
use crate::access::patterns::Patterns;
use crate::access::place::DirectoryKey;
use crate::state_dir::StateDir;
use crate::tests::world::native;

pub(super) mod laws;

use laws::{KeepEdit as _, all, by, changed, edit, small};

struct World {
    directory: tempfile::TempDir,
    settings: Settings,
}

/// Runs a test of every archive with a new world.
fn each(law: impl Fn(World)) {
    law(World::new());
}

impl World {
    fn new() -> Self {
        let excluded = Patterns::new(&["*.key".to_owned()]).unwrap();
        let settings = Settings { excluded, ..Settings::default() };
        Self { directory: tempfile::tempdir().unwrap(), settings }
    }

    /// Opens the history as another process would.
    fn history(&self) -> History {
        let state = StateDir::open(self.directory.path()).unwrap();
        History::new(&state, self.settings.clone())
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join(FILE_NAME)
    }

    /// Returns all bytes on disk.
    fn bytes(&self) -> Vec<u8> {
        self.files().iter().flat_map(|path| std::fs::read(path).unwrap()).collect()
    }

    /// Returns the database file and the other files of SQLite.
    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect()
    }

    fn remove_log(&self) {
        for suffix in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(self.directory.path().join(format!("{FILE_NAME}{suffix}")));
        }
    }

    /// Changes the database as another program would.
    fn sql(&self, sql: &str) {
        rusqlite::Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }

    /// Returns a number from the database.
    fn number(&self, sql: &str) -> i64 {
        rusqlite::Connection::open(self.path()).unwrap().query_row(sql, (), |row| row.get(0)).unwrap()
    }
}

/// Returns a path as this system writes it.
fn at(path: &str) -> PathBuf {
    native(path).into()
}

fn unavailable<T: fmt::Debug>(result: Result<T, NotKept>) -> String {
    match result {
        Err(NotKept::Unavailable { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_history_without_a_state_directory_tells_why_it_keeps_nothing() {
    let none = History::without_state("it is read-only".to_owned());
    let reason =
        NotKept::Unavailable { reason: "it is read-only".to_owned(), remedy: Remedy::StateDirectory };
    assert_eq!(none.record(&small("/root/a")), Err(reason.clone()));
    assert_eq!(none.roots(), Err(reason));
    assert_eq!(History::default().roots(), Err(NotKept::Off));
}

#[test]
fn no_other_machine_shares_a_state_directory() {
    let world = World::new();
    let history = world.history();
    assert_eq!(history.roots(), Ok(None));
    history.record(&small("/root/a")).unwrap();
    assert_eq!(history.roots(), Ok(None));
}

#[test]
#[cfg(unix)]
fn an_edit_is_kept_by_its_path_without_links() {
    let world = World::new();
    let directory = world.directory.path().canonicalize().unwrap();
    std::fs::create_dir(directory.join("d")).unwrap();
    std::os::unix::fs::symlink("d", directory.join("link")).unwrap();
    assert_eq!(path_in_history(&directory.join("link/gone")), directory.join("d/gone"));
}

#[test]
fn an_edit_has_the_time_of_the_clock_to_a_millisecond() {
    let world = World::new();
    let history = world.history();
    let millisecond = std::time::Duration::from_millis(1);
    let before = crate::os::clock::now() - millisecond;
    history.record(&small("/root/a")).unwrap();
    let time = all(&history)[0].time;
    assert!(before < time && time <= crate::os::clock::now(), "{before:?} {time:?}");
}

#[test]
fn the_bytes_of_an_edit_are_those_of_all_its_parts() {
    let size = |edit: &NewEdit<'_>| {
        let world = World::new();
        world.history().record(edit).unwrap();
        world.number("SELECT bytes FROM edit")
    };
    let file = changed("/root/a", "a", "b", b"was");
    let of = |file: EditedFile| size(&edit(vec![file]));
    let least = of(file.clone());
    let path = file.path.join("x".repeat(99));
    assert_eq!(of(EditedFile { path, ..file.clone() }), least + 200, "a path is in an index, too");
    let relative = file.relative.join("x".repeat(99));
    assert_eq!(of(EditedFile { relative, ..file.clone() }), least + 100);
    let diff = format!("{}{}", file.diff, "x".repeat(100));
    assert_eq!(of(EditedFile { diff, ..file.clone() }), least + 100);
    assert_eq!(of(changed("/root/a", "a", "b", &[b'x'; 103])), least + 100);
    let maker = |client, session| {
        let by = Caller { client, session, ..by("patch_text_file_contents") };
        size(&NewEdit { by, ..edit(vec![file.clone()]) }) - least
    };
    assert!(maker(Some("cursor"), None) > 0 && maker(None, Some("one")) > 0);
}

#[test]
fn an_edit_may_take_up_all_that_the_history_has() {
    let mut world = World::new();
    world.history().record(&small("/root/a")).unwrap();
    let bytes = u64::try_from(world.number("SELECT bytes FROM edit")).unwrap();
    for (bytes, is_kept) in [(bytes + 1, true), (bytes, true), (bytes - 1, false), (bytes / 2, false)] {
        world.settings.bytes = bytes;
        let kept = world.history().record(&small("/root/a"));
        assert_eq!(kept.is_ok(), is_kept, "{bytes}");
        assert!(is_kept || kept == Err(NotKept::TooLarge));
    }
}

#[test]
fn the_oldest_go_when_it_grows_too_large() {
    let mut world = World::new();
    world.settings.bytes = 1 << 20;
    let history = world.history();
    for size in [10, 100, 1_000, 10_000].repeat(100) {
        history.record(&edit(vec![changed("/root/a", "a", "b", &vec![b'x'; size])])).unwrap();
    }
    let kept = all(&history);
    // Four edits, one of each size, have 11 KB of undo data together, and take up about 18 KB.
    assert!((200..260).contains(&kept.len()), "{}", kept.len());
    let ids = |entries: &[Entry]| entries.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>();
    let newest = history.record(&small("/root/a")).unwrap();
    let now = ids(&all(&history));
    assert_eq!(now[0], newest);
    assert!(ids(&kept).starts_with(&now[1..]), "the newest stay");
    let size = std::fs::metadata(world.path()).unwrap().len();
    assert!(size < (1 << 20) * 5 / 4, "{size}");
    // After some edits were forgotten, the sums in `upto` are right again.
    history.forget(Some(&at("/root/b"))).unwrap();
    for number in 0..20 {
        history.record(&small(if number % 2 == 0 { "/root/b" } else { "/root/a" })).unwrap();
    }
    let before = all(&history).len();
    assert_eq!(history.forget(Some(&at("/root/b"))).unwrap().edits, Some(10));
    history.record(&small("/root/a")).unwrap();
    assert_eq!(all(&history).len(), before - 10 + 1);
}

#[test]
fn the_old_go_after_some_days() {
    let world = World::new();
    let history = world.history();
    for _ in 0..100 {
        history.record(&small("/root/a")).unwrap();
    }
    // The last edit was made a day ago. At that time, 90 edits were a little older than allowed, and the
    // others a little younger.
    world.sql(
        "UPDATE edit SET time = time - 31 * 86400000 - 1000 WHERE number <= 90;
         UPDATE edit SET time = time - 31 * 86400000 + 60000 WHERE number > 90;
         UPDATE edit SET time = time + 30 * 86400000 - 60000 WHERE number = 100;",
    );
    history.record(&small("/root/a")).unwrap();
    assert_eq!(all(&history).len(), 101, "it has looked this hour");
    let history = world.history();
    history.record(&small("/root/a")).unwrap();
    assert_eq!(all(&history).len(), 102 - 64, "not too many at once");
    history.record(&small("/root/a")).unwrap();
    assert_eq!(all(&history).len(), 13);
    assert_eq!(world.number("SELECT count(*) FROM file"), 13, "with their files");
}

/// An edit waits, with its files locked, while old edits are dropped. So each edit drops only some.
#[test]
fn a_smaller_bound_of_bytes_is_reached_over_several_edits() {
    let mut world = World::new();
    world.history().record(&small("/root/a")).unwrap();
    world.sql(
        "WITH RECURSIVE copy(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM copy WHERE n < 1500)
         INSERT INTO edit SELECT n, 'copy' || n, time, tool, undoes, bytes, n * bytes FROM edit, copy;",
    );
    world.settings.bytes = u64::try_from(world.number("SELECT bytes FROM edit")).unwrap();
    for left in [1501 - 1024, 1] {
        world.history().record(&small("/root/a")).unwrap();
        assert_eq!(world.number("SELECT count(*) FROM edit"), left);
    }
}

#[test]
fn where_the_oldest_is_young_enough_none_is_looked_for_within_the_hour() {
    let world = World::new();
    let history = world.history();
    for _ in 0..100 {
        history.record(&small("/root/a")).unwrap();
    }
    // The edits are two days old at the first search, and too old after it. The last edit proves the current
    // time.
    world.sql("UPDATE edit SET time = time - 2 * 86400000");
    let history = world.history();
    history.record(&small("/root/a")).unwrap();
    world.sql("UPDATE edit SET time = time - 60 * 86400000 WHERE number < 100");
    history.record(&small("/root/a")).unwrap();
    assert_eq!(all(&history).len(), 102);
    world.history().record(&small("/root/a")).unwrap();
    assert!(all(&history).len() < 102, "another process looks");
}

#[test]
fn a_clock_that_jumps_ages_nothing() {
    const DAY: i64 = 86_400_000;
    let world = World::new();
    let record = |count: usize| {
        // Each edit is made by another process, which checks the ages at once.
        for _ in 0..count {
            world.history().record(&small("/root/a")).unwrap();
        }
        all(&world.history()).len()
    };
    assert_eq!(record(10), 10);
    let earlier =
        |from: i64, by: i64| world.sql(&format!("UPDATE edit SET time = time - {by} WHERE number >= {from}"));
    // The clock goes forward by forty days.
    earlier(0, 40 * DAY);
    assert_eq!(record(5), 15);
    // The clock is set right, and two days pass.
    earlier(0, -40 * DAY);
    assert_eq!(record(5), 20);
    earlier(0, 2 * DAY);
    assert_eq!(record(5), 25);
    // Eighty days pass, and after some edits one more.
    earlier(0, 80 * DAY);
    assert_eq!(record(5), 30);
    earlier(0, DAY);
    assert_eq!(record(1), 6);
    // The clock goes forward by forty days, and is set right within a day.
    earlier(0, 40 * DAY);
    assert_eq!(record(1), 7);
    earlier(0, DAY - 3_600_000);
    assert_eq!(record(1), 8);
}

#[test]
fn what_is_forgotten_is_gone_from_the_disk() {
    let world = World::new();
    let history = world.history();
    let other = world.history();
    let has = |needle: &str| {
        let bytes = world.bytes();
        bytes.windows(needle.len()).filter(|window| *window == needle.as_bytes()).count()
    };
    for number in 0..200 {
        let secret = format!("SECRET-{number:04}-").repeat(number % 70 + 1);
        let path = format!("/root/{}/file", if number % 3 == 0 { "keep" } else { "forget" });
        let mut file = changed(&path, "a", "b", secret.as_bytes());
        file.diff = format!("+{secret}");
        [&history, &other][number % 2].record(&edit(vec![file])).unwrap();
    }
    assert!(has("SECRET-0001-") >= 2 && has("SECRET-0003-") >= 2);
    let forgotten = history.forget(Some(&at("/root/forget"))).unwrap();
    assert_eq!(forgotten, Forgotten { edits: Some(133), remains: None });
    for number in 0..200 {
        assert_eq!(has(&format!("SECRET-{number:04}-")) > 0, number % 3 == 0, "{number}");
    }
    assert_eq!(other.forget(None).unwrap(), Forgotten { edits: Some(67), remains: None });
    assert_eq!((has("SECRET-"), has(&native("/root/"))), (0, 0));
    assert_eq!(all(&history), []);
    history.record(&small("/root/a")).unwrap();
    assert_eq!(all(&other).len(), 1);
}

#[test]
fn a_reader_keeps_what_is_forgotten_on_disk_and_that_is_told() {
    let world = World::new();
    let history = world.history();
    history.record(&small("/root/a")).unwrap();
    let reader = rusqlite::Connection::open(world.path()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM edit").unwrap();
    let forgotten = history.forget(None).unwrap();
    assert_eq!(forgotten.edits, Some(1));
    assert_eq!(forgotten.remains.as_deref(), Some("another process is reading the history"));
}

#[test]
fn what_cannot_be_read_is_left_alone() {
    let world = World::new();
    std::fs::write(world.path(), "this is no database, and longer than the head of one would be ".repeat(9))
        .unwrap();
    let check = |part: &str| {
        let before = std::fs::read(world.path()).unwrap();
        for history in [world.history(), world.history()] {
            for _ in 0..3 {
                let reason = unavailable(history.record(&small("/root/a")));
                assert!(reason.contains(part), "{reason}");
            }
            assert!(unavailable(history.list(None, 1, &|_| true)).contains(part));
            assert!(unavailable(history.forget(Some(&at("/root/a")))).contains(part));
        }
        assert_eq!(std::fs::read(world.path()).unwrap(), before);
    };
    check("not a database");
    let history = world.history();
    assert_eq!(history.forget(None).unwrap(), Forgotten { edits: None, remains: None });
    assert!(!world.path().exists());
    history.record(&small("/root/a")).unwrap();
    drop(history);

    world.sql("PRAGMA user_version = 2; PRAGMA wal_checkpoint(TRUNCATE)");
    let not_ours_to_remove = |part: &str| {
        check(part);
        let Err(NotKept::Unavailable { reason, remedy }) = world.history().forget(None) else { panic!() };
        assert!(reason.contains(part) && remedy == Remedy::MoveAway, "{reason}");
    };
    not_ours_to_remove("newer version");
    world.sql("PRAGMA application_id = 7; PRAGMA wal_checkpoint(TRUNCATE)");
    not_ours_to_remove("another program");
}

#[test]
fn a_database_of_another_program_is_not_written_to() {
    for sql in [
        "CREATE TABLE other (x)",
        "PRAGMA application_id = 7",
        "PRAGMA user_version = 1",
        // This program's id, with a version that this program never wrote.
        "PRAGMA application_id = 0x6d746568; PRAGMA user_version = -1",
    ] {
        let world = World::new();
        world.sql(sql);
        let before = std::fs::read(world.path()).unwrap();
        let history = world.history();
        for reason in [unavailable(history.record(&small("/root/a"))), unavailable(history.forget(None))] {
            assert_eq!(reason, "it is the database of another program", "{sql}");
        }
        assert!(std::fs::read(world.path()).unwrap() == before, "{sql}");
    }
}

#[test]
fn a_damaged_database_costs_no_more_than_the_history() {
    let world = World::new();
    let history = world.history();
    for _ in 0..200 {
        history.record(&small("/root/a")).unwrap();
    }
    drop(history);
    world.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    let whole = std::fs::read(world.path()).unwrap();
    let mut told = 0;
    for page in 0..whole.len() / 4096 {
        let mut file = std::fs::File::create(world.path()).unwrap();
        file.write_all(&whole).unwrap();
        // The header of the database itself is not damaged.
        file.seek(std::io::SeekFrom::Start((page * 4096 + if page == 0 { 100 } else { 0 }) as u64)).unwrap();
        file.write_all(&[0xa5; 2048]).unwrap();
        drop(file);
        let history = world.history();
        told += usize::from(history.record(&small("/root/a")).is_err());
        told += usize::from(history.list(None, usize::MAX, &|_| true).is_err());
        let _ = history.moved_since(&EditId("0123456789ab".to_owned()));
        world.remove_log();
    }
    assert!(told > 5, "{told}");
    for length in [99, 4096, whole.len() / 2] {
        std::fs::write(world.path(), &whole[..length]).unwrap();
        let history = world.history();
        unavailable(history.record(&small("/root/a")));
        world.remove_log();
    }
    // An empty file is a new database.
    std::fs::write(world.path(), "").unwrap();
    assert_eq!(all(&world.history()), []);
    world.history().record(&small("/root/a")).unwrap();
}

#[test]
fn something_else_in_its_place_is_told() {
    let world = World::new();
    std::fs::create_dir(world.path()).unwrap();
    let history = world.history();
    assert_eq!(unavailable(history.record(&small("/root/a"))), "there is something else of its name");
    unavailable(history.forget(None));
    std::fs::remove_dir(world.path()).unwrap();
    history.record(&small("/root/a")).unwrap();
    assert_eq!(all(&history).len(), 1, "as soon as it is gone, all is well");
}

#[test]
#[cfg(unix)]
fn it_is_for_this_user_alone_and_no_link_is_followed() {
    use std::os::unix::fs::MetadataExt as _;
    let world = World::new();
    let history = world.history();
    history.record(&small("/root/a")).unwrap();
    assert_eq!(world.files().len(), 3);
    for path in world.files() {
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600, "{}", path.display());
    }
    let elsewhere = World::new();
    let history = elsewhere.history();
    std::os::unix::fs::symlink(world.path(), elsewhere.path()).unwrap();
    assert_eq!(unavailable(history.record(&small("/root/a"))), "there is something else of its name");
}

#[test]
#[cfg(unix)]
fn a_database_that_was_removed_is_made_anew() {
    let world = World::new();
    let (one, other) = (world.history(), world.history());
    for round in 1..4 {
        one.record(&small("/root/a")).unwrap();
        other.record(&small("/root/a")).unwrap();
        assert_eq!((all(&one).len(), all(&other).len()), (2, 2), "{round}");
        for path in world.files() {
            std::fs::remove_file(path).unwrap();
        }
        assert_eq!(all(&one), []);
    }
    // The directory is removed, too. Then no edit can be kept until the directory exists again.
    std::fs::remove_dir_all(world.directory.path()).unwrap();
    unavailable(one.record(&small("/root/a")));
    std::fs::create_dir(world.directory.path()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    one.record(&small("/root/a")).unwrap();
    assert_eq!(all(&other).len(), 1);
}

#[test]
fn a_lock_is_waited_for_once() {
    let world = World::new();
    let history = world.history();
    history.record(&small("/root/a")).unwrap();
    let holder = rusqlite::Connection::open(world.path()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    for _ in 0..5 {
        assert_eq!(unavailable(history.record(&small("/root/a"))), "database is locked");
    }
    assert_eq!(all(&history).len(), 1, "reading goes on");
    holder.execute_batch("COMMIT").unwrap();
    history.record(&small("/root/a")).unwrap();
}
