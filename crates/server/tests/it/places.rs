//! Tests of places that are certain, and of hints that are followed to the letter: after one error the edit
//! is made as it was meant.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::session::Session;
use crate::world::{Entry, World};

const PATCH: &str = "patch_text_file_contents";

const FILE: &str = "\
fn first(count: u32) {
\tlet text = \"it's — “so”\\n\";
\tif count < 3 && text != \"a\" {
\t\tprintln!(\"{text}\");
\t}
}

fn second() {
\tlet other = \"\\\\d+\";
\tprintln!(\"{other}\");
\tdone(1, 2);
}
";

/// Sends a patch that must fail, and returns the error.
fn said(world: &World, session: &mut Session, patches: &Value) -> String {
    let call = json!({"files": [{"file_path": "$ROOT/t.rs", "patches": patches}]});
    let reply = world.call(session, PATCH, &call);
    assert!(reply.is_error, "{}", reply.text);
    reply.text
}

/// Returns the ranges that a hint gives.
fn ranges(said: &str) -> Value {
    let hint = said.rsplit_once("\nhint: ").unwrap().1;
    let from = hint.split_once("\"ranges\": ").unwrap_or_else(|| panic!("{said}")).1;
    serde_json::Deserializer::from_str(from).into_iter().next().unwrap().unwrap()
}

/// Sends an old text that is some lines of the file but for a slip, with a range or without. Then replaces
/// the lines as the hint says. Returns the error, and the file.
fn mended(file: &str, old: &str, range: Option<(u64, u64)>) -> (String, String) {
    let world = World::new();
    world.write("t.rs", file);
    let mut session = world.serve(&[]);
    let mut patch = json!({"old_string": old, "new_string": "<new>\n"});
    if let Some((start, end)) = range {
        patch["ranges"] = json!([{"start": start, "end": end}]);
    }
    let said = said(&world, &mut session, &json!([patch]));
    let again = json!({"new_string": "<new>\n", "ranges": ranges(&said)});
    let call = json!({"files": [{"file_path": "$ROOT/t.rs", "patches": [again]}]});
    let reply = world.call(&mut session, PATCH, &call);
    assert!(!reply.is_error, "{said}\n{}", reply.text);
    let Some(Entry::File(bytes)) = world.tree().get("t.rs").cloned() else { panic!("{said}") };
    (said, String::from_utf8(bytes).unwrap())
}

/// Returns the file with some lines replaced.
fn with(file: &str, start: usize, end: usize) -> String {
    let lines: Vec<&str> = file.split_inclusive('\n').collect();
    lines[..start - 1].concat() + "<new>\n" + &lines[end..].concat()
}

/// The kinds of slips, as reasons name them.
const LAYOUT: &str = "only blanks, line breaks, quotes or letter case differ";
const CHARACTERS: &str = "only characters that look alike, or are not seen, differ";
const ESCAPES: &str = "one of the two spells out";
const NUMBERS: &str = "old_string has the line numbers, or the path";
const WRAPPER: &str = "old_string has a blank line, a fence, a name or a mark";

/// Each slip is tried alone: by text, by the right range, and by ranges that are off. The reason names the
/// slip, and the hint leads to the lines.
#[test]
fn a_slip_is_named_and_its_place_is_certain() {
    let slips = [
        (NUMBERS, "2\t\tlet text = \"it's — “so”\\n\";\n3\t\tif count < 3 && text != \"a\" {\n", 2, 3),
        (LAYOUT, "    let other = \"\\\\d+\";\n    println!(\"{other}\");\n", 9, 10),
        (LAYOUT, "let other = \"\\\\d+\";\nprintln!(\"{other}\");\n", 9, 10),
        (CHARACTERS, "\tlet text = \"it's — \"so\"\\n\";\n", 2, 2),
        (LAYOUT, "\tlet text = \"it's -- “so”\\n\";\n", 2, 2),
        (CHARACTERS, "\tif count < 3 && text != “a” {\n", 3, 3),
        (ESCAPES, "\tif count &lt; 3 &amp;&amp; text != \"a\" {\n", 3, 3),
        (CHARACTERS, "\tif count\u{a0}< 3 && text != \"a\" {\n", 3, 3),
        (CHARACTERS, "\tif count < 3 && \u{200b}text != \"a\" {\n", 3, 3),
        (ESCAPES, "\\tprintln!(\\\"{other}\\\");\\n\\tdone(1, 2);\\n", 10, 11),
        (ESCAPES, "\tlet text = \"it's — “so”\n\";\n", 2, 2),
        (ESCAPES, "\tlet other = \"\\\\\\\\d+\";\n", 9, 9),
        (LAYOUT, "\tLet Other = \"\\\\d+\";\n", 9, 9),
        (LAYOUT, "\tdone(1,2);\n", 11, 11),
        (WRAPPER, "\tdone(1, 2);\n\n", 11, 11),
        (WRAPPER, "\n\tprintln!(\"{other}\");\n\tdone(1, 2);\n\n", 10, 11),
        (WRAPPER, "```rust\n\tprintln!(\"{other}\");\n\tdone(1, 2);\n```\n", 10, 11),
        (WRAPPER, "src/t.rs\n\tprintln!(\"{other}\");\n\tdone(1, 2);\n", 10, 11),
        (WRAPPER, "<<<<<<< SEARCH\n\tprintln!(\"{other}\");\n\tdone(1, 2);\n=======\n", 10, 11),
        (WRAPPER, "@@ -10,2 +10,2 @@\n\tprintln!(\"{other}\");\n\tdone(1, 2);\n", 10, 11),
        (LAYOUT, "\tprintln!(\"{other}\"); done(1, 2);", 10, 11),
        (LAYOUT, "\tif count < 3\n\t\t&& text != \"a\" {\n\t\tprintln!(\n\t\t\t\"{text}\",\n\t\t);\n", 3, 4),
    ];
    for (cause, old, start, end) in slips {
        let (first, last) = (start as u64, end as u64);
        for range in [None, Some((first, last)), Some((first + 1, last + 1)), Some((6, 7))] {
            let (said, file) = mended(FILE, old, range);
            assert!(said.contains(cause), "{cause}: {said}");
            assert_eq!(file, with(FILE, start, end), "{cause} {range:?}: {said}");
        }
    }
    // The same characters, composed in another way.
    let file = "first\ncafe\u{301} crème\nlast\n";
    let (said, mended) = mended(file, "café crème\n", None);
    assert!(said.contains(CHARACTERS), "{said}");
    assert_eq!(mended, with(file, 2, 2));
}

/// The lines of the old text are still there, but for a slip, so the edit was not made before. The new text
/// is there only because it is a part of the old one.
#[test]
fn what_still_stands_was_not_taken_away_before() {
    let kept = "\tprintln!(\"{other}\");\n";
    for old in [
        "10\t\tprintln!(\"{other}\");\n11\t\tdone(1, 2);\n",
        "```\n\tprintln!(\"{other}\");\n\tdone(1, 2);\n```\n",
        "\tprintln!(\"{other}\"); done(1, 2);\n",
        "fn second() {\n\t// ... existing code ...\n\tdone(1, 2);\n",
        "\tprintln!(\"{other}\");\n\tdone(1, ",
    ] {
        let world = World::new();
        world.write("t.rs", FILE);
        let mut session = world.serve(&[]);
        for range in [json!([{"start": 10, "end": 11}]), json!([{"start": 9, "end": 10}])] {
            let patch = json!([{"old_string": old, "new_string": kept, "ranges": range}]);
            let said = said(&world, &mut session, &patch);
            assert!(!said.contains("made before") && !said.contains("nothing is left to do"), "{said}");
        }
    }
    // If the text around the kept lines is there, the edit was made.
    let world = World::new();
    world.write("t.rs", FILE);
    let mut session = world.serve(&[]);
    let patch = json!([{"old_string": "    done(1, 2);\n", "new_string": "\tprintln!(\"{other}\");\n\tdone(1, 2);\n"}]);
    let said = said(&world, &mut session, &patch);
    assert!(said.contains("the edit was made before"), "{said}");
}

/// The hint names a place by its digest if its text cannot be copied, or is too short to tell it from others.
#[test]
fn a_place_that_cannot_be_copied_is_named_by_its_digest() {
    let file = "one two three\nfour five\rsix seven eight\nnine\n";
    for range in [None, Some((2, 2)), Some((3, 3))] {
        let (told, mended) = mended(file, "four five six sevne eigth\n", range);
        assert!(told.contains("line 2, character 10: \\u000d"), "{told}");
        assert_eq!(mended, with(file, 2, 2));
        let (told, mended) = self::mended(file, "four five six seven eight\n", range);
        assert!(
            told.contains(
                "only characters that look alike, or are not seen, differ; line 2, character 10: \\u000d"
            ),
            "{told}"
        );
        assert_eq!(mended, with(file, 2, 2));
    }
    let file = "if a:\n  b = [\n    1,\n  ]\nend\n";
    for range in [None, Some((4, 4)), Some((2, 2))] {
        let (told, mended) = mended(file, "      ]\n", range);
        assert!(told.contains(LAYOUT), "{told}");
        assert_eq!(mended, with(file, 4, 4));
    }
}

#[test]
fn lines_that_were_left_out_are_named() {
    let head_and_tail = [
        ("fn first(count: u32) {\n\t}\n}\n", "of lines 1-6 it leaves lines 2-4 out"),
        (
            "fn first(count: u32) {\n\t// ... existing code ...\n\t}\n}\n",
            "of lines 1-6 it leaves lines 2-4 out",
        ),
        ("fn first(count: u32) {\n...\n\t}\n}\n", "of lines 1-6 it leaves lines 2-4 out"),
    ];
    for (old, reason) in head_and_tail {
        for range in [None, Some((1, 3)), Some((6, 8))] {
            let (said, file) = mended(FILE, old, range);
            assert!(said.contains(reason), "{said}");
            assert_eq!(file, with(FILE, 1, 6), "{said}");
        }
    }
}

/// Shows the whole error. It gives neither place as an example, which could be taken for the one that is
/// meant. A range that is off may mean the other place.
#[test]
fn places_that_are_alike_are_told_apart() {
    let world = World::new();
    let block = "    first_call();\n    second_call();\n";
    world.write("t.rs", format!("fn a() {{\n{block}}}\n\nfn b() {{\n{block}}}\n"));
    let mut session = world.serve(&[]);
    let old = block.replace("    ", "\t");
    for patch in [
        json!({"old_string": old, "new_string": ""}),
        json!({"old_string": old, "new_string": "", "ranges": [{"start": 3, "end": 4}]}),
    ] {
        let said = said(&world, &mut session, &json!([patch]));
        for (lines, beside) in [("2-3", "fn a() {"), ("7-8", "fn b() {")] {
            let head =
                said.lines().find(|line| line.contains(&format!("/t.rs lines {lines} of 9 "))).unwrap();
            assert!(head.ends_with(&format!(" (below \"{beside}\")")), "{said}");
        }
        let hint = said.rsplit_once("\nhint: ").unwrap().1;
        assert!(hint.starts_with("several places are alike: ") && !hint.contains("\"start\""), "{said}");
    }
}

/// The lines that a deletion keeps are there before it is made.
#[test]
fn what_an_edit_leaves_of_a_place_is_not_made() {
    let world = World::new();
    world.write("t.rs", "// first of them\n// second of them\n// third of them\n");
    let mut session = world.serve(&[]);
    let old = "// first of them\n// second of thme\n// third of them\n";
    let patch =
        json!({"old_string": old, "new_string": "// first of them\n", "ranges": [{"start": 1, "end": 3}]});
    let told = said(&world, &mut session, &json!([patch]));
    assert!(!told.contains("nothing is left to do") && told.contains("lines 1-3"), "{told}");
}

#[test]
fn errors_of_places() {
    let world = World::new();
    world.write("t.rs", FILE);
    let mut session = world.serve(&[]);
    let range = |start: u64, end: u64| json!([{"start": start, "end": end}]);
    let mut told = String::new();
    for patches in [
        json!([{"old_string": "    let other = \"\\\\d+\";\n", "new_string": "x\n"}]),
        json!([{"old_string": "    let other = \"\\\\d+\";\n", "new_string": "x\n", "ranges": range(4, 4)}]),
        json!([{"old_string": "fn first(count: u32) {\n\t}\n", "new_string": "x\n", "ranges": range(1, 2)}]),
        // The old text is a part of a line. The new text is the whole line, the same part, or neither.
        json!([{"old_string": "done(1, 2);", "new_string": "\tdone(1, 3);", "ranges": range(10, 10)}]),
        json!([{"old_string": "\tdone(1, ", "new_string": "\tdone(2, 3);", "ranges": range(11, 11)}]),
        json!([{"old_string": "println!(\"{o", "new_string": "x", "ranges": range(10, 10)}]),
        // The given range is one of the similar places.
        json!([{"old_string": "\tdone(3, 4, 5);\n", "new_string": "x\n", "ranges": range(11, 11)}]),
        json!([{"old_string": "nothing like it at all\n", "new_string": "x\n", "ranges": range(2, 3)}]),
        // The second patch builds on the first.
        json!([
            {"old_string": "\tdone(1, 2);\n", "new_string": "\tdone(2, 3);\n\tover();\n"},
            {"old_string": "\tover();\n", "new_string": "\tover(1);\n"},
        ]),
        json!([
            {"old_string": "fn second() {\n", "new_string": "fn third() {\n"},
            {"old_string": "fn third() {\n\tlet other", "new_string": "fn third() {\n\tlet another"},
        ]),
        // An edit that was made before, and a part that is there in any case.
        json!([{"old_string": "\tdone(1);\n", "new_string": "\tdone(1, 2);\n", "ranges": range(11, 11)}]),
        json!([{"old_string": "\tprintln!(\"{other}\");\n\tmore(1);\n\tdone(1, 2);\n", "new_string": "\tprintln!(\"{other}\");\n\tdone(1, 2);\n"}]),
        json!([{"old_string": "\tmore(1);\n\tdone(1, 2);\n", "new_string": "\tdone(1, 2);\n"}]),
    ] {
        let text = said(&world, &mut session, &patches);
        let _ = write!(told, "{patches}\n{text}\n\n");
    }
    insta::assert_snapshot!(told);
}

/// The hint of a dependent patch makes both changes.
#[test]
fn a_patch_that_depends_on_another_is_merged() {
    let world = World::new();
    world.write("t.rs", FILE);
    let mut session = world.serve(&[]);
    let first = json!({"old_string": "\tdone(1, 2);\n", "new_string": "\tdone(2, 3);\n\tover();\n"});
    let second = json!({"old_string": "\tover();\n", "new_string": "\tover(1);\n"});
    let said = said(&world, &mut session, &json!([first, second]));
    let from = said.split_once("\"new_string\": ").unwrap().1;
    let merged: Value = serde_json::Deserializer::from_str(from).into_iter().next().unwrap().unwrap();
    let call = json!({"file_path": "$ROOT/t.rs", "old_string": first["old_string"], "new_string": merged});
    assert!(!world.call(&mut session, PATCH, &call).is_error);
    let Some(Entry::File(bytes)) = world.tree().get("t.rs").cloned() else { panic!("{said}") };
    let wanted = FILE.replace("\tdone(1, 2);\n", "\tdone(2, 3);\n\tover(1);\n");
    assert_eq!(String::from_utf8(bytes).unwrap(), wanted);
}
