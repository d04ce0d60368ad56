//! Replays the kept inputs of `corpus.tar`, once each, without a fuzzer: the laws hold for them on any system
//! and any toolchain.

use mcp_text_editor_fuzz as laws;

const ARCHIVE: &[u8] = include_bytes!("../corpus.tar");
const BLOCK: usize = 512;

/// Returns the files of the archive with their paths (ustar: a block with name and size in front of each).
fn files() -> Vec<(String, &'static [u8])> {
    let (mut files, mut rest) = (Vec::new(), ARCHIVE);
    let text = |field: &[u8]| String::from_utf8_lossy(field).trim_matches('\0').to_owned();
    while let Some((header, after)) = rest.split_at_checked(BLOCK).filter(|(header, _)| header[0] != 0) {
        let size = usize::from_str_radix(&text(&header[124..136]), 8).unwrap();
        if header[156] == b'0' {
            files.push((text(&header[..100]), &after[..size]));
        }
        rest = &after[size.next_multiple_of(BLOCK)..];
    }
    files
}

fn replay(target: &str, check: fn(&[u8])) {
    let directory = format!("corpus/{target}/");
    let files: Vec<_> = files().into_iter().filter(|(path, _)| path.starts_with(&directory)).collect();
    assert!(!files.is_empty());
    for (path, data) in files {
        println!("{path}");
        check(data);
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

replays!(arguments decode framing paths resolve search sessions);
