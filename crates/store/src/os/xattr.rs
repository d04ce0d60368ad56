//! Reads and sets extended attributes (xattr(7)) on Linux and macOS.

use std::fs::File;
use std::io;

use rustix::fs::XattrFlags;
use rustix::io::Errno;

use crate::os::seen::Attributes;
use crate::os::sync::is_unsupported;

/// The maximum size in bytes of an attribute that is read. Attributes of Linux have at most 64 KiB. A
/// resource fork of macOS can be larger than this maximum; a file with such a fork is edited in place.
const LARGEST: usize = 16 * 1024 * 1024;

/// The system's error for an attribute that the file does not have.
#[cfg(target_os = "linux")]
const MISSING: Errno = Errno::NODATA;
#[cfg(target_vendor = "apple")]
const MISSING: Errno = Errno::NOATTR;

/// Returns the file's extended attributes by name, as far as this process may see them. The result is empty
/// if the file system does not support them.
pub(crate) fn attributes_of(file: &File) -> io::Result<Attributes> {
    let names = match whole(|buffer| rustix::fs::flistxattr(file, buffer)) {
        Err(error) if is_unsupported(&error.into()) => return Ok(Attributes::new()),
        names => names?,
    };
    let mut attributes = Attributes::new();
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        match whole(|buffer| rustix::fs::fgetxattr(file, name, buffer)) {
            // The attribute was removed after it was listed.
            Err(MISSING) => {}
            value => {
                attributes.insert(name.to_owned(), value?);
            }
        }
    }
    Ok(attributes)
}

/// Returns the whole value, or list of names, that `read` writes into a buffer. The buffer grows until at
/// least one byte of it stays free. If a value fills the buffer, the value's end may be missing: for a buffer
/// that is too small, some file systems do not return `ERANGE` (HFS+, for a resource fork).
fn whole(read: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
    let mut bytes = vec![0; 256];
    loop {
        let length = match read(&mut bytes) {
            Err(Errno::RANGE) => bytes.len(),
            length => length?,
        };
        if length < bytes.len() {
            bytes.truncate(length);
            return Ok(bytes);
        }
        if bytes.len() > LARGEST {
            return Err(Errno::RANGE);
        }
        bytes.resize((bytes.len() * 16).min(LARGEST + 1), 0);
    }
}

pub(crate) fn set_attribute(file: &File, name: &[u8], value: &[u8]) -> io::Result<()> {
    Ok(rustix::fs::fsetxattr(file, name, value, XattrFlags::empty())?)
}

pub(crate) fn remove_attribute(file: &File, name: &[u8]) -> io::Result<()> {
    Ok(rustix::fs::fremovexattr(file, name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills a buffer, and does not report that the value is too long for it.
    fn cut(value: &[u8], buffer: &mut [u8]) -> usize {
        let length = value.len().min(buffer.len());
        buffer[..length].copy_from_slice(&value[..length]);
        length
    }

    #[test]
    fn nothing_is_cut_whether_or_not_the_system_says_that_the_buffer_is_too_small() {
        for length in [0, 1, 255, 256, 257, 4095, 4096, 4097, 65_536, 1_000_000, (16 << 20) - 1, 16 << 20] {
            let value: Vec<u8> = (0..=250).cycle().take(length).collect();
            assert_eq!(whole(|buffer| Ok(cut(&value, buffer))).as_ref(), Ok(&value), "{length}");
            let honest = |buffer: &mut [u8]| {
                if buffer.len() < length { Err(Errno::RANGE) } else { Ok(cut(&value, buffer)) }
            };
            assert_eq!(whole(honest).as_ref(), Ok(&value), "{length}");
        }
        // A value without an end is refused.
        assert_eq!(whole(|buffer| Ok(buffer.len())), Err(Errno::RANGE));
    }
}
