//! Copies the metadata of a file to the file that replaces it: attributes, creation time, owner, group,
//! access list and integrity label, extended attributes (WSL uses them), alternate streams.

use std::ffi::{OsString, c_void};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::windows::ffi::OsStringExt as _;
use std::os::windows::fs::OpenOptionsExt as _;
use std::os::windows::io::AsRawHandle as _;
use std::path::PathBuf;

use windows_sys::Wdk::Storage::FileSystem::{NtQueryEaFile, NtSetEaFile};
use windows_sys::Win32::Foundation::{
    ERROR_HANDLE_EOF, ERROR_INSUFFICIENT_BUFFER, ERROR_MORE_DATA, NTSTATUS, STATUS_BUFFER_OVERFLOW,
    STATUS_BUFFER_TOO_SMALL,
};
use windows_sys::Win32::Security::{
    DACL_SECURITY_INFORMATION, GROUP_SECURITY_INFORMATION, GetKernelObjectSecurity,
    LABEL_SECURITY_INFORMATION, OBJECT_SECURITY_INFORMATION, OWNER_SECURITY_INFORMATION,
    SE_DACL_AUTO_INHERIT_REQ, SE_DACL_AUTO_INHERITED, SetKernelObjectSecurity,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_ARCHIVE, FILE_ATTRIBUTE_COMPRESSED, FILE_ATTRIBUTE_ENCRYPTED, FILE_ATTRIBUTE_HIDDEN,
    FILE_ATTRIBUTE_NORMAL, FILE_ATTRIBUTE_NOT_CONTENT_INDEXED, FILE_ATTRIBUTE_OFFLINE, FILE_ATTRIBUTE_PINNED,
    FILE_ATTRIBUTE_SYSTEM, FILE_ATTRIBUTE_TEMPORARY, FILE_ATTRIBUTE_UNPINNED, FILE_BASIC_INFO,
    FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, FileBasicInfo, FileStreamInfo,
    GetFileInformationByHandleEx, READ_CONTROL, SetFileInformationByHandle, WRITE_DAC, WRITE_OWNER,
};
use windows_sys::Win32::System::IO::{DeviceIoControl, IO_STATUS_BLOCK};
use windows_sys::Win32::System::Ioctl::FSCTL_SET_COMPRESSION;

use crate::os::inode_flags::Lost;
use crate::os::seen::LostMetadata;
use crate::os::windows::identity::{basics, identity_of, opened_path};
use crate::os::windows::replace::reopen;

/// The attributes that a person or a program sets, and that a new file can get. Two are left out: any write
/// sets "archive", and a read-only file is not edited.
const SETTABLE: u32 = FILE_ATTRIBUTE_HIDDEN
    | FILE_ATTRIBUTE_SYSTEM
    | FILE_ATTRIBUTE_NOT_CONTENT_INDEXED
    | FILE_ATTRIBUTE_OFFLINE
    | FILE_ATTRIBUTE_PINNED
    | FILE_ATTRIBUTE_TEMPORARY
    | FILE_ATTRIBUTE_UNPINNED;

/// The maximum size of the buffer for a list of streams or of extended attributes, or for a security
/// descriptor, in words of 8 bytes.
const MAX_WORDS: usize = 256 * 1024;

/// Copies the metadata of `old` to `new`, whose bytes are complete. Returns the parts that `new` could not
/// get.
pub(crate) fn keep_metadata(old: &File, new: &File) -> LostMetadata {
    let part = |what, access| keep_security(old, new, what, access).is_err();
    // The owner comes last: a process that has given a file away is not allowed to change it any more.
    let list = part(DACL_SECURITY_INFORMATION, WRITE_DAC) | part(LABEL_SECURITY_INFORMATION, WRITE_OWNER);
    let attributes = list | keep_extended_attributes(old, new).is_err();
    let streams = keep_streams(old, new).is_err();
    let attributes = attributes | keep_basics(old, new).is_err();
    let group = part(GROUP_SECURITY_INFORMATION, WRITE_OWNER);
    let owner = part(OWNER_SECURITY_INFORMATION, WRITE_OWNER);
    LostMetadata { owner, group, attributes, streams }
}

// Compression is the only flag that must be set before anything is written. If setting it fails,
// `keep_metadata` detects that.
pub(crate) fn keep_flags(old: &File, new: &File) -> Lost {
    keep_compression(old, new).ok();
    Lost::default()
}

/// Compresses `new` on disk, or not, as `old` is.
#[expect(unsafe_code, reason = "std has no such call")]
fn keep_compression(old: &File, new: &File) -> io::Result<()> {
    let is_compressed =
        |file| Ok::<_, io::Error>(basics(file)?.FileAttributes & FILE_ATTRIBUTE_COMPRESSED != 0);
    let wanted = is_compressed(old)?;
    if wanted == is_compressed(new)? {
        return Ok(());
    }
    // COMPRESSION_FORMAT_DEFAULT and COMPRESSION_FORMAT_NONE.
    let (format, mut returned) = (u16::from(wanted), 0);
    // SAFETY: the handle is open as long as `new` is borrowed, and the two bytes are there until the call is
    // over.
    let done = unsafe {
        let (from, none) = ((&raw const format).cast::<c_void>(), std::ptr::null_mut());
        DeviceIoControl(
            new.as_raw_handle(),
            FSCTL_SET_COMPRESSION,
            from,
            2,
            none,
            0,
            &raw mut returned,
            std::ptr::null_mut(),
        )
    };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Gives `new` the creation time and the attributes of `old`. Fails if `new` does not have the attributes
/// afterwards.
#[expect(unsafe_code, reason = "std sets neither")]
fn keep_basics(old: &File, new: &File) -> io::Result<()> {
    let (wanted, now) = (basics(old)?, basics(new)?);
    let attributes = now.FileAttributes & FILE_ATTRIBUTE_ARCHIVE | wanted.FileAttributes & SETTABLE;
    // A zero leaves a value as it is, so the other times do not change. If there are no attributes, the value
    // must be "normal", since a zero would leave the attributes as they are, too.
    let attributes = if attributes == 0 { FILE_ATTRIBUTE_NORMAL } else { attributes };
    let info = FILE_BASIC_INFO {
        CreationTime: wanted.CreationTime,
        FileAttributes: attributes,
        ..FILE_BASIC_INFO::default()
    };
    let size = u32::try_from(size_of::<FILE_BASIC_INFO>()).unwrap_or_default();
    // SAFETY: the handle is open as long as `new` is borrowed, and this class has this structure.
    let done = unsafe {
        let info = (&raw const info).cast::<c_void>();
        SetFileInformationByHandle(new.as_raw_handle(), FileBasicInfo, info, size)
    };
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    let must_agree = SETTABLE | FILE_ATTRIBUTE_COMPRESSED | FILE_ATTRIBUTE_ENCRYPTED;
    let differs = (basics(new)?.FileAttributes ^ wanted.FileAttributes) & must_agree != 0;
    if differs { Err(io::ErrorKind::Unsupported.into()) } else { Ok(()) }
}

/// Calls `ask` with a larger and larger buffer, until the buffer is large enough. `ask` gets the buffer and
/// its length in bytes.
fn with_room(mut ask: impl FnMut(*mut c_void, u32) -> io::Result<()>) -> io::Result<Vec<u64>> {
    let mut room = vec![0_u64; 128];
    loop {
        let length = u32::try_from(size_of_val(room.as_slice())).unwrap_or(u32::MAX);
        match ask(room.as_mut_ptr().cast(), length) {
            Ok(()) => return Ok(room),
            Err(error) if room.len() < MAX_WORDS && is_short(&error) => room.resize(room.len() * 4, 0),
            Err(error) => return Err(error),
        }
    }
}

fn is_short(error: &io::Error) -> bool {
    let short = [ERROR_INSUFFICIENT_BUFFER, ERROR_MORE_DATA];
    error.raw_os_error().and_then(|it| u32::try_from(it).ok()).is_some_and(|it| short.contains(&it))
}

/// Returns one part of a file's security descriptor, in the system's form. The words after its end are zero.
#[expect(unsafe_code, reason = "std knows nothing of access lists")]
fn security_of(file: &File, what: OBJECT_SECURITY_INFORMATION) -> io::Result<Vec<u64>> {
    with_room(|room, length| {
        let mut needed = 0;
        // SAFETY: the handle is open as long as `file` is borrowed, and the room has `length` bytes.
        let done =
            unsafe { GetKernelObjectSecurity(file.as_raw_handle(), what, room, length, &raw mut needed) };
        if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    })
}

/// Gives `new` one part of the security descriptor of `old`, unchanged: inherited entries stay inherited, and
/// no new ones are inherited.
#[expect(unsafe_code, reason = "std knows nothing of access lists")]
fn keep_security(old: &File, new: &File, what: OBJECT_SECURITY_INFORMATION, access: u32) -> io::Result<()> {
    /// The position of the control bits in the descriptor (winnt.h): bytes 2 and 3.
    const CONTROL: u32 = 16;
    let wanted = match security_of(old, what) {
        // A system that does not know integrity labels has none to keep.
        Err(_) if what == LABEL_SECURITY_INFORMATION => return Ok(()),
        wanted => wanted?,
    };
    if security_of(new, what)? == wanted {
        return Ok(());
    }
    let mut set = wanted.clone();
    if let Some(head) = set.first_mut()
        && *head & u64::from(SE_DACL_AUTO_INHERITED) << CONTROL != 0
    {
        // Without this bit, the system ignores `SE_DACL_AUTO_INHERITED`.
        *head |= u64::from(SE_DACL_AUTO_INHERIT_REQ) << CONTROL;
    }
    let file = reopen(new, access | READ_CONTROL, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)?;
    // SAFETY: the handle is open as long as `file` lives, and the buffer holds a whole descriptor, as the
    // system wrote it.
    if unsafe { SetKernelObjectSecurity(file.as_raw_handle(), what, set.as_mut_ptr().cast()) } == 0 {
        return Err(io::Error::last_os_error());
    }
    if security_of(new, what)? == wanted { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
}

/// Copies the extended attributes.
#[expect(unsafe_code, reason = "no function above the kernel's own has them")]
fn keep_extended_attributes(old: &File, new: &File) -> io::Result<()> {
    let mut length = 0;
    let query = |room: *mut c_void, size: u32| {
        let mut status = IO_STATUS_BLOCK::default();
        let none = std::ptr::null();
        // SAFETY: the handle is open as long as `old` is borrowed, and not one for overlapped operations; the
        // room has `size` bytes; there is no list of names, and no index.
        let answer = unsafe {
            let (handle, status) = (old.as_raw_handle(), &raw mut status);
            NtQueryEaFile(handle, status, room, size, false, none, 0, std::ptr::null(), true)
        };
        match answer {
            0 => {
                length = u32::try_from(status.Information).unwrap_or(u32::MAX);
                Ok(())
            }
            STATUS_BUFFER_OVERFLOW | STATUS_BUFFER_TOO_SMALL => Err(of_status(answer)),
            // The file has no extended attributes, or the file system does not support them.
            _ => {
                length = 0;
                Ok(())
            }
        }
    };
    let list: Vec<u8> = with_room(query)?.iter().flat_map(|word| word.to_le_bytes()).collect();
    let list = settable(list.get(..usize::try_from(length).unwrap_or_default()).unwrap_or_default());
    if list.is_empty() {
        return Ok(());
    }
    let length = u32::try_from(size_of_val(list.as_slice())).unwrap_or_default();
    let mut status = IO_STATUS_BLOCK::default();
    // SAFETY: the handle is open as long as `new` is borrowed; the list has that length, and begins where the
    // system wants it.
    let answer = unsafe { NtSetEaFile(new.as_raw_handle(), &raw mut status, list.as_ptr().cast(), length) };
    if answer == 0 { Ok(()) } else { Err(of_status(answer)) }
}

/// Returns a list of extended attributes (`FILE_FULL_EA_INFORMATION` of wdm.h), in words of 4 bytes, without
/// the kernel's attributes (`$Kernel.…`). Only the kernel can set those, and they describe the old content.
fn settable(all: &[u8]) -> Vec<u32> {
    const NAME: usize = 8;
    let (mut kept, mut last, mut rest) = (Vec::new(), 0, all);
    while let [a, b, c, d, _, name, low, high, ..] = *rest {
        let next = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or_default();
        let name = rest.get(NAME..NAME + usize::from(name)).unwrap_or_default();
        if !name.get(..8).is_some_and(|start| start.eq_ignore_ascii_case(b"$kernel.")) {
            // The previous entry gets the offset from its own beginning to this entry.
            let (start, end) =
                (kept.len(), NAME + name.len() + 1 + usize::from(u16::from_le_bytes([low, high])));
            if let Some(offset) = kept.get_mut(last) {
                *offset = u32::try_from((start - last) * 4).unwrap_or_default();
            }
            last = start;
            for word in rest.get(..end).unwrap_or_default().chunks(4) {
                let mut four = [0; 4];
                four.iter_mut().zip(word).for_each(|(byte, of)| *byte = *of);
                kept.push(u32::from_le_bytes(four));
            }
            if let Some(offset) = kept.get_mut(start) {
                *offset = 0;
            }
        }
        if next == 0 {
            break;
        }
        rest = rest.get(next..).unwrap_or_default();
    }
    kept
}

/// Converts a status of the kernel to an error that tells whether the buffer was too small.
fn of_status(status: NTSTATUS) -> io::Error {
    match status {
        STATUS_BUFFER_OVERFLOW | STATUS_BUFFER_TOO_SMALL => {
            io::Error::from_raw_os_error(i32::try_from(ERROR_MORE_DATA).unwrap_or_default())
        }
        _ => io::Error::other(format!("NTSTATUS {status:#010x}")),
    }
}

/// Copies all streams of a file except the main stream, which holds the file's content.
fn keep_streams(old: &File, new: &File) -> io::Result<()> {
    let names = streams_of(old)?;
    if names.is_empty() {
        return Ok(());
    }
    let stream = |file: &File, name: &OsString| {
        let mut path = opened_path(file)?.into_os_string();
        path.push(name);
        Ok::<_, io::Error>(PathBuf::from(path))
    };
    for name in &names {
        // Streams of another type belong to the file system.
        if !name.to_string_lossy().ends_with(":$DATA") {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
        let mut from = File::options().read(true).share_mode(share).open(stream(old, name)?)?;
        let mut to =
            File::options().write(true).create_new(true).share_mode(share).open(stream(new, name)?)?;
        // Another file may have got the path meanwhile.
        let is_same = |file: &File, stream: &File| {
            Ok::<_, io::Error>(identity_of(file)?.same_file(&identity_of(stream)?))
        };
        if !is_same(old, &from)? || !is_same(new, &to)? {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut block = vec![0; 64 * 1024];
        loop {
            match from.read(&mut block)? {
                0 => break,
                got => to.write_all(block.get(..got).unwrap_or_default())?,
            }
        }
        to.sync_all()?;
    }
    Ok(())
}

/// Returns the names of all streams of a file except the main stream, each as `:name:$DATA`. The result is
/// empty if the file system has only main streams.
#[expect(unsafe_code, reason = "std knows nothing of streams")]
pub(crate) fn streams_of(file: &File) -> io::Result<Vec<OsString>> {
    /// The offset of the name in an entry. Before it come the offset of the next entry and the length of the
    /// name in bytes (winbase.h).
    const NAME_AT: usize = 24;
    let list = with_room(|room, length| {
        // SAFETY: the handle is open as long as `file` is borrowed, and the room has `length` bytes.
        let done =
            unsafe { GetFileInformationByHandleEx(file.as_raw_handle(), FileStreamInfo, room, length) };
        if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    });
    let list = match list {
        Ok(list) => list,
        // The file has no stream, as is the case for a directory.
        Err(error) if error.raw_os_error() == i32::try_from(ERROR_HANDLE_EOF).ok() => return Ok(Vec::new()),
        // FAT, some network file systems and Wine do not know this class.
        Err(error) if !is_short(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let bytes: Vec<u8> = list.iter().flat_map(|word| word.to_le_bytes()).collect();
    let number = |at: usize| -> usize {
        let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).unwrap_or_default();
        usize::try_from(u32::from_le_bytes(four)).unwrap_or_default()
    };
    let (mut names, mut at) = (Vec::new(), 0);
    loop {
        let name = bytes.get(at + NAME_AT..at + NAME_AT + number(at + 4)).unwrap_or_default();
        let units: Vec<u16> =
            name.chunks_exact(2).map(|two| u16::from_le_bytes(two.try_into().unwrap_or_default())).collect();
        let name = OsString::from_wide(&units);
        if !name.is_empty() && name != "::$DATA" {
            names.push(name);
        }
        match number(at) {
            0 => return Ok(names),
            next => at += next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_the_kernel_are_left_out_of_a_list() {
        let list = |names: &[&str]| {
            let mut bytes: Vec<u8> = Vec::new();
            for (index, name) in names.iter().enumerate() {
                let mut entry = vec![0, 0, 0, 0, 0, u8::try_from(name.len()).unwrap(), 3, 0];
                entry.extend_from_slice(name.as_bytes());
                entry.extend_from_slice(b"\0abc");
                entry.resize(entry.len().next_multiple_of(4), 0);
                if index + 1 < names.len() {
                    entry[0] = u8::try_from(entry.len()).unwrap();
                }
                bytes.extend(entry);
            }
            bytes
        };
        let settable = |names: &[&str]| -> Vec<u8> {
            settable(&list(names)).iter().flat_map(|word| word.to_le_bytes()).collect()
        };
        for kernel in ["$KERNEL.PURGE.ESBCACHE", "$Kernel.Purge.SEC.FileHash"] {
            assert_eq!(settable(&["$LXUID", kernel, "$LXMOD1"]), list(&["$LXUID", "$LXMOD1"]));
            assert_eq!(settable(&[kernel, "$LXUID", "A"]), list(&["$LXUID", "A"]));
            assert_eq!(settable(&["$LXUID", kernel]), list(&["$LXUID"]));
            assert_eq!(settable(&[kernel]), Vec::<u8>::new());
        }
        assert_eq!(settable(&[]), Vec::<u8>::new());
    }
}
