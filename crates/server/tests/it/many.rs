//! Errors with many problems: common parts are told once, so that there is room for all problems.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::world::World;

const PATCH: &str = "patch_text_file_contents";

/// Returns the error of a patch in both modes.
fn told(set_up: impl Fn(&World), arguments: &Value) -> [String; 2] {
    let world = World::new();
    set_up(&world);
    let before = world.tree();
    let said = [&[][..], &["--output", "json"]].map(|options| {
        let reply = world.call(&mut world.serve(options), PATCH, arguments);
        assert!(reply.is_error && reply.raw.chars().count() < 8_000, "{}", reply.text);
        reply.text
    });
    assert_eq!(world.tree(), before);
    said
}

/// Returns the first lines of a text and its last ones.
fn ends(text: &str, first: usize, last: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let (head, tail) = (&lines[..first], &lines[lines.len() - last..]);
    format!("{}\n… {} lines …\n{}", head.join("\n"), lines.len() - first - last, tail.join("\n"))
}

/// Returns a file that has each of `count` lines `times` times, far from each other, the patches of all
/// lines, and the numbers of the lines.
fn repeated(count: usize, times: usize) -> (String, Value, Vec<Vec<usize>>) {
    let mut file = String::new();
    for copy in 0..times {
        let _ = writeln!(file, "fn part_{copy}() {{");
        for line in 0..count {
            let _ = writeln!(file, "    let value = read({line});\n    // {copy} of {line}");
        }
        let _ = writeln!(file, "}}");
    }
    let patch =
        |line: usize| json!({"old_string": format!("    let value = read({line});\n"), "new_string": "x\n"});
    let patches: Vec<Value> = (0..count).map(patch).collect();
    let places = |line: usize| (0..times).map(|copy| copy * (2 * count + 2) + 2 * line + 2).collect();
    let call = json!({"files": [{"file_path": "$ROOT/src/lib.rs", "patches": patches}]});
    (file, call, (0..count).map(places).collect())
}

#[test]
fn sixty_problems_are_all_told() {
    for times in [2, 3, 12] {
        let (file, call, places) = repeated(60, times);
        let [text, json] = told(|world| world.write("src/lib.rs", &file), &call);
        let json: Value = serde_json::from_str(&json).unwrap();
        let errors = json["errors"].as_array().unwrap();
        assert_eq!((errors.len(), &json["errors_not_shown"]), (60, &Value::Null));
        for (index, places) in places.iter().enumerate() {
            let error = &errors[index];
            assert_eq!(error["code"], "ambiguous_match");
            assert!(error["reason"].as_str().unwrap().starts_with(&format!("patches[{index}]")), "{error}");
            let found = error["found_at"].as_array().unwrap();
            assert!(found.len() >= 2, "{error}");
            for (place, line) in found.iter().zip(places) {
                assert_eq!(*place, json!({"start": line, "end": line}));
            }
            let lines = format!("found at: line {}", places[0]);
            let number = format!("problem {}: ", index + 1);
            let told = text.lines().skip_while(|line| !line.starts_with(&number));
            assert!(told.clone().nth(1).is_some_and(|line| line.starts_with(&lines)), "{number}{text}");
        }
        if times == 2 {
            let first = [&errors[0], &errors[1], &errors[59]].map(Value::to_string).join("\n");
            let rest = [&json["reason"], &json["suggestion"], &json["hint"]].map(Value::to_string).join("\n");
            insta::assert_snapshot!(format!("{}\n\n{first}\n{rest}", ends(&text, 8, 4)), @r#"
            error: ambiguous_match: patches[0]: old_string occurs 2 times (the first of 60 problems); nothing was written
            in $ROOT/src/lib.rs
            problem 1: as above
            found at: line 2 (below "fn part_0() {"), line 124 (below "fn part_1() {")
            file_hash: cdd3c8bb23163033
            problem 2: ambiguous_match: patches[1]: old_string occurs 2 times
            found at: line 4 (below "// 0 of 0"), line 126 (below "// 1 of 0")
            problem 3: ambiguous_match: patches[2]: old_string occurs 2 times
            … 113 lines …
            problem 60: ambiguous_match: patches[59]
            found at: line 120, line 242
            suggestion: patch_text_file_contents
            hint: keep old_string and name the lines of the place that is meant as "ranges", or set replace_all to change them all

            {"file_path":"$ROOT/src/lib.rs","code":"ambiguous_match","reason":"patches[0]: old_string occurs 2 times: line 2 below \"fn part_0() {\", line 124 below \"fn part_1() {\"","hint":"keep old_string and name the lines of the place that is meant as \"ranges\", or set replace_all to change them all","found_at":[{"start":2,"end":2},{"start":124,"end":124}],"file_hash":"cdd3c8bb23163033620836d33f70d6c346f09aa8ceebcd7f9b5576a8e5cad89b"}
            {"file_path":"$ROOT/src/lib.rs","code":"ambiguous_match","reason":"patches[1]: old_string occurs 2 times: line 4 below \"// 0 of 0\", line 126 below \"// 1 of 0\"","hint":"keep old_string and name the lines of the place that is meant as \"ranges\", or set replace_all to change them all","found_at":[{"start":4,"end":4},{"start":126,"end":126}],"file_hash":"cdd3c8bb23163033620836d33f70d6c346f09aa8ceebcd7f9b5576a8e5cad89b"}
            {"code":"ambiguous_match","reason":"patches[59]","found_at":[{"start":120,"end":120},{"start":242,"end":242}]}
            "patches[0]: old_string occurs 2 times (the first of 60 problems); nothing was written"
            "patch_text_file_contents"
            "keep old_string and name the lines of the place that is meant as \"ranges\", or set replace_all to change them all"
            "#);
        }
    }
}

#[test]
fn problems_of_one_file_stand_together() {
    let set_up = |world: &World| {
        world.write("a.rs", "fn a() {\n    go();\n}\n\nfn b() {\n    go();\n}\n");
        world.write("b.rs", "fn c() {\n\tgo();\n}\n");
    };
    let text = |old: &str| json!({"old_string": old, "new_string": "x"});
    let entry =
        |file: &str, patches: &[Value]| json!({"file_path": format!("$ROOT/{file}"), "patches": patches});
    let call = json!({"files": [
        entry("a.rs", &[text("    go();"), text("}\n")]),
        entry("b.rs", &[text("gone")]),
    ]});
    let [text, json] = told(set_up, &call);
    insta::assert_snapshot!(text, @r#"
    error: ambiguous_match: files[0].patches[0]: old_string occurs 2 times (the first of 3 problems); nothing was written
    in $ROOT/a.rs
    problem 1: as above
    found at: line 2 (below "fn a() {"), line 6 (below "fn b() {")
    file_hash: a95abf11ceec4e7e
    problem 2: ambiguous_match: files[0].patches[1]: old_string occurs 2 times
    found at: line 3 (below "fn a() {"), line 7 (below "fn b() {")
    hint: keep old_string and name the lines of the place that is meant as "ranges", or set replace_all to change them all
    in $ROOT/b.rs
    problem 3: no_match: files[1]: old_string is not in the file
    file_hash: c3496f24b82edd72
    hint: nothing in the file is so like old_string that it must be meant; read it again: get_text_file_contents {"file_path":"$ROOT/b.rs"}
    suggestion: patch_text_file_contents
    hint: put all of these right and send the whole call again
    "#);
    insta::assert_snapshot!(json, @r#"{"result":"error","code":"ambiguous_match","reason":"files[0].patches[0]: old_string occurs 2 times (the first of 3 problems); nothing was written","suggestion":"patch_text_file_contents","hint":"put all of these right and send the whole call again","errors":[{"file_path":"$ROOT/a.rs","code":"ambiguous_match","reason":"files[0].patches[0]: old_string occurs 2 times: line 2 below \"fn a() {\", line 6 below \"fn b() {\"","hint":"keep old_string and name the lines of the place that is meant as \"ranges\", or set replace_all to change them all","found_at":[{"start":2,"end":2},{"start":6,"end":6}],"file_hash":"a95abf11ceec4e7e2edaef6f5d276fed28c31d47e73e9da293cfe3d30c70c6eb"},{"file_path":"$ROOT/a.rs","code":"ambiguous_match","reason":"files[0].patches[1]: old_string occurs 2 times: line 3 below \"fn a() {\", line 7 below \"fn b() {\"","hint":"keep old_string and name the lines of the place that is meant as \"ranges\", or set replace_all to change them all","found_at":[{"start":3,"end":3},{"start":7,"end":7}],"file_hash":"a95abf11ceec4e7e2edaef6f5d276fed28c31d47e73e9da293cfe3d30c70c6eb"},{"file_path":"$ROOT/b.rs","code":"no_match","reason":"files[1]: old_string is not in the file","hint":"nothing in the file is so like old_string that it must be meant; read it again: get_text_file_contents {\"file_path\":\"$ROOT/b.rs\"}","file_hash":"c3496f24b82edd72cee326e188691b249a5850c55eba5b38b78412d682cc797c"}]}"#);
}
