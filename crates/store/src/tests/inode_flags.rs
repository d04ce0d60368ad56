//! Tests of the flags that chattr(1) sets: a replaced file keeps some of them, and others forbid an edit.
//! `tests/reliability/marks.py` tests more of this, on more file systems.

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use mcp_text_editor_core::digest::{Digest, DigestPrefix};

use crate::edit::{Edit, EditChange, EditOptions, Reason, edit};
use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

use crate::tests::mounted::Mounted;
use crate::tests::world::{World, options, reason};

/// Returns the flags of a file that a person can set or see, without those that only the file system decides.
fn flags(world: &World, path: &str) -> IFlags {
    let seen = ioctl_getflags(File::open(world.path(path)).unwrap()).unwrap();
    seen & IFlags::all()
}

/// A file or directory that has a flag until this value is dropped. If the flag cannot be set, `new` prints a
/// message and returns `None`.
struct Marked(PathBuf, IFlags);

impl Marked {
    fn new(world: &World, path: &str, mark: IFlags) -> Option<Self> {
        let path = world.path(path);
        let file = File::open(&path).unwrap();
        let set = ioctl_getflags(&file).and_then(|now| ioctl_setflags(&file, now | mark));
        let is_set = set.and_then(|()| ioctl_getflags(&file)).is_ok_and(|now| now.contains(mark));
        if !is_set {
            eprintln!("skipped: {mark:?} cannot be set here");
        }
        is_set.then_some(Self(path, mark))
    }
}

impl Drop for Marked {
    fn drop(&mut self) {
        let Ok(file) = File::open(&self.0) else { return };
        ioctl_getflags(&file).and_then(|now| ioctl_setflags(&file, now & !self.1)).ok();
    }
}

fn inode(world: &World, path: &str) -> u64 {
    std::fs::metadata(world.path(path)).unwrap().ino()
}

#[test]
fn flags_are_kept() {
    let one_by_one = [IFlags::NODUMP, IFlags::NOATIME, IFlags::SYNC, IFlags::NOTAIL, IFlags::UNRM];
    for mark in one_by_one.into_iter().chain([IFlags::NODUMP | IFlags::NOATIME]) {
        let world = World::new();
        world.write("@/root/a", "old\n");
        let Some(_marked) = Marked::new(&world, "@/root/a", mark) else { continue };
        let (before, was) = (inode(&world, "@/root/a"), flags(&world, "@/root/a"));
        assert_eq!(world.append(&["@/root/a"]), ["[]"]);
        assert_eq!(world.content("@/root/a"), "old\nadded\n");
        assert_eq!(flags(&world, "@/root/a"), was, "{mark:?}");
        assert_ne!(inode(&world, "@/root/a"), before, "it is another file");
    }
}

#[test]
fn a_file_does_not_take_the_flags_of_its_directory() {
    let world = World::new();
    world.write("@/root/a", "old\n");
    let was = flags(&world, "@/root/a");
    let Some(_marked) = Marked::new(&world, "@/root", IFlags::NODUMP | IFlags::NOATIME) else { return };
    world.write("@/root/b", "");
    if flags(&world, "@/root/b") == was {
        eprintln!("skipped: nothing is inherited here");
    }
    assert_eq!(world.append(&["@/root/a"]), ["[]"]);
    assert_eq!(flags(&world, "@/root/a"), was);
}

#[test]
fn a_file_that_nobody_may_change_is_not_changed() {
    for (mark, by) in [(IFlags::IMMUTABLE, "Immutable"), (IFlags::APPEND, "AppendOnly")] {
        let world = World::new();
        world.write("@/root/a", "old\n");
        world.write("@/root/b", "old\n");
        let Some(marked) = Marked::new(&world, "@/root/a", mark) else { return };
        let refused = [format!("Open Guarded {{ by: {by}, is_directory: false }}")];
        assert_eq!(world.append(&["@/root/b", "@/root/a"]), refused);
        assert_eq!((world.content("@/root/a"), world.content("@/root/b")), ("old\n".into(), "old\n".into()));
        drop(marked);
        assert_eq!(world.append(&["@/root/b", "@/root/a"]), ["[]", "[]"]);
    }
}

#[test]
fn a_file_that_nobody_may_change_is_neither_moved_nor_removed() {
    for (mark, by) in [(IFlags::IMMUTABLE, "Immutable"), (IFlags::APPEND, "AppendOnly")] {
        let world = World::new();
        world.write("@/root/a", "old\n");
        let Some(_marked) = Marked::new(&world, "@/root/a", mark) else { return };
        let at = |path: &str| world.path(path).to_str().unwrap().to_owned();
        let said = |refused: Vec<crate::edit::EditProblem>| {
            refused.iter().map(|one| reason(&one.reason)).collect::<Vec<_>>()
        };
        for dry_run in [false, true] {
            let options = |tool| EditOptions { dry_run, ..options(tool) };
            let (a, b) = (at("@/root/a"), at("@/root/b"));
            let moved = Edit { move_to: Some(&b), ..Edit::new(&a, EditChange::Keep { after: None }) };
            let refused = edit(&world.workspace, &[moved], options("move_text_file"));
            let expected = format!("Move Guarded {{ by: {by}, is_directory: false }}");
            assert_eq!(said(refused.unwrap_err()), [expected]);
            let hash = DigestPrefix::parse(&Digest::of(b"old\n").to_string()).unwrap();
            let gone = Edit { file_hash: Some(&hash), ..Edit::new(&a, EditChange::Remove) };
            let refused = edit(&world.workspace, &[gone], options("remove_text_file"));
            let expected = format!("Open Guarded {{ by: {by}, is_directory: false }}");
            assert_eq!(said(refused.unwrap_err()), [expected]);
        }
        assert_eq!(world.names(), ["outside", "root", "root/a"]);
    }
}

#[test]
fn out_of_a_directory_whose_names_must_stay_no_file_is_moved_or_removed() {
    for (mark, by) in [(IFlags::IMMUTABLE, "Immutable"), (IFlags::APPEND, "AppendOnly")] {
        let world = World::new();
        world.write("@/root/dir/a", "old\n");
        let Some(_marked) = Marked::new(&world, "@/root/dir", mark) else { return };
        let [a, b] = ["@/root/dir/a", "@/root/b"].map(|path| world.path(path).to_str().unwrap().to_owned());
        let hash = DigestPrefix::parse(&Digest::of(b"old\n").to_string()).unwrap();
        let moved = Edit { move_to: Some(&b), ..Edit::new(&a, EditChange::Keep { after: None }) };
        let gone = Edit { file_hash: Some(&hash), ..Edit::new(&a, EditChange::Remove) };
        for (edited, operation) in [(&moved, "Move"), (&gone, "Remove")] {
            for dry_run in [false, true] {
                let options = EditOptions { dry_run, ..options("test") };
                let refused = edit(&world.workspace, std::slice::from_ref(edited), options).unwrap_err();
                let refused: Vec<String> = refused.iter().map(|one| reason(&one.reason)).collect();
                assert_eq!(refused, [format!("{operation} Guarded {{ by: {by}, is_directory: true }}")]);
            }
        }
        assert_eq!(world.names(), ["outside", "root", "root/dir", "root/dir/a"]);
    }
}

#[test]
fn into_a_directory_whose_names_must_stay_no_file_is_moved() {
    for (mark, by) in [(IFlags::IMMUTABLE, "Immutable"), (IFlags::APPEND, "AppendOnly")] {
        let world = World::new();
        world.write("@/root/a", "old\n");
        world.write("@/root/dir/b", "");
        let Some(_marked) = Marked::new(&world, "@/root/dir", mark) else { return };
        for (to, dry_run) in [("c", false), ("c", true), ("deep/c", false), ("deep/c", true)] {
            let [from, to] = [world.path("@/root/a"), world.path("@/root/dir").join(to)];
            let [from, to] = [&from, &to].map(|path| path.to_str().unwrap());
            let moved = Edit { move_to: Some(to), ..Edit::new(from, EditChange::Keep { after: None }) };
            let options = EditOptions { dry_run, ..options("test") };
            let refused = edit(&world.workspace, &[moved], options).unwrap_err();
            assert!(matches!(refused[0].reason, Reason::OfTarget(_)), "{refused:?}");
            assert!(format!("{refused:?}").contains(&format!("Guarded {{ by: {by}, is_directory: true }}")));
        }
        assert_eq!(world.names(), ["outside", "root", "root/a", "root/dir", "root/dir/b"]);
    }
}

#[test]
fn in_a_directory_whose_names_must_stay_a_file_is_edited_in_place_and_none_is_made() {
    for (mark, by) in [(IFlags::IMMUTABLE, "Immutable"), (IFlags::APPEND, "AppendOnly")] {
        let world = World::new();
        world.write("@/root/a", "old\n");
        let before = inode(&world, "@/root/a");
        let Some(_marked) = Marked::new(&world, "@/root", mark) else { return };
        assert_eq!(world.append(&["@/root/a"]), [format!("[EditedInPlace(DirectoryGuarded({by}))]")]);
        assert_eq!(world.content("@/root/a"), "old\nadded\n");
        assert_eq!(inode(&world, "@/root/a"), before);
        for path in ["@/root/new", "@/root/deep/new"] {
            for dry_run in [false, true] {
                let path = world.path(path);
                let new = Edit::new(path.to_str().unwrap(), EditChange::Create("new\n"));
                let options = EditOptions { dry_run, ..options("create_text_file") };
                let refused = edit(&world.workspace, &[new], options).unwrap_err();
                let refused: Vec<String> = refused.iter().map(|one| reason(&one.reason)).collect();
                assert_eq!(refused, [format!("Create Guarded {{ by: {by}, is_directory: true }}")]);
            }
        }
        assert_eq!(world.names(), ["outside", "root", "root/a"], "nothing is left that could not go again");
    }
}

#[test]
fn without_a_state_directory_a_file_between_names_that_must_stay_is_edited_by_way_of_memory() {
    let mut world = World::new();
    world.workspace.state_dir = None;
    world.write("@/root/a", "old\n");
    let Some(_marked) = Marked::new(&world, "@/root", IFlags::APPEND) else { return };
    assert_eq!(world.append(&["@/root/a"]), ["[EditedInPlace(DirectoryGuarded(AppendOnly)), NoJournal]"]);
    assert_eq!(world.content("@/root/a"), "old\nadded\n");
    assert_eq!(world.names(), ["outside", "root", "root/a"]);
}

#[test]
fn a_file_system_that_is_mounted_read_only_is_no_matter_of_permissions() {
    let world = World::new();
    world.write("@/root/fixed/a", "old\n");
    let mount = world.path("@/root/fixed");
    // The error is about the mount, not about this flag, which nobody could remove on a read-only file
    // system.
    let marked = Marked::new(&world, "@/root/fixed/a", IFlags::APPEND);
    let flags = rustix::mount::MountFlags::BIND | rustix::mount::MountFlags::RDONLY;
    let Some(mounted) = Mounted::bind(&mount, &mount) else { return };
    rustix::mount::mount_remount(&mount, flags, c"").unwrap();
    let append = world.append(&["@/root/fixed/a"]);
    let made: Vec<String> = ["new", "deep/new"]
        .iter()
        .flat_map(|name| {
            let path = mount.join(name);
            let new = Edit::new(path.to_str().unwrap(), EditChange::Create("new\n"));
            let refused = edit(&world.workspace, &[new], options("create_text_file")).unwrap_err();
            refused.iter().map(|one| reason(&one.reason)).collect::<Vec<_>>()
        })
        .collect();
    let content = world.content("@/root/fixed/a");
    drop((mounted, marked));
    assert_eq!(append, ["Open ReadOnlyFileSystem"]);
    assert_eq!(made, ["WriteTemporary ReadOnlyFileSystem", "CreateDirectory ReadOnlyFileSystem"]);
    assert_eq!(content, "old\n");
}
