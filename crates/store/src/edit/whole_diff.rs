//! What a whole file that comes or goes looks like as a diff.

use mcp_text_editor_core::diff;
use mcp_text_editor_core::encoding::Encoding;
use mcp_text_editor_core::regions::{self, Region};
use mcp_text_editor_core::scan::Scanner;
use mcp_text_editor_core::scanned::Scanned;
use mcp_text_editor_core::source::Source;
use mcp_text_editor_core::splice::{Splice, SpliceSet, Spliced};

use crate::access::place::Place;
use crate::access::windows_paths::in_diff;
use crate::error::ReadFault;
use crate::read::document::Document;

/// All of a file that comes, or goes.
pub(super) fn whole_diff<O, N>(
    old: Scanned<'_, O>,
    new: Scanned<'_, N>,
    place: &Place,
) -> Result<String, O::Error>
where
    O: Source + ?Sized,
    N: Source<Error = O::Error> + ?Sized,
{
    let region = regions::whole(old, new)?;
    let regions: Vec<Region> = region.into_iter().collect();
    diff::between(old, new, &regions, &in_diff(&place.path().to_string_lossy()))
}

/// All of a file that goes, which was read in this encoding.
pub(super) fn removal_diff(
    document: &Document<'_>,
    encoding: Encoding,
    place: &Place,
) -> Result<String, ReadFault> {
    let none = Scanner::new(Some(encoding)).finish();
    let everything = SpliceSet::new(vec![Splice { at: 0..document.scan.size, insert: Vec::new() }]);
    let everything = everything.unwrap_or_default();
    let nothing = Spliced::new(document, &everything);
    whole_diff(document.scanned(), Scanned::new(&nothing, &none), place)
}
