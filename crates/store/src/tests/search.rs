//! Searching: [`Workspace::search`](crate::Workspace::search).

use std::ops::ControlFlow;

use crate::Control;
use crate::search::{End, FileMatches, Search, SearchSummary};
use crate::tests::world::World;

/// All that is found, and the summary.
pub(super) fn found(world: &World, search: &Search<'_>) -> (Vec<FileMatches>, SearchSummary) {
    let mut found = Vec::new();
    let mut sink = |matches| {
        found.push(matches);
        ControlFlow::Continue(())
    };
    let summary = world.workspace.search(search, &mut sink, Control::default()).unwrap();
    (found, summary)
}

/// The hits as text, a line each.
pub(super) fn told(world: &World, search: &Search<'_>) -> String {
    let (found, _) = found(world, search);
    let lines = found.iter().flat_map(|file| {
        file.matches.iter().map(|one| format!("{}:{}:{}\n", file.file_path, one.line.number, one.line.text))
    });
    world.told(&lines.collect::<String>())
}

#[test]
fn hits_come_file_by_file_in_the_order_of_names() {
    let world = World::new();
    world.write("@/root/b/c.txt", "one\ntwo\n");
    world.write("@/root/a.txt", "two two\r\nthree\r\ntwo\r\n");
    world.write("@/root/.hidden", "two");
    world.write("@/root/.git/config", "two");
    world.write("@/root/z/ignored", "two");
    world.write("@/root/.gitignore", "z/\n");
    assert_eq!(
        told(&world, &Search::new("^two$")),
        "@/root/.hidden:1:two\n@/root/a.txt:3:two\n@/root/b/c.txt:2:two\n"
    );
    let (_, summary) = found(&world, &Search::new("nowhere"));
    assert_eq!((summary.files, summary.end, summary.skipped.is_empty()), (4, End::Complete, true));
}
