use std::path::Path;

use super::mount::{covering, mounts};
use super::*;
use crate::tests::names;

#[cfg(target_os = "linux")]
const LIST: &[u8] = b"\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw - proc proc rw
30 22 0:40 / /mnt/team rw master:3 - nfs4 files.example.org:/export rw,vers=4.2
31 30 0:41 / /mnt/team/vendor rw - nfs4 other.example.org:/vendor rw
32 22 0:40 / /shared-files rw - nfs4 files.example.org:/export/a\\040b rw
33 22 0:43 /sub /share rw - cifs //SRV/share rw
34 22 0:44 / /gluster rw - fuse.glusterfs 10.9.0.1:vol rw
35 22 0:45 / /efs rw - nfs4 127.0.0.1:/ rw
36 22 0:46 / /jfs rw - fuse.juicefs JuiceFS:x rw
37 22 0:47 / /ceph rw - ceph me@4f1e.cephfs=/home rw
38 22 0:40 / /hidden/deep rw - nfs4 files.example.org:/hidden rw
39 22 0:48 / /hidden rw - tmpfs tmpfs rw
40 30 0:49 / /mnt/team rw - nfs4 over.example.org:/over rw
";

/// Returns the shared name of a path in a list of mounts, as text. Leaves out the machine's own name.
#[cfg(target_os = "linux")]
fn shared(names: &RootNames, list: &[u8], path: &str) -> String {
    let shared = names.shared_among(list, Path::new(path)).unwrap();
    assert_eq!(names.local_among(list, &shared).as_deref(), Some(Path::new(path)), "{shared}");
    if shared.root.is_shared() { shared.to_string() } else { format!("[here]/{}", shared.relative.display()) }
}

#[cfg(target_os = "linux")]
#[test]
fn a_path_is_called_by_its_server_and_the_place_there() {
    let names = names(&[]);
    let list = LIST.strip_suffix(b"40 30 0:49 / /mnt/team rw - nfs4 over.example.org:/over rw\n").unwrap();
    for (path, wanted) in [
        ("/mnt/team/p/a.txt", "[nfs4:files.example.org]/export/p/a.txt"),
        ("/mnt/team", "[nfs4:files.example.org]/export"),
        ("/mnt/team/vendor/a", "[nfs4:other.example.org]/vendor/a"),
        ("/mnt/teams/a", "[here]/mnt/teams/a"),
        ("/share/a", "[cifs:srv]/share/sub/a"),
        ("/gluster/a", "[glusterfs:10.9.0.1]/vol/a"),
        ("/ceph/a", "[ceph:4f1e.cephfs]/home/a"),
        ("/efs/a", "[here]/efs/a"),
        ("/jfs/a", "[here]/jfs/a"),
        ("/etc/passwd", "[here]/etc/passwd"),
        ("/hidden/deep/a", "[here]/hidden/deep/a"),
    ] {
        assert_eq!(shared(&names, list, path), wanted, "{path}");
    }
    // A directory that is mounted twice has only one name.
    let twice = names.shared_among(list, Path::new("/shared-files/x")).unwrap();
    assert_eq!(twice.to_string(), "[nfs4:files.example.org]/export/a b/x");
    assert_eq!(names.local_among(list, &twice).unwrap(), Path::new("/mnt/team/a b/x"));
    // If a file has several paths on this machine, one in a preferred directory is used.
    let serving = crate::tests::names(&[]);
    serving.prefer(&["/shared-files".into()]);
    assert_eq!(serving.local_among(list, &twice).unwrap(), Path::new("/shared-files/x"));
    // A mount whose parent is not in the list covers nothing.
    let beside = [&b"5 99 0:5 / /beside rw - nfs4 beside.example.org:/x rw\n"[..], list].concat();
    assert_eq!(shared(&names, &beside, "/beside/a"), "[here]/beside/a");
    assert_eq!(shared(&names, &beside, "/mnt/team/a"), "[nfs4:files.example.org]/export/a");
    // One mount lies over another, and hides what was mounted inside that.
    assert_eq!(shared(&names, LIST, "/mnt/team/vendor/a"), "[nfs4:over.example.org]/over/vendor/a");
    assert_eq!(shared(&names, LIST, "/shared-files/x"), "[nfs4:files.example.org]/export/a b/x");
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_here_leads_nowhere() {
    let names = names(&[("docs", "/srv/docs")]);
    let elsewhere = |root: RootName, relative: &str| SharedPath { root, relative: relative.into() };
    let nfs = RootName::of_server("nfs4", "files.example.org");
    for shared in [
        elsewhere(RootName::given("other").unwrap(), "a"),
        elsewhere(RootName::of_machine("elsewhere-0123"), "etc/passwd"),
        elsewhere(nfs.clone(), "private/a"),
        elsewhere(nfs.clone(), "hidden/a"),
        elsewhere(nfs, "export/../private/a"),
        elsewhere(RootName::given("docs").unwrap(), "../secret"),
        elsewhere(RootName::given("docs").unwrap(), "/etc/passwd"),
    ] {
        assert_eq!(names.local_among(LIST, &shared), None, "{shared}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_persons_name_comes_first_and_the_longest_of_several() {
    let names = names(&[("all", "/mnt"), ("team", "/mnt/team"), ("here", "/srv/here")]);
    assert_eq!(shared(&names, LIST, "/mnt/team/a"), "[team]/a");
    assert_eq!(shared(&names, LIST, "/mnt/a"), "[all]/a");
    assert_eq!(shared(&names, LIST, "/srv/here"), "[here]/");
    // A directory that has another name by now is not found by its old name.
    let old = SharedPath { root: RootName::given("all").unwrap(), relative: "team/a".into() };
    assert_eq!(names.local_among(LIST, &old), None);
}

#[test]
fn what_a_person_may_call_a_directory() {
    for name in ["a", "Team.docs-2_x", &"x".repeat(64)] {
        assert_eq!(RootName::given(name).unwrap().as_str(), name);
    }
    for name in ["", "-a", ".a", "a b", "nfs4:srv", "a/b", "é", "a\n", &"x".repeat(65)] {
        assert_eq!(RootName::given(name), Err(BadRootName), "{name:?}");
    }
}

#[test]
fn servers_that_are_another_one_on_each_machine_have_no_name() {
    let served = |kind: &str, source: &str| {
        let line = format!("1 0 0:1 / / rw - {kind} {source} rw");
        mounts(line.as_bytes()).first().unwrap().served().map(|shared| shared.to_string())
    };
    for source in [
        "localhost:/x",
        "LOCALHOST:/x",
        "localhost.localdomain:/x",
        "127.0.0.1:/",
        "127.8.8.8:/x",
        "[::1]:/x",
        "0.0.0.0:/x",
        "169.254.1.1:/x",
        "[fe80::1%eth0]:/x",
        "ip6-localhost:/x",
        ":/x",
        "srv",
        "/dev/sda1",
        "[::ffff:127.0.0.1]:/x",
        "srv:/../x",
        "srv:",
        "srv:a:vol",
    ] {
        assert_eq!(served("nfs4", source), None, "{source}");
    }
    assert_eq!(served("ceph", "10.0.0.1,127.0.0.1:/x"), None, "one of several is enough");
    assert_eq!(served("lustre", "127.0.0.1@tcp:/fs"), None);
    assert_eq!(served("fuse.sshfs", "srv:/x"), None, "what another user sees there may be something else");
    let wanted = |text: &str| Some(text.to_owned());
    assert_eq!(served("nfs4", "[2001:db8::1]:/x"), wanted("[nfs4:[2001:db8::1]]/x"));
    assert_eq!(served("nfs", "Srv:/x/y/"), wanted("[nfs:srv]/x/y"));
    assert_eq!(served("lustre", "10.0.0.1@tcp:/fs"), wanted("[lustre:10.0.0.1@tcp]/fs"));
    assert_eq!(served("smb3", "//srv/share"), served("cifs", "//SRV/share"));
}

#[test]
fn any_list_can_be_read() {
    for list in [
        &b""[..],
        b"x",
        b"1 2",
        b"1 1 0:1 / / rw - a b c",
        b"1 2 0:1 / /\\9 - a",
        b"1 2 0:1 / / x - nfs4 \xff:/x y",
        b"1 2 0:1 /\\777 /\\ rw - a b",
    ] {
        let mounts = mounts(list);
        covering(&mounts, Path::new("/a"));
        names(&[]).shared_among(list, Path::new("/a"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_mount_tells_whether_its_locks_hold_among_machines() {
    let told = |kind: &str, options: &str| {
        let line = format!("22 1 8:1 / / rw - {kind} source {options}\n");
        super::caches::locks(&mounts(line.as_bytes())[0])
    };
    for (kind, options) in [
        ("nfs4", "rw,vers=4.2,local_lock=none"),
        ("nfs", "rw,local_lock=posix"),
        ("cifs", "rw,nobrlx"),
        ("fuse.glusterfs", "rw"),
        ("ceph", ""),
        ("lustre", "rw,flock,lazystatfs"),
        ("ocfs2", "rw"),
        ("gfs2", "rw"),
    ] {
        assert_eq!(told(kind, options), FileLocks::AmongMachines, "{kind} {options}");
    }
    for (kind, options, option) in [
        ("nfs4", "rw,local_lock=all", Some("local_lock=all")),
        ("nfs", "rw,nolock,local_lock=none", Some("nolock")),
        ("smb3", "rw,nobrl", Some("nobrl")),
        ("lustre", "rw,localflock", Some("localflock")),
        ("ocfs2", "rw,localflocks", Some("localflocks")),
        ("gfs2", "rw,localflocks", Some("localflocks")),
        ("fuse.sshfs", "rw", None),
    ] {
        assert_eq!(
            told(kind, options),
            FileLocks::Here { kind: kind.to_owned(), option },
            "{kind} {options}"
        );
    }
    for (kind, options) in [("ext4", "rw"), ("lustre", "rw,lazystatfs"), ("fuse.mergerfs", "rw")] {
        assert_eq!(told(kind, options), FileLocks::Unknown, "{kind} {options}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn each_place_of_a_directory_on_this_machine_is_known() {
    let names = names(&[("team", "/shared-files/deep"), ("home", "/home/me")]);
    let places = |root: RootName| {
        let places = names.places_among(LIST, &root).into_iter();
        places.map(|(inside, here)| format!("{}:{}", inside.display(), here.display())).collect::<Vec<_>>()
    };
    assert_eq!(places(RootName::given("team").unwrap()), [":/shared-files/deep"]);
    assert_eq!(places(RootName::kept("nfs4:files.example.org".to_owned())), ["export/a b:/shared-files"]);
    assert_eq!(places(RootName::kept("nfs4:nowhere".to_owned())), Vec::<String>::new());
    let machine = names.shared(Path::new("/etc")).unwrap().root;
    assert_eq!(places(machine.clone()), [":/"]);
    assert_eq!(names.places(&machine), [(Path::new("").into(), Path::new("/").into())]);
}

#[cfg(unix)]
#[test]
fn a_shared_path_is_kept_as_bytes() {
    for (name, relative, key) in [("work", "d/a", &b"work\0d/a"[..]), ("nfs4:server", "", b"nfs4:server\0")] {
        let shared = SharedPath { root: RootName::kept(name.to_owned()), relative: relative.into() };
        assert_eq!(shared.key().as_deref(), Some(key));
        assert_eq!(SharedPath::of_key(key), Some(shared));
    }
    for bytes in [&b""[..], b"work", b"\xff\0a"] {
        assert_eq!(SharedPath::of_key(bytes), None, "{bytes:?}");
    }
}

#[test]
fn a_directory_and_those_of_other_names_in_it_are_found() {
    let names =
        names(&[("all", "/srv-of-a-test"), ("deep", "/srv-of-a-test/a/deep"), ("other", "/srv-of-a")]);
    let below = |path: &str| {
        let below = names.shared_below(Path::new(path)).into_iter();
        below.map(|shared| shared.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(below("/srv-of-a-test/a"), ["[all]/a", "[deep]/"]);
    assert_eq!(below("/srv-of-a-test/b"), ["[all]/b"]);
    let shared = names.shared(Path::new("/srv-of-a-test/a/deep/x")).unwrap();
    assert_eq!(names.local(&shared).unwrap(), Path::new("/srv-of-a-test/a/deep/x"));
}

/// A machine that is called `localhost`, as most machines without a configured name are, has no name of its
/// own.
#[cfg(target_os = "linux")]
#[test]
fn what_only_this_machine_has_is_called_by_its_name() {
    let names = names(&[]);
    let shared = names.shared_among(b"", Path::new("/etc/x"));
    assert_eq!(shared.as_ref().map_or("", |shared| shared.root.as_str()), names.machine());
    if let Some(shared) = shared {
        assert!(!shared.root.is_shared() && shared.root.as_str().starts_with("machine:"));
    }
}
