//! Tests what several machines see of each other's edits, and what a failing database costs.

use std::path::{Path, PathBuf};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::Encoding;

use crate::history::*;
use crate::observer::Observer;
use crate::postgres::database::Database;
use crate::postgres::fixture::TestServer;
use crate::postgres::session::SessionSettings as DatabaseSettings;
use crate::root_names::{RootName, RootNames};

/// Returns the history of a machine that has these names of directories.
pub(in crate::history) fn history(url: &str, names: &[(&str, &str)], settings: Settings) -> History {
    let database = DatabaseSettings::new(url.parse().unwrap()).unwrap();
    let given = names.iter().map(|(name, path)| (RootName::given(name).unwrap(), PathBuf::from(path)));
    let names = RootNames::new(given.collect());
    History::in_database(Database::new(database.into(), Observer::default()), names.into(), settings)
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
    // Each machine finds it by its own paths, and by all directories above.
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
    // The last of the old ones was made a day ago. From that time, those of 31 days before are too old, and
    // those of 29 days are not.
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
    // A clock that was set forward, and is right again, ages nothing.
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
