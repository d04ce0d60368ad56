//! Tests of [`Workspace::list`](crate::Workspace::list).

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::Control;
use crate::search::{End, EntryKind, List, ListEntry, SearchSummary};
use crate::tests::world::World;
#[cfg(unix)]
use crate::tests::world::as_user;

pub(super) fn listed(world: &World, list: &List<'_>) -> (String, SearchSummary) {
    let mut lines = String::new();
    let mut sink = |entry: ListEntry| {
        assert!(entry.modified.is_some());
        let kind = if entry.kind == EntryKind::File { 'f' } else { 'd' };
        let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        writeln!(lines, "{kind} {} {} {}", entry.path, number(entry.bytes), number(entry.lines)).unwrap();
        ControlFlow::Continue(())
    };
    let summary = world.workspace.list(list, &mut sink, Control::default()).unwrap();
    (world.told(&lines), summary)
}

fn world() -> World {
    let world = World::new();
    world.write("@/root/b/c.txt", "one\ntwo\n");
    world.write("@/root/b/deep/d.rs", "one\rtwo");
    world.write("@/root/b.txt", "");
    world.write("@/root/bin", "\0");
    world.write("@/root/.git/config", "");
    world.write("@/root/.gitignore", "*.rs\n");
    world
}

#[test]
fn what_is_below_a_directory_is_listed_in_order() {
    let world = world();
    let root = world.path("@/root");
    let root = root.to_str().unwrap();
    let (told, summary) = listed(&world, &List { line_counts: true, ..List::new(Some(root)) });
    assert_eq!(
        told,
        "f @/root/.gitignore 5 1\n\
         d @/root/b - -\n\
         f @/root/b/c.txt 8 2\n\
         d @/root/b/deep - -\n\
         f @/root/b.txt 0 0\n\
         f @/root/bin 1 -\n"
    );
    assert_eq!(summary.files, 6);
    let (told, _) = listed(&world, &List { depth: Some(1), include_ignored: true, ..List::new(Some(root)) });
    assert_eq!(told, "f @/root/.gitignore 5 -\nd @/root/b - -\nf @/root/b.txt 0 -\nf @/root/bin 1 -\n");
    let (told, _) =
        listed(&world, &List { glob: &["*.{txt,rs}"], include_ignored: true, ..List::new(Some(root)) });
    assert_eq!(told, "f @/root/b/c.txt 8 -\nf @/root/b/deep/d.rs 7 -\nf @/root/b.txt 0 -\n");
    // Ignore files above the start count, too, unless the list includes ignored files.
    let deep = world.path("@/root/b/deep");
    for (include_ignored, expected) in [(false, ""), (true, "f @/root/b/deep/d.rs 7 -\n")] {
        let (told, _) = listed(&world, &List { include_ignored, ..List::new(deep.to_str()) });
        assert_eq!(told, expected);
    }
}

#[test]
fn without_a_path_the_roots_are_listed() {
    let world = world();
    let (told, _) = listed(&world, &List::new(None));
    assert_eq!(told, "d @/root - -\n");
    let (told, _) = listed(&world, &List { depth: Some(1), ..List::new(None) });
    assert_eq!(
        told,
        "d @/root - -\nf @/root/.gitignore 5 -\nd @/root/b - -\nf @/root/b.txt 0 -\nf @/root/bin 1 -\n"
    );
    let (told, _) = listed(&world, &List { depth: Some(1), glob: &["*.txt"], ..List::new(None) });
    assert_eq!(told, "f @/root/b.txt 0 -\n");
}

#[test]
fn a_file_is_listed_alone() {
    let world = world();
    let file = world.path("@/root/b/deep/d.rs");
    let (told, _) = listed(&world, &List { line_counts: true, ..List::new(Some(file.to_str().unwrap())) });
    assert_eq!(told, "f @/root/b/deep/d.rs 7 2\n");
}

/// A link is listed as its target, but nothing below the link is listed.
#[test]
fn a_link_is_what_it_leads_to() {
    let Some(world) = World::with_links() else { return };
    world.write("@/root/a/file", "123");
    world.write("@/outside/secret", "");
    let link = |target: &str, link: &str| {
        crate::tests::world::symlink(&world.path(target), &world.path(link)).unwrap();
    };
    link("@/root/a", "@/root/directory");
    link("@/root/a/file", "@/root/file");
    link("@/outside/secret", "@/root/out");
    link("@/root/nothing", "@/root/dangling");
    let root = world.path("@/root");
    let (told, summary) = listed(&world, &List::new(Some(root.to_str().unwrap())));
    assert_eq!(told, "d @/root/a - -\nf @/root/a/file 3 -\nd @/root/directory - -\nf @/root/file 3 -\n");
    let skipped: Vec<_> =
        summary.skipped.iter().map(|(cause, files)| format!("{cause:?} {}", files.count)).collect();
    assert_eq!(skipped, ["Link 1", "Outside 1"]);
}

#[test]
fn counting_the_lines_of_a_large_file_ends_with_the_time() {
    let world = World::new();
    world.write("@/root/large", &"line\n".repeat(8 << 20));
    let limited = |time_limit| {
        let (told, summary) = listed(
            &world,
            &List {
                line_counts: true,
                time_limit,
                ..List::new(Some(world.path("@/root").to_str().unwrap()))
            },
        );
        (told, summary.end)
    };
    let lines = format!("f @/root/large {} {}\n", 40 << 20, 8 << 20);
    assert_eq!(limited(None), (lines, End::Complete));
    // The file is not listed, whether the time was over before the file was opened or while it was read.
    assert_eq!(limited(Some(Duration::from_millis(1))), (String::new(), End::TimeLimit));
}

#[test]
fn a_listing_tells_what_has_ended_it() {
    let world = world();
    let ends = |time_limit, mut most: usize| {
        let root = world.path("@/root");
        let list = List { time_limit, ..List::new(root.to_str()) };
        let mut sink = |_| {
            most -= 1;
            if most > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        world.workspace.list(&list, &mut sink, Control::default()).unwrap().end
    };
    let (none, hour) = (Duration::ZERO, Duration::from_hours(1));
    assert_eq!((ends(None, 100), ends(Some(hour), 100)), (End::Complete, End::Complete));
    assert_eq!((ends(None, 2), ends(Some(hour), 2)), (End::Enough, End::Enough));
    assert_eq!(ends(Some(none), 100), End::TimeLimit);
}

#[test]
fn what_is_kept_of_removed_files_is_left_alone() {
    let world = world();
    let kept = ["@/root/b/.nfs00000000012c4a5b000000c7", "@/root/.fuse_hidden0000018c00000002"];
    let not = ["@/root/b/.nfs1", "@/root/.fuse_hidden", "@/root/.nfs00000000012c4a5b000000cg"];
    for path in kept.into_iter().chain(not) {
        world.write(path, "one\n");
    }
    let root = world.path("@/root");
    let (told, _) = listed(&world, &List { include_ignored: true, ..List::new(root.to_str()) });
    assert!(!kept.iter().any(|path| told.contains(path)), "{told}");
    assert!(not.iter().all(|path| told.contains(&format!("f {path} 4 -\n"))), "{told}");
    // A call that names one of these files can read it.
    let path = world.path(kept[0]);
    assert_eq!(world.workspace.bytes_of(&path).unwrap(), b"one\n");
    // A new workspace with this root does not remove these files, since no call has created them.
    drop(crate::Workspace::builder().root(&root).state_directory(world.path("@/state")).build().unwrap());
    assert!(kept.iter().all(|path| world.path(path).exists()));
}

/// An entry that was removed after its name was read is not listed, nor is a directory that became a file.
#[test]
fn what_is_removed_meanwhile_is_not_listed() {
    let world = World::new();
    world.write("@/root/a", "");
    world.write("@/root/f", "");
    #[cfg(unix)]
    world.write("@/root/e", "");
    for name in ["b", "c", "d"] {
        std::fs::create_dir(world.path(&format!("@/root/{name}"))).unwrap();
    }
    let mut told = Vec::new();
    let mut sink = |entry: ListEntry| {
        if told.is_empty() {
            std::fs::remove_dir(world.path("@/root/b")).unwrap();
            std::fs::remove_dir(world.path("@/root/c")).unwrap();
            world.write("@/root/c", "");
            std::fs::remove_file(world.path("@/root/f")).unwrap();
            // A link is neither a file nor a directory.
            #[cfg(unix)]
            {
                std::fs::remove_file(world.path("@/root/e")).unwrap();
                world.link("@/root/e", "@/root/d");
            }
        }
        told.push(world.told(&entry.path));
        ControlFlow::Continue(())
    };
    let root = world.path("@/root");
    let summary = world.workspace.list(&List::new(root.to_str()), &mut sink, Control::default()).unwrap();
    assert_eq!((told.join(" "), summary.files), ("@/root/a @/root/d".to_owned(), 2));
    assert!(summary.skipped.is_empty(), "{:?}", summary.skipped);
}

/// A listing that is cancelled while it counts the lines of a file reads no further in the file.
#[test]
fn counting_lines_stops_in_the_middle_of_a_file() {
    let world = World::new();
    world.write("@/root/large", &"line\n".repeat(1 << 20));
    let root = world.path("@/root");
    let list = List { line_counts: true, ..List::new(root.to_str()) };
    for stop_at in [4, 8, 12] {
        let asked = std::cell::Cell::new(0);
        let is_cancelled = || asked.replace(asked.get() + 1) >= stop_at;
        let control = Control::default().cancelled_by(&is_cancelled);
        let stopped = world.workspace.list(&list, &mut |_| ControlFlow::Continue(()), control);
        assert!(stopped.is_err() && asked.get() <= stop_at + 5, "{stopped:?} {}", asked.get());
    }
}

#[test]
#[cfg(unix)]
fn a_listing_and_a_search_go_so_deep_and_say_where_they_stop() {
    let world = World::new();
    for deep in [255, 256] {
        world.write(&format!("@/root/{}file", "d/".repeat(deep)), "one\n");
    }
    let root = world.path("@/root");
    let (told, summary) = listed(&world, &List { include_ignored: true, ..List::new(root.to_str()) });
    let deepest = format!("@/root{}", "/d".repeat(256));
    let last = told.lines().last().unwrap_or_default();
    assert_eq!(
        (told.lines().count(), last),
        (257, format!("f @/root/{}file 4 -", "d/".repeat(255)).as_str())
    );
    let skipped: Vec<_> =
        summary.skipped.iter().map(|(cause, files)| (cause, world.told(&files.names.concat()))).collect();
    assert_eq!(skipped, [(crate::search::Cause::TooDeep, deepest)]);
}

/// Only on Unix, because Windows does not remove an open directory.
#[test]
#[cfg(unix)]
fn a_root_that_is_gone_is_not_listed_as_empty() {
    use crate::access::roots::PathError;
    use crate::edit::Reason;
    use crate::search::SearchProblem;

    let world = World::new();
    let root = world.path("@/root");
    std::fs::remove_dir(&root).unwrap();
    for replaced in [false, true] {
        if replaced {
            world.write("@/root", "");
        }
        let list = List::new(root.to_str());
        let refused = world.workspace.list(&list, &mut |_| ControlFlow::Continue(()), Control::default());
        let [SearchProblem::Refused { reason: Reason::Path(reason), .. }] =
            &refused.unwrap_err().problems[..]
        else {
            panic!("it is a matter of the path");
        };
        assert!(matches!(reason, PathError::RootReplaced { root: told } if *told == root), "{reason:?}");
    }
}

/// If a listing needs only the directory's own name, it skips nothing in the directory.
#[test]
#[cfg(unix)]
fn a_directory_that_may_not_be_read_is_told_where_its_names_are_wanted() {
    use std::os::unix::fs::PermissionsExt as _;

    let world = World::new();
    world.write("@/root/closed/a", "");
    for (path, mode) in [("@", 0o755), ("@/root", 0o755), ("@/root/closed", 0o700)] {
        std::fs::set_permissions(world.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let root = world.path("@/root");
    for (depth, skipped) in [(Some(1), ""), (Some(2), "@/root/closed"), (None, "@/root/closed")] {
        let list = List { depth, ..List::new(root.to_str()) };
        let Some((told, summary)) = as_user(54_321, || listed(&world, &list)) else { return };
        assert_eq!(told, "d @/root/closed - -\n", "{depth:?}");
        let names: Vec<_> = summary.skipped.iter().flat_map(|(_, files)| &files.names).cloned().collect();
        assert_eq!(world.told(&names.concat()), skipped, "{depth:?}");
    }
}

/// A directory's mode can permit reading the names but not looking up the entries.
#[test]
#[cfg(unix)]
fn a_name_that_may_not_be_looked_at_is_told() {
    use std::os::unix::fs::PermissionsExt as _;

    let world = World::new();
    world.write("@/root/closed/a", "");
    let set = |path: &str, mode| {
        std::fs::set_permissions(world.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for (path, mode) in [("@", 0o755), ("@/root", 0o755), ("@/root/closed", 0o744)] {
        set(path, mode);
    }
    let root = world.path("@/root");
    let Some((told, summary)) =
        as_user(54_321, || listed(&world, &List { include_ignored: true, ..List::new(root.to_str()) }))
    else {
        return;
    };
    assert_eq!(told, "d @/root/closed - -\n");
    let skipped: Vec<_> =
        summary.skipped.iter().map(|(cause, files)| (cause, world.told(&files.names.concat()))).collect();
    assert_eq!(skipped, [(crate::search::Cause::Unreadable, "@/root/closed/a".to_owned())]);
}
