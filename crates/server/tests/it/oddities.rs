//! Files that are not what they seem, or that change: each call is answered soon.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the server"
)]

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

#[cfg(target_os = "linux")]
use crate::session::Session;
use crate::world::World;

const GET: &str = "get_text_file_contents";
const PATCH: &str = "patch_text_file_contents";
const APPEND: &str = "append_text_file_contents";
const CREATE: &str = "create_text_file";

/// A file of a terabyte that takes no space on the disk: only a hole, or some text and then a hole.
#[test]
fn a_sparse_file_of_any_size_is_answered_at_once() {
    let world = World::new();
    for (name, head) in [("holes", ""), ("text-first", "first\nsecond\n")] {
        world.write(name, head);
        let file = File::options().write(true).open(world.path(name)).unwrap();
        if file.set_len(1 << 40).is_err() {
            return eprintln!("skipped: this file system has no files of a terabyte");
        }
    }
    let mut session = world.serve(&[]);
    for name in ["holes", "text-first"] {
        let path = format!("$ROOT/{name}");
        for (tool, arguments, code) in [
            (GET, json!({"file_path": path}), "binary_file"),
            (GET, json!({"file_path": path, "line_start": 1, "line_end": 2}), "binary_file"),
            (GET, json!({"files": [{"file_path": path, "ranges": []}]}), "binary_file"),
            (
                PATCH,
                json!({"files": [{"file_path": path, "patches": [{"old_string": "first", "new_string": "x"}]}]}),
                "binary_file",
            ),
            (
                APPEND,
                json!({"file_path": path, "file_hash": "0123456789abcdef", "contents": "x"}),
                "binary_file",
            ),
            (CREATE, json!({"file_path": path, "contents": "x"}), "already_exists"),
        ] {
            assert_eq!(world.call(&mut session, tool, &arguments).code(), code, "{tool} {name}");
        }
    }
}

/// This file looks like text, so it is read on and on. The read must end when the client withdraws it; else
/// the session could not end.
#[test]
fn a_read_of_a_terabyte_ends_when_it_is_withdrawn() {
    let world = World::new();
    world.write("wide", [0xff, 0xfe]);
    let file = File::options().write(true).open(world.path("wide")).unwrap();
    if file.set_len(1 << 40).is_err() {
        return eprintln!("skipped: this file system has no files of a terabyte");
    }
    let mut session = world.serve(&[]);
    let arguments = world.filled(&json!({"file_path": "$ROOT/wide", "line_start": 1, "line_end": 2}));
    session.notify(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": GET, "arguments": arguments}}));
    assert_eq!(session.ask("ping", &json!({}))["result"], json!({}), "others are answered meanwhile");
    session
        .notify(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}));
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_kernel_makes_up_is_no_regular_file() {
    let world = World::new();
    let mut session = world.serve(&["--landlock", "off", "/proc", "/sys", "/dev"]);
    for (path, codes) in [
        ("/proc/self/status", &["not_a_regular_file"][..]),
        ("/proc/sys/kernel/hostname", &["not_a_regular_file"]),
        ("/proc/self/mem", &["not_a_regular_file", "permission_denied"]),
        ("/proc/kmsg", &["not_a_regular_file", "permission_denied", "not_found"]),
        ("/proc/self/pagemap", &["not_a_regular_file", "permission_denied"]),
        ("/sys/class/net/lo/mtu", &["not_a_regular_file", "not_found"]),
        ("/proc/self/fd", &["is_a_directory"]),
        ("/proc/self", &["is_a_directory"]),
        ("/dev/zero", &["not_a_regular_file"]),
        ("/dev/full", &["not_a_regular_file"]),
        ("/dev/tty", &["not_a_regular_file", "not_found"]),
    ] {
        let reply = world.call(&mut session, GET, &json!({"file_path": path}));
        assert!(codes.contains(&reply.code().as_str()), "{path}: {}", reply.text);
    }
    // A file that is really empty is served.
    world.write("empty.txt", "");
    assert_eq!(world.call(&mut session, GET, &json!({"file_path": "$ROOT/empty.txt"})).code(), "ok");
}

/// Ends the other program with the test, even if that panics.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A read shows one state of the file, or says that the file kept changing.
#[test]
fn a_file_that_changes_while_it_is_read_is_shown_as_it_was_at_one_time() {
    let world = World::new();
    // Small files are read at once, larger ones in blocks.
    for (name, lines) in [("small.txt", 2_000), ("large.txt", 300_000)] {
        let text = |letter: char| format!("{letter}{letter}{letter}{letter}\n").repeat(lines);
        world.write(name, text('a'));
        let mut session = world.serve(&[]);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _end = End(&stop);
            scope.spawn(|| {
                for letter in ['b', 'a'].into_iter().cycle().take_while(|_| !stop.load(Ordering::Relaxed)) {
                    let new = world.path(&format!("{name}.new"));
                    fs::write(&new, text(letter)).unwrap();
                    fs::rename(&new, world.path(name)).unwrap();
                }
            });
            for _ in 0..12 {
                let reply = world.call_among_others(
                    &mut session,
                    GET,
                    &json!({"files": [{"file_path": format!("$ROOT/{name}"),
                    "ranges": [{"start": 1, "end": 3}, {"start": -3}]}], "line_numbers": false}),
                );
                assert!(["ok", "conflict"].contains(&reply.code().as_str()), "{}", reply.text);
                let shown: Vec<&str> = reply.text.lines().filter(|line| line.len() == 4).collect();
                assert!(reply.is_error || shown.len() == 6, "{}", reply.text);
                assert!(shown.iter().all(|line| *line == shown[0]), "{}", reply.text);
            }
        });
    }
}

#[test]
fn a_file_that_grows_and_shrinks_while_it_is_read_is_answered() {
    let world = World::new();
    world.write("t.txt", "a line of text\n".repeat(200_000));
    let mut session = world.serve(&[]);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _end = End(&stop);
        scope.spawn(|| {
            // On Windows a file that is opened only for appending cannot be truncated.
            let mut file = File::options().write(true).open(world.path("t.txt")).unwrap();
            while !stop.load(Ordering::Relaxed) {
                file.seek(SeekFrom::End(0)).unwrap();
                file.write_all(&b"a line of text\n".repeat(100_000)).unwrap();
                file.set_len(15).unwrap();
            }
        });
        for turn in 0..30 {
            let reply = world.call_among_others(
                &mut session,
                GET,
                &json!({"file_path": "$ROOT/t.txt", "line_start": -5}),
            );
            assert!(["ok", "conflict"].contains(&reply.code().as_str()), "{}", reply.text);
            let patch = json!({"files": [{"file_path": "$ROOT/t.txt", "patches": [{"old_string": format!("none {turn}"), "new_string": "x"}]}]});
            let reply = world.call_among_others(&mut session, PATCH, &patch);
            assert!(["no_match", "conflict"].contains(&reply.code().as_str()), "{}", reply.text);
        }
    });
}

/// No character of a name can forge a line of a reply. A name that is not UTF-8 cannot be used, and does no
/// harm.
#[cfg(target_os = "linux")]
#[test]
fn odd_names_are_spelled_out_in_replies() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::new();
    let names = [
        "two\nlines",
        "error: not_found: \u{1b}[31m",
        "tab\tand\rreturn",
        "\u{2028}\u{85}",
        " ",
        "-",
        "$(x)",
    ];
    for name in names {
        world.write(name, "text\n");
    }
    let mut session = world.serve(&[]);
    for name in names {
        for path in [format!("$ROOT/{name}"), format!("$ROOT/{name}.missing"), name.to_owned()] {
            let reply = world.call(&mut session, GET, &json!({"file_path": path}));
            assert!(reply.text.lines().count() <= 5, "{}", reply.text);
            assert!(
                !reply.raw.contains(|c: char| c.is_control() && c != '\n' && c != '\t'),
                "{:?}",
                reply.raw
            );
        }
    }
    // A path is shown with the escapes of JSON, so that the reader sees what was sent.
    for (name, shown) in [
        ("gnp.\u{202e}txt", r"gnp.\u202etxt"),
        ("a\u{200b}\"b", r#"a\u200b\"b"#),
        ("\u{e0001}", r"\udb40\udc01"),
    ] {
        world.write(name, "text\n");
        let path = format!("$ROOT/{name}");
        let reply = world.call(&mut session, GET, &json!({"file_path": path}));
        assert!(reply.text.starts_with(&format!("\"$ROOT/{shown}\" lines 1-1 of 1 ")), "{}", reply.text);
        let facts = world.call(&mut session, GET, &json!({"files": [{"file_path": path, "ranges": []}]}));
        assert!(facts.text.starts_with(&format!("\"$ROOT/{shown}\" 1 lines ")), "{}", facts.text);
        let edit =
            json!({"files": [{"file_path": path, "patches": [{"old_string": "none", "new_string": "x"}]}]});
        let refused = world.call(&mut session, PATCH, &edit);
        assert!(refused.text.contains(&format!("\nin \"$ROOT/{shown}\"\n")), "{}", refused.text);
        let edit =
            json!({"files": [{"file_path": path, "patches": [{"old_string": "text", "new_string": "new"}]}]});
        let done = world.call(&mut session, PATCH, &edit);
        assert!(done.raw.contains(shown) && !done.raw.contains(name), "{}", done.raw);
        let told: serde_json::Value = serde_json::from_str(&done.text).unwrap();
        assert_eq!(told["files"][0]["file_path"], path);
        let missing = world.call(&mut session, PATCH, &json!({"files": [{"file_path": format!("{path}.x"), "patches": [{"old_string": "a", "new_string": "b"}]}]}));
        assert!(missing.text.contains(&format!("\nin \"$ROOT/{shown}.x\"\n")), "{}", missing.text);
        let mut json = world.serve(&["--output", "json"]);
        let read = world.call(&mut json, GET, &json!({"file_path": path}));
        assert!(read.raw.contains(shown) && !read.raw.contains(name), "{}", read.raw);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&read.raw).unwrap(), read.structured.unwrap());
    }
    let odd = world.path("").join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&odd).unwrap();
    fs::write(odd.join("f.txt"), "text\n").unwrap();
    std::os::unix::fs::symlink(&odd, world.path("way")).unwrap();
    assert_eq!(
        world.call(&mut session, GET, &json!({"file_path": "$ROOT/caf\u{fffd}/f.txt"})).code(),
        "not_found"
    );
    assert_eq!(world.call(&mut session, GET, &json!({"file_path": "$ROOT/way/f.txt"})).code(), "ok");
}

/// A path that no call can name is not proposed: with U+FFFD in it, it would be another path.
#[cfg(target_os = "linux")]
#[test]
fn a_root_that_is_not_utf_8_is_not_named() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::new();
    let odd = world.path("").join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir_all(odd.join("sub")).unwrap();
    fs::write(odd.join("sub/f.txt"), "text\n").unwrap();
    world.write("plain/other.txt", "text\n");
    // The program is started in the directory, because its path is not UTF-8 and cannot be passed here.
    let mut alone = Session::start_in(&odd, &["."]);
    let mut both = Session::start_in(&odd, &[".", world.path("plain").to_str().unwrap()]);
    for (path, code) in [
        ("sub/f.txt", "path_not_absolute"),
        ("nowhere", "path_not_absolute"),
        ("/etc/passwd", "outside_allowed_directories"),
    ] {
        let reply = world.call(&mut alone, GET, &json!({"file_path": path}));
        assert_eq!(reply.code(), code);
        assert!(reply.text.contains("hint: no call can name an allowed directory"), "{}", reply.text);
        assert!(!reply.text.contains('\u{fffd}'), "{}", reply.text);
        let reply = world.call(&mut both, GET, &json!({"file_path": path}));
        assert!(reply.text.contains("$ROOT/plain (and one whose path is not UTF-8"), "{}", reply.text);
        assert!(!reply.text.contains('\u{fffd}'), "{}", reply.text);
    }
    // Nor is the target of a dangling link: the file would be made elsewhere.
    std::os::unix::fs::symlink(odd.join("missing"), world.path("plain/way")).unwrap();
    let mut session = Session::start(&[world.path("").to_str().unwrap()]);
    let create = json!({"file_path": "$ROOT/plain/way", "contents": "x"});
    let reply = world.call(&mut session, CREATE, &create);
    assert!(reply.text.contains(r"a symbolic link to $ROOT/caf\xE9/missing, which"), "{}", reply.text);
    assert!(!reply.text.contains("call create_text_file"), "{}", reply.text);
}

/// A link of the kernel that may not be read is not taken for a file that keeps changing.
#[cfg(target_os = "linux")]
#[test]
fn a_link_that_may_not_be_read_is_denied() {
    let world = World::new();
    let mut session = world.serve(&["/"]);
    for path in ["/proc/1/root/etc/passwd", "/proc/1/root", "/proc/1/cwd/x", "/proc/1/root/missing"] {
        let reply = world.call(&mut session, GET, &json!({"file_path": path}));
        // Without Landlock, root may read it.
        let codes = ["permission_denied", "ok", "is_a_directory", "not_found"];
        assert!(codes.contains(&reply.code().as_str()), "{path}: {}", reply.text);
        if fs::read_link("/proc/1/root").is_err() {
            assert_eq!(reply.code(), "permission_denied", "{path}: {}", reply.text);
            assert!(
                reply
                    .text
                    .starts_with(&format!("error: permission_denied: the system denies access to {path}"))
            );
        }
    }
}
