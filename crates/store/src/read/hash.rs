//! Reads a whole file once, for its bytes and its digest. The crate `mcp-text-editor-core` interprets the
//! bytes.

use std::fs::File;
use std::io;
use std::sync::mpsc;
use std::thread;

use mcp_text_editor_core::digest::{Digest, Hasher};
use mcp_text_editor_core::source::{CHUNK, Source, for_each_chunk};

use crate::access::place::{Bytes, OpenFile};
use crate::error::{ErrorContext as _, Operation, StoreError};
use crate::os;

/// The maximum size in bytes of a file that is held in memory while a call works on it, so that it is read
/// only once. A larger file is read in blocks, once for each use of its bytes, and a second thread hashes it.
/// For a smaller file, starting that thread costs more than it saves.
pub(crate) const SMALL: u64 = 1024 * 1024;

/// The usual size of a memory page, in bytes. [`CHUNK`] is a multiple of it.
const PAGE: usize = 4096;

/// The number of blocks that the reader and the hasher exchange. Each has [`CHUNK`] bytes. Reading a file
/// takes no other memory.
const BLOCKS: usize = 3;

/// Returns the digest of a whole file, up to the size that it had when it was opened.
pub(crate) fn digest_of(file: &OpenFile) -> Result<Digest, StoreError> {
    digest_of_bytes(&file.bytes()).context(Operation::Read, file.path())
}

/// Returns the digest of a file that [`open_stored`](crate::os::stored::open_stored) opened, so that its
/// reads bypass all caches. The digest covers all bytes, whatever size the file has according to its
/// metadata. Returns `None` if the file system does not allow such a read.
pub(crate) fn digest_as_stored(file: &File) -> io::Result<Option<Digest>> {
    digest_by(|block, offset| os::read_at(file, block, offset))
}

/// Returns the digest of the bytes that `read` returns. `read` is called for one block after another, with
/// the block's offset.
fn digest_by(mut read: impl FnMut(&mut [u8], u64) -> io::Result<usize>) -> io::Result<Option<Digest>> {
    // A read that bypasses all caches needs a block that begins at a page boundary.
    let mut block = vec![0; CHUNK + PAGE];
    let begin = block.as_ptr().align_offset(PAGE);
    let block = block.get_mut(begin..begin + CHUNK).unwrap_or_default();
    let (mut hasher, mut offset) = (Hasher::default(), 0);
    loop {
        match read(block, offset) {
            Ok(got) => {
                hasher.update(block.get(..got).unwrap_or_default());
                offset += got as u64;
                // Only the last block is shorter. No read follows it: that read would begin at the block's
                // end, which may not be a page boundary.
                if got < CHUNK {
                    return Ok(Some(hasher.digest()));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

/// Returns the digest of all bytes of a source.
pub(crate) fn digest_of_bytes(bytes: &Bytes<'_>) -> io::Result<Digest> {
    Ok(read_and_hash(bytes, Hasher::default(), |_| Ok::<_, io::Error>(()))?.digest())
}

/// Reads a file from its first byte to the size that it had when it was opened. Passes all bytes to `each` in
/// order, and feeds `hasher` with the bytes that it does not have yet. If `each` fails, stops and returns its
/// error, so a caller can cancel the read.
///
/// If the file shrinks meanwhile, there are fewer bytes. So the caller must check that the file is unchanged
/// ([`OpenFile::is_unchanged`](crate::access::place::OpenFile::is_unchanged)). Memory does not grow with the
/// file.
pub(crate) fn read_and_hash<S: Source + ?Sized, E: From<S::Error> + From<io::Error>>(
    file: &S,
    hasher: Hasher,
    each: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<Hasher, E> {
    if file.size() <= SMALL { on_one_thread(file, hasher, each) } else { on_two_threads(file, hasher, each) }
}

fn on_one_thread<S: Source + ?Sized, E: From<S::Error> + From<io::Error>>(
    file: &S,
    mut hasher: Hasher,
    mut each: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<Hasher, E> {
    let mut failure = None;
    for_each_chunk(file, 0..file.size(), |offset, bytes| {
        hasher.update_at(offset, bytes);
        failure = each(bytes).err();
        failure.is_none()
    })?;
    failure.map_or(Ok(hasher), Err)
}

fn on_two_threads<S: Source + ?Sized, E: From<S::Error> + From<io::Error>>(
    file: &S,
    mut hasher: Hasher,
    mut each: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<Hasher, E> {
    thread::scope(|scope| {
        // The channels are created inside the scope: an early return then closes them, which ends the hashing
        // thread.
        let (to_hash, hash) = mpsc::sync_channel::<Vec<u8>>(BLOCKS);
        let (to_reuse, reuse) = mpsc::sync_channel::<Vec<u8>>(BLOCKS);
        let hashing = thread::Builder::new().name("hash".to_owned()).spawn_scoped(scope, move || {
            let mut offset = 0;
            while let Ok(block) = hash.recv() {
                hasher.update_at(offset, &block);
                offset += block.len() as u64;
                // An error only means that the reader has finished and needs no more blocks.
                to_reuse.send(block).ok();
            }
            hasher
        })?;
        let gone = || E::from(io::Error::other("the hashing thread ended early"));
        let (mut made, mut offset) = (0, 0);
        while offset < file.size() {
            let mut block = if made < BLOCKS {
                made += 1;
                Vec::new()
            } else {
                reuse.recv().map_err(|_| gone())?
            };
            block.resize(usize::try_from(file.size() - offset).unwrap_or(CHUNK).min(CHUNK), 0);
            let got = file.read_at(offset, &mut block)?;
            if got == 0 {
                break;
            }
            block.truncate(got);
            // While `each` works on this block, the hasher works on the previous block.
            each(&block)?;
            to_hash.send(block).map_err(|_| gone())?;
            offset += got as u64;
        }
        drop(to_hash);
        hashing.join().map_err(|_| gone())
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its files up without the store")]
mod tests {
    use super::*;

    #[test]
    fn a_file_read_past_the_caches_has_the_digest_of_its_bytes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for length in [0, 1, 4095, 4096, 4097, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5] {
            let bytes: Vec<u8> = (0..=250).cycle().take(length).collect();
            std::fs::write(&path, &bytes).unwrap();
            let found = digest_as_stored(&File::open(&path).unwrap()).unwrap();
            assert_eq!(found, Some(Digest::of(&bytes)), "{length}");
        }
    }

    #[test]
    fn a_read_past_the_caches_goes_on_after_a_signal_and_may_be_refused() {
        let digest_with = |kind: io::ErrorKind| {
            let mut asked = 0;
            let digest = digest_by(|block, offset| {
                asked += 1;
                match asked {
                    1 => Ok(block.len()),
                    2 => Err(kind.into()),
                    _ => Ok(usize::from(offset > 0)),
                }
            });
            digest.map_err(|error| error.kind())
        };
        let bytes = vec![0; CHUNK + 1];
        assert_eq!(digest_with(io::ErrorKind::Interrupted), Ok(Some(Digest::of(&bytes))));
        assert_eq!(digest_with(io::ErrorKind::InvalidInput), Ok(None));
        assert_eq!(digest_with(io::ErrorKind::Other), Err(io::ErrorKind::Other));
    }
}
