//! Replays `scenarios/NNN_name`: the calls must do to `before/` what `after/` shows, byte for byte.
//!
//! A line of `calls.jsonl` is `{"tool", "arguments", "expect"?, "contains"?}`: `expect` is `ok` or an error's
//! code, `contains` lists what the reply must hold. `options` holds further options of the server.
//! `replies.snap`, where there is one, holds every reply; `UPDATE_SCENARIOS=1` writes it for the scenarios
//! that hold. A scenario knows nothing of the implementation, so other programs replay the same files.
#![expect(
    clippy::disallowed_methods,
    reason = "a test reads its scenarios, and is told by the environment to update them"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::world::{World, tree};

#[test]
fn all_hold() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries = home.read_dir().unwrap_or_else(|error| panic!("{}: {error}", home.display()));
    let mut scenarios: Vec<PathBuf> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.join("calls.jsonl").exists()).collect();
    scenarios.sort();
    // Of links a checkout makes files where there are none.
    if cfg!(windows) {
        scenarios.retain(|scenario| !scenario.ends_with("054_links"));
        println!("skipped: 054_links");
    }
    assert!(!scenarios.is_empty());
    let update = std::env::var("UPDATE_SCENARIOS").is_ok_and(|value| value != "0");
    // Each spends its time waiting for its own server.
    let mut wrong = String::new();
    std::thread::scope(|scope| {
        let running: Vec<_> =
            scenarios.iter().map(|scenario| scope.spawn(move || replay(scenario, update))).collect();
        for (scenario, running) in scenarios.iter().zip(running) {
            let found =
                running.join().unwrap_or_else(|_| vec!["the replay itself broke, see above".to_owned()]);
            if !found.is_empty() {
                let name = scenario.file_name().unwrap().to_string_lossy();
                let _ = writeln!(wrong, "{name}\n  {}", found.join("\n  "));
            }
        }
    });
    assert!(wrong.is_empty(), "these scenarios do not hold:\n{wrong}");
}

/// Returns what is wrong; nothing, if all holds.
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

/// Returns the first line in which the replies differ from those that are kept.
fn difference(known: &str, now: &str) -> String {
    let lines = known.lines().chain([""]).zip(now.lines().chain([""])).zip(1..);
    let first = lines.into_iter().find(|((known, now), _)| known != now);
    let shown = first.map(|((known, now), line)| format!("line {line}\n  - {known}\n  + {now}"));
    format!("replies.snap differs: {}", shown.unwrap_or_else(|| "at its end".to_owned()))
}
