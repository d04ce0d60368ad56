//! A new file: its path, its encoding, its bytes. What makes it complete before it has its name is in [`crate::create`].

use mcp_text_editor_core::encoding::{Encoding, Label};
use mcp_text_editor_core::error::{At, Rejection};
use mcp_text_editor_core::line::{LineNumber, LineRange};
use mcp_text_editor_core::matching::Tier;
use mcp_text_editor_core::regions::Region;
use mcp_text_editor_core::resolve;
use mcp_text_editor_core::scan::{Scan, Scanner};

use crate::create::create as create_bytes;
use crate::diff::diff;
use crate::edit::{Edited, Outcome, Reason};
use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::place::Place;
use crate::store::Store;

const UTF_8: Label = Label { encoding: Encoding::Utf8, writes_bom: false };

/// A file that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewFile<'a> {
    /// Where, as the client named it.
    pub file_path: &'a str,
    /// Its text, line ends and all.
    pub contents: &'a str,
    /// Its encoding, in the client's word.
    pub encoding: Option<&'a str>,
}

/// Creates a file, and the directories above it that are missing; nothing of that name may exist. A dry run only looks.
pub fn create(store: &Store, new: NewFile<'_>, dry_run: bool) -> Result<Outcome, Vec<Reason>> {
    let label = new.encoding.map_or(Some(UTF_8), Label::parse);
    let (place, label) = match (store.roots.resolve_for_writing(new.file_path), label) {
        (Ok(place), Some(label)) => (place, label),
        (resolved, label) => {
            let problems = resolved.err().unwrap_or_default().into_iter().map(Reason::Path);
            return Err(problems.chain(label.is_none().then_some(Reason::UnknownEncoding)).collect());
        }
    };
    let bytes = encoded(new.contents, label)
        .map_err(|rejection| vec![Reason::Rejected { rejection, digest: None, total_lines: 0 }])?;
    let mut scanner = Scanner::new(Some(label.encoding));
    scanner.feed(&bytes);
    let scan = scanner.finish();
    let whole = |error| vec![Reason::Store(error)];
    let fresh = fresh_region(bytes.as_slice(), &scan);
    let mut edited = Edited {
        entry: 0,
        digest: Some(scan.digest),
        total_lines: scan.lines.count(),
        regions: fresh.into_iter().collect(),
        diff: None,
        warnings: Vec::new(),
    };
    if dry_run {
        check_free(&place).map_err(whole)?;
        let empty = Scanner::new(Some(label.encoding)).finish();
        let text = diff((&[][..], &empty), (bytes.as_slice(), &scan), &edited.regions, new.file_path);
        (edited.diff, edited.digest) = (Some(text.unwrap_or_else(|never| match never {})), None);
        return Ok(Outcome { edit_id: None, files: vec![edited] });
    }
    drop(create_bytes(&place, &bytes).map_err(whole)?);
    Ok(Outcome { edit_id: None, files: vec![edited] })
}

fn encoded(contents: &str, label: Label) -> Result<Vec<u8>, Rejection> {
    let bytes = label.encoding.encode(contents).map_err(|fault| {
        let (line, column) = resolve::place_of(contents, &fault);
        Rejection::Unencodable { at: At::default(), character: fault.character, line, column }
    })?;
    if label.writes_bom { Ok([label.encoding.bom(), &bytes].concat()) } else { Ok(bytes) }
}

/// All lines of a new file, as one region; none for an empty one.
fn fresh_region(bytes: &[u8], scan: &Scan) -> Option<Region> {
    let lines = scan.lines.all();
    let text = scan.lines.bytes();
    let digest = resolve::digest_of(bytes, text).unwrap_or_else(|never| match never {});
    let replaced = LineRange::new(LineNumber::FIRST, 0);
    (!lines.is_empty()).then_some(Region { lines, digest, replaced, tier: Tier::Exact })
}

fn check_free(place: &Place) -> Result<(), StoreError> {
    match place.identity() {
        Err(error) if error.kind == StoreErrorKind::NotFound && !place.is_named_by_link() => Ok(()),
        Err(error) if error.kind != StoreErrorKind::NotFound => Err(error),
        _ => Err(StoreError::new(Operation::Create, place.path(), StoreErrorKind::AlreadyExists)),
    }
}
