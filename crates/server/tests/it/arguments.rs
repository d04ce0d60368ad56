//! Tests of the meaning of arguments, and of the errors about meaningless ones.

use std::fmt::Write as _;

use mcp_text_editor::arguments::Notes;
use mcp_text_editor::clients::ADDED_KEYS;
use mcp_text_editor::limits::Limits;
use mcp_text_editor::problem::Failure;
use mcp_text_editor::render::layout;
use mcp_text_editor::tools::{
    self, edit::EditRequest, history, history::EditsRequest, one_file, read::ReadRequest,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other}"),
    }
}

type Arguments = Map<String, Value>;

fn get(values: Arguments, limits: &Limits) -> Result<ReadRequest, Failure> {
    tools::read::TOOL.parse(tools::read::request, values, Notes::new(limits))
}

fn edit(values: Arguments, limits: &Limits) -> Result<EditRequest, Failure> {
    tools::patch::TOOL.parse(tools::patch::request, values, Notes::new(limits))
}

fn create(values: Arguments, limits: &Limits) -> Result<EditRequest, Failure> {
    one_file::CREATE.parse(one_file::create, values, Notes::new(limits))
}

fn append(values: Arguments, limits: &Limits) -> Result<EditRequest, Failure> {
    one_file::APPEND.parse(one_file::append, values, Notes::new(limits))
}

fn insert(values: Arguments, limits: &Limits) -> Result<EditRequest, Failure> {
    one_file::INSERT.parse(one_file::insert, values, Notes::new(limits))
}

fn delete(values: Arguments, limits: &Limits) -> Result<EditRequest, Failure> {
    one_file::DELETE.parse(one_file::delete, values, Notes::new(limits))
}

fn edits(values: Arguments, limits: &Limits) -> Result<EditsRequest, Failure> {
    history::EDITS.parse(history::edits_request, values, Notes::new(limits))
}

/// Checks a snapshot of the calls, each with the request or the error that is read from it.
fn check<T: std::fmt::Debug>(
    name: &str,
    parse: fn(Map<String, Value>, &Limits) -> Result<T, Failure>,
    calls: &[Value],
) {
    let mut out = String::new();
    for call in calls {
        let said = match parse(map(call.clone()), &Limits::default()) {
            Ok(request) => format!("{request:?}"),
            Err(failed) => layout::text(&failed),
        };
        let _ = writeln!(out, "{call}\n{said}\n");
    }
    insta::assert_snapshot!(name, out);
}

const HASH: &str = "0123456789ABCDEF";

#[test]
fn get_arguments() {
    check(
        "get_arguments",
        get,
        &[
            json!({"file_path": "/a"}),
            json!({"file_path": "/a", "line_start": 2}),
            json!({"file_path": "/a", "line_end": "2", "line_numbers": "false", "encoding": "sjis"}),
            json!({"file_path": "/a", "line_start": -50, "line_end": null}),
            json!({"file_path": "/a", "line_start": 5.0, "line_end": -1}),
            json!({"file_path": null, "files": [{"file_path": "/a", "ranges": []}, {"file_path": "/b", "encoding": "gbk"}], "encoding": "sjis"}),
            json!({"files": "[{\"file_path\":\"/a\",\"ranges\":\"[{\\\"start\\\":\\\"1e3\\\",\\\"end\\\":99999999999999999999}]\"}]"}),
            json!({"files": ["{\"file_path\":\"5\"}"], "line_numbers": true}),
            json!({"files": [{"file_path": "/a", "ranges": [{"start": 1, "end": 18_446_744_073_709_551_615_u64, "from_char": 3}]}]}),
            json!({}),
            json!({"files": []}),
            json!({"files": [], "file_path": "/a"}),
            json!({"files": {"file_path": "/a"}}),
            json!({"files": [5, null, "x"]}),
            json!({"line_start": 3}),
            json!({"file_path": 5, "line_start": "x", "line_end": 1.5, "line_numbers": 1, "encoding": true}),
            json!({"file_path": "/a\u{0}", "line_start": 1}),
            json!({"file_path": "/a", "line_start": 9, "line_end": 3}),
            json!({"filePath": "/a", "offset": 1, "limit": 3}),
            json!({"files": [{"path": "/a", "ranges": [{"start": 9, "end": 3}, {"line_start": 1, "from_char": 0}, {"start": true}]}]}),
        ],
    );
}

#[test]
fn patch_arguments() {
    let one = |patch: Value| json!({"files": [{"file_path": "/a", "patches": [patch]}]});
    check(
        "patch_arguments",
        edit,
        &[
            one(json!({"old_string": "a\r\nb", "new_string": "c\r\n"})),
            one(json!({"old_string": "5", "new_string": "[]", "ranges": [], "replace_all": "true"})),
            one(
                json!({"old_string": "a", "new_string": "", "ranges": [{"start": "3"}, {"start": 5, "end": -1}]}),
            ),
            one(json!({"new_string": "x", "ranges": [{"start": -3, "end": 2, "range_hash": HASH}]})),
            json!({"files": [{"file_path": "/a", "patches": "[{\"new_string\":\"[1]\",\"old_string\":\"{}\"}]", "file_hash": HASH, "encoding": "gbk"}], "dry_run": "true"}),
            one(json!({"new_string": "x"})),
            one(
                json!({"new_string": "x", "ranges": [{"start": 1}, {"start": 2, "range_hash": HASH}, {"start": 3, "end": 4}]}),
            ),
            one(json!({"old_string": "x", "new_string": "y", "ranges": [{"start": 1}], "replace_all": true})),
            one(json!({"old_string": 5, "new_string": ["x"]})),
            one(json!({"old_string": "a\rb", "new_string": "one\r\ntwo\u{0}"})),
            one(json!({"old_str": "a", "newText": "b", "rnges": []})),
            one(
                json!({"old_string": "a", "new_string": "b", "ranges": [{"start": 4, "end": 2}, {"end": 2}, 7]}),
            ),
            one(
                json!({"old_string": "a", "new_string": "b", "ranges": [{"start": 4, "range_hash": "sha256:0123"}]}),
            ),
            json!({"files": [{"file_path": "/a", "patches": []}, {"patches": [{"new_string": "x"}]}, {"file_path": "/c"}]}),
            json!({"file_path": "/a", "patches": [], "dry_run": "yes"}),
            json!({"files": "not json"}),
            json!({"files": []}),
        ],
    );
}

#[test]
fn short_patch_arguments() {
    check(
        "short_patch_arguments",
        edit,
        &[
            json!({"file_path": "/a", "old_string": "x", "new_string": "y"}),
            json!({"file_path": "/a", "new_string": "y", "ranges": [{"start": 1, "range_hash": HASH}], "encoding": "gbk", "file_hash": HASH, "dry_run": true}),
            json!({"file_path": "/a", "patches": [{"old_string": "x", "new_string": "y"}, {"old_string": "z", "new_string": ""}], "encoding": "gbk"}),
            json!({"file_path": "/a"}),
            json!({"old_string": "x", "new_string": "y"}),
            json!({"file_path": "/a", "new_string": "y"}),
            json!({"file_path": "/a", "new_string": "y", "ranges": [{"start": 1}]}),
            json!({"file_path": "/a", "old_string": "x", "new_string": "y", "ranges": [{"start": 1}], "replace_all": true}),
            json!({"file_path": "/a", "old_string": "x", "new_string": "y", "patches": [{"old_string": "x", "new_string": "y"}]}),
            json!({"file_path": "/a", "old_string": "x", "new_string": 5, "odd": 1}),
            json!({"file_path": "/a", "old_string": "x", "new_string": "y", "files": [{"file_path": "/b", "patches": [{"old_string": "x", "new_string": "y"}]}]}),
            json!({"old_string": "false", "new_string": "[]", "files": [{"file_path": "/b", "patches": [{"old_string": "x", "new_string": "y"}]}]}),
            json!({"encoding": "gbk", "files": [{"file_path": "/b", "patches": [{"old_string": "x", "new_string": "y"}]}]}),
        ],
    );
}

proptest! {
    #[test]
    fn the_short_form_means_a_file_with_one_patch(
        texts in prop::collection::vec(prop::option::of("[ -~\\n\\r\u{0}é]{0,12}"), 2), lines in prop::option::of((-3..9_i64, -3..9_i64)),
        hash in prop::option::of("[0-9a-f]{11,13}"), all in prop::option::of(any::<bool>()), encoding in prop::option::of("[a-z0-9]{0,6}"),
        dry_run: bool, odd: bool,
    ) {
        let mut patch = Map::new();
        for (name, text) in ["old_string", "new_string"].into_iter().zip(texts) {
            patch.extend(text.map(|text| (name.to_owned(), Value::from(text))));
        }
        patch.extend(lines.map(|(start, end)| ("ranges".to_owned(), json!([{"start": start, "end": end, "range_hash": hash}]))));
        patch.extend(all.map(|all| ("replace_all".to_owned(), Value::from(all))));
        if odd {
            patch.insert("odd".to_owned(), json!(1));
        }
        let mut file = map(json!({"file_path": "/a", "file_hash": hash, "encoding": encoding}));
        let mut short = file.clone();
        short.extend(patch.clone());
        short.insert("dry_run".to_owned(), json!(dry_run));
        file.insert("patches".to_owned(), json!([patch]));
        let mut one = file.clone();
        one.insert("dry_run".to_owned(), json!(dry_run));
        let limits = Limits::default();
        let long = edit(map(json!({"files": [file], "dry_run": dry_run})), &limits);
        for short in [short, one] {
            let short = edit(short, &limits);
            let problems = |failed: &Failure| failed.problems.len();
            prop_assert_eq!(short.as_ref().map_err(problems), long.as_ref().map_err(problems));
        }
    }
}

#[test]
fn other_arguments() {
    check(
        "create_arguments",
        create,
        &[
            json!({"file_path": "/a", "contents": "a\rb\r\n", "encoding": "utf-16", "dry_run": false}),
            json!({"file_path": "/a", "contents": ""}),
            json!({"file_path": "/a", "contents": "a\n\u{0}"}),
            json!({"file_path": "/a", "content": "a"}),
            json!({"contents": {"a": 1}}),
        ],
    );
    check(
        "append_arguments",
        append,
        &[
            json!({"file_path": "/a", "file_hash": HASH, "contents": "a\r\n"}),
            json!({"file_path": "/a", "file_hash": HASH, "contents": ""}),
            json!({"file_path": "/a", "file_hash": "0123456789a", "contents": "a\rb"}),
            json!({"file_path": "/a", "file_hash": "0".repeat(65), "contents": null}),
            json!({"file_path": "/a", "file_hash": 123_456_789_012_u64, "contents": "a"}),
            json!({}),
        ],
    );
    let at = |place: Value| {
        let mut call = map(json!({"file_path": "/a", "file_hash": HASH, "contents": "a"}));
        call.extend(map(place));
        Value::Object(call)
    };
    check(
        "insert_arguments",
        insert,
        &[
            at(json!({"after": 0})),
            at(json!({"before": "1", "after": null})),
            at(json!({})),
            at(json!({"after": 1, "before": 2})),
            at(json!({"after": -1})),
            at(json!({"before": 0})),
            at(json!({"after": "x"})),
            at(json!({"line": 3})),
        ],
    );
    check(
        "delete_arguments",
        delete,
        &[
            json!({"file_path": "/a", "file_hash": HASH, "ranges": [{"start": 1, "end": 2, "range_hash": HASH}, {"start": 5, "range_hash": HASH}]}),
            json!({"file_path": "/a", "file_hash": HASH, "ranges": []}),
            json!({"file_path": "/a", "file_hash": HASH, "ranges": [{"start": 3, "end": 2}, {"range_hash": "x"}]}),
            json!({"file_path": "/a"}),
        ],
    );
}

/// Some clients have to send every key: null, `""` and `[]` count as absent where they can mean nothing else.
#[test]
fn what_strict_clients_send() {
    let one = |patch: Value| json!({"files": [{"file_path": "/a", "file_hash": "", "encoding": "", "patches": [patch]}], "dry_run": false});
    check(
        "strict_get_arguments",
        get,
        &[
            json!({"file_path": "/a", "line_start": 1, "line_end": -1, "files": [], "encoding": "", "line_numbers": true}),
            json!({"file_path": "/a", "line_start": null, "line_end": null, "files": "[ ]", "encoding": null, "line_numbers": null}),
            json!({"file_path": "", "line_start": null, "line_end": null, "files": [{"file_path": "/a", "ranges": [], "encoding": ""}], "encoding": ""}),
            json!({"file_path": "", "line_start": 5, "files": [{"file_path": "/a"}]}),
            json!({"file_path": "", "files": []}),
        ],
    );
    check(
        "strict_patch_arguments",
        edit,
        &[
            one(json!({"old_string": "x", "new_string": "y", "ranges": [], "replace_all": false})),
            one(json!({"old_string": "x", "new_string": "y", "ranges": "[]", "replace_all": true})),
            one(
                json!({"old_string": null, "new_string": "y", "ranges": [{"start": 1, "end": null, "range_hash": HASH}], "replace_all": false}),
            ),
            one(
                json!({"old_string": "x", "new_string": "y", "ranges": [{"start": 1, "end": -1, "range_hash": ""}]}),
            ),
            one(json!({"new_string": "y", "ranges": [{"start": 1, "range_hash": ""}]})),
            one(json!({"new_string": "y", "ranges": []})),
            json!({"files": [{"file_path": "/a", "patches": []}]}),
            json!({"files": [{"file_path": "/a", "patches": [{"old_string": "x", "new_string": "y"}]}], "patches": [{"old_string": "x"}]}),
            json!({"files": [], "file_path": "/a", "old_string": "x", "new_string": "y", "encoding": ""}),
            json!({"files": [], "file_path": "/a", "old_string": "x", "new_string": "y", "ranges": [], "replace_all": false, "encoding": "", "file_hash": "", "dry_run": false}),
            json!({"files": [{"file_path": "/a", "patches": [{"old_string": "x", "new_string": "y"}]}], "file_path": "", "old_string": "", "new_string": "", "ranges": [], "replace_all": false, "encoding": "", "file_hash": "", "dry_run": false}),
            json!({"files": null, "encoding": null}),
        ],
    );
    check(
        "strict_insert_arguments",
        insert,
        &[
            json!({"file_path": "/a", "file_hash": HASH, "contents": "a", "after": 0, "before": null, "encoding": "", "dry_run": false}),
            json!({"file_path": "/a", "file_hash": "", "contents": "a", "after": null, "before": null}),
        ],
    );
    check(
        "strict_delete_arguments",
        delete,
        &[
            json!({"file_path": "/a", "file_hash": HASH, "ranges": [{"start": 1, "end": null, "range_hash": HASH}], "encoding": "", "dry_run": null}),
            json!({"file_path": "/a", "file_hash": "", "ranges": [{"start": 1, "range_hash": ""}]}),
            json!({"file_path": "/a", "file_hash": HASH, "ranges": []}),
            json!({"file_path": "/a", "file_hash": HASH, "ranges": [{"start": 1, "hash": HASH}]}),
        ],
    );
    let call = json!({"file_path": "/a", "contents": "", "encoding": "", "dry_run": false});
    assert_eq!(create(map(call), &Limits::default()).unwrap().files[0].encoding, None);
    let call = json!({"file_path": "/a", "file_hash": "", "contents": "a"});
    let failed = append(map(call), &Limits::default()).unwrap_err();
    assert_eq!(failed.problems[0].reason, "`file_hash` is missing");
    let listed = edits(map(json!({"file_path": "", "limit": null})), &Limits::default()).unwrap();
    assert_eq!((listed.file_path, listed.limit), (None, 20));
}

/// Clients add these keys by themselves, so at the top they are no slip of the model. Deeper in the call they
/// would be one.
#[test]
fn keys_that_clients_add_are_ignored_at_the_top() {
    let limits = Limits::default();
    for key in ADDED_KEYS {
        for value in [json!(true), json!(false), json!("x"), json!({"a": []})] {
            let with = |mut call: Value| {
                call[key.name] = value.clone();
                map(call)
            };
            let file = json!({"file_path": "/a", "file_hash": HASH, "contents": "a"});
            get(with(json!({"file_path": "/a"})), &limits).unwrap();
            create(with(json!({"file_path": "/a", "contents": "a"})), &limits).unwrap();
            append(with(file.clone()), &limits).unwrap();
            let mut at = file;
            at["after"] = json!(1);
            insert(with(at), &limits).unwrap();
            let range = json!({"start": 1, "range_hash": HASH});
            delete(with(json!({"file_path": "/a", "file_hash": HASH, "ranges": [range]})), &limits).unwrap();
            edits(with(json!({})), &limits).unwrap();
            let undo = with(json!({"edit_id": "a"}));
            history::UNDO.parse(history::undo_request, undo, Notes::new(&limits)).unwrap();
            let patch = json!({"old_string": "a", "new_string": "b"});
            edit(with(json!({"files": [{"file_path": "/a", "patches": [patch]}]})), &limits).unwrap();
            let inside = json!({"files": [with(json!({"file_path": "/a"}))]});
            let failed = get(map(inside), &limits).unwrap_err();
            assert_eq!(failed.problems[0].reason, format!("`files[0].{}` is not an argument", key.name));
        }
        for tool in tools::ALL {
            let schema = tool.arguments.schema(&|_| true);
            assert!(schema["properties"].get(key.name).is_none(), "{} takes {}", tool.name(), key.name);
        }
    }
}

#[test]
fn hostile_arguments_end_soon() {
    let deep = "[".repeat(100_000);
    let many: Map<String, Value> = (0..100_000).map(|n| (format!("key{n}"), json!(n))).collect();
    for call in [map(json!({ "files": deep })), many] {
        let failed = get(call, &Limits::default()).unwrap_err();
        assert!(failed.problems.len() <= 1_000);
        assert!(layout::text(&failed).len() < 8_000);
    }
}

/// Draws JSON that is close to a call.
fn near_call() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-f0-9]{12}|/\\PC{0,5}|[\\r\\n\u{0}x]{0,5}|\\[\\]|-?[0-9]{1,30}".prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "files",
        "file_path",
        "patches",
        "ranges",
        "start",
        "end",
        "old_string",
        "new_string",
        "range_hash",
        "file_hash",
        "contents",
        "after",
        "before",
        "dry_run",
        "encoding",
        "line_start",
        "line_end",
        "from_char",
        "odd",
    ]);
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..8).prop_map(|all| all
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<Map<_, _>>()
                .into()),
        ]
    })
}

proptest! {
    #[test]
    fn any_arguments_are_answered(call in near_call(), spelled: bool) {
        let Value::Object(mut call) = call else { return Ok(()) };
        if spelled {
            for value in call.values_mut().filter(|value| value.is_array()) {
                *value = Value::String(value.to_string());
            }
        }
        let limits = Limits::default();
        let failures = [
            get(call.clone(), &limits).err(), edit(call.clone(), &limits).err(), create(call.clone(), &limits).err(),
            append(call.clone(), &limits).err(), insert(call.clone(), &limits).err(), delete(call, &limits).err(),
        ];
        for failed in failures.into_iter().flatten() {
            prop_assert!(failed.problems.iter().all(|problem| problem.code.as_str() != "internal_error"), "{failed:?}");
            prop_assert!(layout::text(&failed).chars().count() < 8_000);
        }
    }
}

#[test]
fn a_long_path_does_not_go_whole_with_every_problem() {
    let mut call: Map<String, Value> = (0..300).map(|key| (key.to_string(), json!(0))).collect();
    call.insert("file_path".to_owned(), json!(format!("/{}", "p".repeat(1_000_000))));
    let failed = get(call, &Limits::default()).unwrap_err();
    let held: usize =
        failed.problems.iter().filter_map(|problem| problem.file_path.as_ref()).map(String::len).sum();
    assert_eq!((failed.problems.len(), held), (300, 300 * 8_000));
}
