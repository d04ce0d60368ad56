//! Tests of the crate's inner modules on real files. `tests/it` tests the public interface.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]

#[cfg(target_os = "linux")]
mod confine;
mod create;
mod edit;
mod in_place;
#[cfg(target_os = "linux")]
mod inode_flags;
mod list;
mod lock;
#[cfg(target_vendor = "apple")]
mod macos;
// These need a file system on which letter case counts.
mod metadata;
#[cfg(target_os = "linux")]
pub(crate) mod mounted;
mod paths;
mod policy;
#[cfg(target_os = "linux")]
mod suggested;
// These test modes and owners. The access lists of Windows have tests of their own.
#[cfg(unix)]
mod private;
mod read;
mod replace;
mod search;
mod search_ignores;
#[cfg(target_os = "linux")]
mod search_walls;
#[cfg(unix)]
mod spellings;
mod states;
mod temporary;
mod undo;
mod undo_beside;
#[cfg(windows)]
mod windows_files;
pub(crate) mod world;

/// Without its `mod` line above, the tests of a file in this directory would silently never run.
#[test]
fn no_test_file_is_forgotten() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests");
    let main = std::fs::read_to_string(here.join("mod.rs")).unwrap();
    for entry in std::fs::read_dir(here).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.strip_suffix(".rs").unwrap();
        assert!(module == "mod" || main.contains(&format!("mod {module};")), "{name}");
    }
}
