#[cfg(unix)]
use std::os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::access::policy::Policy;
use crate::access::roots::{PATH_LENGTH, PathError, Roots};
use crate::access::unserved::{ConfiguredDirectory, WhyUnserved};
#[cfg(unix)]
use crate::error::SpecialFile;
use crate::error::{NameFault, StoreErrorKind};
use crate::stage::{Temporary, TemporaryId};
use mcp_text_editor_core::source::Source as _;
use proptest::prelude::*;

use crate::os::real_path::without_verbatim_prefix;
#[cfg(target_os = "linux")]
use crate::tests::world::as_user;
use crate::tests::world::{World, symlink};

#[test]
fn a_path_is_absolute_and_has_no_parent_component() {
    let world = World::new();
    world.write("@/root/a/b.txt", "");
    let check = |path: &str, expected: &str| assert_eq!(world.resolve(path), expected, "{path}");
    check("@/root/a/b.txt", "@/root/a/b.txt: opened");
    check("@//root/./a//./b.txt", "@/root/a/b.txt: opened");
    check("@/root/a/b.txt/", "@/root/a/b.txt: NotADirectory");
    check("@/root/a/b.txt/.", "@/root/a/b.txt: NotADirectory");
    check("@/root/a/", "@/root/a: IsADirectory");
    check("@/root/a", "@/root/a: IsADirectory");
    check("@/root", "Resolve IsADirectory");
    check("@/root/.", "Resolve IsADirectory");
    check("@/root/foo..bar.txt", "@/root/foo..bar.txt: NotFound");
    // On Windows, this name is refused because it ends in dots, which `windows_paths` tests.
    #[cfg(not(windows))]
    check("@/root/...", "@/root/...: NotFound");
    check("@/root/a/../a/b.txt", "Traversal");
    check("@/root/..", "Traversal");
    check("../x", "NotAbsolute, Traversal");
    check("", "NotAbsolute");
    check("a/b.txt", "NotAbsolute");
    check("./a/b.txt", "NotAbsolute");
    check("root/a/b.txt", "NotAbsolute");
    check("a/c.txt", "NotAbsolute");
    check("a/b.txt/", "NotAbsolute");
    check("~/a/b.txt", "NotAbsolute");
    check("@/root/a\0b", "NulByte");
    check("a\0/..", "NulByte, NotAbsolute, Traversal");
    check("@/root/a/b.txt/c", "Resolve NotADirectory");
    check("@/root/x/y/z", "@/root/x/y/z below [\"x\", \"y\"]: NotFound");
    check(if cfg!(windows) { "C:/" } else { "/" }, "Outside");
    check("@", "Outside");
    check("@/rootless", "Outside");
    check("@/outside/x", "Outside");
    // On Linux, letter case counts, so this is another directory.
    #[cfg(target_os = "linux")]
    check("@/ROOT/a/b.txt", "Outside");
    check(&format!("@/root/{}", "n".repeat(300)), &format!("@/root/{}: NameTooLong", "n".repeat(300)));
    let length = PATH_LENGTH - world.path("@/root/").as_os_str().len();
    let longest = format!("@/root/{}", "d/".repeat(length).split_at(length).0);
    #[cfg(unix)]
    assert!(!world.resolve(&longest).starts_with("Resolve NameTooLong"));
    assert!(world.resolve(&(longest + "x")).starts_with("Resolve NameTooLong"));
}

#[test]
fn a_link_leads_where_it_leads() {
    let Some(world) = World::with_links() else { return };
    world.write("@/root/real/file", "");
    world.write("@/outside/file", "");
    world.link("@/root/relative", "real/file");
    world.link("@/root/absolute", "@/root/real/file");
    world.link("@/root/dir", "real");
    world.link("@/root/real/up", "../real/../dir");
    world.link("@/root/over", "../outside/../root/real");
    world.link("@/outside/in", "@/root/real");
    world.link("@/root/through", "@/outside/in");
    world.link("@/root/dangling", "missing/file");
    world.link("@/root/self", "@/root");
    #[cfg(unix)]
    world.link("@/root/slash", "real/file/");
    let check = |path: &str, expected: &str| assert_eq!(world.resolve(path), expected, "{path}");
    check("@/root/relative", "@/root/real/file by link: opened");
    check("@/root/absolute", "@/root/real/file by link: opened");
    check("@/root/dir/file", "@/root/real/file: opened");
    #[cfg(unix)]
    check("@/root/slash", "@/root/real/file by link: NotADirectory");
    check("@/root/dir/up/up/file", "@/root/real/file: opened");
    check("@/root/over/file", "@/root/real/file: opened");
    check("@/outside/in/file", "@/root/real/file: opened");
    check("@/root/through/file", "@/root/real/file: opened");
    check("@/root/dangling", "@/root/missing/file by link below [\"missing\"]: NotFound");
    check("@/root/dir/new/x", "@/root/real/new/x below [\"new\"]: NotFound");
    check("@/root/self", "Resolve IsADirectory");
    check("@/root/self/self/dir/file", "@/root/real/file: opened");
}

#[test]
fn outside_looks_alike_whether_or_not_there_is_anything() {
    let world = World::new();
    world.write("@/outside/there", "");
    let beyond = if cfg!(windows) {
        [r"C:\Windows\win.ini", r"C:\Windows\nothing\x", r"C:\root-of-nothing"]
    } else {
        ["/etc/passwd", "/etc/shadow/x", "/root-of-nothing"]
    };
    for path in ["@/outside/there", "@/outside/nothing", "@/outside/there/below", "@/nowhere/at/all"] {
        assert_eq!(world.resolve(path), "Outside", "{path}");
    }
    for path in beyond {
        assert_eq!(world.resolve(path), "Outside", "{path}");
    }
}

#[test]
fn a_link_to_the_outside_looks_alike_whether_or_not_there_is_anything() {
    let Some(world) = World::with_links() else { return };
    world.write("@/outside/there", "");
    world.link("@/root/file", "@/outside/there");
    world.link("@/root/no-file", "@/outside/nothing");
    world.link("@/root/relative", "../outside/there");
    world.link("@/root/no-relative", "../outside/nothing");
    world.link("@/root/directory", "@/outside");
    world.link("@/root/no-directory", "@/nowhere");
    world.link("@/root/chain", "no-file");
    world.link("@/root/odd", "missing/../../outside/x");
    world.link("@/outside/loop", "@/root/loop");
    world.link("@/root/loop", "@/outside/loop");
    world.link("@/outside/own", "own");
    world.link("@/root/own", "@/outside/own");
    for path in [
        "@/root/file",
        "@/root/no-file",
        "@/root/relative",
        "@/root/no-relative",
        "@/root/directory/there",
        "@/root/directory/nothing",
        "@/root/directory/there/below",
        "@/root/no-directory/x/y",
        "@/root/chain",
        "@/root/odd",
        "@/root/loop",
        "@/root/own",
        "@/outside/own",
    ] {
        assert_eq!(world.resolve(path), "Outside", "{path}");
    }
}

#[test]
fn links_that_never_end_are_an_error() {
    let Some(world) = World::with_links() else { return };
    world.link("@/root/a", "b");
    world.link("@/root/b", "@/root/a");
    world.link("@/root/own", "own/x");
    world.link("@/outside/in", "@/root");
    world.write("@/root/0", "");
    for n in 0..41 {
        world.link(&format!("@/root/{}", n + 1), &n.to_string());
    }
    assert_eq!(world.resolve("@/root/40"), "@/root/0 by link: opened");
    for path in ["@/root/41", "@/root/a", "@/root/a/b/c", "@/root/own", "@/outside/in/a"] {
        assert_eq!(world.resolve(path), "Resolve LinkLoop", "{path}");
    }
}

#[test]
fn roots_may_be_named_by_links_lie_in_one_another_and_come_twice() {
    let Some(world) = World::with_links() else { return };
    world.write("@/root/inner/file", "");
    world.link("@/alias", "root");
    let given = ["@/alias", "@/root", "@/root/inner"].map(|path| world.path(path));
    let roots = Roots::open(&given).unwrap();
    let in_root = |path: &str| {
        let place = roots.resolve(world.path(path).to_str().unwrap()).unwrap();
        assert!(place.open_file(false).is_ok());
        place.relative().to_str().unwrap().to_owned()
    };
    assert_eq!(in_root("@/alias/inner/file"), "file");
    assert_eq!(in_root("@/root/inner/file"), "file");
    world.write("@/root/other", "");
    world.link("@/root/link", "other");
    assert_eq!(in_root("@/root/other"), "other");
    assert_eq!(in_root("@/alias/link"), "other");
    assert!(roots.paths().all(|path| path.starts_with(world.path("@/root"))));
    let missing = Roots::open(&[world.path("@/root/nothing")]).unwrap_err();
    assert_eq!(missing.kind, StoreErrorKind::NotFound);
    let file = Roots::open(&[world.path("@/root/other")]).unwrap_err();
    assert_eq!(file.kind, StoreErrorKind::NotADirectory);
}

#[test]
fn what_is_not_there_at_the_start_is_not_served_and_stops_no_other() {
    let world = World::new();
    world.write("@/root/file", "");
    world.write("@/file", "");
    let wanted = ["@/later", "@/root", "@/root/later", "@/file", "@/file/x"].map(|path| {
        let path = world.path(path);
        ConfiguredDirectory { named: path.clone(), path }
    });
    let roots = Roots::open_what_is_there(&wanted, Vec::new(), Policy::default());
    assert_eq!(roots.paths().collect::<Vec<_>>(), [world.path("@/root")]);
    assert!(!roots.are_all_unserved());
    let kinds = roots.unserved().map(|unserved| match &unserved.why {
        WhyUnserved::Failed { kind, is_file, is_temporary: false, .. } => (kind.clone(), *is_file),
        other => panic!("{other:?}"),
    });
    let (missing, no_directory) = (StoreErrorKind::NotFound, StoreErrorKind::NotADirectory);
    // For a name below a file, Windows reports only that it is missing.
    let below = if cfg!(windows) { missing.clone() } else { no_directory.clone() };
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        [(missing.clone(), false), (missing, false), (no_directory, true), (below, false)]
    );
    let unserved =
        |path: &str| match roots.resolve(world.path(path).to_str().unwrap()).map_err(|mut all| all.pop()) {
            Err(Some(PathError::Unserved(unserved))) => {
                unserved.path.strip_prefix(world.path("@")).unwrap().to_owned()
            }
            Err(Some(PathError::Outside { .. })) => "outside".into(),
            other => panic!("{other:?}"),
        };
    // A directory that is created later is not served either: the allowed directories are fixed at the start.
    for _ in 0..2 {
        assert_eq!(unserved("@/later/file"), Path::new("later"));
        assert_eq!(unserved("@/later"), Path::new("later"));
        assert_eq!(unserved("@/later-not/file"), Path::new("outside"));
        assert_eq!(unserved("@/file/x"), Path::new("file"));
        // This missing directory lies in a root that is served.
        assert!(roots.resolve(world.path("@/root/later/file").to_str().unwrap()).is_ok());
        world.write("@/later/file", "");
    }
}

#[test]
fn a_root_whose_volume_was_away_is_served_once_it_answers() {
    let Some(world) = World::with_links() else { return };
    world.write("@/root/file", "");
    world.link("@/root/link", "../away/file");
    let path = world.path("@/away");
    let wanted = ConfiguredDirectory { named: path.clone(), path: path.clone() };
    let roots = Roots::open_what_is_there(&[], Vec::new(), Policy::default()).and_away(&wanted);
    assert!(roots.are_all_unserved());
    let resolved =
        |path: &str| roots.resolve(world.path(path).to_str().unwrap()).map(|place| place.path().to_owned());
    let is_away = |path: &str| matches!(resolved(path).unwrap_err().as_slice(), [PathError::Unserved(away)] if away.is_temporary());
    assert!(is_away("@/away/file") && is_away("@/away"));
    roots.open_what_is_back();
    assert!(is_away("@/away/file"), "it is not there yet");
    // This path only begins with the same characters. It is not in the directory, so the directory is not
    // opened.
    assert!(matches!(resolved("@/away-not/file").unwrap_err().as_slice(), [PathError::Outside { .. }]));
    world.write("@/away/file", "");
    assert_eq!(resolved("@/away/file").unwrap(), world.path("@/away/file"));
    assert_eq!((roots.are_all_unserved(), roots.unserved().count(), roots.away().count()), (false, 0, 0));
    assert_eq!(roots.paths().collect::<Vec<_>>(), [path.as_path()]);
    // From then on, the root is bound to this very directory, as any root is.
    std::fs::rename(&path, world.path("@/gone")).unwrap();
    world.write("@/away/file", "another");
    assert!(matches!(resolved("@/away/file").unwrap_err().as_slice(), [PathError::RootReplaced { .. }]));

    // A link to the directory also works as soon as the directory can be opened.
    let root = world.path("@/root");
    let roots = Roots::open(std::slice::from_ref(&root)).unwrap().and_away(&wanted);
    let place = roots.resolve(world.path("@/root/link").to_str().unwrap()).unwrap();
    assert_eq!(place.path(), world.path("@/away/file"));
}

#[test]
fn what_is_not_served_is_not_served_by_a_link_either() {
    let Some(world) = World::with_links() else { return };
    let path = world.path("@/later");
    let roots = Roots::open_what_is_there(
        &[ConfiguredDirectory { named: path.clone(), path }],
        Vec::new(),
        Policy::default(),
    );
    std::fs::create_dir(world.path("@/later")).unwrap();
    world.link("@/alias", "later");
    let problems = roots.resolve(world.path("@/alias/file").to_str().unwrap()).map(drop).unwrap_err();
    assert!(matches!(problems.as_slice(), [PathError::Unserved(_)]), "{problems:?}");
}

#[test]
fn a_swap_after_resolving_leads_nowhere() {
    let Some(world) = World::with_links() else { return };
    world.write("@/root/dir/file", "inside");
    world.write("@/outside/file", "outside");

    // The directory is moved and a link takes its name: the place is still in the directory.
    let place = world.place("@/root/dir/file");
    std::fs::rename(world.path("@/root/dir"), world.path("@/root/moved")).unwrap();
    world.link("@/root/dir", "@/outside");
    let mut bytes = [0; 6];
    place.open_file(true).unwrap().read_at(0, &mut bytes).unwrap();
    assert_eq!(&bytes, b"inside");
    assert_eq!(world.resolve("@/root/dir/file"), "Outside");

    // The file is removed and a link takes its name: this is an error, and the caller must resolve the path
    // again.
    let place = world.place("@/root/moved/file");
    std::fs::remove_file(world.path("@/root/moved/file")).unwrap();
    world.link("@/root/moved/file", "@/outside/file");
    assert_eq!(place.open_file(false).unwrap_err().kind, StoreErrorKind::Changed);
    assert_eq!(world.content("@/outside/file"), "outside");
}

#[test]
fn a_directory_that_is_swapped_all_the_time_never_leads_outside() {
    let Some(world) = World::with_links() else { return };
    world.write("@/root/a/file", "inside");
    world.write("@/outside/file", "outside");
    world.link("@/root/b", "@/outside");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (a, b, c) = (world.path("@/root/a"), world.path("@/root/b"), world.path("@/root/c"));
            while !stop.load(Ordering::Relaxed) {
                for (from, to) in [(&a, &c), (&b, &a), (&c, &b)] {
                    std::fs::rename(from, to).unwrap();
                }
            }
        });
        let path = world.path("@/root/a/file");
        let mut inside = 0;
        for _ in 0..3000 {
            let Ok(place) = world.workspace.roots.resolve_for_writing(path.to_str().unwrap()) else {
                continue;
            };
            assert!(place.path().starts_with(world.path("@/root")));
            if let Ok(file) = place.open_file(false) {
                let mut bytes = [0; 8];
                let got = file.read_at(0, &mut bytes).unwrap();
                assert_eq!(&bytes[..got], b"inside");
                inside += 1;
            }
            if let Ok(mut temporary) = Temporary::create(&place, TemporaryId::draw()) {
                temporary.write_all(b"x").unwrap();
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(inside > 0);
    });
    let strays: Vec<_> = world.names().into_iter().filter(|name| name.contains(".mte-")).collect();
    assert_eq!(strays, [""; 0]);
    assert_eq!(world.content("@/outside/file"), "outside");
}

#[test]
#[cfg(unix)]
fn what_is_no_regular_file_is_told_at_once() {
    let world = World::new();
    let made = std::process::Command::new("mkfifo").arg(world.path("@/root/fifo")).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(world.path("@/root/socket")).unwrap();
    world.link("@/root/link", "fifo");
    for write in [false, true] {
        let kind = |path: &str| world.place(path).open_file(write).unwrap_err().kind;
        let special = |what| StoreErrorKind::NotARegularFile { what };
        assert_eq!(kind("@/root/fifo"), special(SpecialFile::Fifo));
        assert_eq!(kind("@/root/link"), special(SpecialFile::Fifo));
        assert_eq!(kind("@/root/socket"), special(SpecialFile::Socket));
    }
    // These were regular files when their paths were resolved.
    for (name, other, kind) in [
        ("one", "fifo", StoreErrorKind::NotARegularFile { what: SpecialFile::Fifo }),
        ("two", "directory", StoreErrorKind::IsADirectory),
        ("three", "link", StoreErrorKind::Changed),
    ] {
        world.write(&format!("@/root/{name}"), "text");
        std::fs::create_dir_all(world.path("@/root/directory")).unwrap();
        let place = world.place(&format!("@/root/{name}"));
        std::fs::remove_file(place.path()).unwrap();
        std::fs::rename(world.path(&format!("@/root/{other}")), place.path()).unwrap();
        assert_eq!([false, true].map(|write| place.open_file(write).unwrap_err().kind), [kind.clone(), kind]);
    }
    let devices = Roots::open(&["/dev".into()]).unwrap();
    for path in ["/dev/null", "/dev/tty"] {
        let kind = devices.resolve(path).unwrap().open_file(false).unwrap_err().kind;
        assert_eq!(kind, StoreErrorKind::NotARegularFile { what: SpecialFile::Device });
    }
}

#[test]
#[cfg(unix)]
fn any_name_will_do() {
    let world = World::new();
    for name in ["new\nline", "-rf", " ", "a:b", "\\..\\x", "é", "e\u{301}", "*?", "{}"] {
        world.write(&format!("@/root/{name}"), name);
        assert_eq!(world.resolve(&format!("@/root/{name}")), format!("@/root/{name}: opened"));
    }
    // This name is not UTF-8: a client cannot spell it, but a link can lead to it.
    let target = world.path("@/root").join(std::ffi::OsStr::from_bytes(b"\xff\xfe"));
    std::fs::write(&target, "bytes").unwrap();
    symlink(&target, &world.path("@/root/link")).unwrap();
    let place = world.place("@/root/link");
    assert_eq!(place.path(), target);
    assert_eq!(place.open_file(false).unwrap().size(), 5);
}

#[test]
#[cfg(unix)]
fn a_directory_that_may_not_be_searched_is_told() {
    let world = World::new();
    world.write("@/root/shut/file", "");
    std::fs::set_permissions(world.path("@/root/shut"), std::fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser may search any directory.
    let is_superuser = std::fs::read(world.path("@/root/shut/file")).is_ok();
    if !is_superuser {
        let problems = world.workspace.roots.resolve(world.path("@/root/shut/file").to_str().unwrap());
        let is_denied = |problem: &PathError| matches!(problem, PathError::Failed(error) if error.kind == StoreErrorKind::PermissionDenied);
        assert!(problems.map_or_else(
            |problems| problems.iter().all(is_denied),
            |place| place.open_file(false).unwrap_err().kind == StoreErrorKind::PermissionDenied
        ));
    }
    std::fs::set_permissions(world.path("@/root/shut"), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_user_may_not_open_is_told() {
    let world = World::new();
    world.write("@/root/shut", "");
    let mode = |path: &str, mode| {
        std::fs::set_permissions(world.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("@", 0o755);
    mode("@/root/shut", 0);
    let told = as_user(65_534, || {
        // Not every user is allowed to read the target of `/proc/1/exe`, a link to the program of another
        // process.
        let process = Roots::open(&["/proc/1".into()]).unwrap();
        let of_process = process.resolve("/proc/1/exe").map(drop).unwrap_err();
        (world.resolve("@/root/shut"), of_process)
    });
    let Some((shut, of_process)) = told else { return };
    assert_eq!(shut, "@/root/shut: PermissionDenied");
    assert!(
        matches!(of_process.as_slice(), [PathError::Failed(error)] if error.kind == StoreErrorKind::PermissionDenied),
        "{of_process:?}"
    );
}

/// The volume that does not answer is a FUSE file system (fuse(4)) whose program has ended before it answered
/// once.
#[test]
#[cfg(target_os = "linux")]
fn a_root_whose_volume_does_not_answer_says_so() {
    use std::os::fd::AsRawFd as _;

    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
    let world = World::new();
    world.write("@/away/file", "");
    let path = world.path("@/away");
    let opened = || {
        let wanted = ConfiguredDirectory { named: path.clone(), path: path.clone() };
        Roots::open_what_is_there(&[wanted], Vec::new(), Policy::default())
    };
    let open = opened();
    let program = std::fs::File::options().read(true).write(true).open("/dev/fuse");
    let mounted = program.and_then(|program| {
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", program.as_raw_fd());
        let options = std::ffi::CString::new(options).unwrap();
        Ok(mount("none", &path, "fuse", MountFlags::empty(), Some(options.as_c_str()))?)
    });
    if let Err(error) = mounted {
        eprintln!("skipped: this user may not mount: {error}");
        return;
    }
    let cut_off = opened();
    let resolved = |roots: &Roots| match roots.resolve(path.join("file").to_str().unwrap()) {
        Ok(_) => "served".to_owned(),
        Err(problems) => match problems.as_slice() {
            [PathError::Unserved(away)] if away.is_temporary() => "away".to_owned(),
            [PathError::Failed(error)] => format!("{:?}", error.source.as_ref().unwrap().kind()),
            other => format!("{other:?}"),
        },
    };
    let before = [resolved(&open), resolved(&cut_off)];
    unmount(&path, UnmountFlags::DETACH).unwrap();
    assert_eq!(before, ["NotConnected", "away"]);
    assert_eq!(cut_off.paths().count(), 0);
    cut_off.open_what_is_back();
    assert_eq!(cut_off.paths().collect::<Vec<_>>(), [path.as_path()]);
    assert_eq!([resolved(&open), resolved(&cut_off)], ["served", "served"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// If a path exists, the system's own resolution is the reference.
    #[test]
    fn the_system_agrees(
        links in prop::collection::vec(("[rstuv]", "[ab]", target()), 0..8),
        paths in prop::collection::vec(prop::collection::vec("[abfrstuv.]", 1..6), 12),
    ) {
        let Some(world) = World::with_links() else { return Ok(()) };
        for file in ["root/f", "root/a/f", "root/a/b/f", "outside/f", "outside/a/f"] {
            world.write(&format!("@/{file}"), "");
        }
        for (index, (name, directory, target)) in links.iter().enumerate() {
            let place = ["root", "root/a", "outside"][(index + directory.len() + name.len()) % 3];
            let _ = symlink(&world.path(target), &world.path(&format!("@/{place}/{name}")));
        }
        for path in paths {
            for top in ["root", "outside"] {
                let path = format!("@/{top}/{}", path.join("/"));
                let resolved = world.resolve(&path);
                let Ok(real) = world.path(&path).canonicalize() else {
                    prop_assert!(!resolved.contains("opened"), "{} {}", path, resolved);
                    continue;
                };
                let real = without_verbatim_prefix(real);
                let expected = if real == world.path("@/root") {
                    "Resolve IsADirectory".to_owned()
                } else if !real.starts_with(world.path("@/root")) {
                    "Outside".to_owned()
                } else {
                    let shown = world.told(&real.display().to_string());
                    format!("{shown}: {}", if real.is_dir() { "IsADirectory" } else { "opened" })
                };
                prop_assert_eq!(resolved.replace(" by link", ""), expected, "{}", path);
            }
        }
    }
}

fn target() -> impl Strategy<Value = String> {
    let step = prop_oneof!["[abfrstuv.]", Just("..".to_owned()), Just("root".to_owned())];
    let relative = prop::collection::vec(step, 1..5).prop_map(|steps| steps.join("/"));
    prop_oneof![
        relative.clone(),
        relative.clone().prop_map(|path| format!("@/root/{path}")),
        relative.prop_map(|path| format!("@/outside/{path}")),
    ]
}

#[test]
fn a_link_that_leads_nowhere_is_told_from_a_name_that_is_free() {
    let Some(world) = World::with_links() else { return };
    world.write("@/root/file", "a\n");
    world.link("@/root/link", "@/root/file");
    world.link("@/root/dangling", "@/root/nothing");
    let about = |path: &str| {
        let place = world.place(path);
        let fault = place.open_file(false).map_err(|error| (error.kind, error.name)).err();
        (place.is_named_by_link(), place.is_dangling(), fault)
    };
    let not_found = |name| Some((StoreErrorKind::NotFound, name));
    assert_eq!(about("@/root/file"), (false, false, None));
    assert_eq!(about("@/root/link"), (true, false, None));
    assert_eq!(about("@/root/nothing"), (false, false, not_found(None)));
    let slash = Some((StoreErrorKind::NotADirectory, Some(NameFault::SlashAfterFile)));
    assert_eq!(about("@/root/file/"), (false, false, slash));
    assert_eq!(about("@/root/dangling"), (true, true, not_found(Some(NameFault::DanglingLink))));
}

#[cfg(unix)]
#[test]
fn what_cannot_be_looked_at_is_neither_free_nor_taken() {
    let world = World::new();
    world.write("@/root/a", "");
    let root = world.path("@/root");
    let place = |name: &str| world.workspace.roots.place(&root.join(name)).unwrap();
    let (taken, free, neither) = (place("a"), place("b"), place(&"n".repeat(300)));
    assert_eq!((taken.is_taken().unwrap(), taken.is_free()), (true, false));
    assert_eq!((free.is_taken().unwrap(), free.is_free()), (false, true));
    assert!(neither.is_taken().is_err() && !neither.is_free());
}
