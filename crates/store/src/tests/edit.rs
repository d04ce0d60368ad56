//! The law that the result of an edit tells the true state of the file.

use std::fs::File;
use std::time::{Duration, SystemTime};

use crate::edit::{Edit, EditChange, edit};
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::resolve::{GuardedRange, Patch, Position};

use crate::tests::world::{World, options};

/// A line of 32 bytes.
const LINE: &str = "0123456789abcdef0123456789abcde\n";

#[test]
fn the_digest_is_that_of_the_new_bytes_wherever_the_first_of_them_is() {
    let world = World::new();
    let path = world.path("@/root/a");
    // The sizes lie around a midstate of the hasher, the largest size that is held in memory, and the size
    // from which a thread hashes.
    for lines in [1_u32, 128, 129, 5000, 32_768, 32_769, 40_000] {
        for number in [1, lines / 2 + 1, lines] {
            let start = i64::from(number);
            let replacement = Patch {
                old_string: Some(LINE.to_owned()),
                new_string: "another\n".to_owned(),
                ranges: vec![GuardedRange { start, end: Some(start), range_hash: None }],
                replace_all: false,
            };
            let at = u64::from(number);
            for change in [
                EditChange::Patch(&[replacement]),
                EditChange::Insert("one\nmore\n", Position::After(at)),
                EditChange::Append("another\n"),
            ] {
                for age in [Duration::ZERO, Duration::from_secs(100)] {
                    world.write("@/root/a", &LINE.repeat(lines as usize));
                    let file = File::options().write(true).open(&path).unwrap();
                    file.set_modified(SystemTime::now() - age).unwrap();
                    drop(file);
                    let file_path = path.to_str().unwrap();
                    let edits = [Edit::new(file_path, change)];
                    let done = edit(&world.workspace, &edits, options("test")).unwrap();
                    let now = std::fs::read(&path).unwrap();
                    let told = &done.files[0];
                    assert_eq!(told.digest, Some(Digest::of(&now)), "line {number} of {lines}: {change:?}");
                    assert_eq!(told.total_lines, now.split_inclusive(|byte| *byte == b'\n').count() as u64);
                }
            }
        }
    }
}
