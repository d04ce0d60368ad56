//! The rooms on real files, from their inside; `tests/it` has the door as others see it.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]

#[cfg(target_os = "linux")]
mod confine;
#[cfg(unix)]
mod create;
#[cfg(unix)]
mod edit;
#[cfg(unix)]
mod in_place;
#[cfg(target_os = "linux")]
mod inode_flags;
#[cfg(unix)]
mod lock;
#[cfg(target_vendor = "apple")]
mod macos;
// Where letter case counts.
#[cfg(target_os = "linux")]
mod meant;
#[cfg(unix)]
mod metadata;
#[cfg(unix)]
mod paths;
#[cfg(unix)]
mod policy;
#[cfg(unix)]
mod private;
#[cfg(unix)]
mod read;
#[cfg(unix)]
mod replace;
#[cfg(unix)]
mod spellings;
#[cfg(unix)]
mod undo;
#[cfg(windows)]
mod windows_files;
#[cfg(unix)]
mod world;

/// A file beside this one that is not named above would silently never run.
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
