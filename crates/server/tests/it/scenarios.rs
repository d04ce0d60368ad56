//! Replays `scenarios/NNN_name`: the calls must turn `before/` into `after/`, byte for byte.
//!
//! A line of `calls.jsonl` is `{"tool", "arguments", "expect"?, "contains"?}`: `expect` is `ok` or an error's
//! code, `contains` lists what the reply must hold. `options` holds further options of the server.
//! `replies.snap`, if there is one, holds every reply; `UPDATE_SCENARIOS=1` writes it for the scenarios that
//! pass. A scenario knows nothing of the implementation.
#![expect(
    clippy::disallowed_methods,
    reason = "a test reads its scenarios, and is told by the environment to update them"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::world::{World, tree};

/// Makes a test of each scenario, named after it. An identifier cannot begin with a digit.
macro_rules! scenarios {
    ($($(#[$attribute:meta])* $name:ident)*) => {
        $(
            #[test]
            $(#[$attribute])*
            fn $name() {
                hold(stringify!($name));
            }
        )*
        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

scenarios! {
    _001_read_whole_and_ranges
    _002_read_several_files_one_missing
    _003_read_in_pages
    _004_read_inside_a_long_line
    _005_read_as_json
    _006_patch_by_range
    _007_patch_several_places_at_once
    _008_patch_by_digest
    _009_patch_by_digest_that_is_stale
    _010_patch_by_text_alone
    _011_patch_every_occurrence
    _012_patch_ambiguous
    _013_patch_overlapping
    _014_patch_to_nothing_and_empty_lines
    _015_patch_an_empty_file
    _016_crlf_is_kept
    _017_mixed_line_ends_are_kept
    _018_classic_mac_line_ends
    _019_lone_cr_and_unicode_separators_end_no_line
    _020_no_final_newline
    _021_bom_is_kept
    _022_latin1
    _023_shift_jis_bytes_stay
    _024_moved_text_is_found
    _025_nearest_text_is_shown
    _026_trailing_blanks_are_forgiven
    _027_strict_forgives_nothing
    _028_hash_mismatch
    _029_delete_when_only_other_lines_changed
    _030_delete_ranges
    _031_insert_top_middle_end
    _032_append_starts_a_line_of_its_own
    _033_create
    _034_many_files_or_none
    _035_every_problem_is_reported
    _036_strings_that_spell_json
    _037_unknown_keys_are_named
    _038_dry_run_writes_nothing
    _039_an_edit_that_changes_nothing
    _040_paths_that_are_refused
    _041_one_file_named_twice
    _042_paths_that_were_meant
    _050_move
    _051_remove
    _052_search
    _053_list
    #[cfg_attr(windows, ignore = "a checkout makes files of links")]
    _054_links
}

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

#[test]
fn every_scenario_has_a_test() {
    let entries = home().read_dir().unwrap().map(|entry| entry.unwrap());
    let mut there: Vec<String> = entries
        .filter(|entry| entry.path().join("calls.jsonl").exists())
        .map(|entry| format!("_{}", entry.file_name().to_str().unwrap()))
        .collect();
    there.sort();
    assert_eq!(there, TESTED);
}

fn hold(test: &str) {
    let update = std::env::var("UPDATE_SCENARIOS").is_ok_and(|value| value != "0");
    let wrong = replay(&home().join(test.trim_start_matches('_')), update);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns what is wrong; empty if the scenario passes.
fn replay(scenario: &Path, update: bool) -> Vec<String> {
    let world = World::new();
    world.copy_from(&scenario.join("before"));
    let options = std::fs::read_to_string(scenario.join("options")).unwrap_or_default();
    let options: Vec<&str> = options.split_whitespace().collect();
    let calls = std::fs::read_to_string(scenario.join("calls.jsonl")).unwrap();
    let (mut wrong, mut replies) = (Vec::new(), String::new());
    let mut session = world.serve(&options);
    for (line, number) in calls.lines().filter(|line| !line.is_empty()).zip(1..) {
        let step: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("call {number}: {error}"));
        let tool = step["tool"].as_str().unwrap();
        let reply = world.call(&mut session, tool, &step["arguments"]);
        let failed = if reply.is_error { "isError\n" } else { "" };
        let _ = writeln!(replies, "== {number} {tool}\n{failed}{}", reply.text);
        let (expected, code) = (step["expect"].as_str(), reply.code());
        if expected.is_some_and(|expected| expected != code) {
            wrong.push(format!("call {number}: expected {expected:?}, got {code}: {}", reply.text));
        }
        for part in step["contains"].as_array().into_iter().flatten() {
            let part = part.as_str().unwrap();
            if !reply.raw.contains(&world.filled_text(part)) && !reply.text.contains(part) {
                wrong.push(format!("call {number}: the reply lacks {part:?}: {}", reply.text));
            }
        }
    }
    drop(session);
    let (wanted, present) = (tree(&scenario.join("after")), world.tree());
    let names: std::collections::BTreeSet<&String> = wanted.keys().chain(present.keys()).collect();
    for name in names.into_iter().filter(|name| wanted.get(*name) != present.get(*name)) {
        wrong.push(format!("{name}: expected {:?}, got {:?}", wanted.get(name), present.get(name)));
    }
    let kept = scenario.join("replies.snap");
    if update && wrong.is_empty() {
        std::fs::write(&kept, &replies).unwrap();
    }
    match std::fs::read_to_string(&kept) {
        Ok(known) if known != replies && !update => wrong.push(difference(&known, &replies)),
        _ => {}
    }
    wrong
}

/// Returns the first line in which the replies differ from the kept ones.
fn difference(known: &str, now: &str) -> String {
    let lines = known.lines().chain([""]).zip(now.lines().chain([""])).zip(1..);
    let first = lines.into_iter().find(|((known, now), _)| known != now);
    let shown = first.map(|((known, now), line)| format!("line {line}\n  - {known}\n  + {now}"));
    format!("replies.snap differs: {}", shown.unwrap_or_else(|| "at its end".to_owned()))
}
