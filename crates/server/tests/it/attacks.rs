//! Attacks by which a hijacked model, or a program that runs next to the server, would try to get out of the
//! allowed directories.
//!
//! Each attack is made on one wall alone. Usually this is the first one, paths by handles, with `--landlock
//! off`. In a build with the store's feature `simulation`, and `MCP_TEXT_EDITOR_SIMULATE=no-containment`, it
//! is the second one, Landlock: then every path is followed wherever it leads. There the answer to an attack
//! does not matter; nothing may come in, and nothing may go out.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the server"
)]

use std::collections::BTreeMap;
use std::fs;
#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::path::PathBuf;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_store::has_containment;
use serde_json::{Value, json};

use crate::session::Session;
use crate::world::{Entry, Reply, World, tree};

const GET: &str = "get_text_file_contents";
const PATCH: &str = "patch_text_file_contents";
const CREATE: &str = "create_text_file";
const APPEND: &str = "append_text_file_contents";
const DELETE: &str = "delete_text_file_contents";
const MOVE: &str = "move_text_file";
const REMOVE: &str = "remove_text_file";
const SEARCH: &str = "search_text_files";
const LIST: &str = "list_text_files";

/// The text that nobody may read.
const SECRET: &str = "the secret of somebody else\n";

/// A directory `@` with `@/root`, which is allowed, and other people's files next to it.
struct Arena {
    world: World,
    top: PathBuf,
}

impl Arena {
    fn new() -> Self {
        let world = World::new();
        let top = world.path("").parent().unwrap().to_owned();
        let arena = Self { world, top };
        for secret in
            ["outside/secret.txt", "outside/deep/secret.txt", "root-evil/secret.txt", "roo/secret.txt"]
        {
            arena.write(&format!("@/{secret}"), SECRET);
        }
        // If letter case does not count, this is the root.
        if !arena.path("@/Root").exists() {
            arena.write("@/Root/secret.txt", SECRET);
        }
        arena.write("@/secret.txt", SECRET);
        arena.write("@/root/file.txt", "inside\n");
        arena.write("@/root/dir/file.txt", "inside\n");
        arena
    }

    /// Returns a path; `@` stands for the directory around the root.
    fn path(&self, path: &str) -> PathBuf {
        PathBuf::from(path.replace('@', self.top.to_str().unwrap()))
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[cfg(unix)]
    fn link(&self, path: &str, target: &str) {
        symlink(self.path(target), self.path(path)).unwrap();
    }

    /// Returns everything around the root.
    fn outside(&self) -> BTreeMap<String, Entry> {
        let mut all = tree(&self.top);
        all.retain(|path, _| !path.starts_with("root/"));
        all
    }

    /// Returns a session with the wall that is tested; `None` if this machine has no such wall.
    fn serve(&self, options: &[&str]) -> Option<Session> {
        let landlock = if has_containment() { "off" } else { "require" };
        if !has_containment() && !has_landlock() {
            return None;
        }
        Some(self.world.serve(&[&["--landlock", landlock], options].concat()))
    }

    fn call(&self, session: &mut Session, tool: &str, arguments: &Value) -> Reply {
        self.world.call(session, tool, &self.filled(arguments))
    }

    fn filled(&self, arguments: &Value) -> Value {
        let top = self.top.to_str().unwrap().replace('\\', r"\\");
        serde_json::from_str(&arguments.to_string().replace('@', &top)).unwrap()
    }

    /// Tries to read a path, and to change it in every way. Returns the code of the answer to the read.
    fn attack(&self, session: &mut Session, path: &str) -> String {
        let before = self.outside();
        let hash = Digest::of(SECRET.as_bytes()).to_string();
        let read = self.call(session, GET, &json!({"file_path": path}));
        let calls = [
            (GET, json!({"files": [{"file_path": path, "ranges": []}, {"file_path": "@/root/file.txt"}]})),
            (
                PATCH,
                json!({"files": [{"file_path": path, "patches": [{"old_string": "the secret", "new_string": "no"}]}]}),
            ),
            (
                PATCH,
                json!({"files": [{"file_path": path, "patches": [{"old_string": "nothing like it", "new_string": "no"}]}]}),
            ),
            (APPEND, json!({"file_path": path, "file_hash": hash, "contents": "no"})),
            (
                DELETE,
                json!({"file_path": path, "file_hash": hash, "ranges": [{"start": 1, "range_hash": hash}]}),
            ),
            (CREATE, json!({"file_path": path, "contents": "no"})),
            (CREATE, json!({"file_path": format!("{path}/new/file"), "contents": "no"})),
            (CREATE, json!({"file_path": format!("{path}.new"), "contents": "no"})),
            (SEARCH, json!({"pattern": "secret", "paths": [path], "hashes": true})),
            (SEARCH, json!({"pattern": "secret", "paths": ["@/root", format!("{path}/..")], "context": 2})),
            (SEARCH, json!({"pattern": "secret", "glob": path, "hashes": true})),
            (LIST, json!({"path": path, "include_ignored": true, "line_counts": true})),
            (LIST, json!({"glob": path, "include_ignored": true, "line_counts": true})),
            (REMOVE, json!({"file_path": path, "file_hash": hash})),
            (CREATE, json!({"file_path": "@/root/bait.txt", "contents": "bait"})),
            (MOVE, json!({"from": "@/root/bait.txt", "to": path})),
            (MOVE, json!({"from": "@/root/bait.txt", "to": format!("{path}.new")})),
            (MOVE, json!({"from": "@/root/bait.txt", "to": format!("{path}/new/file")})),
            (MOVE, json!({"from": path, "to": "@/root/stolen/secret.txt"})),
        ];
        let mut replies = vec![read];
        replies.extend(calls.iter().map(|(tool, arguments)| self.call(session, tool, arguments)));
        for reply in &replies {
            assert!(!reply.raw.contains("of somebody else"), "{path}: {}", reply.raw);
            assert!(!reply.raw.contains(&hash[..12]), "{path}: {}", reply.raw);
        }
        assert_eq!(self.outside(), before, "{path}");
        replies[0].code()
    }
}

/// Tells whether the kernel has the second wall.
pub(crate) fn has_landlock() -> bool {
    let here = tempfile::tempdir().unwrap();
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_mcp-text-editor"))
        .args(["--landlock", "require", "."])
        .current_dir(here.path())
        .env("MCP_TEXT_EDITOR_STATE_DIR", here.path().join("state"))
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    run.status.success()
}

/// Makes the attacks. With the first wall each must be answered by its code.
#[track_caller]
fn check(arena: &Arena, attacks: &[(&str, &str)]) {
    let Some(mut session) = arena.serve(&["--tools", "all"]) else {
        return eprint(&"skipped: the kernel has no Landlock");
    };
    for (path, expected) in attacks {
        let code = arena.attack(&mut session, path);
        if has_containment() {
            assert_eq!(code, *expected, "{path}");
        }
    }
    // The same server still serves files of its root.
    let read = arena.call(&mut session, GET, &json!({"file_path": "@/root/file.txt"}));
    assert!(read.text.ends_with("1\tinside\n") || read.text.ends_with("1\tinside"), "{}", read.text);
    let made = arena.call(&mut session, CREATE, &json!({"file_path": "@/root/made.txt", "contents": "x"}));
    assert_eq!(made.code(), "ok", "{}", made.text);
}

#[expect(clippy::print_stderr, reason = "a test that cannot run says why")]
pub(crate) fn eprint(why: &impl std::fmt::Display) {
    eprintln!("{why}");
}

/// A build that tests the second wall must not have the first, or it would test the first once more.
#[cfg(unix)]
#[test]
fn without_both_walls_the_secret_is_read() {
    if has_containment() {
        return;
    }
    let arena = Arena::new();
    let mut session = arena.world.serve(&["--landlock", "off"]);
    for path in
        ["@/outside/secret.txt", "@/root/../outside/secret.txt", "/proc/self/root@/outside/secret.txt"]
    {
        let read = arena.call(&mut session, GET, &json!({"file_path": path}));
        assert!(read.raw.contains("of somebody else"), "{path}: {}", read.raw);
    }
    let made = arena.call(&mut session, CREATE, &json!({"file_path": "@/outside/new.txt", "contents": "x"}));
    assert_eq!(made.code(), "ok", "{}", made.text);
}

const OUTSIDE: &str = "outside_allowed_directories";
const UPWARDS: &str = "path_traversal";
const RELATIVE: &str = "path_not_absolute";
const MISSING: &str = "not_found";
/// The code for a name that no file of Windows can have.
const UNUSABLE: &str = "invalid_arguments";

#[test]
fn names_that_begin_like_the_root() {
    let arena = Arena::new();
    check(
        &arena,
        &[
            ("@/root-evil/secret.txt", OUTSIDE),
            ("@/root-evil/not-there.txt", OUTSIDE),
            ("@/roo/secret.txt", OUTSIDE),
            ("@/rootless", OUTSIDE),
            ("@/secret.txt", OUTSIDE),
            ("@/outside/secret.txt", OUTSIDE),
            ("@/outside/secret.txt/", OUTSIDE),
            ("@/outside/./secret.txt", OUTSIDE),
            ("@//outside//secret.txt", OUTSIDE),
            ("@/outside", OUTSIDE),
            ("@", OUTSIDE),
        ],
    );
    #[cfg(unix)]
    check(
        &Arena::new(),
        &[("/.@/outside/secret.txt", OUTSIDE), ("//@/outside/secret.txt", OUTSIDE), ("/", OUTSIDE)],
    );
}

#[test]
fn the_way_upwards_in_every_spelling() {
    let arena = Arena::new();
    check(
        &arena,
        &[
            ("@/root/../outside/secret.txt", UPWARDS),
            ("@/root/./../outside/secret.txt", UPWARDS),
            ("@/root//..//outside//secret.txt", UPWARDS),
            ("@/root/dir/../../outside/secret.txt", UPWARDS),
            ("@/root/missing/../../outside/secret.txt", UPWARDS),
            ("@/root/file.txt/../../outside/secret.txt", UPWARDS),
            ("@/outside/../root/../outside/secret.txt", UPWARDS),
            ("@/root/..", UPWARDS),
            ("../outside/secret.txt", RELATIVE),
            ("..", RELATIVE),
            ("outside/secret.txt", RELATIVE),
            ("~/secret.txt", RELATIVE),
            #[cfg(unix)]
            ("/../..@/outside/secret.txt", UPWARDS),
            #[cfg(unix)]
            ("file://@/outside/secret.txt", RELATIVE),
            ("@/root/..\u{0}/outside/secret.txt", "invalid_arguments"),
            ("@/root/..%00/outside/secret.txt", MISSING),
            ("@/root/$HOME/../outside", UPWARDS),
            // These are ordinary names.
            ("@/root/%2e%2e/outside/secret.txt", MISSING),
            ("@/root/..%2foutside/secret.txt", MISSING),
            ("@/root/..;/outside/secret.txt", MISSING),
            ("@/root/…/outside/secret.txt", MISSING),
            ("@/root/．．/outside/secret.txt", MISSING),
            ("@/root/..∕outside∕secret.txt", MISSING),
        ],
    );
    // Windows takes these for `..`, or would shorten them to it.
    let [backslashes, blank, dots] = if cfg!(windows) { [UPWARDS, UNUSABLE, UNUSABLE] } else { [MISSING; 3] };
    check(
        &Arena::new(),
        &[
            ("@/root/..\\outside\\secret.txt", backslashes),
            ("@/root/.. /outside/secret.txt", blank),
            ("@/root/.../outside/secret.txt", dots),
            ("@/root/ ../outside/secret.txt", dots),
            ("@/root/.\u{200b}./outside/secret.txt", dots),
        ],
    );
}

#[cfg(unix)]
#[test]
fn links_that_lead_outside() {
    let arena = Arena::new();
    let deep = ["a", "b", "c", "d"].join("/");
    fs::create_dir_all(arena.path(&format!("@/root/{deep}"))).unwrap();
    for (link, target) in [
        ("file", "@/outside/secret.txt"),
        ("file-relative", "../outside/secret.txt"),
        ("dir-link", "@/outside"),
        ("dir-relative", "../outside"),
        ("parent", ".."),
        ("top", "/"),
        ("nested", "dir-link/deep"),
        ("chain-1", "chain-2"),
        ("chain-2", "dir/../file"),
        ("dangling", "@/outside/not-there.txt"),
        ("dangling-deep", "@/outside/no/such/directory/file.txt"),
        ("dangling-relative", "../outside/not-there-either.txt"),
        ("evil", "../root-evil"),
        ("a/b/c/d/up", "../../../../../outside"),
        ("proc", "/proc/self/root"),
        ("cwd", "/proc/self/cwd"),
        ("loop-1", "@/root/loop-2"),
        ("loop-2", "loop-1"),
        ("inside", "@/root/file.txt"),
        ("inside-relative", "dir/../dir/file.txt"),
    ] {
        arena.link(&format!("@/root/{link}"), target);
    }
    arena.link("@/outside/back", "@/root/file");
    check(
        &arena,
        &[
            ("@/root/file", OUTSIDE),
            ("@/root/file-relative", OUTSIDE),
            ("@/root/dir-link/secret.txt", OUTSIDE),
            ("@/root/dir-link/not-there.txt", OUTSIDE),
            ("@/root/dir-link", OUTSIDE),
            ("@/root/dir-relative/deep/secret.txt", OUTSIDE),
            ("@/root/parent/secret.txt", OUTSIDE),
            ("@/root/parent/outside/secret.txt", OUTSIDE),
            ("@/root/parent/root/parent/secret.txt", OUTSIDE),
            ("@/root/top@/outside/secret.txt", OUTSIDE),
            ("@/root/nested/secret.txt", OUTSIDE),
            ("@/root/chain-1", OUTSIDE),
            ("@/root/dangling", OUTSIDE),
            ("@/root/dangling-deep", OUTSIDE),
            ("@/root/dangling-relative", OUTSIDE),
            ("@/root/evil/secret.txt", OUTSIDE),
            ("@/root/a/b/c/d/up/secret.txt", OUTSIDE),
            ("@/root/proc@/outside/secret.txt", OUTSIDE),
            ("@/outside/back", OUTSIDE),
            ("@/root/loop-1", "io_error"),
            ("@/root/loop-1/x", "io_error"),
        ],
    );
    if let Some(mut session) = arena.serve(&[]) {
        for inside in ["inside", "inside-relative"] {
            let read = arena.call(&mut session, GET, &json!({"file_path": format!("@/root/{inside}")}));
            assert_eq!(read.code(), "ok", "{inside}: {}", read.text);
        }
    }
}

/// Windows has other names for a file besides its path.
#[cfg(windows)]
#[test]
fn the_other_names_of_windows() {
    let arena = Arena::new();
    let top = arena.top.to_str().unwrap().to_owned();
    let (drive, below) = (&top[..1], &top[3..]);
    let share = format!(r"localhost\{drive}$\{below}\outside\secret.txt");
    let attacks = [
        (r"\\?\@\outside\secret.txt".to_owned(), OUTSIDE),
        (r"\\.\@\outside\secret.txt".to_owned(), OUTSIDE),
        (r"//?/@/outside/secret.txt".to_owned(), OUTSIDE),
        (r"@\OUTSIDE\Secret.TXT".to_owned(), OUTSIDE),
        (r"@\ROOT-EVIL\secret.txt".to_owned(), OUTSIDE),
        // Short names, even if there are none.
        (r"@\ROOT-E~1\secret.txt".to_owned(), OUTSIDE),
        (r"@\OUTSIDE~1\secret.txt".to_owned(), OUTSIDE),
        (format!(r"\\{share}"), OUTSIDE),
        (format!(r"\\?\UNC\{share}"), OUTSIDE),
        (format!("//{}", share.replace('\\', "/")), OUTSIDE),
        (r"\\?\@\root\..\outside\secret.txt".to_owned(), UPWARDS),
        (r"@\root\dir\..\..\outside\secret.txt".to_owned(), UPWARDS),
        (format!(r"{drive}:outside\secret.txt"), RELATIVE),
        (format!(r"\{below}\outside\secret.txt"), RELATIVE),
        (r"\\?\GLOBALROOT\??\@\outside\secret.txt".to_owned(), RELATIVE),
        (r"\\.\PhysicalDrive0".to_owned(), RELATIVE),
        (r"\\.\pipe\secret".to_owned(), RELATIVE),
        (r"@\root.\..\outside\secret.txt".to_owned(), UPWARDS),
        (r"@\outside.\secret.txt".to_owned(), UNUSABLE),
        (r"@\outside \secret.txt".to_owned(), UNUSABLE),
        (r"@\outside\secret.txt.".to_owned(), UNUSABLE),
        (r"@\outside\secret.txt::$DATA".to_owned(), UNUSABLE),
        (r"@\outside::$INDEX_ALLOCATION\secret.txt".to_owned(), UNUSABLE),
        (r"@\root\file.txt:..\outside\secret.txt".to_owned(), UNUSABLE),
        (r"@\root\CON".to_owned(), UNUSABLE),
        (r"@\root\nul.txt".to_owned(), UNUSABLE),
        (r"@\root\COM¹".to_owned(), UNUSABLE),
        (r"@\root\CONIN$".to_owned(), UNUSABLE),
    ];
    let attacks: Vec<(&str, &str)> = attacks.iter().map(|(path, code)| (path.as_str(), *code)).collect();
    check(&arena, &attacks);
}

/// Anybody can make junctions, without a special right.
#[cfg(windows)]
#[test]
fn junctions_that_lead_outside() {
    let arena = Arena::new();
    for (name, target) in
        [("out", "@\\outside"), ("up", "@"), ("evil", "@\\root-evil"), ("in", "@\\root\\dir")]
    {
        let (link, target) = (arena.path(&format!("@\\root\\{name}")), arena.path(target));
        let made =
            std::process::Command::new("cmd").args(["/c", "mklink", "/J"]).args([&link, &target]).output();
        if !link.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
            return eprint(&format!("skipped: no junction can be made: {made:?}"));
        }
    }
    check(
        &arena,
        &[
            (r"@\root\out\secret.txt", OUTSIDE),
            (r"@\root\out\deep\secret.txt", OUTSIDE),
            (r"@\root\out\new.txt", OUTSIDE),
            (r"@\root\out", OUTSIDE),
            (r"@\root\OUT\secret.txt", OUTSIDE),
            (r"\\?\@\root\out\secret.txt", OUTSIDE),
            (r"@\root\up\outside\secret.txt", OUTSIDE),
            (r"@\root\up\root\out\secret.txt", OUTSIDE),
            (r"@\root\evil\secret.txt", OUTSIDE),
        ],
    );
    let Some(mut session) = arena.serve(&[]) else { return };
    let read = arena.call(&mut session, GET, &json!({"file_path": r"@\root\in\file.txt"}));
    assert_eq!(read.code(), "ok", "{}", read.text);
}

#[cfg(unix)]
#[test]
fn the_ways_of_proc() {
    let arena = Arena::new();
    arena.link("@/root/root", "/proc/self/root");
    arena.link("@/root/task", "/proc/thread-self/root");
    let mut attacks = vec![
        ("/proc/self/root@/outside/secret.txt".to_owned(), OUTSIDE),
        ("/proc/thread-self/root@/outside/secret.txt".to_owned(), OUTSIDE),
        ("/proc/1/root@/outside/secret.txt".to_owned(), OUTSIDE),
        ("/proc/self/environ".to_owned(), OUTSIDE),
        ("/proc/self/mem".to_owned(), OUTSIDE),
        ("/proc/self/cwd/secret.txt".to_owned(), OUTSIDE),
        ("/dev/stdin".to_owned(), OUTSIDE),
        ("@/root/root@/outside/secret.txt".to_owned(), OUTSIDE),
        ("@/root/task@/outside/secret.txt".to_owned(), OUTSIDE),
    ];
    // Everything that is open in the process: its directories, sockets, pipes.
    for descriptor in 0..12 {
        arena.link(&format!("@/root/fd-{descriptor}"), &format!("/proc/self/fd/{descriptor}"));
        attacks.push((format!("/proc/self/fd/{descriptor}/../outside/secret.txt"), UPWARDS));
    }
    let attacks: Vec<(&str, &str)> = attacks.iter().map(|(path, code)| (path.as_str(), *code)).collect();
    check(&arena, &attacks);
    let Some(mut session) = arena.serve(&[]) else { return };
    for descriptor in 0..12 {
        for path in [
            format!("/proc/self/fd/{descriptor}"),
            format!("/proc/self/fd/{descriptor}/history.db"),
            format!("@/root/fd-{descriptor}"),
            format!("@/root/fd-{descriptor}/secret.txt"),
        ] {
            // One of them is the root, and files made through it are inside. Only the outside counts.
            arena.attack(&mut session, &path);
        }
    }
}

#[test]
fn letter_case_and_unicode() {
    let arena = Arena::new();
    let (composed, decomposed) = ("@/caf\u{e9}", "@/cafe\u{301}");
    for directory in [composed, decomposed] {
        arena.write(&format!("{directory}/secret.txt"), SECRET);
    }
    let folds = arena.path("@/ROOT").exists();
    if folds || fs::read_dir(&arena.top).unwrap().count() < 8 {
        return eprint(&"skipped: this file system takes such names for one");
    }
    check(
        &arena,
        &[
            ("@/Root/secret.txt", OUTSIDE),
            ("@/ROOT/file.txt", OUTSIDE),
            ("@/OUTSIDE/secret.txt", OUTSIDE),
            ("@/ro\u{200b}ot/file.txt", OUTSIDE),
            ("@/ｒｏｏｔ/file.txt", OUTSIDE),
            ("@/root /file.txt", OUTSIDE),
            ("@/root./file.txt", OUTSIDE),
            ("@/root\u{0}/file.txt", "invalid_arguments"),
            (&format!("{composed}/secret.txt"), OUTSIDE),
            (&format!("{decomposed}/secret.txt"), OUTSIDE),
        ],
    );
}

#[cfg(unix)]
#[test]
fn roots_in_one_another() {
    let arena = Arena::new();
    arena.write("@/root/inner/file.txt", "inside\n");
    arena.link("@/root/inner/up", "../../outside");
    arena.link("@/root/inner/sideways", "../dir/file.txt");
    arena.link("@/root/down", "inner/up");
    let inner = arena.path("@/root/inner");
    let Some(mut session) = arena.serve(&[inner.to_str().unwrap()]) else { return };
    for path in ["@/root/inner/up/secret.txt", "@/root/down/secret.txt", "@/root/inner/up"] {
        let code = arena.attack(&mut session, path);
        assert!(!has_containment() || code == OUTSIDE, "{path}: {code}");
    }
    for path in ["@/root/inner/file.txt", "@/root/inner/sideways"] {
        assert_eq!(arena.call(&mut session, GET, &json!({"file_path": path})).code(), "ok", "{path}");
    }
}

/// The error is the same whether or not the file exists.
#[cfg(unix)]
#[test]
fn nothing_is_told_of_what_is_outside() {
    if !has_containment() {
        return;
    }
    let arena = Arena::new();
    arena.link("@/root/there", "@/outside/secret.txt");
    arena.link("@/root/nowhere", "@/outside/nothing.txt");
    fs::set_permissions(arena.path("@/root-evil"), std::os::unix::fs::PermissionsExt::from_mode(0o000))
        .unwrap();
    let mut session = arena.serve(&[]).unwrap();
    for (there, nowhere) in [
        ("@/outside/secret.txt", "@/outside/nothing.txt"),
        ("@/outside/deep", "@/outside/no"),
        ("@/outside/secret.txt/x", "@/outside/nothing.txt/x"),
        ("@/root/there", "@/root/nowhere"),
        ("@/root-evil/secret.txt", "@/root-evil/nothing.txt"),
    ] {
        for (tool, more) in [
            (GET, json!({})),
            (CREATE, json!({"contents": "x"})),
            (APPEND, json!({"contents": "x", "file_hash": "0123456789abcdef"})),
        ] {
            let said = |session: &mut Session, path: &str| {
                let mut arguments = more.clone();
                arguments["file_path"] = json!(path);
                let path = arena.path(path);
                arena.call(session, tool, &arguments).raw.replace(path.to_str().unwrap(), "PATH")
            };
            assert_eq!(said(&mut session, there), said(&mut session, nowhere), "{tool} {there}");
        }
    }
    fs::set_permissions(arena.path("@/root-evil"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
}

/// Hard links are not refused: a hard link is the file, and it lies in the root.
#[test]
fn a_hard_link_to_an_outside_file_is_a_file_of_the_root() {
    let arena = Arena::new();
    fs::hard_link(arena.path("@/outside/secret.txt"), arena.path("@/root/hard")).unwrap();
    let Some(mut session) = arena.serve(&[]) else { return };
    let read = arena.call(&mut session, GET, &json!({"file_path": "@/root/hard"}));
    assert!(read.text.contains("of somebody else"), "{}", read.text);
    let patch = json!({"files": [{"file_path": "@/root/hard", "patches": [{"old_string": "secret", "new_string": "text"}]}]});
    let edited = arena.call(&mut session, PATCH, &patch);
    assert!(edited.text.contains("written over") || edited.text.contains("in place"), "{}", edited.text);
    assert_eq!(
        fs::read_to_string(arena.path("@/outside/secret.txt")).unwrap(),
        SECRET.replace("secret", "text")
    );
}

#[cfg(unix)]
#[test]
fn a_root_that_is_replaced_leads_nowhere() {
    let arena = Arena::new();
    let Some(mut session) = arena.serve(&[]) else { return };
    let read = |session: &mut Session| arena.call(session, GET, &json!({"file_path": "@/root/secret.txt"}));
    fs::rename(arena.path("@/root"), arena.path("@/moved")).unwrap();
    for make in [|| {}, || ()] {
        make();
        assert!(read(&mut session).is_error);
    }
    arena.link("@/root", "@/outside");
    assert!(!read(&mut session).raw.contains("of somebody else"));
    fs::remove_file(arena.path("@/root")).unwrap();
    arena.write("@/root/secret.txt", SECRET);
    let told = read(&mut session);
    assert!(!told.raw.contains("of somebody else"), "{}", told.raw);
    if has_containment() {
        insta::assert_snapshot!(told.text, @r"
        error: outside_allowed_directories: the allowed directory $ROOT was removed or replaced since this server was started
        in $ROOT/secret.txt
        suggestion: get_text_file_contents
        hint: a person has to restart the server, which then takes the directory that is there
        ");
    }
}

/// An edit that was allowed is not taken back if it would not be allowed now.
#[test]
fn undo_keeps_to_the_walls() {
    if !has_containment() {
        return;
    }
    let arena = Arena::new();
    let state = arena.path("@/state");
    let kept = ["--landlock", "off", "--tools", "all", "--state-dir", state.to_str().unwrap()];
    let patch = json!({"files": [{"file_path": "@/root/file.txt", "patches": [{"old_string": "inside", "new_string": "in"}]}]});
    let edited = arena.call(&mut arena.world.serve(&kept), PATCH, &patch);
    let edited: Value = serde_json::from_str(&edited.raw).unwrap();
    let undo = json!({"edit_id": edited["edit_id"]});
    for (options, expected) in
        [(&["--protect", "file.txt"][..], "protected_path"), (&["--read-only"], "tool_disabled"), (&[], "ok")]
    {
        let mut session = arena.world.serve(&[&kept[..], options].concat());
        let reply = arena.call(&mut session, "undo_text_file_edits", &undo);
        assert_eq!(reply.code(), expected, "{}", reply.text);
        let text = if expected == "ok" { "inside\n" } else { "in\n" };
        assert_eq!(fs::read_to_string(arena.path("@/root/file.txt")).unwrap(), text);
    }
}

/// Returns the time for which names are swapped: a second, or as many seconds as `ATTACK_SECONDS` says.
#[cfg(target_os = "linux")]
fn backoff() -> Duration {
    let seconds = std::env::var("ATTACK_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(1))
}

/// Exchanges two names.
#[cfg(target_os = "linux")]
fn exchange(one: &std::path::Path, other: &std::path::Path) {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    // Another program may have removed one of them; the next exchange will work.
    let _ = renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
}

/// Another program keeps swapping files and directories for links to the outside, as fast as it can, while
/// four clients read, edit and create there.
#[cfg(target_os = "linux")]
#[test]
fn what_is_swapped_all_the_time_never_leads_outside() {
    let arena = Arena::new();
    for file in ["swap/secret.txt", "swap.txt", "renamed.txt", "tree/a/secret.txt"] {
        arena.write(&format!("@/root/{file}"), "inside\n");
    }
    for (link, target) in
        [("swap-link", "@/outside"), ("swap-link.txt", "../outside/secret.txt"), ("tree-link", "../outside")]
    {
        arena.link(&format!("@/root/{link}"), target);
    }
    arena.write("@/outside/a/secret.txt", SECRET);
    let sessions: Option<Vec<Session>> = (0..4).map(|_| arena.serve(&[])).collect();
    let Some(sessions) = sessions else { return eprint(&"skipped: the kernel has no Landlock") };
    let before = arena.outside();
    let (stop, swaps, done) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let swapping = |swap: &dyn Fn(usize)| {
        let mut turn = 0;
        while !stop.load(Ordering::Relaxed) {
            turn += 1;
            swap(turn);
            swaps.fetch_add(1, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            swapping(&|_| {
                exchange(&arena.path("@/root/swap"), &arena.path("@/root/swap-link"));
                exchange(&arena.path("@/root/swap.txt"), &arena.path("@/root/swap-link.txt"));
                exchange(&arena.path("@/root/tree"), &arena.path("@/root/tree-link"));
            });
        });
        scope.spawn(|| {
            swapping(&|turn| {
                let (name, new) = (arena.path("@/root/renamed.txt"), arena.path("@/root/renamed.new"));
                let _ = fs::remove_file(&new);
                if turn % 2 == 0 {
                    let _ = fs::write(&new, "inside\n");
                } else {
                    let _ = symlink(arena.path("@/outside/secret.txt"), &new);
                }
                let _ = fs::rename(&new, &name);
            });
        });
        let end = Instant::now() + backoff();
        let clients: Vec<_> = sessions
            .into_iter()
            .enumerate()
            .map(|(client, mut session)| {
                let (arena, done) = (&arena, &done);
                scope.spawn(move || {
                    let mut turn = 0;
                    while Instant::now() < end {
                        turn += 1;
                        work_on_what_is_swapped(
                            arena,
                            &mut session,
                            &format!("{client}-{}", turn % 20),
                            done,
                        );
                    }
                })
            })
            .collect();
        let ended: Vec<_> = clients.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        stop.store(true, Ordering::Relaxed);
        for client in ended {
            client.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    assert_eq!(arena.outside(), before);
    let (swaps, done) = (swaps.into_inner(), done.into_inner());
    assert!(swaps > 0 && done > 0, "{swaps} swaps, {done} calls succeeded");
    eprint(&format!("{swaps} swaps, {done} calls succeeded"));
}

#[cfg(target_os = "linux")]
fn work_on_what_is_swapped(arena: &Arena, session: &mut Session, name: &str, done: &AtomicUsize) {
    let patch = |path: &str| json!({"files": [{"file_path": path, "patches": [{"old_string": "i", "new_string": "I"}]}]});
    let back = |path: &str| json!({"files": [{"file_path": path, "patches": [{"old_string": "Ins", "new_string": "ins"}]}]});
    let create = |path: String| json!({"file_path": path, "contents": "made inside\n"});
    let mut calls = Vec::new();
    for path in
        ["@/root/swap/secret.txt", "@/root/swap.txt", "@/root/renamed.txt", "@/root/tree/a/secret.txt"]
    {
        calls.push((GET, json!({"file_path": path})));
        calls.push((PATCH, patch(path)));
        calls.push((PATCH, back(path)));
    }
    for directory in ["swap", "swap-link", "tree", "tree/a", "tree/new"] {
        calls.push((CREATE, create(format!("@/root/{directory}/{name}.txt"))));
    }
    for (tool, arguments) in calls {
        let reply = arena.world.call_among_others(session, tool, &arena.filled(&arguments));
        assert!(!reply.raw.contains("of somebody else"), "{tool} {arguments}: {}", reply.raw);
        done.fetch_add(usize::from(!reply.is_error), Ordering::Relaxed);
    }
    for directory in
        ["swap", "swap-link", "tree", "tree-link", "tree/a", "tree-link/a", "tree/new", "tree-link/new"]
    {
        let _ = fs::remove_file(arena.path(&format!("@/root/{directory}/{name}.txt")));
    }
}
