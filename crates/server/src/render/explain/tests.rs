use mcp_text_editor_store::edit::{Reason, Refusal};
use mcp_text_editor_store::error::{Operation, StoreError, StoreErrorKind};
use mcp_text_editor_store::roots::Roots;

use super::*;
use crate::problem::Failure;
use crate::render::failure;

const FILE: Named<'static> = Named { file_path: "/a/file", encoding: None, patches: &[] };

/// What a call of the tool says of this error.
fn said(tool: &'static Tool, error: StoreError) -> String {
    let directory = tempfile::tempdir().unwrap();
    let roots = Roots::open(&[directory.path().to_owned()]).unwrap();
    let (limits, cancel) = (&Limits::default(), &Cancel::never());
    let call =
        Call { tool, roots: &roots, state: Some(Path::new("/state")), many_files: false, limits, cancel };
    let problem = refusal(call, FILE, &Refusal { entry: 0, reason: Reason::Store(error) });
    failure::text(&Failure::of_tool(tool, vec![problem], |_| true))
}

#[test]
fn nothing_was_written_is_said_only_if_it_is_true() {
    for tool in [&tools::patch::TOOL, &tools::create::TOOL, &tools::undo::TOOL] {
        let error = |kind| StoreError::new(Operation::Replace, Path::new("/a/file"), kind);
        assert!(
            said(tool, error(StoreErrorKind::NoSpace)).contains("; nothing was written"),
            "{}",
            tool.name
        );
        let left = said(tool, error(StoreErrorKind::NotRestored { paths: vec!["/a/file".into()] }));
        assert!(!left.contains("nothing was written"), "{left}");
    }
}

#[test]
fn the_disk_that_is_full_is_named() {
    let of = |path| {
        let error = StoreError::new(Operation::WriteJournal, Path::new(path), StoreErrorKind::NoSpace);
        said(&tools::patch::TOOL, error).lines().next().unwrap().to_owned()
    };
    insta::assert_snapshot!(of("/a/.mte-0"), @"error: no_space: there is no space left on the disk of /a/file; nothing was written");
    insta::assert_snapshot!(of("/state/journal/0"), @"error: no_space: there is no space left on the disk of /state, this server's state directory; nothing was written");
}
