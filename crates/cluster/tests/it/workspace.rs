//! A workspace that shares its state, through the public interface. Nothing listens at these databases.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp_text_editor_cluster::{Cluster, FileLocks, RootName, RootNames, WithoutDatabase};
use mcp_text_editor_store::{Observer, Workspace, real_path};

fn cluster(port: u16, without: WithoutDatabase) -> Cluster {
    let url = format!("postgres://me@127.0.0.1:{port}/edits?sslmode=disable").parse().unwrap();
    Cluster::new(url, without, RootNames::new(&[]).unwrap(), Observer::default()).unwrap()
}

/// Returns a workspace that serves a directory of its own, alone or not.
fn served(cluster: Option<Cluster>) -> (tempfile::TempDir, Workspace) {
    let directory = tempfile::tempdir().unwrap();
    let builder = Workspace::builder().root(directory.path());
    let workspace = match cluster {
        Some(cluster) => builder.shared(Arc::new(cluster)),
        None => builder,
    };
    (directory, workspace.build().unwrap())
}

#[test]
fn a_workspace_tells_whether_edits_wait_for_its_database() {
    for (without, waits) in [(WithoutDatabase::Refuse, true), (WithoutDatabase::GoOn, false)] {
        let cluster = cluster(9, without);
        let report = cluster.examine();
        assert_eq!(
            report.hosts.iter().map(|host| host.address.as_str()).collect::<Vec<_>>(),
            ["127.0.0.1:9"]
        );
        assert_eq!((report.database.as_str(), report.role.as_str()), ("edits", "me"));
        let (_directory, workspace) = served(Some(cluster));
        assert_eq!(workspace.why_edits_wait().is_some(), waits, "{without:?}");
    }
}

#[test]
fn a_directory_has_one_name_and_a_name_one_directory() {
    let directory = tempfile::tempdir().unwrap();
    let [root, other] = ["root", "other"].map(|name| directory.path().join(name));
    for path in [&root, &other] {
        std::fs::create_dir(path).unwrap();
    }
    let names = |named: &[(&str, &PathBuf)]| {
        let named = named.iter().map(|(name, path)| (RootName::given(name).unwrap(), (*path).clone()));
        RootNames::new(&named.collect::<Vec<_>>())
    };
    assert_eq!(names(&[("work", &root), ("work", &other)]).unwrap_err().name.as_str(), "work");
    assert_eq!(names(&[("work", &root), ("more", &root)]).unwrap_err().directory, real_path(&root));
    let names = names(&[("work", &root), ("more", &other)]).unwrap();
    let path = real_path(&root).join("d").join("a");
    let shared = names.shared(&path).unwrap();
    assert_eq!((shared.root.as_str(), shared.relative.as_path()), ("work", Path::new("d/a")));
    assert_eq!(names.locks(&path), FileLocks::Unknown);
}

/// The kernel keeps a confined process from all ports but those of its database.
#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::disallowed_methods, reason = "a test looks at files without the store")]
fn a_confined_workspace_reaches_its_database_and_no_other_port() {
    use std::net::{TcpListener, TcpStream};

    use mcp_text_editor_store::{Confinement, Gap, Network};

    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [port, other] = [0, 1].map(|at: usize| listeners[at].local_addr().unwrap().port());
    for has_database in [true, false] {
        let (_directory, workspace) = served(has_database.then(|| cluster(port, WithoutDatabase::Refuse)));
        let confined = || {
            let held = match workspace.confine(Network::Closed).unwrap() {
                Confinement::Held { gaps, .. } => gaps,
                Confinement::None(lack) => {
                    eprintln!("skipped: {lack}");
                    return;
                }
            };
            assert!(std::fs::read("/etc/passwd").is_err());
            if !held.contains(&Gap::Tcp) {
                assert_eq!(TcpStream::connect(("127.0.0.1", port)).is_ok(), has_database);
                assert!(TcpStream::connect(("127.0.0.1", other)).is_err());
            }
        };
        std::thread::scope(|scope| scope.spawn(confined).join()).unwrap();
    }
}

/// The names of the threads of this process are those of all tests: no other one of this program recovers.
#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::disallowed_methods, reason = "a test looks at files without the store")]
fn only_with_a_database_a_thread_recovers_in_the_background() {
    use std::time::{Duration, Instant};

    let is_recovering = || {
        let threads = std::fs::read_dir("/proc/self/task").unwrap().filter_map(Result::ok);
        let mut names = threads.filter_map(|one| std::fs::read_to_string(one.path().join("comm")).ok());
        names.any(|name| name.trim_end() == "recovery")
    };
    let (_directory, alone) = served(None);
    Arc::new(alone).recover_in_background().unwrap();
    assert!(!is_recovering());
    let (_directory, shared) = served(Some(cluster(9, WithoutDatabase::Refuse)));
    Arc::new(shared).recover_in_background().unwrap();
    let began = Instant::now();
    // A thread names itself once it runs.
    while !is_recovering() {
        assert!(began.elapsed() < Duration::from_mins(1));
        std::thread::yield_now();
    }
}
