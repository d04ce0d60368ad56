//! Tests of [`Workspace::search`](crate::Workspace::search).

use std::ops::ControlFlow;

use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::show::Budget;

use crate::search::{Cause, End, FileMatches, Match, Search, SearchSummary, TextLine};
use crate::tests::world::World;
use crate::{Control, ReadFile};

/// Returns all matches, and the summary.
pub(super) fn found(world: &World, search: &Search<'_>) -> (Vec<FileMatches>, SearchSummary) {
    let mut found = Vec::new();
    let mut sink = |matches| {
        found.push(matches);
        ControlFlow::Continue(())
    };
    let summary = world.workspace.search(search, &mut sink, Control::default()).unwrap();
    (found, summary)
}

/// Returns the hits as text, one line for each.
pub(super) fn told(world: &World, search: &Search<'_>) -> String {
    let (found, _) = found(world, search);
    let lines = found.iter().flat_map(|file| {
        file.matches.iter().map(|one| format!("{}:{}:{}\n", file.file_path, one.line.number, one.line.text))
    });
    world.told(&lines.collect::<String>())
}

#[test]
fn hits_come_file_by_file_in_the_order_of_names() {
    let world = World::new();
    world.write("@/root/b/c.txt", "one\ntwo\n");
    world.write("@/root/a.txt", "two two\r\nthree\r\ntwo\r\n");
    world.write("@/root/.hidden", "two");
    // A temporary file of an interrupted call, a temporary file of NFS, and a file whose name is too short
    // for that.
    world.write("@/root/.mte-0123", "two");
    world.write("@/root/.nfs0123456789abcdef01234567", "two");
    world.write("@/root/.nfs01", "two");
    world.write("@/root/.git/config", "two");
    // Some file systems ignore this character in names, so the name is also `.git`.
    world.write("@/root/.g\u{200C}it/config", "two");
    world.write("@/root/z/ignored", "two");
    world.write("@/root/.gitignore", "z/\n");
    assert_eq!(
        told(&world, &Search::new("^two$")),
        "@/root/.hidden:1:two\n@/root/.nfs01:1:two\n@/root/a.txt:3:two\n@/root/b/c.txt:2:two\n"
    );
    let (_, summary) = found(&world, &Search::new("nowhere"));
    let skipped: Vec<_> = summary.skipped.iter().map(|(cause, files)| (cause, files.count)).collect();
    // Both directories of git, and `z`.
    assert_eq!((summary.files, summary.end, skipped), (5, End::Complete, vec![(Cause::Ignored, 3)]));
}

/// For each case: a pattern, whether it is literal, a text that it matches, a text that it would match if it
/// were read in another way, and that way.
const READINGS: [(&str, bool, &str, &str, Cause); 7] = [
    (r"json\|tool", false, "json|tool", "a tool", Cause::AlternativesReading),
    (r"\(a\|b\)", false, "(a|b)", "(a", Cause::AlternativesReading),
    ("x[0]", false, "x0", "x[0]", Cause::LiteralReading),
    ("json|tool", true, "json|tool", "a tool", Cause::ExpressionReading),
    ("^été", false, "été", "e\u{301}te\u{301}", Cause::CompositionReading),
    ("e\u{301}", true, "e\u{301}", "é", Cause::CompositionReading),
    ("\u{d55c}.", false, "\u{d55c}a", "\u{1112}\u{1161}\u{11ab}a", Cause::CompositionReading),
];

/// The other way of reading is reported for files of any size, as long as the pattern as written matches
/// nothing.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
fn a_pattern_that_would_hit_if_it_were_read_otherwise_is_told() {
    for (pattern, literal, hit, text, cause) in READINGS {
        for filler in [0, (1 << 20) + 1] {
            let world = World::new();
            world.write("@/root/file", &format!("{text}\n{}", "\n".repeat(filler)));
            std::fs::write(world.path("@/root/latin1"), [text.as_bytes(), b"\xE9"].concat()).unwrap();
            let searched = || {
                let (hits, summary) = found(&world, &Search { literal, ..Search::new(pattern) });
                let causes: Vec<_> =
                    summary.skipped.iter().map(|(cause, files)| (cause, files.count)).collect();
                (hits.len(), causes)
            };
            let mut wanted = vec![(Cause::NotDecoded, 1), (cause, 1)];
            wanted.retain(|(cause, _)| *cause != Cause::NotDecoded || !pattern.is_ascii());
            assert_eq!(searched(), (0, wanted.clone()), "{pattern}");
            world.write("@/root/other", hit);
            wanted.pop();
            assert_eq!(searched(), (1, wanted), "{pattern}");
        }
    }
}

/// Returns a line as text: its number, its text and its cut.
fn line(line: &TextLine) -> String {
    let cut = line.cut.map(|cut| format!(" from {} of {}", cut.from_char, cut.line_length));
    format!("{} {:?}{}", line.number, line.text, cut.unwrap_or_default())
}

#[test]
fn each_line_around_the_hits_is_told_once() {
    let world = World::new();
    world.write("@/root/a", "1\n2\n3 x\n4\n5 x\n6\n7\n8\n9 x\n10\n");
    let (found, _) = found(&world, &Search { before: 2, after: 2, ..Search::new("x") });
    let told = |one: &Match| {
        let around = |lines: &[TextLine]| lines.iter().map(line).collect::<Vec<_>>().join(", ");
        format!("{} [{}] [{}]", line(&one.line), around(&one.before), around(&one.after))
    };
    let told: Vec<String> = found[0].matches.iter().map(told).collect();
    assert_eq!(
        told,
        [r#"3 "3 x" [1 "1", 2 "2"] [4 "4"]"#, r#"5 "5 x" [] [6 "6", 7 "7"]"#, r#"9 "9 x" [8 "8"] [10 "10"]"#]
    );
}

/// The part of a long line that is shown contains the hit. The result gives the start of this part, and the
/// length of the line, in characters.
#[test]
fn a_long_line_is_cut_around_the_hit() {
    let world = World::new();
    let (filler, long) = ("é".repeat(200), "y".repeat(400));
    world.write("@/root/a", &format!("{filler}hit{filler}\nhit{long}\n{long}hit\nhit\n"));
    let search = Search { max_line_bytes: 64, ..Search::new("hit") };
    let (found, _) = found(&world, &search);
    for (one, length) in found[0].matches.iter().zip([403, 403, 403, 3]) {
        let text = &one.line.text;
        assert!(text.contains("hit") && text.len() <= 64 && text.len() >= length.min(60), "{text}");
        if one.line.number.get() == 1 {
            let (before, after) = text.split_once("hit").unwrap();
            assert!(
                (4..after.len()).contains(&before.len()),
                "some text before it, and more after it: {text}"
            );
        }
        assert_eq!(one.line.cut.map(|cut| cut.line_length), (length > 64).then_some(length as u64));
        if let Some(cut) = one.line.cut {
            let view = world.workspace.read(
                ReadFile::new(&found[0].file_path),
                Some(LineRange::new(one.line.number, 1)),
                Budget::bytes(10_000),
                Control::default(),
            );
            let skipped = usize::try_from(cut.from_char).unwrap() - 1;
            let rest: String = view.unwrap().shown.content.chars().skip(skipped).collect();
            assert!(rest.starts_with(text.as_str()), "{text} {rest}");
        }
    }
}

/// A context line is shown from its beginning, wherever it contains the pattern.
#[test]
fn a_long_line_beside_a_hit_is_cut_at_its_end() {
    let world = World::new();
    let beside = "z".repeat(100);
    world.write("@/root/a", &format!("{beside}\nhit\n{beside}\n"));
    let (found, _) = found(&world, &Search { before: 1, after: 1, max_line_bytes: 64, ..Search::new("hit") });
    let [one] = &*found[0].matches else { panic!("{found:?}") };
    for line in [&one.before[0], &one.after[0]] {
        let cut = line.cut.map(|cut| (cut.from_char, cut.line_length));
        assert_eq!((&*line.text, cut), (&beside[..64], Some((1, 100))));
    }
}

/// A file with very many hits comes in several portions, complete and in order, even if the lines are empty.
#[test]
fn many_hits_come_in_portions() {
    let world = World::new();
    let lines = 120_000;
    world.write("@/root/a", &"x\n".repeat(lines));
    world.write("@/root/b", &"x\n".repeat(600_000));
    world.write("@/root/c", &"\n".repeat(lines));
    let (found, summary) = found(&world, &Search::new("^x?$"));
    assert_eq!(summary.files, 3);
    for (path, lines) in [("@/root/a", lines), ("@/root/b", 600_000), ("@/root/c", lines)] {
        let of_file = |file: &&FileMatches| world.told(&file.file_path) == path;
        let portions: Vec<_> = found.iter().filter(of_file).collect();
        assert!(portions.len() > 3);
        let numbers = portions.iter().flat_map(|file| file.matches.iter().map(|one| one.line.number.get()));
        assert!(numbers.eq(1..=lines as u64), "{path}");
    }
}

/// The matches always come in the same order, whichever thread is faster.
#[test]
fn the_order_is_that_of_the_names() {
    let world = World::new();
    let mut names = Vec::new();
    for number in 0..600 {
        let name = format!("@/root/{}/{}/f{number}", number % 7, number % 5);
        world.write(&name, &"x\n".repeat(number % 90));
        if number % 90 > 0 {
            names.push(name);
        }
    }
    names.sort();
    for _ in 0..5 {
        let (found, summary) = found(&world, &Search::new("x"));
        let paths: Vec<String> = found.iter().map(|file| world.told(&file.file_path)).collect();
        assert_eq!((paths, summary.files), (names.clone(), 600));
    }
}

fn refused(world: &World, search: &Search<'_>) -> Vec<String> {
    let refused = world.workspace.search(search, &mut |_| ControlFlow::Continue(()), Control::default());
    refused.unwrap_err().problems.iter().map(|problem| world.told(&problem.to_string())).collect()
}

#[test]
fn a_start_in_a_directory_that_is_missing_is_missing_itself() {
    let world = World::new();
    world.write("@/root/name.txt", "");
    for path in ["@/root/gone", "@/root/gone/deep/file"] {
        let named = world.path(path);
        let search = Search { paths: &[named.to_str().unwrap()], ..Search::new("a") };
        assert_eq!(refused(&world, &search), [format!("opening {path}: there is no such file")]);
    }
}

#[test]
fn all_that_is_wrong_is_told_together() {
    let world = World::new();
    world.write("@/root/name.txt", "");
    let paths = ["relative", "@/root/nmae.txt", "@/outside"].map(|path| world.path(path));
    let paths: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
    let search =
        Search { paths: &paths, glob: &["a", "[z-a]"], encoding: Some("klingon"), ..Search::new("a(b") };
    assert_eq!(
        refused(&world, &search),
        [
            "regex parse error:\n    (?:a(b)\n    ^\nerror: unclosed group",
            "a glob that cannot be read: invalid range; 'z' > 'a'",
            "no encoding has that label",
            "the path is not absolute",
            "opening @/root/nmae.txt: there is no such file",
            "the path is not inside an allowed directory"
        ]
    );
}

/// Patterns that would be too large, too deep, or match across a line end are refused, and soon.
#[test]
fn hostile_patterns_are_refused() {
    let world = World::new();
    world.write("@/root/a", "aab");
    let refused = |pattern: &str| {
        let told = refused(&world, &Search::new(pattern)).remove(0);
        told.lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(refused("(?:a{1000}){1000}"), "the pattern takes too much memory once it is compiled");
    assert_eq!(refused(&r"\w".repeat(50_000)), "the pattern has 100000 bytes, and may have 4096");
    assert_eq!(refused(&"(".repeat(4_000)), "error: unclosed group");
    assert_eq!(
        refused(&format!("{}a{}", "(".repeat(1000), ")".repeat(1000))),
        "error: exceed the maximum number of nested parentheses/brackets (250)"
    );
    assert_eq!(refused("a\\nb"), "the pattern holds a line end, and a match is within one line");
    assert_eq!(refused("a\nb"), "the pattern holds a line end, and a match is within one line");
    assert_eq!(told(&world, &Search::new("(a*)*b$")), "@/root/a:1:aab\n");
    let literal = Search { literal: true, ignore_case: true, ..Search::new("A(") };
    world.write("@/root/b", "a(\n");
    assert_eq!(told(&world, &literal), "@/root/b:1:a(\n");
}

/// For a binary file that is named, the result tells whether the pattern is found in it. The file may be
/// small or large.
#[test]
fn a_binary_file_that_is_named_is_looked_through() {
    let world = World::new();
    let filler = "\0\u{1}x".repeat(800_000);
    for (name, text) in [
        ("small", "a\0hit\0b"),
        ("large", &*format!("{filler}\0hit\0{filler}")),
        ("none", "hi\0t"),
        ("text", "hit"),
    ] {
        world.write(&format!("@/root/{name}"), text);
    }
    let paths = ["small", "large", "none", "text"].map(|name| world.path(&format!("@/root/{name}")));
    let paths = paths.each_ref().map(|path| path.to_str().unwrap());
    let skipped = |paths: &[&str]| {
        let (found, summary) = found(&world, &Search { paths, ..Search::new("^hit$") });
        let skipped = summary.skipped.iter();
        let skipped: Vec<_> = skipped
            .map(|(cause, files)| format!("{cause:?} {}", world.told(&files.names.join(" "))))
            .collect();
        (found.len(), skipped)
    };
    let named = skipped(&paths);
    assert_eq!(
        named,
        (1, vec!["Binary @/root/none".to_owned(), "BinaryHit @/root/large @/root/small".to_owned()])
    );
    assert_eq!(skipped(&[]), (1, vec!["Binary @/root/large @/root/none @/root/small".to_owned()]));
}

/// The summary of a search that the sink ended does not depend on how far the threads were ahead.
#[test]
fn what_is_counted_ends_where_the_sink_has_enough() {
    let world = World::new();
    for number in 0..900 {
        world.write(
            &format!("@/root/{}/f{number}", number % 9),
            if number % 3 == 0 { "x\nx\n" } else { "\0" },
        );
    }
    let ended = |enough: usize| {
        let mut taken = 0;
        let mut sink = |_| {
            taken += 1;
            if taken == enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        world.workspace.search(&Search::new("x"), &mut sink, Control::default()).unwrap()
    };
    for enough in [1, 100, 299] {
        let first = ended(enough);
        assert_eq!((first.files, first.end), (enough as u64, End::Enough));
        for _ in 0..10 {
            assert_eq!(ended(enough), first);
        }
    }
}

/// A root is shown by its configured path, if a client can use that path.
#[test]
fn a_root_is_told_as_a_client_may_name_it() {
    let world = World::new();
    world.write("@/root/a", "x");
    for (named, told) in
        [("@/root/./", "@/root/a"), ("@/outside/../root", "@/root/a"), ("@/./root", "@/root/a")]
    {
        let workspace = crate::Workspace::builder().root(world.path(named)).build().unwrap();
        let mut paths = Vec::new();
        let mut sink = |found: FileMatches| {
            paths.push(world.told(&found.file_path));
            ControlFlow::Continue(())
        };
        workspace.search(&Search::new("x"), &mut sink, Control::default()).unwrap();
        assert_eq!(paths, [told], "{named}");
    }
}

/// A slow sink gets everything, however many matches wait for it.
#[test]
fn a_slow_sink_gets_everything_in_order() {
    let world = World::new();
    for number in 0..500 {
        world.write(
            &format!("@/root/{number:03}/file"),
            &"x\n".repeat(if number % 20 == 0 { 3000 } else { 1 }),
        );
    }
    let mut numbers = Vec::new();
    let mut sink = |found: FileMatches| {
        if numbers.is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(150));
        }
        numbers.push(world.told(&found.file_path)["@/root/".len()..][..3].parse::<usize>().unwrap());
        ControlFlow::Continue(())
    };
    let progress = std::sync::atomic::AtomicU64::new(0);
    let search = Search { progress: Some(&progress), ..Search::new("x") };
    let summary = world.workspace.search(&search, &mut sink, Control::default()).unwrap();
    numbers.dedup();
    assert!(numbers.into_iter().eq(0..500));
    assert_eq!((summary.files, progress.into_inner(), summary.end), (500, 500, End::Complete));
}

/// A root that was opened by a link is shown by the link's path, as long as the link leads to the root.
#[test]
fn a_root_is_told_by_its_link() {
    let Some(world) = World::with_links() else { return };
    world.write("@/root/a", "x");
    world.write("@/outside/a", "x");
    world.link("@/link", "@/root");
    let workspace = crate::Workspace::builder().root(world.path("@/link")).build().unwrap();
    let told = || {
        let mut paths = Vec::new();
        let mut sink = |found: FileMatches| {
            paths.push(world.told(&found.file_path));
            ControlFlow::Continue(())
        };
        let summary = workspace.search(&Search::new("x"), &mut sink, Control::default()).unwrap();
        assert!(summary.skipped.is_empty());
        paths
    };
    assert_eq!(told(), ["@/link/a"]);
    crate::tests::world::unlink(&world.path("@/link"));
    assert_eq!(told(), ["@/root/a"]);
    world.link("@/link", "@/outside");
    assert_eq!(told(), ["@/root/a"]);
}
