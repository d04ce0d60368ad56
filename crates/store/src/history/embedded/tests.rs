//! Tests that versions of this program can share a database.

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;
use rusqlite::Connection;

use crate::history::tests::laws::KeepEdit as _;
use crate::history::*;
use crate::state_dir::StateDir;

/// The schema and the settings with which the first version creates the database.
const FIRST: &str = "
    CREATE TABLE edit (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, time INTEGER NOT NULL, tool TEXT NOT NULL, undoes TEXT,
        bytes INTEGER NOT NULL, upto INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX edit_undoes ON edit (undoes) WHERE undoes IS NOT NULL;
    CREATE TABLE file (
        edit INTEGER NOT NULL, position INTEGER NOT NULL, path BLOB NOT NULL, relative BLOB NOT NULL, encoding TEXT NOT NULL,
        before BLOB, after BLOB, kind INTEGER NOT NULL, diff TEXT NOT NULL, undo BLOB NOT NULL,
        PRIMARY KEY (edit, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX file_path ON file (path);
    PRAGMA application_id = 0x6d746568;
    PRAGMA user_version = 1;
    PRAGMA journal_mode = WAL;
";

/// Records an edit as the first version does, and drops the edits with a number below `drop_before`.
fn record_as_first(connection: &Connection, number: i64, id: &str, drop_before: i64) {
    let edit = "INSERT INTO edit VALUES (?1, ?2, 1000, 'patch_text_file_contents', NULL, 300, 300)";
    connection.execute(edit, (number, id)).unwrap();
    let file = "INSERT INTO file VALUES (?1, 0, x'2f61', x'61', 'utf-8', NULL, NULL, 2, '', x'')";
    connection.execute(file, [number]).unwrap();
    connection.execute("DELETE FROM edit WHERE number < ?1", [drop_before]).unwrap();
    connection.execute("DELETE FROM file WHERE edit < ?1", [drop_before]).unwrap();
}

fn record(history: &History, client: Option<&str>) -> EditId {
    let file = EditedFile {
        path: "/a".into(),
        relative: "a".into(),
        encoding: Encoding::Utf8,
        before: Some(Digest::of(b"x")),
        after: None,
        undo: Undo::Create { contents: b"x".to_vec() },
        diff: String::new(),
    };
    let by = Caller { tool: "remove_text_file", client, session: client };
    history.record(&NewEdit { by, undoes: None, files: vec![file], root_keys: Vec::new() }).unwrap()
}

fn clients(history: &History) -> Vec<Option<String>> {
    let entries = history.list(None, 99, &|_| true).unwrap();
    entries.into_iter().map(|entry| entry.client).collect()
}

#[test]
fn older_versions_share_the_database() {
    let directory = tempfile::tempdir().unwrap();
    let first = Connection::open(directory.path().join(FILE_NAME)).unwrap();
    first.execute_batch(FIRST).unwrap();
    record_as_first(&first, 1, "00000000000a", 0);
    let history = History::new(&StateDir::open(directory.path()).unwrap(), Settings::default());
    let named = Filter { client: Some("cursor".to_owned()), ..Filter::default() };
    assert_eq!(clients(&history), [None]);
    assert_eq!(history.find(&named, 9, &|_| true).unwrap(), [], "no such table is no error");
    record(&history, None);
    let id = record(&history, Some("cursor"));
    record_as_first(&first, 4, "00000000000b", 0);
    let some = |name: &str| Some(name.to_owned());
    assert_eq!(clients(&history), [None, some("cursor"), None, None]);
    assert_eq!(history.find(&named, 9, &|_| true).unwrap()[0].id, id);
    let origins = || first.query_row("SELECT count(*) FROM origin", (), |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(origins(), 1);
    // When the first version drops or forgets edits, their rows in a table that it does not know are deleted,
    // too.
    record_as_first(&first, 5, "00000000000c", 4);
    assert_eq!((clients(&history), origins()), (vec![None, None], 0));
    record(&history, Some("zed"));
    first.execute_batch("DELETE FROM edit; DELETE FROM file; VACUUM").unwrap();
    assert_eq!(origins(), 0);
    // The numbers begin again, and no edit gets the client of another edit.
    record_as_first(&first, 1, "00000000000d", 0);
    assert_eq!(clients(&history), [None]);
    record(&history, Some("zed"));
    assert_eq!(history.forget(None).unwrap().edits, Some(2));
    assert_eq!(origins(), 0);
}
