//! Tests of files that must not or cannot be replaced: the inode stays, the content is new, and a warning
//! gives the reason.

use std::fs::File;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};

use mcp_text_editor_core::resolve::Patch;

use crate::access::patterns::Patterns;
use crate::commit::in_place::InPlace;
use crate::edit::{Edit, EditChange, Warning, edit};
#[cfg(target_os = "linux")]
use crate::tests::mounted::Mounted;
#[cfg(unix)]
use crate::tests::world::as_user;
use crate::tests::world::{World, options};

#[cfg(unix)]
const NOBODY: u32 = 65534;

#[cfg(unix)]
fn set_mode(world: &World, path: &str, mode: u32) {
    std::fs::set_permissions(world.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Returns a file `root/a` in a tree that belongs to this user; `None`, with a message, if this process does
/// not run as root.
#[cfg(unix)]
fn world_of(user: u32) -> Option<World> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root gives files away");
        return None;
    }
    let world = World::new();
    world.write("@/root/a", "old\n");
    for path in ["@", "@/root", "@/root/a"] {
        chown(world.path(path), Some(user), Some(user)).ok()?;
    }
    Some(world)
}

/// Appends a line to `root/a`, which must keep its inode.
fn check(world: &World, warning: &str, append: impl FnOnce() -> Option<Vec<String>>) {
    let before = world.file("@/root/a");
    let Some(warnings) = append() else { return };
    assert_eq!(warnings, [warning]);
    assert_eq!(world.content("@/root/a"), "old\nadded\n");
    assert_eq!(world.file("@/root/a"), before);
    assert!(!world.names().iter().any(|name| name.contains(".mte-")));
}

#[test]
fn a_file_of_several_names_stays_one_file() {
    let world = World::new();
    world.write("@/root/a", "old\n");
    std::fs::hard_link(world.path("@/root/a"), world.path("@/root/b")).unwrap();
    check(&world, "[EditedInPlace(SeveralNames)]", || Some(world.append(&["@/root/a"])));
    assert_eq!(world.content("@/root/b"), "old\nadded\n");
}

#[test]
fn an_empty_file_of_several_names_stays_one_file() {
    let world = World::new();
    world.write("@/root/a", "");
    std::fs::hard_link(world.path("@/root/a"), world.path("@/root/b")).unwrap();
    assert_eq!(world.append(&["@/root/a"]), ["[EditedInPlace(SeveralNames)]"]);
    assert_eq!(world.content("@/root/b"), "added\n");
}

fn asked(patterns: &[&str]) -> Patterns {
    let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    Patterns::new(&patterns).unwrap()
}

#[test]
fn whoever_holds_on_to_a_file_sees_its_edits_if_that_is_asked_for() {
    let mut world = World::new();
    world.workspace.in_place = asked(&["a", "config/*.toml"]);
    world.write("@/root/a", "old\n");
    let held = File::open(world.path("@/root/a")).unwrap();
    check(&world, "[EditedInPlace(Asked)]", || Some(world.append(&["@/root/a"])));
    assert_eq!(std::io::read_to_string(held).unwrap(), "old\nadded\n");
    // Letter case does not count. A file that does not match is replaced.
    for (path, warnings) in [
        ("@/root/config/x.TOML", "[EditedInPlace(Asked)]"),
        ("@/root/config/deep/x.toml", "[]"),
        ("@/root/b", "[]"),
    ] {
        world.write(path, "old\n");
        assert_eq!(world.append(&[path]), [warnings], "{path}");
    }
}

#[test]
fn a_file_is_asked_for_by_any_of_its_names() {
    let Some(mut world) = World::with_links() else { return };
    world.workspace.in_place = asked(&["mounted"]);
    world.write("@/root/a", "old\n");
    world.link("@/root/mounted", "@/root/a");
    check(&world, "[EditedInPlace(Asked)]", || Some(world.append(&["@/root/mounted"])));
    // If a call names the file only by its own name, the file is replaced. If a call uses both names, the
    // file is overwritten in place.
    assert_eq!(world.append(&["@/root/a"]), ["[]"]);
    let before = world.file("@/root/a");
    let patches = [Patch {
        old_string: Some("old".into()),
        new_string: "new".into(),
        ranges: Vec::new(),
        replace_all: true,
    }];
    let paths = ["@/root/a", "@/root/mounted"].map(|path| world.path(path));
    let edits =
        [0, 1].map(|at| Edit::new(paths[at].to_str().unwrap(), EditChange::Patch(&patches[..1 - at])));
    let done = edit(&world.workspace, &edits, options("patch_text_file_contents")).unwrap();
    assert_eq!(done.files[0].warnings[0], Warning::EditedInPlace(InPlace::Asked));
    assert_eq!(world.file("@/root/a"), before);
    assert_eq!(world.append(&["@/root/a", "@/root/mounted"]), ["Differs(Fate { first: 0 })"]);
    assert_eq!(world.content("@/root/a"), "new\nadded\nadded\n");
}

#[test]
fn a_link_stays_a_link_and_its_target_is_replaced() {
    let Some(world) = World::with_links() else { return };
    world.write("@/root/target", "old\n");
    world.link("@/root/link", "@/root/target");
    assert_eq!(world.append(&["@/root/link"]), ["[]"]);
    assert_eq!(world.content("@/root/target"), "old\nadded\n");
    assert_eq!(std::fs::read_link(world.path("@/root/link")).unwrap(), world.path("@/root/target"));
}

#[test]
#[cfg(unix)]
fn a_directory_that_may_not_be_written_keeps_nobody_from_a_file_that_may() {
    let Some(mut world) = world_of(NOBODY) else { return };
    set_mode(&world, "@/root", 0o555);
    check(&world, "[EditedInPlace(DirectoryNotWritable)]", || {
        as_user(NOBODY, || world.append(&["@/root/a"]))
    });
    // Without a state directory, content that does not fit into memory is refused. The error is the reason
    // why the file would have to be overwritten in place.
    world.workspace.state_dir = None;
    let append = || as_user(NOBODY, || world.append(&["@/root/a"]));
    File::options().write(true).open(world.path("@/root/a")).unwrap().set_len(0).unwrap();
    let line = [vec![b'x'; 1023], b"\n".to_vec()].concat();
    std::fs::write(world.path("@/root/a"), line.repeat(64 * 1024)).unwrap();
    if let Some(problems) = append() {
        assert_eq!(problems, ["WriteTemporary PermissionDenied"]);
        assert_eq!(std::fs::metadata(world.path("@/root/a")).unwrap().len(), 64 * 1024 * 1024);
    }
}

#[test]
#[cfg(unix)]
fn another_users_file_stays_theirs() {
    let Some(world) = world_of(NOBODY) else { return };
    chown(world.path("@/root/a"), Some(1234), Some(NOBODY)).unwrap();
    set_mode(&world, "@/root/a", 0o660);
    let append = || as_user(NOBODY, || world.append(&["@/root/a"]));
    check(&world, "[EditedInPlace(Owner)]", append);
    let metadata = std::fs::metadata(world.path("@/root/a")).unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o7777), (1234, NOBODY, 0o660));
}

#[test]
#[cfg(unix)]
fn another_groups_file_stays_theirs() {
    let Some(world) = world_of(NOBODY) else { return };
    chown(world.path("@/root/a"), Some(NOBODY), Some(1234)).unwrap();
    let append = || as_user(NOBODY, || world.append(&["@/root/a"]));
    check(&world, "[EditedInPlace(Owner)]", append);
    assert_eq!(std::fs::metadata(world.path("@/root/a")).unwrap().gid(), 1234);
}

#[test]
#[cfg(target_os = "linux")]
fn an_attribute_that_may_not_be_set_is_not_lost() {
    let Some(world) = world_of(NOBODY) else { return };
    let set = rustix::fs::setxattr(
        world.path("@/root/a"),
        "security.mte",
        b"of root",
        rustix::fs::XattrFlags::empty(),
    );
    if let Err(error) = set {
        eprintln!("skipped: {error}");
        return;
    }
    let append = || as_user(NOBODY, || world.append(&["@/root/a"]));
    check(&world, "[EditedInPlace(Attributes)]", append);
    let mut value = [0; 64];
    let length = rustix::fs::getxattr(world.path("@/root/a"), "security.mte", &mut value[..]).unwrap();
    assert_eq!(&value[..length], b"of root");
}

#[test]
#[cfg(target_os = "linux")]
fn a_writer_goes_on_with_the_file_that_is_seen() {
    use std::io::Write as _;

    let world = World::new();
    world.write("@/root/a", "old\n");
    world.write("@/root/b", "old\n");
    let mut writer = File::options().append(true).open(world.path("@/root/a")).unwrap();
    let _reader = File::open(world.path("@/root/b")).unwrap();
    let before = world.file("@/root/b");
    check(&world, "[EditedInPlace(OpenForWriting)]", || Some(world.append(&["@/root/a"])));
    writer.write_all(b"later\n").unwrap();
    assert_eq!(world.content("@/root/a"), "old\nadded\nlater\n");
    // Both files are edited at once. A program that only reads the other one does not matter.
    assert_eq!(world.append(&["@/root/b", "@/root/a"]), ["[]", "[EditedInPlace(OpenForWriting)]"]);
    assert_eq!(world.content("@/root/a"), "old\nadded\nlater\nadded\n");
    assert_ne!(world.file("@/root/b"), before);
    drop(writer);
    assert_eq!(world.append(&["@/root/a"]), ["[]"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_mounted_file_is_written_over() {
    let world = World::new();
    world.write("@/root/a", "covered\n");
    world.write("@/outside/a", "old\n");
    let Some(mount) = Mounted::bind(&world.path("@/outside/a"), &world.path("@/root/a")) else { return };
    check(&world, "[EditedInPlace(Mounted)]", || Some(world.append(&["@/root/a"])));
    assert_eq!(world.content("@/outside/a"), "old\nadded\n");
    drop(mount);
    assert_eq!(world.content("@/root/a"), "covered\n");
}

#[test]
#[cfg(unix)]
fn a_file_that_is_edited_and_moved_tells_what_it_lacks() {
    for (owner, has_two_names) in [(NOBODY, false), (NOBODY, true), (1234, false)] {
        let Some(world) = world_of(NOBODY) else { return };
        let [path, to] = ["@/root/a", "@/root/moved"].map(|name| world.path(name));
        chown(&path, Some(owner), Some(NOBODY)).unwrap();
        set_mode(&world, "@/root/a", 0o660);
        if has_two_names {
            std::fs::hard_link(&path, world.path("@/root/b")).unwrap();
        }
        let patches = [Patch::text("old", "new")];
        let change = EditChange::Patch(&patches);
        let edits = [Edit { move_to: to.to_str(), ..Edit::new(path.to_str().unwrap(), change) }];
        let done = as_user(NOBODY, || edit(&world.workspace, &edits, options("move_text_file")).unwrap());
        let warnings = done.unwrap().files.remove(0).warnings;
        let lacks = warnings.iter().find_map(|warning| match warning {
            Warning::Rewritten(copied) => Some((copied.loses_metadata, copied.leaves_names)),
            _ => None,
        });
        let (is_given_away, is_whole) = (owner != NOBODY, owner == NOBODY && !has_two_names);
        assert_eq!(lacks, (!is_whole).then_some((is_given_away, has_two_names)));
        assert_eq!(world.content("@/root/moved"), "new\n");
    }
}
