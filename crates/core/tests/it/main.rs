//! Laws of the core against a naive model: one integration binary.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a test that fails may panic, and its files are small"
)]

mod blanks;
mod edits;
mod model;
mod regions;
mod work;

/// Checks that every file is declared: another one would silently not run.
#[test]
fn every_file_here_is_a_module() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let main = include_str!("main.rs");
    for entry in std::fs::read_dir(here).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        assert!(
            module == "main" || main.contains(&format!("mod {module};")),
            "{name} is not declared in main.rs"
        );
    }
}
