//! A large file, read by one thread and hashed by another: the digest is that of its bytes, and both end,
//! also when the reader stops.

use std::io;
use std::sync::OnceLock;

use mcp_text_editor_core::digest::{Digest, Hasher};
use mcp_text_editor_core::source::CHUNK;
use shuttle::rand::Rng as _;

use crate::access::place::Bytes;
use crate::read::hash::{SMALL, digest_of_bytes, read_and_hash};

pub(crate) fn law() {
    static FILE: OnceLock<(Vec<u8>, Digest)> = OnceLock::new();
    let (bytes, digest) = FILE.get_or_init(|| {
        let size = usize::try_from(SMALL).unwrap() + 1 + CHUNK;
        let bytes: Vec<u8> = (0..size).map(|at| (at / CHUNK) as u8).collect();
        let digest = Digest::of(&bytes);
        (bytes, digest)
    });
    let source = Bytes(bytes);
    let stop = shuttle::rand::thread_rng().gen_range(0..12);
    let mut blocks = 0;
    let read = read_and_hash(&source, Hasher::default(), |_| {
        blocks += 1;
        if blocks == stop { Err(io::Error::other("enough")) } else { Ok(()) }
    });
    match read {
        Ok(hasher) => assert!(hasher.digest() == *digest && (stop == 0 || stop > blocks)),
        Err(_) => assert_eq!(blocks, stop),
    }
    if stop == 0 {
        assert_eq!(digest_of_bytes(&source).unwrap(), *digest);
    }
}
