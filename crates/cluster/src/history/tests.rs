//! Tests what several machines see of each other's edits, and what happens if the database fails.

use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::{Encoding, Label};
use mcp_text_editor_core::splice::{Splice, SpliceSet};
use mcp_text_editor_store::backend::{Caller, DirectoryKey, EditedFile, JournalOfMachines as _, NewEdit};
use mcp_text_editor_store::{
    ChangeKind, EditId, Entry, EntryFile, History, NotKept, Patterns, Remedy, RootPlace, Undo,
};
use mcp_text_editor_store::{EditFilter as Filter, HistorySettings as Settings};

use proptest::prelude::*;

use crate::tests::fixture::TestServer;
use crate::tests::{cluster, names};

#[path = "../../../store/src/history/tests/laws.rs"]
mod laws;

use laws::KeepEdit as _;

struct World {
    directory: tempfile::TempDir,
    settings: Settings,
    url: String,
}

/// Tests a law of every history, if there is a server.
fn each(law: impl Fn(World)) {
    let Some(server) = TestServer::shared() else { return };
    let excluded = Patterns::new(&["*.key".to_owned()]).unwrap();
    let settings = Settings { excluded, ..Settings::default() };
    law(World { directory: tempfile::tempdir().unwrap(), settings, url: server.url() });
}

impl World {
    fn history(&self) -> History {
        history(&self.url, &[], self.settings.clone())
    }

    /// Returns a path at which nothing is created.
    fn path(&self) -> PathBuf {
        self.directory.path().join("history")
    }
}

fn at(path: &str) -> PathBuf {
    path.into()
}

/// Returns the history of a machine that has these names of directories.
fn history(url: &str, named: &[(&str, &str)], settings: Settings) -> History {
    History::of_archive(cluster(&url.parse().unwrap(), named).archive(), settings)
}

fn made(path: &str, undo: Undo) -> EditedFile {
    EditedFile {
        path: path.into(),
        relative: Path::new(path).file_name().unwrap().into(),
        encoding: Encoding::Utf8,
        before: None,
        after: Some(Digest::of(b"new")),
        undo,
        diff: "+new\n".to_owned(),
    }
}

fn edit(files: Vec<EditedFile>) -> NewEdit<'static> {
    NewEdit {
        by: Caller { tool: "create_text_file", client: Some("a\0b"), session: None },
        undoes: None,
        files,
        root_keys: Vec::new(),
    }
}

fn all(history: &History) -> Vec<Entry> {
    history.list(None, usize::MAX, &|_| true).unwrap()
}

fn in_days(number: i64) -> i64 {
    number * 86_400_000
}

#[cfg(target_os = "linux")]
#[test]
fn each_machine_has_an_edit_by_its_own_paths() {
    let Some(server) = TestServer::shared() else { return };
    let url = server.url();
    let one = history(&url, &[("team", "/mnt/team")], Settings::default());
    let other = history(&url, &[("team", "/srv/files/t")], Settings::default());
    let third = history(&url, &[], Settings::default());
    let directories = vec!["/mnt/team/d".into(), "/mnt/team/d/e".into()];
    let file = made("/mnt/team/d/e/a.txt", Undo::Remove { directories: directories.clone() });
    let id = one.record(&edit(vec![file])).unwrap();
    let there = |history: &History| {
        let (entry, undos) = history.get(&id).unwrap().unwrap();
        (entry.files[0].path.clone(), entry.files[0].root.clone(), undos[0].clone())
    };
    assert_eq!(there(&one), ("/mnt/team/d/e/a.txt".into(), None, Undo::Remove { directories }));
    let directories = vec!["/srv/files/t/d".into(), "/srv/files/t/d/e".into()];
    assert_eq!(there(&other), ("/srv/files/t/d/e/a.txt".into(), None, Undo::Remove { directories }));
    let nowhere = Undo::Remove { directories: Vec::new() };
    assert_eq!(there(&third), ("[team]/d/e/a.txt".into(), Some("team".to_owned()), nowhere));
    // Each machine finds the edit by the file's own paths, and by all directories above the file.
    for (history, path, count) in [
        (&one, "/mnt/team/d", 1),
        (&other, "/srv/files/t/d", 1),
        (&other, "/srv", 1),
        (&other, "/srv/files/t", 1),
        (&other, "/srv/files/t/", 1),
        (&other, "/mnt/team/d", 0),
        (&third, "/mnt", 0),
        (&third, "/", 0),
    ] {
        let found = history.list(Some(Path::new(path)), 9, &|_| true).unwrap();
        assert_eq!(found.len(), count, "{path}");
    }
    let now = Some(Digest::of(b"new"));
    let again = other
        .record(&edit(vec![made("/srv/files/t/d/e/a.txt", Undo::Create { contents: vec![1] })]))
        .unwrap();
    let later = one.later(&id, Path::new("/mnt/team/d/e/a.txt"), now).unwrap();
    assert_eq!(later.map(|entry| entry.id), Some(again), "the edit of another machine is in the way");
    assert_eq!(all(&one)[0].client.as_deref(), Some("a\u{fffd}b"));
    assert_eq!(one.forget(Some(Path::new("/mnt/team/d/e"))).unwrap().edits, Some(2));
    assert_eq!(all(&third), []);
}

#[test]
fn what_all_machines_keep_is_bounded_by_the_databases_clock() {
    let Some(server) = TestServer::shared() else { return };
    let url = server.url_with("schema=bounded");
    let settings = Settings { bytes: 64_000, days: 30, ..Settings::default() };
    let new = || history(&url, &[("here", "/here")], settings.clone());
    let file = || made("/here/a", Undo::Create { contents: vec![b'x'; 2_000] });
    let one = new();
    let ids: Vec<EditId> = (0..100).map(|_| one.record(&edit(vec![file()])).unwrap()).collect();
    let kept = all(&one);
    assert!((20..27).contains(&kept.len()), "{}", kept.len());
    assert_eq!(kept[0].id, ids[99], "the newest stay");
    let too_large = made("/here/a", Undo::Create { contents: vec![b'x'; 65_000] });
    assert_eq!(one.record(&edit(vec![too_large])), Err(NotKept::TooLarge));
    // The last of the old edits was made a day ago. Counted back from that time, edits from 31 days before
    // are too old, and edits from 29 days before are not.
    let earlier = |by: i64, condition: &str| {
        let earlier = format!("update bounded.edits set time = time - {by} where {condition}");
        server.sql(&earlier);
    };
    let newest = server.sql("select max(number) from bounded.edits").parse::<i64>().unwrap();
    earlier(in_days(1) + 60_000, &format!("number = {newest}"));
    earlier(in_days(32) + 60_000, &format!("number < {newest} - 10"));
    earlier(in_days(30), &format!("number between {newest} - 10 and {newest} - 1"));
    new().record(&edit(vec![file()])).unwrap();
    assert_eq!(all(&one).len(), 12);
    // A clock that was set forward and then corrected makes no edit too old.
    earlier(-in_days(90), &format!("number = {newest}"));
    new().record(&edit(vec![file()])).unwrap();
    assert_eq!(all(&one).len(), 13);
}

#[test]
fn without_the_database_an_edit_is_not_kept_and_that_is_said_in_time() {
    let Some(mut server) = TestServer::start(&[]) else { return };
    let url = server.url();
    let history = history(&url, &[("here", "/here")], Settings::default());
    let file = || edit(vec![made("/here/a", Undo::Create { contents: b"x".to_vec() })]);
    history.record(&file()).unwrap();
    let is_told = |result: Result<EditId, NotKept>| match result {
        Err(NotKept::Unavailable { remedy, .. }) => assert_eq!(remedy, Remedy::Database),
        other => panic!("{other:?}"),
    };
    server.sql("alter system set default_transaction_read_only = on");
    server.sql("select pg_reload_conf()");
    server.sql("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'");
    is_told(history.record(&file()));
    server.stop();
    is_told(history.record(&file()));
    assert!(matches!(history.list(None, 1, &|_| true), Err(NotKept::Unavailable { .. })));
    server.go_on();
    server.sql("set default_transaction_read_only = off; alter system reset default_transaction_read_only");
    server.sql("select pg_reload_conf()");
    while history.record(&file()).is_err() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(all(&history).len() >= 2);
}

#[test]
fn the_directories_of_edits_are_listed_with_their_places_here() {
    let Some(server) = TestServer::shared() else { return };
    let url = server.url();
    let one = history(&url, &[("team", "/mnt/team"), ("docs", "/docs")], Settings::default());
    let other = history(&url, &[("team", "/srv/files/t")], Settings::default());
    assert_eq!(one.roots().unwrap(), Some(Vec::new()));
    let files = ["/mnt/team/a", "/docs/a", "/docs/b"];
    one.record(&edit(files.map(|path| made(path, Undo::Create { contents: Vec::new() })).to_vec())).unwrap();
    let place = |path: &str| RootPlace { inside: PathBuf::new(), path: path.into() };
    for (history, docs, team) in
        [(&one, vec![place("/docs")], "/mnt/team"), (&other, Vec::new(), "/srv/files/t")]
    {
        let roots = history.roots().unwrap().unwrap();
        let wanted = [("docs".to_owned(), docs), ("team".to_owned(), vec![place(team)])];
        assert_eq!(
            roots.iter().map(|root| (root.name.clone(), root.here.clone())).collect::<Vec<_>>(),
            wanted
        );
        let time = all(history)[0].time;
        for root in roots {
            assert_eq!(root.made_by, names(&[]).machine());
            assert!(time.duration_since(root.since).unwrap().as_secs() < 60, "{root:?}");
        }
    }
}

#[test]
fn all_that_is_kept_of_a_file_counts_for_the_bound() {
    let Some(server) = TestServer::shared() else { return };
    let url = server.url_with("schema=sizes");
    let new = |bytes| history(&url, &[("here", "/here")], Settings { bytes, ..Settings::default() });
    let history = new(100_000);
    let long = "x".repeat(1_000);
    let file = || made("/here/a", Undo::Create { contents: b"x".repeat(1_000) });
    let size = |files: Vec<EditedFile>| {
        history.record(&edit(files)).unwrap();
        server.sql("select bytes from sizes.edits order by number desc limit 1").parse::<u64>().unwrap()
    };
    let plain = size(vec![file()]);
    let more = |file: EditedFile| size(vec![file]) - plain;
    assert_eq!(more(EditedFile { diff: file().diff + &long, ..file() }), 1_000);
    assert_eq!(more(EditedFile { relative: format!("a{long}").into(), ..file() }), 1_000);
    assert_eq!(more(EditedFile { undo: Undo::Create { contents: b"x".repeat(2_000) }, ..file() }), 1_000);
    // The path counts twice, since the index also has it.
    assert_eq!(more(EditedFile { path: format!("/here/a{long}").into(), ..file() }), 2_000);
    // The overhead of an edit counts once for several files.
    let (two, three) = (size(vec![file(), file()]), size(vec![file(), file(), file()]));
    assert!(plain > 1_000 && two < 2 * plain && three - two == two - plain, "{plain} {two} {three}");
    assert_eq!(new(plain - 1).record(&edit(vec![file()])), Err(NotKept::TooLarge));
    new(plain).record(&edit(vec![file()])).unwrap();
}

#[test]
fn an_id_that_is_taken_is_drawn_again() {
    let Some(server) = TestServer::shared() else { return };
    let history = history(&server.url_with("schema=draws"), &[("here", "/here")], Settings::default());
    let record = || history.record(&edit(vec![made("/here/a", Undo::Create { contents: Vec::new() })]));
    record().unwrap();
    for (code, times, is_kept) in
        [("23505", 1, true), ("23505", 7, true), ("23505", 8, false), ("53100", 1, false)]
    {
        server.refuse(("draws", "edits"), "insert", times, code);
        assert_eq!(record().is_ok(), is_kept, "{code} {times}");
    }
}

#[test]
fn what_is_forgotten_is_in_no_file_of_a_table_or_that_is_told() {
    let Some(server) = TestServer::start(&["max_prepared_transactions=1"]) else { return };
    let history = history(&server.url(), &[("here", "/here")], Settings::default());
    let record = |path: &str| {
        let contents = path.as_bytes().repeat(10);
        history.record(&edit(vec![made(path, Undo::Create { contents })])).unwrap();
    };
    record("/here/a");
    record("/here/b");
    let schema = server.sql("select relnamespace::regnamespace from pg_class where relname = 'edit_files'");
    let files = || {
        let read = "encode(pg_read_binary_file(pg_relation_filepath(oid)), 'escape')";
        server.sql(&format!(
            "checkpoint; select {read} from pg_class where oid = '{schema}.edit_files'::regclass"
        ))
    };
    let forget = |path: Option<&str>| {
        let forgotten = history.forget(path.map(Path::new)).unwrap();
        (forgotten.edits.unwrap(), forgotten.remains.is_some())
    };
    assert!(files().contains("/here/a/here/a"));
    // This transaction began before, and has not ended.
    server.sql("begin; create table other (); prepare transaction 'other'");
    assert_eq!(forget(Some("/here/a")), (1, true));
    assert_eq!(all(&history).len(), 1);
    assert!(files().contains("/here/a/here/a"));
    server.sql("rollback prepared 'other'");
    assert_eq!(forget(Some("/here/a")), (0, false), "doing it again is rid of it");
    assert!(!files().contains("/here/a/here/a"));
    assert!(files().contains("/here/b/here/b"));
    assert_eq!(forget(None), (1, false));
    assert_eq!(all(&history), []);
    record("/here/c");
    server.sql(&format!("drop table {schema}.edit_files cascade"));
    let forgotten = history.forget(None).unwrap();
    assert!(forgotten.edits == Some(1) && forgotten.remains.unwrap().contains("does not exist"));
}

#[test]
fn an_edit_that_cannot_be_read_is_not_taken_for_none() {
    let Some(server) = TestServer::shared() else { return };
    let history = history(&server.url_with("schema=unreadable"), &[("here", "/here")], Settings::default());
    let record =
        || history.record(&edit(vec![made("/here/a", Undo::Create { contents: Vec::new() })])).unwrap();
    let id = record();
    let nobody = EditId::parse("0123456789ab").unwrap();
    assert_eq!(history.later(&id, Path::new("/here/a"), None), Ok(None));
    assert_eq!(
        (history.later(&nobody, Path::new("/here/a"), None), history.get(&nobody)),
        (Ok(None), Ok(None))
    );
    server.sql("update unreadable.edit_files set kind = 99");
    let told = NotKept::Unavailable {
        reason: "the database has an edit that this version cannot read".to_owned(),
        remedy: Remedy::Database,
    };
    assert_eq!(history.get(&id), Err(told.clone()));
    assert_eq!(history.list(None, 9, &|_| true), Err(told));
}

#[test]
fn bounds_that_could_not_be_held_are_held_by_the_next_edit() {
    let Some(server) = TestServer::shared() else { return };
    let settings = Settings { bytes: 100_000, days: 30, ..Settings::default() };
    let new = || history(&server.url_with("schema=held"), &[("here", "/here")], settings.clone());
    let record = |history: &History| {
        history.record(&edit(vec![made("/here/a", Undo::Create { contents: Vec::new() })])).unwrap();
        all(history).len()
    };
    assert_eq!(record(&new()), 1);
    assert_eq!(record(&new()), 2);
    let oldest = "number = (select min(number) from held.edits)";
    for change in [
        format!("update held.edits set bytes = 1000000 where {oldest}"),
        format!(
            "update held.edits set time = time - {};
            update held.edits set time = time - {} where {oldest}",
            in_days(2),
            in_days(31)
        ),
    ] {
        server.sql(&change);
        server.refuse(("held", "edits"), "delete", 1_000_000, "53100");
        let history = new();
        assert_eq!(record(&history), 3, "it is kept all the same: {change}");
        server.sql("drop function held.refuses cascade");
        assert_eq!(record(&history), 3, "{change}");
        server.sql(&format!("delete from held.edits where {oldest}"));
    }
}

#[test]
fn each_process_looks_at_the_bounds_now_and_then() {
    let Some(server) = TestServer::shared() else { return };
    let url = server.url_with("schema=looks");
    let settings = Settings { bytes: 640_000, days: 30, ..Settings::default() };
    let new = || history(&url, &[("here", "/here")], settings.clone());
    let keep = |history: &History| {
        history.record(&edit(vec![made("/here/a", Undo::Create { contents: Vec::new() })])).unwrap();
    };
    let record = |history: &History| {
        keep(history);
        all(history).len()
    };
    let one = new();
    for _ in 0..99 {
        keep(&one);
    }
    assert_eq!(record(&one), 100);
    // The last edit was made a day ago. Counted back from that time, 90 edits are slightly older than
    // allowed, and the rest slightly younger.
    let first = server.sql("select min(number) from looks.edits");
    server.sql(&format!(
        "update looks.edits set time = time - {} - case when number < {first} + 90 then 1000 else -60000 end;
        update looks.edits set time = time + {} where number = {first} + 99",
        in_days(31),
        in_days(30) - 60_000,
    ));
    assert_eq!(record(&one), 101, "it has looked this hour");
    let other = new();
    assert_eq!(record(&other), 102 - 64, "not too many at once");
    assert_eq!(record(&other), 13, "the rest");
    // The recorded size of the oldest edit is made too large for the bound.
    server.sql("update looks.edits set bytes = 1000000 where number = (select min(number) from looks.edits)");
    assert_eq!(record(&other), 14, "it has looked before, and has kept little since");
    assert_eq!(record(&new()), 14, "a process that begins looks");
}

#[test]
fn edits_age_by_a_clock_that_was_right_for_a_day() {
    let Some(server) = TestServer::shared() else { return };
    let url = server.url_with("schema=aging");
    let record = || {
        // Each edit is made by a new process, which checks the ages at once.
        let history = history(&url, &[("here", "/here")], Settings { days: 30, ..Settings::default() });
        history.record(&edit(vec![made("/here/a", Undo::Create { contents: Vec::new() })])).unwrap();
        all(&history).len()
    };
    let hours_go_by = |hours: i64| {
        server.sql(&format!("update aging.edits set time = time - {}", hours * 3_600_000));
    };
    assert_eq!(record(), 1);
    hours_go_by(31 * 24);
    assert_eq!(record(), 2);
    hours_go_by(20);
    assert_eq!(record(), 3, "the second may be of a clock that jumped");
    hours_go_by(5);
    assert_eq!(record(), 3, "the first is too old");
}
