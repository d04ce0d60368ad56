//! Tests of files that a search must leave out: links, special files, unreadable files, names that no client
//! can spell, and directories that are swapped.

use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::search::{found, told};
use crate::access::policy::Policy;
use crate::access::roots::Roots;
use crate::search::{End, List, Search, SearchProblem, Skipped};
use crate::tests::world::{World, as_user};
use crate::workspace::Workspace;
use crate::{Control, Reason, StoreErrorKind};

/// Returns the files that were left out, one line for each cause.
fn left_out(world: &World, skipped: &Skipped) -> String {
    let lines =
        skipped.iter().map(|(cause, files)| format!("{cause:?} {} {}\n", files.count, files.names.join(" ")));
    world.told(&lines.collect::<String>())
}

#[test]
fn what_cannot_be_searched_is_left_out_and_counted() {
    let world = World::new();
    let symlink =
        |target: &str, link: &str| std::os::unix::fs::symlink(world.path(target), world.path(link)).unwrap();
    world.write("@/root/a.txt", "x");
    world.write("@/root/binary", "x\0");
    world.write("@/outside/secret", "x");
    world.write("@/root/late", &format!("{}x\n\0", "a\n".repeat(700_000)));
    for number in 0..5 {
        std::fs::write(world.path(&format!("@/root/latin{number}")), b"x\nM\xFCller\n").unwrap();
    }
    std::fs::write(world.path("@/root/latin-without-hit"), b"M\xFCller\n").unwrap();
    std::fs::write(world.path("@/root").join(std::ffi::OsStr::from_bytes(b"b\xFF")), "x").unwrap();
    symlink("@/outside", "@/root/out");
    symlink("@/root", "@/root/loop");
    symlink("@/root/a.txt", "@/root/link");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        world.path("@/root/fifo"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    symlink("@/root/fifo", "@/root/pipe");
    let _socket = std::os::unix::net::UnixListener::bind(world.path("@/root/socket")).unwrap();
    let (hits, summary) = found(&world, &Search::new("x"));
    assert_eq!(hits.len(), 1);
    assert_eq!((summary.files, summary.end), (2, End::Complete));
    assert_eq!(
        left_out(&world, &summary.skipped),
        "Binary 2 @/root/binary @/root/late\n\
         Undecodable 5 @/root/latin0 @/root/latin1 @/root/latin2\n\
         Link 4 @/root/link @/root/loop @/root/out\n\
         Special 2 @/root/fifo @/root/socket\n\
         NotUnicode 1 @/root/b\u{FFFD}\n"
    );
    let root = world.path("@/root");
    let list = List { line_counts: true, ..List::new(root.to_str()) };
    let (listed, summary) = super::list::listed(&world, &list);
    assert!(listed.contains("f @/root/a.txt 1 1\n") && listed.contains("f @/root/binary 2 -\n"), "{listed}");
    assert_eq!(
        left_out(&world, &summary.skipped),
        "Binary 2 @/root/binary @/root/late\n\
         Undecodable 6 @/root/latin-without-hit @/root/latin0 @/root/latin1\n\
         Outside 1 @/root/out\n\
         Special 3 @/root/fifo @/root/pipe @/root/socket\n\
         NotUnicode 1 @/root/b\u{FFFD}\n"
    );
}

#[test]
fn a_glob_that_would_match_as_a_name_and_an_ignore_file_that_is_cut_are_told() {
    let world = World::new();
    for name in ["app/[id]/page", "app/x/page", "ignored/[id]/page", "other"] {
        world.write(&format!("@/root/{name}"), "x");
    }
    world.write("@/root/app/.gitignore", &"a".repeat(1 << 10));
    world.write("@/root/.gitignore", "ignored");
    let skipped = |globs: &[&str]| {
        let (found, summary) = found(&world, &Search { glob: globs, ..Search::new("x") });
        assert!(
            found.iter().all(|file| file.real_path == std::path::Path::new(&file.file_path)),
            "{found:?}"
        );
        format!("{} {}", summary.files, left_out(&world, &summary.skipped))
    };
    let meant = "GlobReading 1 @/root/app/[id]/page\nIgnored 1 @/root/ignored\nGlob 5 \n";
    assert_eq!(skipped(&["app/[id]/*"]), format!("0 {meant}"));
    assert_eq!(skipped(&["app/\\[id\\]/*"]), "1 ");
    world.write("@/root/app/.gitignore", &"a".repeat((1 << 10) + 1));
    assert_eq!(skipped(&["app/[id]/*"]), format!("0 IgnoreFile 1 @/root/app/.gitignore\n{meant}"));
}

/// The kernel generates the content of such a file when it is read, and reports a size of 0.
#[test]
fn the_lines_of_a_generated_file_are_not_counted() {
    let workspace = Workspace::without_state(Roots::open(&["/proc/sys/kernel".into()]).unwrap());
    let list = List { line_counts: true, ..List::new(Some("/proc/sys/kernel/ostype")) };
    let mut lines = Vec::new();
    let mut sink = |entry: crate::search::ListEntry| {
        lines.push(entry.lines);
        ControlFlow::Continue(())
    };
    let summary = workspace.list(&list, &mut sink, Control::default()).unwrap();
    assert_eq!((lines, summary.skipped.count(crate::search::Cause::Special)), (vec![None], 1));
}

/// The threads of a search run as the same user as the thread that starts them.
#[test]
fn what_may_not_be_read_is_left_out_and_counted() {
    let world = World::new();
    for name in ["open/a", "shut/a", "file"] {
        world.write(&format!("@/root/{name}"), "x");
    }
    let mode = |path: &str, mode| {
        let mode: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(world.path(path), mode).unwrap();
    };
    mode("@", 0o755);
    mode("@/root/shut", 0);
    mode("@/root/file", 0);
    let Some((_, summary)) = as_user(65_534, || found(&world, &Search::new("x"))) else { return };
    mode("@/root/shut", 0o700);
    assert_eq!(summary.files, 1);
    assert_eq!(left_out(&world, &summary.skipped), "Unreadable 2 @/root/file @/root/shut\n");
}

/// A call may name a link. The link's target is then shown under the link's name.
#[test]
fn a_link_that_is_named_is_searched() {
    let world = World::new();
    world.write("@/root/real/a.txt", "x");
    world.write("@/outside/secret", "x");
    let symlink =
        |target: &str, link: &str| std::os::unix::fs::symlink(world.path(target), world.path(link)).unwrap();
    symlink("@/root/real", "@/root/directory");
    symlink("@/root/real/a.txt", "@/root/file");
    symlink("@/outside", "@/root/out");
    let path = |path: &str| world.path(path).to_str().unwrap().to_owned();
    let [directory, file, out] = ["@/root/directory", "@/root/file", "@/root/out"].map(path);
    let told = |paths: &[&str]| told(&world, &Search { paths, ..Search::new("x") });
    assert_eq!(told(&[&directory]), "@/root/directory/a.txt:1:x\n");
    assert_eq!(told(&[&file]), "@/root/file:1:x\n");
    let refused = world.workspace.search(
        &Search { paths: &[&out], ..Search::new("(") },
        &mut |_| ControlFlow::Continue(()),
        Control::default(),
    );
    let problems = refused.unwrap_err().problems;
    assert!(
        matches!(
            problems.as_slice(),
            [
                SearchProblem::Pattern(_),
                SearchProblem::Refused {
                    entry: 0,
                    reason: Reason::Path(crate::PathError::Outside { suggested: None })
                }
            ]
        ),
        "{problems:?}"
    );
}

/// The state directory is not searched, even if it lies in a root, or has got another name.
#[test]
fn the_state_directory_is_not_searched() {
    let world = World::new();
    world.write("@/root/state/history", "x");
    world.write("@/root/a", "x");
    world.write("@/root/b/c", "x");
    let policy = Policy::default().closing(&world.path("@/root/state"));
    let workspace = Workspace::without_state(Roots::open_with(&[world.path("@/root")], policy).unwrap());
    let check = || {
        let mut hits = Vec::new();
        let mut sink = |found: crate::search::FileMatches| {
            hits.push(world.told(&found.file_path));
            ControlFlow::Continue(())
        };
        let summary = workspace.search(&Search::new("x"), &mut sink, Control::default()).unwrap();
        assert!(summary.skipped.is_empty());
        assert_eq!(hits, ["@/root/a", "@/root/b/c"]);
    };
    check();
    std::fs::rename(world.path("@/root/state"), world.path("@/root/other")).unwrap();
    check();
    // A new directory at the old path is not searched, either.
    world.write("@/root/state/history", "x");
    check();
}

/// If a root was removed while it was served, the call reports that instead of searching the open directory.
#[test]
fn a_root_that_is_gone_is_not_searched() {
    let world = World::new();
    world.write("@/root/a", "x");
    std::fs::create_dir(world.path("@/root/gone")).unwrap();
    let gone = world.path("@/root/gone");
    let workspace = Workspace::without_state(Roots::open(&[world.path("@/root"), gone.clone()]).unwrap());
    std::fs::remove_dir(&gone).unwrap();
    let gone = gone.to_str().unwrap();
    let search = Search { paths: &[gone], ..Search::new("x") };
    let refused = workspace.search(&search, &mut |_| ControlFlow::Continue(()), Control::default());
    assert!(refused.is_err(), "{refused:?}");
    let refused =
        workspace.list(&List::new(Some(gone)), &mut |_| ControlFlow::Continue(()), Control::default());
    let problems = refused.unwrap_err().problems;
    let [SearchProblem::Refused { entry: 0, reason }] = problems.as_slice() else { panic!("{problems:?}") };
    let Reason::Store(error) = reason else { panic!("{reason:?}") };
    assert_eq!((&error.kind, &error.suggested), (&StoreErrorKind::NotFound, &None));
    // A call that names no path searches the other roots.
    let searched =
        workspace.search(&Search::new("x"), &mut |_| ControlFlow::Continue(()), Control::default());
    let listed = workspace.list(&List::new(None), &mut |_| ControlFlow::Continue(()), Control::default());
    for (summary, files) in [(searched.unwrap(), 1), (listed.unwrap(), 1)] {
        assert_eq!(summary.files, files);
        assert_eq!(left_out(&world, &summary.skipped), "Unreadable 1 @/root/gone\n");
    }
}

/// However often a directory becomes a link and a directory again, nothing outside is found.
#[test]
fn a_directory_that_is_swapped_leads_nowhere() {
    let world = World::new();
    for number in 0..40 {
        world.write(&format!("@/root/d/{number}"), "inside");
        world.write(&format!("@/root/d/e/{number}"), "inside");
        world.write(&format!("@/outside/{number}"), "outside");
        world.write(&format!("@/outside/e/{number}"), "outside");
    }
    std::os::unix::fs::symlink(world.path("@/outside"), world.path("@/root/link")).unwrap();
    let is_over = AtomicBool::new(false);
    let (mut inside, mut swaps) = (0, 0);
    thread::scope(|scope| {
        let swapping = scope.spawn(|| {
            let mut swaps = 0_u32;
            while !is_over.load(Ordering::Relaxed) {
                let (one, other) = (world.path("@/root/d"), world.path("@/root/link"));
                rustix::fs::renameat_with(
                    rustix::fs::CWD,
                    one,
                    rustix::fs::CWD,
                    other,
                    rustix::fs::RenameFlags::EXCHANGE,
                )
                .unwrap();
                swaps += 1;
            }
            swaps
        });
        for _ in 0..200 {
            let (hits, _) = found(&world, &Search::new("side"));
            for hit in hits {
                assert_eq!(hit.matches[0].line.text, "inside");
                inside += 1;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        swaps = swapping.join().unwrap();
    });
    assert!(inside > 0 && swaps > 200, "{inside} {swaps}");
}

/// A call that is cancelled fails. A call whose sink returns `Break` returns the summary of the matches so
/// far.
#[test]
fn a_search_ends_when_nobody_wants_it() {
    let world = World::new();
    for number in 0..2_000 {
        world.write(&format!("@/root/{}/{number}", number % 40), "x\nx\nx\n");
    }
    let asked = std::cell::Cell::new(0);
    let is_cancelled = || asked.replace(asked.get() + 1) > 2;
    let control = Control::default().cancelled_by(&is_cancelled);
    let ended = world.workspace.search(&Search::new("x"), &mut |_| ControlFlow::Continue(()), control);
    let problems = ended.unwrap_err().problems;
    let is_cancelled = |problem: &SearchProblem| matches!(problem, SearchProblem::Refused { reason: Reason::Store(error), .. } if error.kind == StoreErrorKind::Cancelled);
    assert!(problems.iter().all(is_cancelled), "{problems:?}");
    let mut taken = 0;
    let mut sink = |_| {
        taken += 1;
        if taken == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let summary = world.workspace.search(&Search::new("x"), &mut sink, Control::default()).unwrap();
    assert_eq!((taken, summary.end), (5, End::Enough));
    let limited = Search { time_limit: Some(std::time::Duration::ZERO), ..Search::new("x") };
    assert_eq!(found(&world, &limited).1.end, End::TimeLimit);
}
