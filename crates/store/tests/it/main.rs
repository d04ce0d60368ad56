//! The store on real files.
#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]

#[cfg(test)]
#[cfg(target_os = "linux")]
mod confine;
#[cfg(test)]
mod create;
#[cfg(test)]
mod edit;
#[cfg(test)]
mod in_place;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod inode_flags;
#[cfg(test)]
mod lock;
#[cfg(test)]
mod metadata;
#[cfg(test)]
mod paths;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod private;
#[cfg(test)]
mod read;
#[cfg(test)]
mod replace;
#[cfg(test)]
mod undo;
#[cfg(test)]
mod world;

/// A file beside this one that is not named above would silently never run.
#[test]
fn no_test_file_is_forgotten() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = std::fs::read_to_string(here.join("main.rs")).unwrap();
    for entry in std::fs::read_dir(here).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.strip_suffix(".rs").unwrap();
        assert!(module == "main" || main.contains(&format!("mod {module};")), "{name}");
    }
}
