//! The kept inputs, once each, without a fuzzer: the laws hold for them on any system and any toolchain.

use std::path::Path;

use mcp_text_editor_fuzz as laws;

fn replay(target: &str, check: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        println!("{}", file.display());
        check(&std::fs::read(file).unwrap());
    }
}

macro_rules! replays {
    ($($target:ident)*) => {
        $(#[test]
        fn $target() {
            replay(stringify!($target), laws::$target::check);
        })*
    };
}

replays!(arguments decode diff framing paths resolve scan search sessions splice);
