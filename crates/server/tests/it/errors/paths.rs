//! Errors of paths: files that do not exist, are something else, or may not be used.

use serde_json::json;

use super::{APPEND, CREATE, GET, PATCH, by_text, check};
use crate::world::World;

#[test]
fn paths_that_are_refused() {
    let set_up = |world: &World| {
        world.write("dir/t.txt", "text\n");
        world.write("t.txt", "text\n");
    };
    let read = |path: &str| json!({"file_path": path});
    let long = format!("$ROOT/{}", "n".repeat(300));
    check(
        "paths_that_are_refused",
        set_up,
        &[],
        &[
            ("relative, and there", GET, read("dir/t.txt")),
            ("relative, and nowhere", GET, read("no/such.txt")),
            ("upwards", GET, read("$ROOT/dir/../t.txt")),
            ("relative and upwards", GET, read("../t.txt")),
            ("empty", GET, read("")),
            ("outside", GET, read("/etc/passwd")),
            ("outside, and not there", GET, read("/etc/no/such/file")),
            ("created outside", CREATE, json!({"file_path": "/no/such/dir/t.txt", "contents": ""})),
            ("not there", GET, read("$ROOT/missing.txt")),
            ("not there, to be edited", PATCH, by_text("missing.txt", "a", "b")),
            ("a directory", GET, read("$ROOT/dir")),
            ("a directory, to be edited", PATCH, by_text("dir", "a", "b")),
            ("below a file", GET, read("$ROOT/t.txt/x")),
            ("created below a file", CREATE, json!({"file_path": "$ROOT/t.txt/x", "contents": ""})),
            ("a file with a slash", GET, read("$ROOT/t.txt/")),
            ("a name that is too long", GET, read(&long)),
        ],
    );
}

// The suggestions are those of a system where letter case counts.
#[cfg(target_os = "linux")]
#[test]
fn files_that_were_meant() {
    let set_up = |world: &World| {
        for file in
            ["src/app.rs", "src/handler.rs", "lib/deep/parser.rs", "README.md", "my file.txt", "t_1.txt"]
        {
            world.write(file, "text\n");
        }
        for package in ["one", "two", "three", "four"] {
            world.write(&format!("{package}/mod.rs"), "text\n");
        }
        world.write(".git/config", "text\n");
    };
    let read = |path: &str| json!({"file_path": path});
    check(
        "files_that_were_meant",
        set_up,
        &[],
        &[
            ("in other letter case", GET, read("$ROOT/SRC/App.rs")),
            ("a slip", GET, read("$ROOT/src/hanlder.rs")),
            ("another extension", GET, read("$ROOT/README")),
            ("elsewhere", GET, read("$ROOT/src/parser.rs")),
            ("several", GET, read("$ROOT/src/mod.rs")),
            ("one digit", GET, read("$ROOT/t_2.txt")),
            (
                "several files",
                GET,
                json!({"files": [read("$ROOT/src/app.rss"), read("parser.rs"), read("$ROOT/x/y.rs")]}),
            ),
            ("relative", GET, read("src/app.rs")),
            ("from home on", GET, read("~/src/app.rs")),
            ("a URL", GET, read("file://$ROOT/my%20file.txt")),
            ("quoted", GET, read("\"$ROOT/my file.txt\"")),
            ("padded", GET, read("$ROOT/my file.txt\n")),
            ("protected, to be read", GET, read("$ROOT/.git/Config")),
            ("protected, to be edited", PATCH, by_text(".git/Config", "a", "b")),
            (
                "protected and relative, to be edited",
                PATCH,
                json!({"files": [{"file_path": ".git/config", "patches": [{"old_string": "a", "new_string": "b"}]}]}),
            ),
            (
                "with another problem",
                PATCH,
                json!({"files": [{"file_path": ".git/config", "patches": []}, {"file_path": "src/app.rs", "patches": []}]}),
            ),
            ("to be edited", PATCH, by_text("src/handlr.rs", "a", "b")),
            (
                "several, to be edited",
                super::DELETE,
                json!({"file_path": "$ROOT/src/mod.rs", "file_hash": "0123456789ab", "ranges": [{"start": 1, "range_hash": "0123456789ab"}]}),
            ),
            ("to be made", CREATE, json!({"file_path": "src/new.rs", "contents": ""})),
            ("to be made, quoted", CREATE, json!({"file_path": "'$ROOT/src/new.rs'", "contents": ""})),
            ("to be made nowhere", CREATE, json!({"file_path": "no/new.rs", "contents": ""})),
        ],
    );
}

#[cfg(unix)]
#[test]
fn names_that_are_no_regular_file() {
    let set_up = |world: &World| {
        let made = std::process::Command::new("mkfifo").arg(world.path("fifo")).status().unwrap();
        assert!(made.success());
        // The file of the socket stays when its listener is gone.
        drop(std::os::unix::net::UnixListener::bind(world.path("socket")).unwrap());
        world.link("loop", "loop");
        world.link("out", "/etc/passwd");
        world.link("nowhere", "missing.txt");
    };
    let read = |path: &str| json!({"file_path": path});
    check(
        "names_that_are_no_regular_file",
        set_up,
        &["/dev"],
        &[
            ("a FIFO", GET, read("$ROOT/fifo")),
            ("a FIFO, to be edited", PATCH, by_text("fifo", "a", "b")),
            ("a socket", GET, read("$ROOT/socket")),
            ("a device", GET, read("/dev/null")),
            ("a link to itself", GET, read("$ROOT/loop")),
            ("a link outside", GET, read("$ROOT/out")),
            ("a link to nothing", GET, read("$ROOT/nowhere")),
            (
                "a link to nothing, to be created",
                CREATE,
                json!({"file_path": "$ROOT/nowhere", "contents": "new\n"}),
            ),
        ],
    );
}

#[test]
fn names_that_are_taken() {
    let set_up = |world: &World| {
        world.write("t.txt", "one\ntwo\n");
        world.write("empty.txt", "");
        world.write("latin1.txt", b"caf\xe9\n");
        world.write("dir/t.txt", "one\n");
    };
    let create = |file: &str| json!({"file_path": format!("$ROOT/{file}"), "contents": "new\n"});
    check(
        "names_that_are_taken",
        set_up,
        &[],
        &[
            ("a file", CREATE, create("t.txt")),
            (
                "a file, in a dry run",
                CREATE,
                json!({"file_path": "$ROOT/t.txt", "contents": "new\n", "dry_run": true}),
            ),
            ("an empty file", CREATE, create("empty.txt")),
            ("a file that is not utf-8", CREATE, create("latin1.txt")),
            ("a directory", CREATE, create("dir")),
        ],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn places_where_nothing_may_be_written() {
    // Nobody may make a file there, not even root.
    check(
        "places_where_nothing_may_be_written",
        |_| {},
        &["/sys"],
        &[("create", CREATE, json!({"file_path": "/sys/mcp-text-editor.txt", "contents": "x"}))],
    );
}

#[test]
fn paths_that_are_protected() {
    let set_up = |world: &World| {
        world.write(".git/config", "[core]\n");
        world.write("t.txt", "text\n");
        world.write("vendor/lib.js", "text\n");
        world.write(".mcp.json", "{}\n");
    };
    let create = |file: &str| json!({"file_path": format!("$ROOT/{file}"), "contents": "x"});
    let line = |file: &str| json!({"file_path": format!("$ROOT/{file}"), "file_hash": format!("$HASH({file})"), "contents": "x"});
    check(
        "paths_that_are_protected",
        set_up,
        &["--protect", "vendor/", "--protect", "*.lock"],
        &[
            ("git's own", PATCH, by_text(".git/config", "[core]", "[core]\n\tsshCommand = x")),
            ("a hook", CREATE, create(".git/hooks/post-checkout")),
            ("a dry run", PATCH, {
                let mut call = by_text(".git/config", "[core]", "x");
                call["dry_run"] = json!(true);
                call
            }),
            ("what starts servers", APPEND, line(".mcp.json")),
            ("what starts servers, and is not there", CREATE, create(".vscode/mcp.json")),
            ("by the person's pattern", APPEND, line("vendor/lib.js")),
            ("by the person's pattern, and not there", PATCH, by_text("a/b.lock", "a", "b")),
            (
                "among others",
                PATCH,
                json!({"files": [
                    {"file_path": "$ROOT/t.txt", "patches": [{"old_string": "text", "new_string": "x"}]},
                    {"file_path": "$ROOT/.GIT/config", "patches": [{"old_string": "x", "new_string": "y"}]},
                    {"file_path": "$ROOT/missing", "patches": [{"old_string": "x", "new_string": "y"}]},
                ]}),
            ),
        ],
    );
}

#[test]
fn what_is_protected_can_be_read() {
    let world = World::new();
    world.write(".git/config", "[core]\n");
    let mut session = world.serve(&["--protect", "*"]);
    let reply = world.call(&mut session, GET, &json!({"file_path": "$ROOT/.git/config"}));
    assert!(reply.text.ends_with("\n1\t[core]\n"), "{}", reply.text);
}
