//! Tests of the confinement by the kernel (Landlock) alone, by the results of system calls. Landlock confines
//! single threads, so each test has its own thread.

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use crate::access::landlock::{Beyond, Confinement, Gap, Network, confine};
use crate::access::policy::Policy;
use crate::access::roots::Roots;
use crate::access::unserved::ConfiguredDirectory;
use crate::os::real_path::real_path;
use crate::state_dir::StateDir;

use crate::tests::mounted::Mounted;
use crate::tests::world::World;

/// Runs `work` on a thread that is confined to `@/root` and the state directory `@/state`; `None`, with a
/// message, if the kernel cannot confine it.
fn confined<T: Send>(world: &World, policy: Policy, work: impl FnOnce(&[Gap]) -> T + Send) -> Option<T> {
    let roots = Roots::open_with(&[world.path("@/root")], policy).unwrap();
    confined_to(world, &roots, None, work)
}

/// Does the same with any roots, and also permits the access that `beyond` lists.
fn confined_to<T: Send>(
    world: &World,
    roots: &Roots,
    beyond: Option<&Beyond>,
    work: impl FnOnce(&[Gap]) -> T + Send,
) -> Option<T> {
    let state = StateDir::open(&world.path("@/state")).unwrap();
    let run = || match confine(roots, Some(state.directory()), Network::Closed, beyond).unwrap() {
        Confinement::Held { gaps, .. } => Some(work(&gaps)),
        Confinement::None(lack) => {
            eprintln!("skipped: {lack}");
            None
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(run).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn is_denied<T>(result: std::io::Result<T>) -> bool {
    // Landlock refuses a move to another directory with EXDEV.
    result.is_err_and(|error| matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::CrossesDevices))
}

/// Calls truncate(2), which std does not have.
#[expect(unsafe_code, reason = "no crate at hand has it")]
fn cut_off(path: &Path) -> std::io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: the path is a string that ends in NUL, for as long as the call takes.
    let cut = unsafe { libc::truncate(path.as_ptr(), 0) };
    if cut == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[test]
fn outside_nothing_can_be_opened_or_changed() {
    let world = World::new();
    world.write("@/outside/file", "secret");
    world.write("@/root/file", "text");
    world.link("@/root/link", "@/outside/file");
    let at = |path: &str| -> PathBuf { world.path(path) };
    confined(&world, Policy::default(), |gaps| {
        assert!(is_denied(fs::read(at("@/outside/file"))));
        assert!(is_denied(fs::read(at("@/root/link"))));
        assert!(is_denied(fs::read("/proc/self/root/etc/passwd")));
        assert!(is_denied(fs::read("/etc/passwd")));
        assert!(is_denied(fs::read_dir(at("@/outside"))));
        assert!(is_denied(fs::read_dir(at("@"))));
        assert!(is_denied(fs::OpenOptions::new().append(true).open(at("@/outside/file"))));
        assert!(is_denied(fs::write(at("@/outside/new"), "x")));
        assert!(is_denied(fs::create_dir(at("@/outside/new"))));
        assert!(is_denied(fs::remove_file(at("@/outside/file"))));
        assert!(is_denied(fs::rename(at("@/outside/file"), at("@/root/stolen"))));
        assert!(is_denied(fs::rename(at("@/root/file"), at("@/outside/file"))));
        assert!(is_denied(fs::hard_link(at("@/outside/file"), at("@/root/stolen"))));
        assert!(is_denied(std::os::unix::fs::symlink("/", at("@/root/new-link"))));
        assert!(is_denied(std::os::unix::net::UnixListener::bind(at("@/root/socket"))));
        if !gaps.contains(&Gap::Truncation) {
            assert!(is_denied(cut_off(&at("@/outside/file"))));
        }
        if !gaps.contains(&Gap::Tcp) {
            assert!(is_denied(TcpListener::bind("127.0.0.1:0")));
            assert!(is_denied(TcpStream::connect("127.0.0.1:1")));
        }
    });
    assert_eq!(world.content("@/outside/file"), "secret");
}

#[test]
fn beyond_the_directories_names_are_looked_up_and_one_port_is_reached() {
    let world = World::new();
    let [wanted, other] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [wanted, other] = [&wanted, &other].map(|listener| listener.local_addr().unwrap());
    let readable = ["/etc/resolv.conf", "/etc/hosts"].map(|path| fs::read(path).ok());
    // If the file is a link to a file that another program replaces, the directory of that file can be read,
    // too.
    let directory = real_path(Path::new("/etc/resolv.conf")).parent().unwrap().to_owned();
    let is_elsewhere = directory != Path::new("/etc");
    let beyond = Beyond { ports: vec![wanted.port()] };
    let roots = Roots::open(&[world.path("@/root")]).unwrap();
    confined_to(&world, &roots, Some(&beyond), |gaps| {
        assert_eq!(["/etc/resolv.conf", "/etc/hosts"].map(|path| fs::read(path).ok()), readable);
        assert_eq!(fs::read_dir(&directory).is_ok(), is_elsewhere);
        assert!(is_denied(fs::read_dir("/etc")));
        assert!(is_denied(fs::read("/etc/passwd")));
        assert!(fs::OpenOptions::new().append(true).open("/etc/hosts").is_err());
        if !gaps.contains(&Gap::Tcp) {
            TcpStream::connect(wanted).unwrap();
            assert!(is_denied(TcpStream::connect(other)));
            assert!(is_denied(TcpListener::bind("127.0.0.1:0")));
        }
    });
}

#[test]
fn a_root_whose_volume_was_away_is_in_reach_once_it_answers() {
    let world = World::new();
    world.write("@/away/file", "text");
    let path = world.path("@/away");
    let wanted = ConfiguredDirectory { named: path.clone(), path: path.clone() };
    let roots = Roots::open(&[world.path("@/root")]).unwrap().and_away(&wanted);
    confined_to(&world, &roots, None, |_| {
        assert_eq!(fs::read(path.join("file")).unwrap(), b"text");
        assert!(roots.resolve(path.join("file").to_str().unwrap()).unwrap().open_file(true).is_ok());
        assert!(is_denied(fs::read_dir(world.path("@/outside"))));
    });
}

#[test]
fn a_root_whose_mount_point_is_gone_stops_no_other() {
    let world = World::new();
    world.write("@/root/file", "text");
    let path = world.path("@/gone");
    let wanted = ConfiguredDirectory { named: path.clone(), path };
    let roots = Roots::open(&[world.path("@/root")]).unwrap().and_away(&wanted);
    confined_to(&world, &roots, None, |_| {
        assert_eq!(fs::read(world.path("@/root/file")).unwrap(), b"text");
        assert!(is_denied(fs::read_dir(world.path("@/outside"))));
    });
}

/// The test's thread has its own mounts. In them, the resolver has a single file: a link to a file that
/// another program replaces.
#[test]
fn names_are_looked_up_with_the_files_that_there_are() {
    let world = World::new();
    world.write("@/outside/resolver/stub", "old");
    let roots = Roots::open(&[world.path("@/root")]).unwrap();
    let with_mounts_of_its_own = || {
        use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
        use rustix::thread::{UnshareFlags, unshare_unsafe};

        // SAFETY: no descriptor is unshared, and this thread ends with the test.
        #[expect(unsafe_code, reason = "unsharing descriptors would be unsafe")]
        unsafe { unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::FS) }?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        mount("none", "/etc", "tmpfs", MountFlags::empty(), None)
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            if let Err(error) = with_mounts_of_its_own() {
                assert!(std::env::var_os("REQUIRE_ALL").is_none(), "this needs root");
                eprintln!("skipped: a thread cannot have mounts of its own: {error}");
                return;
            }
            world.link("/etc/resolv.conf", "@/outside/resolver/stub");
            world.write("/etc/passwd", "");
            confined_to(&world, &roots, Some(&Beyond::default()), |_| {
                assert_eq!(fs::read("/etc/resolv.conf").unwrap(), b"old");
                assert_eq!(fs::read_dir(world.path("@/outside/resolver")).unwrap().count(), 1);
                assert!(is_denied(fs::write("/etc/resolv.conf", "new")));
                assert!(is_denied(fs::read("/etc/passwd")));
                assert!(is_denied(fs::read_dir(world.path("@/outside"))));
            });
        });
    });
}

#[test]
fn inside_everything_goes_on() {
    let mut world = World::new();
    world.workspace.state_dir = Some(StateDir::open(&world.path("@/state")).unwrap());
    world.write("@/root/a", "a\n");
    world.write("@/root/b", "b\n");
    world.write("@/root/linked", "several names\n");
    fs::hard_link(world.path("@/root/linked"), world.path("@/root/second")).unwrap();
    let at = |path: &str| -> PathBuf { world.path(path) };
    let edited = confined(&world, Policy::default(), |_| {
        let directory = at("@/root/x/y/z");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("file"), "x").unwrap();
        fs::hard_link(directory.join("file"), directory.join("second")).unwrap();
        fs::rename(directory.join("second"), directory.join("third")).unwrap();
        fs::rename(directory.join("third"), at("@/root/x/moved")).unwrap();
        assert!(is_denied(fs::rename(at("@/root/x/moved"), at("@/state/moved"))));
        fs::remove_dir_all(at("@/root/x")).unwrap();
        fs::write(at("@/state/record"), "x").unwrap();
        world.append(&["@/root/a", "@/root/b", "@/root/linked"])
    });
    let Some(edited) = edited else { return };
    assert_eq!(edited, ["[]", "[]", "[EditedInPlace(SeveralNames)]"]);
    assert_eq!(world.content("@/root/a"), "a\nadded\n");
    assert_eq!(world.content("@/root/second"), "several names\nadded\n");
}

/// Containers have such mounts: a directory or a single file in the root is on another file system.
#[test]
fn what_is_mounted_in_a_root_is_in_it() {
    let world = World::new();
    world.write("@/outside/file", "mounted\n");
    world.write("@/outside/dir/file", "mounted\n");
    world.write("@/root/file", "");
    world.write("@/root/dir/file", "");
    let mounts = ["file", "dir"].map(|name| {
        Mounted::bind(&world.path(&format!("@/outside/{name}")), &world.path(&format!("@/root/{name}")))
    });
    let [Some(_file), Some(_directory)] = mounts else { return };
    let edited = confined(&world, Policy::default(), |_| world.append(&["@/root/file", "@/root/dir/file"]));
    let Some(edited) = edited else { return };
    assert_eq!(edited, ["[EditedInPlace(Mounted), NoJournal]", "[NoJournal]"]);
    assert_eq!(world.content("@/outside/file"), "mounted\nadded\n");
    assert_eq!(world.content("@/outside/dir/file"), "mounted\nadded\n");
}

#[test]
fn a_read_only_server_writes_to_its_state_alone() {
    let world = World::new();
    world.write("@/root/file", "text");
    let at = |path: &str| -> PathBuf { world.path(path) };
    confined(&world, Policy::default().read_only(true), |_| {
        assert_eq!(fs::read(at("@/root/file")).unwrap(), b"text");
        assert!(is_denied(fs::write(at("@/root/file"), "x")));
        assert!(is_denied(fs::write(at("@/root/new"), "x")));
        assert!(is_denied(fs::remove_file(at("@/root/file"))));
        fs::write(at("@/state/record"), "x").unwrap();
    });
    assert_eq!(world.content("@/root/file"), "text");
}

#[test]
fn a_root_that_was_made_again_stays_denied_and_says_so() {
    let world = World::new();
    world.write("@/root/file", "old");
    let (go, gone) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    std::thread::scope(|scope| {
        // This thread is not confined. It stands for another program.
        scope.spawn(|| {
            go.wait();
            fs::remove_dir_all(world.path("@/root")).unwrap();
            world.write("@/root/file", "new");
            gone.wait();
        });
        let done = confined(&world, Policy::default(), |_| {
            assert_eq!(world.resolve("@/root/file"), "@/root/file: opened");
            go.wait();
            gone.wait();
            assert!(is_denied(fs::read(world.path("@/root/file"))));
            assert!(world.resolve("@/root/file").starts_with("RootReplaced"));
        });
        if done.is_none() {
            go.wait();
            gone.wait();
        }
    });
}
