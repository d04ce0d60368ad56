//! The door, as a program that embeds the crate sees it: nothing here names a module.
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]

#[cfg(test)]
mod door;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod meanwhile;
#[cfg(test)]
mod mixed;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod moments;
#[cfg(test)]
mod moving;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod refused;
#[cfg(test)]
mod replacing;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod stopping;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod system_calls;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod told;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod trials;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod unsynced;
#[cfg(test)]
#[cfg(windows)]
mod windows_paths;
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
