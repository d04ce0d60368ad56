//! Histories made by hand, good and bad, and what is to be said of them.
#![expect(clippy::needless_pass_by_value, reason = "histories are easier to read without references")]

use serde_json::{Value, json};

use crate::history::History;
use crate::model::Content;
use crate::verdict::{Verdict, judge};

/// Returns a history of the files `a` and `b`, which hold the tag 1, and 2; `end`: what they hold in the end.
fn history(mut operations: Vec<Value>, end: [Value; 2]) -> History {
    let [a, b] = end;
    operations.insert(0, json!({"kind": "begin", "called": 0, "answered": 0, "files": {"a": [1], "b": [2]}}));
    operations.push(json!({"kind": "end", "called": 1000, "answered": 1000, "files": {"a": a, "b": b}}));
    History::parse(&json!({"name": "by hand", "paths": ["a", "b"], "operations": operations}).to_string())
        .unwrap()
}

fn check(operations: Vec<Value>, end: [Value; 2], is_linearizable: bool) {
    let verdict = judge(&history(operations, end), 100_000);
    assert_eq!(verdict == Verdict::Linearizable, is_linearizable, "{verdict:?}");
    assert_ne!(verdict, Verdict::Undecided);
}

fn digest(tags: &[u64]) -> String {
    Content::new(tags.to_vec()).digest
}

fn read(called: i64, answered: i64, path: &str, found: Value) -> Value {
    json!({"kind": "read", "called": called, "answered": answered, "path": path, "found": found})
}

fn call(called: i64, answered: Value, outcome: &str, entries: Vec<Value>) -> Value {
    json!({"kind": "call", "called": called, "answered": answered, "outcome": outcome, "entries": entries, "told": {}, "claims": []})
}

fn done(called: i64, answered: i64, entries: Vec<Value>) -> Value {
    call(called, answered.into(), "ok", entries)
}

/// Returns a call whose server was killed.
fn killed(called: i64, entries: Vec<Value>) -> Value {
    call(called, Value::Null, "unknown", entries)
}

fn refused(called: i64, answered: i64, entries: Vec<Value>, claim: Value) -> Value {
    let mut call = call(called, answered.into(), "refused", entries);
    call["claims"] = json!([claim]);
    call
}

/// Returns an edit by text: these tags for this one.
fn swap(path: &str, tag: u64, tags: &[u64]) -> Value {
    json!({"path": path, "guard": {"has": tag}, "effect": {"swap": tag, "for": tags}})
}

/// Returns an edit by hash.
fn set(path: &str, old: &[u64], new: &[u64]) -> Value {
    json!({"path": path, "guard": {"digest": digest(old)}, "effect": {"set": new}})
}

fn create(path: &str, tags: &[u64]) -> Value {
    json!({"path": path, "guard": "absent", "effect": {"set": tags}})
}

fn remove(path: &str, old: &[u64]) -> Value {
    json!({"path": path, "guard": {"digest": digest(old)}, "effect": "remove"})
}

fn to(path: &str, target: &str) -> Value {
    json!({"path": path, "guard": "there", "effect": "keep", "to": target})
}

/// Returns the deed of another program that puts its file in the place of whatever is there.
fn outsider(called: i64, answered: i64, path: &str, tags: &[u64]) -> Value {
    let mut call =
        done(called, answered, vec![json!({"path": path, "guard": "nothing", "effect": {"set": tags}})]);
    call["by"] = "outsider".into();
    call
}

const OLD: [u64; 1] = [2];

#[test]
fn the_digest_is_that_of_the_lines() {
    // printf 'tag 000001\ntag 000023\n' | sha256sum
    assert_eq!(digest(&[1, 23]), "cd3d7eae0abe165abe612a92141fd90c24f22623702f9254a86b66c601b832f6");
}

#[test]
fn calls_that_overlap_may_have_either_order() {
    let both =
        || vec![done(10, 50, vec![swap("a", 1, &[1, 10])]), done(20, 40, vec![swap("a", 1, &[1, 11])])];
    check(both(), [json!([1, 10, 11]), json!(OLD)], true);
    check(both(), [json!([1, 11, 10]), json!(OLD)], true);
}

#[test]
fn calls_one_after_the_other_have_theirs() {
    let both =
        || vec![done(10, 15, vec![swap("a", 1, &[1, 10])]), done(20, 40, vec![swap("a", 1, &[1, 11])])];
    check(both(), [json!([1, 11, 10]), json!(OLD)], true);
    check(both(), [json!([1, 10, 11]), json!(OLD)], false);
}

#[test]
fn a_lost_update_is_found() {
    let both =
        || vec![done(10, 50, vec![swap("a", 1, &[1, 10])]), done(20, 40, vec![swap("a", 1, &[1, 11])])];
    check(both(), [json!([1, 10]), json!(OLD)], false);
    // Both by one hash: one of them was no longer true.
    let both =
        || vec![done(10, 50, vec![set("a", &[1], &[1, 10])]), done(20, 40, vec![set("a", &[1], &[1, 11])])];
    check(both(), [json!([1, 10]), json!(OLD)], false);
    check(both(), [json!([1, 11]), json!(OLD)], false);
}

#[test]
fn a_stale_read_is_found() {
    let edit = || done(10, 20, vec![swap("a", 1, &[10])]);
    check(vec![edit(), read(15, 30, "a", json!([1]))], [json!([10]), json!(OLD)], true);
    check(vec![edit(), read(25, 30, "a", json!([1]))], [json!([10]), json!(OLD)], false);
    // New, and then old again.
    let reads = |second| vec![edit(), read(11, 13, "a", json!([10])), read(14, 16, "a", second)];
    check(reads(json!([10])), [json!([10]), json!(OLD)], true);
    check(reads(json!([1])), [json!([10]), json!(OLD)], false);
}

#[test]
fn a_call_of_two_files_changes_both_or_none() {
    let both = || vec![swap("a", 1, &[10]), swap("b", 2, &[10])];
    check(vec![done(10, 20, both())], [json!([10]), json!([10])], true);
    check(vec![done(10, 20, both())], [json!([10]), json!(OLD)], false);
    check(vec![killed(10, both())], [json!([10]), json!([10])], true);
    check(vec![killed(10, both())], [json!([1]), json!(OLD)], true);
    check(vec![killed(10, both())], [json!([1]), json!([10])], false);
}

#[test]
fn a_read_may_see_one_of_two_files_first_while_the_call_lasts() {
    let both = || vec![swap("a", 1, &[10]), swap("b", 2, &[10])];
    let reads = |at: i64| vec![read(at, at + 1, "a", json!([10])), read(at + 2, at + 3, "b", json!(OLD))];
    check([vec![done(10, 30, both())], reads(15)].concat(), [json!([10]), json!([10])], true);
    check([vec![done(10, 30, both())], reads(40)].concat(), [json!([10]), json!([10])], false);
    // A call that holds locks sees both or none.
    let look = |tags: [&[u64]; 2]| {
        let mut look = done(20, 25, vec![swap("a", 10, &[90]), swap("b", 2, &[91])]);
        look["dry"] = true.into();
        look["told"] = json!({"a": digest(tags[0]), "b": digest(tags[1])});
        look
    };
    check(vec![done(10, 30, both()), look([&[10], &OLD])], [json!([10]), json!([10])], false);
}

#[test]
fn what_is_taken_back_may_have_been_seen_until_then() {
    let both = || vec![swap("a", 1, &[10]), swap("b", 2, &[10])];
    let reads =
        |first: u64, second: u64| vec![read(20, 21, "a", json!([first])), read(30, 31, "a", json!([second]))];
    check([vec![killed(10, both())], reads(10, 1)].concat(), [json!([1]), json!(OLD)], true);
    // Not before it was called, and nobody may build on it.
    check([vec![killed(25, both())], reads(10, 1)].concat(), [json!([1]), json!(OLD)], false);
    let built = done(30, 40, vec![swap("a", 10, &[10, 11])]);
    check([vec![killed(10, both())], vec![built]].concat(), [json!([10, 11]), json!(OLD)], false);
    // Of one file: it is old or new, and stays that.
    check(
        [vec![killed(10, vec![swap("a", 1, &[10])])], reads(10, 1)].concat(),
        [json!([1]), json!(OLD)],
        false,
    );
    check(
        [vec![killed(10, vec![swap("a", 1, &[10])])], reads(1, 10)].concat(),
        [json!([10]), json!(OLD)],
        true,
    );
}

#[test]
fn a_killed_call_may_take_effect_late_but_once() {
    let edit = |tag: u64, tags: &[u64]| done(50, 60, vec![swap("a", tag, tags)]);
    let reads = || read(40, 45, "a", json!([1]));
    check(
        vec![killed(10, vec![swap("a", 1, &[1, 10])]), reads(), edit(10, &[11])],
        [json!([1, 11]), json!(OLD)],
        true,
    );
    check(
        vec![killed(10, vec![swap("a", 1, &[1, 10])]), edit(10, &[11]), reads()],
        [json!([1, 10]), json!(OLD)],
        false,
    );
}

#[test]
fn a_removal_that_is_cut_off_may_be_seen_and_taken_back() {
    let seen = |removal| vec![removal, read(20, 30, "a", Value::Null), read(40, 50, "a", json!([1]))];
    let removal = || vec![remove("a", &[1])];
    check(seen(killed(10, removal())), [json!([1]), json!(OLD)], true);
    check(seen(done(10, 60, removal())), [json!([1]), json!(OLD)], false);
    // An edit of one file stays once it was seen.
    let seen = |edit| vec![edit, read(20, 30, "a", json!([10])), read(40, 50, "a", json!([1]))];
    check(seen(killed(10, vec![swap("a", 1, &[10])])), [json!([1]), json!(OLD)], false);
    // Other files are not the removal's.
    let other = || vec![killed(10, removal()), read(20, 30, "b", Value::Null)];
    check(other(), [json!([1]), json!(OLD)], false);
}

#[test]
fn a_refusal_changes_nothing_and_had_a_reason() {
    let by_hash = || vec![set("a", &[7], &[10])];
    let is_now = |tags: &[u64]| json!({"path": "a", "is": digest(tags)});
    check(vec![refused(10, 20, by_hash(), is_now(&[1]))], [json!([1]), json!(OLD)], true);
    check(vec![refused(10, 20, by_hash(), is_now(&[1]))], [json!([10]), json!(OLD)], false);
    check(vec![refused(10, 20, by_hash(), is_now(&[3]))], [json!([1]), json!(OLD)], false);
    // It could have been carried out.
    check(vec![refused(10, 20, vec![set("a", &[1], &[10])], is_now(&[1]))], [json!([1]), json!(OLD)], false);
    let missing = || refused(10, 20, vec![swap("a", 1, &[10])], json!({"path": "a", "is": "absent"}));
    check(vec![missing()], [json!([1]), json!(OLD)], false);
    check(vec![missing(), done(5, 15, vec![remove("a", &[1])])], [Value::Null, json!(OLD)], true);
}

#[test]
fn a_refusal_for_what_a_file_holds_sees_whole_calls() {
    let both = || vec![swap("a", 1, &[10]), swap("b", 2, &[11])];
    let refusal = |is_locked: bool| {
        let claim = json!({"path": "a", "is": digest(&[10]), "locked": is_locked});
        refused(20, 21, vec![set("a", &[7], &[8])], claim)
    };
    let seen = |is_locked| vec![killed(10, both()), refusal(is_locked), read(30, 31, "b", json!(OLD))];
    check(seen(false), [json!([1]), json!(OLD)], true);
    check(seen(true), [json!([1]), json!(OLD)], false);
}

#[test]
fn a_reply_tells_what_is_there() {
    let told = |tags: &[u64]| {
        let mut edit = done(10, 20, vec![swap("a", 1, &[1, 10])]);
        edit["told"] = json!({"a": digest(tags)});
        edit
    };
    check(vec![told(&[1, 10])], [json!([1, 10]), json!(OLD)], true);
    check(vec![told(&[10])], [json!([1, 10]), json!(OLD)], false);
}

#[test]
fn names_are_given_once() {
    check(vec![done(10, 20, vec![to("a", "b")])], [Value::Null, json!([1])], false);
    check(vec![done(10, 20, vec![to("a", "b"), to("b", "a")])], [json!(OLD), json!([1])], true);
    check(vec![done(10, 20, vec![remove("b", &OLD), to("a", "b")])], [Value::Null, json!([1])], true);
    check(vec![done(10, 20, vec![to("a", "b"), remove("b", &OLD)])], [Value::Null, json!([1])], true);
    check(vec![done(10, 20, vec![create("b", &[5])])], [json!([1]), json!([5])], false);
    let made = || vec![done(10, 20, vec![remove("b", &OLD)]), done(30, 40, vec![create("b", &[5])])];
    check(made(), [json!([1]), json!([5])], true);
    // Two that both made it.
    check([made(), vec![done(30, 40, vec![create("b", &[6])])]].concat(), [json!([1]), json!([5])], false);
}

#[test]
fn another_programs_file_stands() {
    let edit = |answered| done(10, answered, vec![swap("a", 1, &[1, 10])]);
    check(vec![edit(20), outsider(30, 31, "a", &[50])], [json!([50]), json!(OLD)], true);
    check(vec![edit(40), outsider(30, 31, "a", &[50])], [json!([50]), json!(OLD)], true);
    check(vec![edit(40), outsider(30, 31, "a", &[50])], [json!([1, 10]), json!(OLD)], false);
    // Ours was there for an instant, and taken back; then it is refused, since its text is gone.
    let refusal = refused(10, 40, vec![swap("a", 1, &[1, 10])], json!({"path": "a", "is": digest(&[50])}));
    let seen =
        |at| vec![outsider(20, 21, "a", &[50]), refusal.clone(), read(at, at + 1, "a", json!([1, 10]))];
    check(seen(25), [json!([50]), json!(OLD)], true);
    check(seen(45), [json!([50]), json!(OLD)], false);
    // However often it was replaced meanwhile.
    let twice = |at| [vec![outsider(15, 16, "a", &[49])], seen(at)].concat();
    check(twice(25), [json!([50]), json!(OLD)], true);
    check(twice(45), [json!([50]), json!(OLD)], false);
    // Of a call of two files, the one that another program has left alone.
    let both = vec![swap("a", 1, &[1, 10]), set("b", &OLD, &[11])];
    let refusal = refused(10, 40, both, json!({"path": "a", "is": digest(&[50])}));
    let seen = |at| vec![outsider(20, 21, "a", &[50]), refusal.clone(), read(at, at + 1, "b", json!([11]))];
    check(seen(25), [json!([50]), json!(OLD)], true);
    check(seen(45), [json!([50]), json!(OLD)], false);
}

#[test]
fn a_call_may_not_have_come_to_a_file_yet_when_another_is_replaced() {
    // Both as it found them; then another program replaces the first, before the second is changed.
    let both = || done(10, 40, vec![swap("a", 1, &[1, 10]), swap("b", 2, &[11])]);
    let seen = |at| vec![both(), outsider(20, 21, "a", &[50]), read(at, at + 1, "b", json!(OLD))];
    check(seen(25), [json!([50]), json!([11])], true);
    check(seen(45), [json!([50]), json!([11])], false);
    let one = |at| {
        vec![
            done(10, 40, vec![swap("b", 2, &[11])]),
            read(15, 16, "b", json!([11])),
            read(at, at + 1, "b", json!(OLD)),
        ]
    };
    check(one(25), [json!([1]), json!([11])], false);
}

#[test]
fn what_is_appended_goes_where_the_file_goes() {
    let push = json!({"path": "a", "guard": "nothing", "effect": {"push": 60}});
    let gone = || done(1, 2, vec![remove("b", &OLD)]);
    check(
        vec![gone(), done(10, 20, vec![push.clone()]), done(12, 14, vec![to("a", "b")])],
        [Value::Null, json!([1, 60])],
        true,
    );
    check(
        vec![gone(), done(10, 20, vec![push]), done(12, 14, vec![to("a", "b")])],
        [Value::Null, json!([1])],
        false,
    );
}

#[test]
fn the_first_answer_that_does_not_fit_is_told() {
    let operations = vec![
        done(10, 20, vec![swap("a", 1, &[1, 10])]),
        read(30, 40, "a", json!([1])),
        done(50, 60, vec![swap("b", 2, &[20])]),
    ];
    let Verdict::Not { from } = judge(&history(operations, [json!([1, 10]), json!([20])]), 100_000) else {
        panic!()
    };
    assert!(from.contains(r#""kind":"read""#), "{from}");
}

#[test]
fn too_long_a_search_is_no_verdict() {
    let many = (10..30).map(|tag| done(10, 50, vec![swap("a", 1, &[1, tag])])).collect();
    assert_eq!(judge(&history(many, [json!([1]), json!(OLD)]), 1000), Verdict::Undecided);
}
