//! Tests of records in a real database: who owns them while sessions live, end, and are reopened.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_store::backend::{
    ContentChange, FileKey, FoundRecord, Intent, Journal, JournalOfMachines, Step, Subject, TemporaryId,
};
use mcp_text_editor_store::{Observer, Operation, StoreErrorKind};

use super::link::{JournalLink, failed};
use crate::cluster::{Cluster, WithoutDatabase};
use crate::postgres::database::BOUND;
use crate::postgres::error::DatabaseError;
use crate::postgres::url::StateUrl;
use crate::tests::cluster;
use crate::tests::fixture::TestServer;

/// Returns the shared state of a machine.
fn machine(url: &StateUrl) -> Cluster {
    cluster(url, &[])
}

fn subject(path: &str) -> Subject {
    Subject {
        path: path.into(),
        id: TemporaryId::draw(),
        intent: Intent::Edit { key: FileKey { inode: 2, born: None } },
    }
}

fn step() -> Step {
    Step::Exchange(ContentChange {
        old: Digest::of(b"old"),
        new: Digest::of(b"new"),
        key: FileKey { inode: 4, born: None },
    })
}

fn only(journal: &Cluster) -> Box<dyn FoundRecord> {
    let mut all = journal.all().unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// Ends the session of a machine from the server's side, as if the network was cut.
fn cut_off(server: &TestServer, journal: &Cluster) {
    let session = journal.link.database.session(BOUND).unwrap();
    let low = session.key & 0xffff_ffff;
    let held = format!("select pid from pg_locks where locktype = 'advisory' and objid = {low}");
    server.sql(&format!("select pg_terminate_backend(({held}))"));
    // The server answers before it releases the lock.
    while !server.sql(&held).is_empty() {}
    while journal.link.database.query(&session, "select", Vec::new()).is_ok() {}
}

#[test]
fn another_machine_reads_what_a_record_says_as_far_as_it_came() {
    let Some(server) = TestServer::shared() else { return };
    let url = server.url().parse().unwrap();
    let (one, two) = (machine(&url), machine(&url));
    let subjects = [subject("/a b%\n\u{e9}"), subject("/c")];
    let mut record = one.begin(&subjects).unwrap();
    let found = only(&two);
    assert_eq!(
        found.contents().subjects.iter().map(|subject| subject.id).collect::<Vec<_>>(),
        subjects.each_ref().map(|subject| subject.id)
    );
    assert!(!found.is_abandoned() && found.is_there() && found.contents().steps.is_none());
    assert_eq!(record.prepared(&[step()], true).unwrap_err().kind, StoreErrorKind::Io, "a step is missing");
    assert!(only(&two).contents().steps.is_none());
    record.prepared(&[step(), Step::Stay], true).unwrap();
    let found = only(&two);
    assert!(found.contents().steps.is_some() && !found.contents().committed);
    // A key has no device number, which may differ between machines.
    assert!(found.contents().concerns(Path::new("/other"), Some(FileKey { inode: 2, born: None })));
    assert!(found.contents().concerns(Path::new("/other"), Some(FileKey { inode: 4, born: None })));
    assert!(!found.contents().concerns(Path::new("/other"), Some(FileKey { inode: 5, born: None })));
    record.committed(true).unwrap();
    assert!(only(&two).contents().committed);
    record.take_back(true).unwrap();
    assert!(!only(&two).contents().committed);
    record.remove(true);
    assert!(two.all().unwrap().is_empty() && !found.is_there());
}

#[test]
fn a_record_is_found_by_its_files_alone() {
    let Some(server) = TestServer::shared() else { return };
    let url = server.url().parse().unwrap();
    let (one, two) = (machine(&url), machine(&url));
    let _record = one.begin(&[subject("/a"), subject("/b")]).unwrap();
    let named = |paths: &[&str]| {
        let paths: Vec<&Path> = paths.iter().map(Path::new).collect();
        two.naming(Some(&paths)).unwrap().len()
    };
    assert_eq!([named(&["/a"]), named(&["/c", "/b"]), named(&["/c"]), named(&[])], [1, 1, 0, 0]);
}

#[test]
fn a_file_has_one_record_at_most() {
    let Some(server) = TestServer::shared() else { return };
    let url = server.url().parse().unwrap();
    let (one, two) = (machine(&url), machine(&url));
    let record = one.begin(&[subject("/a"), subject("/b")]).unwrap();
    assert_eq!(two.begin(&[subject("/c"), subject("/b")]).unwrap_err().kind, StoreErrorKind::Changed);
    // Several entries of a call can name the same file.
    drop(two.begin(&[subject("/c"), subject("/c")]).unwrap());
    drop(record);
    drop(two.begin(&[subject("/c"), subject("/b")]).unwrap());
    assert!(one.all().unwrap().is_empty());
}

#[test]
fn of_those_who_find_a_record_abandoned_one_takes_it_over() {
    let Some(server) = TestServer::shared() else { return };
    let url = server.url().parse().unwrap();
    let (one, two, three) = (machine(&url), machine(&url), machine(&url));
    let subjects = [subject("/a")];
    let mut record = one.begin(&subjects).unwrap();
    record.prepared(&[step()], true).unwrap();
    assert!(!only(&two).take_over().unwrap(), "its owner lives");
    record.keep();
    let (mut found, mut other) = (only(&two), only(&three));
    assert!(found.is_abandoned() && other.is_abandoned());
    assert!(found.take_over().unwrap() && !other.take_over().unwrap());
    assert_eq!(found.epoch(), 1);
    assert_eq!(found.contents().subjects[0].id, subjects[0].id.at_epoch(1));
    assert!(!only(&three).is_abandoned(), "it is being recovered");
    found.prove().unwrap();
    assert!(other.prove().is_err());
    drop(found);
    let mut again = only(&three);
    assert!(again.is_abandoned(), "whoever gives up gives it up");
    assert!(again.take_over().unwrap());
    assert_eq!(again.epoch(), 2);
    assert!(again.remove(true));
    assert!(two.all().unwrap().is_empty());
}

#[test]
fn who_recovers_and_is_cut_off_does_nothing_more() {
    let Some(server) = TestServer::shared() else { return };
    let url = server.url().parse().unwrap();
    let (one, two, three) = (machine(&url), machine(&url), machine(&url));
    let mut record = one.begin(&[subject("/a")]).unwrap();
    record.prepared(&[step()], true).unwrap();
    record.keep();
    let mut found = only(&two);
    assert!(found.take_over().unwrap());
    cut_off(server, &two);
    assert!(found.prove().is_err());
    let mut again = only(&three);
    assert!(again.take_over().unwrap());
    // Dropping it would release the record, but the record belongs to another owner by now.
    drop(found);
    again.prove().unwrap();
    assert!(again.remove(true));
}

#[test]
fn who_was_cut_off_and_comes_back_goes_on_or_learns_that_it_was_taken_over() {
    let Some(server) = TestServer::shared() else { return };
    let url = server.url().parse().unwrap();
    let (one, two) = (machine(&url), machine(&url));
    for is_taken in [false, true] {
        for at in ["prepared", "committed", "proved", "taken back"] {
            let mut record = one.begin(&[subject("/a")]).unwrap();
            if at != "prepared" {
                record.prepared(&[step()], true).unwrap();
            }
            if at == "taken back" {
                record.committed(true).unwrap();
            }
            cut_off(server, &one);
            let taken = is_taken.then(|| {
                let mut found = only(&two);
                assert!(found.is_abandoned(), "{at}");
                assert!(found.take_over().unwrap());
                found
            });
            let done = match at {
                "prepared" => record.prepared(&[step()], true),
                "committed" => record.committed(true),
                "proved" => record.prove(),
                _ => record.take_back(true),
            };
            assert_eq!(done.is_ok(), !is_taken, "{at}: {done:?}");
            assert_eq!(record.is_in_doubt(), is_taken, "{at}");
            if !is_taken {
                let found = only(&two);
                assert!(found.contents().steps.is_some(), "{at}");
                assert_eq!(found.contents().committed, at == "committed", "{at}");
            }
            // The first owner can change nothing of the record that the other has.
            drop(record);
            assert_eq!(two.all().unwrap().len(), usize::from(is_taken), "{at}");
            if let Some(found) = taken {
                assert_eq!(only(&two).contents().committed, at == "taken back");
                assert!(found.remove(true));
            }
        }
    }
}

#[test]
fn a_record_outlives_the_server_and_its_owner() {
    let Some(mut server) = TestServer::start(&[]) else { return };
    let url = server.url().parse().unwrap();
    let (one, two) = (machine(&url), machine(&url));
    let mut record = one.begin(&[subject("/a")]).unwrap();
    record.prepared(&[step()], true).unwrap();
    server.stop();
    let began = std::time::Instant::now();
    assert_eq!(two.begin(&[subject("/b")]).unwrap_err().kind, StoreErrorKind::Io);
    assert!(began.elapsed() < Duration::from_secs(30), "it is bounded");
    assert!(two.naming(Some(&[Path::new("/a")])).is_err(), "a read does not wait");
    std::thread::scope(|scope| {
        let going_on = scope.spawn(|| record.committed(true));
        server.go_on();
        going_on.join().unwrap().unwrap();
    });
    let found = only(&two);
    assert!(found.contents().committed && !found.is_abandoned());
    drop((record, one));
    assert!(two.all().unwrap().is_empty());
}

#[test]
fn a_process_that_ends_abandons_its_records() {
    let Some(server) = TestServer::shared() else { return };
    let url = server.url().parse().unwrap();
    let (one, two) = (machine(&url), machine(&url));
    let record = one.begin(&[subject("/a")]).unwrap();
    // The database is not told, as if the process was killed.
    std::mem::forget(record);
    cut_off(server, &one);
    let found = only(&two);
    assert!(found.is_abandoned());
    assert_eq!(found.contents().paths().collect::<Vec<_>>(), [PathBuf::from("/a")]);
}

#[test]
fn an_edit_waits_while_its_session_is_opened_anew() {
    let Some(server) = TestServer::shared() else { return };
    let url = server.url().parse().unwrap();
    let one = machine(&url);
    cut_off(server, &one);
    drop(one.begin(&[subject("/a")]).unwrap());
    cut_off(server, &one);
    assert!(one.all().unwrap().is_empty());
}

/// A proxy to the server that can lose an answer.
struct Line {
    port: u16,
    loses: Arc<AtomicBool>,
}

impl Line {
    fn to(server: &TestServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, there) = (listener.local_addr().unwrap().port(), server.port);
        let loses = Arc::new(AtomicBool::new(false));
        let is_to_lose = loses.clone();
        std::thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                let mut server = TcpStream::connect(("127.0.0.1", there)).unwrap();
                let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || {
                    io::copy(&mut from, &mut to).ok();
                    to.shutdown(Shutdown::Write).ok();
                });
                let is_to_lose = is_to_lose.clone();
                std::thread::spawn(move || {
                    let mut bytes = [0; 8192];
                    while let Ok(count @ 1..) = server.read(&mut bytes)
                        && !is_to_lose.swap(false, Ordering::SeqCst)
                        && client.write_all(&bytes[..count]).is_ok()
                    {}
                    for stream in [client, server] {
                        stream.shutdown(Shutdown::Both).ok();
                    }
                });
            }
        });
        Self { port, loses }
    }

    /// Loses the next answer, and the connection with it. The server has carried out the statement by then.
    fn lose(&self) {
        self.loses.store(true, Ordering::SeqCst);
    }
}

#[test]
fn what_was_done_though_the_answer_was_lost_is_done() {
    let Some(server) = TestServer::shared() else { return };
    let line = Line::to(server);
    let url = server.url_with("schema=lost");
    let two = machine(&url.parse().unwrap());
    let one = machine(&url.replace(&server.port.to_string(), &line.port.to_string()).parse().unwrap());
    one.link.database.session(BOUND).unwrap();
    line.lose();
    let mut record = one.begin(&[subject("/a")]).unwrap();
    assert!(!only(&two).is_abandoned());
    line.lose();
    record.prepared(&[step()], true).unwrap();
    assert!(only(&two).contents().steps.is_some());
    // The change was carried out, so it must not be repeated.
    server.sql(
        "create function lost.refuses() returns trigger language plpgsql as $$ begin raise exception 'again'; end $$;
        create trigger refuses before update of state on lost.records for each row
            when (old.state = new.state) execute function lost.refuses()",
    );
    line.lose();
    record.committed(true).unwrap();
    assert!(only(&two).contents().committed && !record.is_in_doubt());
    line.lose();
    record.prove().unwrap();
    line.lose();
    assert_eq!(one.all().unwrap().len(), 1, "a question is asked once more");
    line.lose();
    assert!(one.naming(None).is_err(), "except where nothing is to be waited for");
    record.prove().unwrap();
    record.remove(true);
    assert!(two.all().unwrap().is_empty());
}

#[test]
fn what_the_server_refuses_is_not_done_and_what_it_cuts_off_is_tried_again() {
    static IN_WORK: AtomicI64 = AtomicI64::new(0);
    let Some(server) = TestServer::shared() else { return };
    let (url, records) = (server.url_with("schema=refused").parse().unwrap(), ("refused", "records"));
    let count = |by| {
        IN_WORK.fetch_add(by, Ordering::Relaxed);
    };
    let observer = Observer { records_in_work: count, ..Observer::default() };
    let two = machine(&url);
    let one = machine(&url);
    let one = Cluster { link: JournalLink { observer, ..one.link }, ..one };
    let subjects = [subject("/a")];
    one.link.database.session(BOUND).unwrap();
    for code in ["P0001", "57P01"] {
        server.refuse(records, "insert", 1, code);
        assert_eq!(one.begin(&subjects).unwrap_err().kind, StoreErrorKind::Io, "{code}");
        assert!(two.all().unwrap().is_empty(), "{code}");
    }
    assert_eq!(IN_WORK.load(Ordering::Relaxed), 0);
    let mut record = one.begin(&subjects).unwrap();
    assert_eq!(IN_WORK.load(Ordering::Relaxed), 1);
    // First the answer to the change is lost, and then the answer to the query of its outcome.
    server.refuse(records, "update", 2, "57P01");
    record.prepared(&[step()], true).unwrap();
    assert!(only(&two).contents().steps.is_some());
    server.refuse(records, "update", 1, "P0001");
    assert_eq!(record.committed(true).unwrap_err().kind, StoreErrorKind::Io);
    assert!(!record.is_in_doubt() && !only(&two).contents().committed);
    record.committed(true).unwrap();
    server.sql("alter table refused.records rename to away");
    assert_eq!(record.prove().unwrap_err().kind, StoreErrorKind::Io);
    assert!(!record.is_in_doubt(), "it was only asked");
    server.sql("alter table refused.away rename to records");
    record.prove().unwrap();
    cut_off(server, &one);
    server.refuse(records, "update", 1, "P0001");
    assert_eq!(record.take_back(true).unwrap_err().kind, StoreErrorKind::Io);
    assert!(record.is_in_doubt(), "nobody could say what became of it");
    record.keep();
    assert_eq!(IN_WORK.load(Ordering::Relaxed), 0);
}

#[test]
fn a_record_that_is_gone_is_its_owners_no_more() {
    let Some(server) = TestServer::shared() else { return };
    let url = server.url_with("schema=gone").parse().unwrap();
    let one = machine(&url);
    for is_proved in [true, false] {
        let mut record = one.begin(&[subject("/a")]).unwrap();
        record.prove().unwrap();
        server.sql("delete from gone.records");
        let done = if is_proved { record.prove() } else { record.prepared(&[step()], true) };
        let why = done.unwrap_err().source.unwrap().to_string();
        assert!(why.contains("another machine has taken the edit over"), "{why}");
        assert!(record.is_in_doubt());
    }
    // The same holds for a machine that recovers the record.
    one.begin(&[subject("/a")]).unwrap().keep();
    let mut found = only(&one);
    assert!(found.take_over().unwrap());
    found.prove().unwrap();
    server.sql("delete from gone.records");
    let why = found.prove().unwrap_err().source.unwrap().to_string();
    assert!(why.contains("another machine has taken its recovery over"), "{why}");
}

#[test]
fn where_edits_go_on_without_the_database_so_they_do_if_it_refuses() {
    let Some(server) = TestServer::shared() else { return };
    let needed = machine(&server.url_with("schema=spoilt").parse().unwrap());
    let optional = Cluster { without: WithoutDatabase::GoOn, ..needed.clone() };
    assert!(needed.all().unwrap().is_empty());
    server.sql("drop table spoilt.records cascade");
    assert_eq!(needed.all().unwrap_err().kind, StoreErrorKind::Io);
    assert!(optional.all().unwrap().is_empty());
    assert!(needed.is_needed() && !optional.is_needed());
}

#[test]
fn its_ports_are_those_of_hosts_and_not_of_sockets() {
    let url = "postgres://me@127.0.0.1:7,%2Frun%2Fpg:8,[::1]/d?sslmode=disable";
    assert_eq!(machine(&url.parse().unwrap()).ports(), [7, 5432]);
}

/// The database is not even contacted.
#[test]
fn a_file_that_other_machines_have_no_name_for_is_not_edited() {
    let one = machine(&"postgres://me@127.0.0.1:9/edits?sslmode=disable".parse().unwrap());
    let error = one.begin(&[subject("nowhere")]).unwrap_err();
    assert_eq!((error.kind, error.path), (StoreErrorKind::Io, "nowhere".into()));
    assert_eq!(error.source.unwrap().to_string(), DatabaseError::Unnamed.to_string());
}

#[test]
fn an_error_says_what_the_database_said() {
    let error = failed(Operation::ReadJournal, Path::new("/a"), DatabaseError::Unnamed);
    assert_eq!((error.kind, error.path), (StoreErrorKind::Io, "/a".into()));
    assert_eq!(error.source.unwrap().to_string(), DatabaseError::Unnamed.to_string());
}
