//! Examines the file that already has the name of a file to create: [`Existing`].

use std::path::PathBuf;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::encoding::{Encoding, Label};

use crate::access::place::Place;
use crate::cancellation::Cancellation;
use crate::error::{StoreError, StoreErrorKind};
use crate::read::document::read;
use crate::workspace::Workspace;

/// The file that already has the name of a file to create.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Existing {
    /// A symbolic link whose target does not exist.
    DanglingLink {
        /// The real path of the target.
        target: PathBuf,
    },
    /// A file that can be read as text.
    Text {
        /// The digest of its bytes.
        digest: Digest,
        /// The number of lines.
        total_lines: u64,
        /// The digest of the range of all its lines.
        lines_digest: Digest,
        /// The encoding label with which the file can be read as text: the call's label, or the label of the
        /// encoding that the bytes look like. `None` if no label is needed.
        encoding: Option<String>,
    },
    /// A file that is not text.
    NotText {
        /// The digest of the file's bytes; `None` if they were not read to the end.
        digest: Option<Digest>,
    },
    /// Something that could not be read: a directory, a FIFO, or a file that this process may not read.
    Unread {
        /// The error.
        kind: StoreErrorKind,
    },
}

/// The facts about a file that is not text: the encoding that it seems to have, and its digest, which is
/// `None` if the file was not read to the end.
type NoText = (Option<Encoding>, Option<Digest>);

impl Existing {
    /// Returns the digest of the file's bytes; `None` if they were not read to the end.
    pub(super) fn digest(&self) -> Option<Digest> {
        match self {
            Self::DanglingLink { .. } | Self::Unread { .. } => None,
            Self::Text { digest, .. } => Some(*digest),
            Self::NotText { digest } => *digest,
        }
    }

    /// Examines the file at a place. Reads the file first without a label, then with the call's label, then
    /// with the label of the encoding that its bytes look like. Fails only if the call is cancelled.
    pub(super) fn at(
        workspace: &Workspace,
        place: &Place,
        label: Option<&str>,
        cancellation: Cancellation<'_>,
    ) -> Result<Self, StoreError> {
        if place.is_dangling() {
            return Ok(Self::DanglingLink { target: place.path().to_owned() });
        }
        let (looks_like, digest) = match read_as(workspace, place, None, cancellation) {
            Ok(Ok(text)) => return Ok(text),
            Ok(Err(no_text)) => no_text,
            Err(error) if error.kind == StoreErrorKind::Cancelled => return Err(error),
            Err(error) => return Ok(Self::Unread { kind: error.kind }),
        };
        for label in [label, looks_like.map(Encoding::name)].into_iter().flatten() {
            match read_as(workspace, place, Some(label), cancellation) {
                Ok(Ok(text)) => return Ok(text),
                Err(error) if error.kind == StoreErrorKind::Cancelled => return Err(error),
                Ok(Err(_)) | Err(_) => {}
            }
        }
        Ok(Self::NotText { digest })
    }
}

fn read_as(
    workspace: &Workspace,
    place: &Place,
    label: Option<&str>,
    cancellation: Cancellation<'_>,
) -> Result<Result<Existing, NoText>, StoreError> {
    let encoding = label.and_then(Label::parse).map(|label| label.encoding);
    read(&workspace.scan_cache, place, encoding, cancellation, |document| {
        if let Some(fault) = document.not_text()? {
            return Ok(Err((fault.looks_like(), document.digest())));
        }
        let scan = &document.scan;
        Ok(Ok(Existing::Text {
            digest: scan.digest,
            total_lines: scan.lines.count(),
            lines_digest: document.scanned().digest_of(scan.lines.bytes())?,
            encoding: label.map(str::to_owned),
        }))
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::tests::world::World;

    /// Examines a file whose byte order mark says UTF-8, but which is not valid UTF-8. Each check for
    /// cancellation calls `asked` with the check's number.
    fn look(world: &World, asked: impl Fn(usize) -> bool) -> (Result<Existing, StoreErrorKind>, usize) {
        let path = world.path("@/root/a");
        std::fs::write(&path, b"\xef\xbb\xbfcaf\xe9\n").unwrap();
        let count = Cell::new(0);
        let is_cancelled = || {
            count.set(count.get() + 1);
            asked(count.get())
        };
        let cancellation = Cancellation::when(&is_cancelled);
        let found = Existing::at(&world.workspace, &world.place("@/root/a"), Some("utf-8"), cancellation);
        (found.map_err(|error| error.kind), count.get())
    }

    #[test]
    fn a_look_fails_whenever_it_is_cancelled() {
        let (found, asked) = look(&World::new(), |_| false);
        assert!(found.is_ok(), "{found:?}");
        for moment in 1..=asked {
            let (found, _) = look(&World::new(), |number| number >= moment);
            assert_eq!(found.unwrap_err(), StoreErrorKind::Cancelled, "{moment} of {asked}");
        }
    }

    #[test]
    fn a_look_at_what_cannot_be_read_says_so() {
        let world = World::new();
        let asked = look(&world, |_| false).1;
        for moment in 1..=asked {
            let world = World::new();
            let (found, _) = look(&world, |number| {
                if number == moment {
                    std::fs::remove_file(world.path("@/root/a")).unwrap();
                }
                false
            });
            assert!(found.is_ok(), "{moment} of {asked}: {found:?}");
        }
    }

    #[test]
    fn a_text_without_a_label_is_counted_in_the_encoding_that_it_looks_like() {
        let world = World::new();
        let bytes: Vec<u8> = "one\ntwo\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        std::fs::write(world.path("@/root/a"), bytes).unwrap();
        for label in [None, Some("latin1")] {
            let found = Existing::at(&world.workspace, &world.place("@/root/a"), label, Cancellation::none());
            let Ok(Existing::Text { total_lines, encoding, .. }) = found else { panic!("{found:?}") };
            assert_eq!((total_lines, encoding.as_deref()), (2, Some("utf-16le")), "{label:?}");
        }
    }
}
