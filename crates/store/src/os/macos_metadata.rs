//! Reads and sets the metadata of a file on macOS, except mode and owner: extended attributes, which hold
//! Finder's data, the resource fork and the quarantine mark; the access control list; the flags of
//! chflags(1); the time of creation.

use std::fs::{File, FileTimes};
use std::io;
use std::os::darwin::fs::FileTimesExt as _;
use std::path::Path;

use cap_std::fs::Dir;
use rustix::fs::AtFlags;

use crate::os::inode_flags::{Guard, Lost};
use crate::os::seen::Attributes;
use crate::os::{apple, xattr};

/// The name under which [`attributes_of`] returns the access control list. No real attribute has this name,
/// since names of attributes cannot contain a NUL.
pub(crate) const ACCESS_LIST: &[u8] = b"\0access control list";

/// Returns the file's extended attributes by name, with its access control list as one of them. The result is
/// empty if the file system does not support them.
pub(crate) fn attributes_of(file: &File) -> io::Result<Attributes> {
    let mut attributes = xattr::attributes_of(file)?;
    if let Some(list) = acl::of(file)? {
        attributes.insert(ACCESS_LIST.to_owned(), list);
    }
    Ok(attributes)
}

pub(crate) fn set_attribute(file: &File, name: &[u8], value: &[u8]) -> io::Result<()> {
    if name == ACCESS_LIST { acl::set(file, value) } else { xattr::set_attribute(file, name, value) }
}

pub(crate) fn remove_attribute(file: &File, name: &[u8]) -> io::Result<()> {
    if name == ACCESS_LIST { acl::remove(file) } else { xattr::remove_attribute(file, name) }
}

/// Returns the flag that forbids an edit of the file with this name in a directory; `None` if there is no
/// such flag. Does not follow a link.
pub(crate) fn guard_at(directory: &Dir, name: &Path) -> Option<Guard> {
    let status = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    apple::guard_of(status.st_flags)
}

/// Gives an empty new file the flags and the creation time of the old file. Returns the flags that could not
/// be set.
pub(crate) fn keep_flags(old: &File, new: &File) -> Lost {
    if let Ok(created) = old.metadata().and_then(|metadata| metadata.created()) {
        // An error is ignored: some file systems store no creation time.
        new.set_times(FileTimes::new().set_created(created)).ok();
    }
    let flags_of = |file: &File| rustix::fs::fstat(file).map(|status| status.st_flags);
    let (Ok(old), Ok(now)) = (flags_of(old), flags_of(new)) else { return Lost::default() };
    let wanted = apple::carried(old, now);
    if wanted == now {
        return Lost::default();
    }
    set_flags(new, wanted);
    Lost { flags: wanted ^ flags_of(new).unwrap_or(now), ..Lost::default() }
}

#[expect(unsafe_code, reason = "no crate at hand has fchflags(2)")]
fn set_flags(file: &File, flags: u32) {
    use std::os::fd::AsRawFd as _;
    // SAFETY: the descriptor is open as long as `file` is borrowed, and the call takes two numbers. The
    // caller notices a failure, because it reads the flags again.
    let _ = unsafe { libc::fchflags(file.as_raw_fd(), flags) };
}

/// Reads and sets access control lists (acl(3)), in the format of `acl_copy_ext_native(3)`. The crate libc
/// lacks these functions; the system's own library, with which every program is linked, has them.
#[expect(unsafe_code, reason = "no crate at hand has these calls")]
mod acl {
    use std::ffi::{c_int, c_void};
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd as _;
    use std::ptr::{NonNull, null_mut};

    use crate::os::sync::is_unsupported;

    /// `ACL_TYPE_EXTENDED` and `ACL_FIRST_ENTRY` (sys/acl.h).
    const EXTENDED: c_int = 0x100;
    const FIRST: c_int = 0;

    unsafe extern "C" {
        fn acl_get_fd_np(descriptor: c_int, kind: c_int) -> *mut c_void;
        fn acl_set_fd_np(descriptor: c_int, list: *mut c_void, kind: c_int) -> c_int;
        fn acl_get_entry(list: *mut c_void, which: c_int, entry: *mut *mut c_void) -> c_int;
        fn acl_init(entries: c_int) -> *mut c_void;
        fn acl_size(list: *mut c_void) -> isize;
        fn acl_copy_ext_native(buffer: *mut c_void, list: *mut c_void, size: isize) -> isize;
        fn acl_copy_int_native(buffer: *const c_void) -> *mut c_void;
        fn acl_free(object: *mut c_void) -> c_int;
    }

    /// An access control list that the library has allocated. It is freed when it is dropped.
    struct List(NonNull<c_void>);

    impl List {
        /// Takes ownership of the result of a library function. A null pointer means an error.
        fn from_result(list: *mut c_void) -> io::Result<Self> {
            NonNull::new(list).map(Self).ok_or_else(io::Error::last_os_error)
        }

        fn set(&self, file: &File) -> io::Result<()> {
            // SAFETY: the descriptor is open, and the list is the library's own and not freed yet.
            let result = unsafe { acl_set_fd_np(file.as_raw_fd(), self.0.as_ptr(), EXTENDED) };
            if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
        }
    }

    impl Drop for List {
        fn drop(&mut self) {
            // SAFETY: the list is the library's own, and nothing else refers to it.
            unsafe { acl_free(self.0.as_ptr()) };
        }
    }

    /// Returns the file's list; `None` if the file has no list, or if its list has no entries.
    pub(super) fn of(file: &File) -> io::Result<Option<Vec<u8>>> {
        // SAFETY: the descriptor is open as long as `file` is borrowed.
        let list = match List::from_result(unsafe { acl_get_fd_np(file.as_raw_fd(), EXTENDED) }) {
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_unsupported(&error) => {
                return Ok(None);
            }
            list => list?,
        };
        let mut entry = null_mut();
        // SAFETY: the list is the library's own, and `entry` takes a pointer into it, which is not used.
        if unsafe { acl_get_entry(list.0.as_ptr(), FIRST, &raw mut entry) } != 0 {
            return Ok(None);
        }
        // SAFETY: the list is the library's own.
        let size = unsafe { acl_size(list.0.as_ptr()) };
        let mut bytes = vec![0; usize::try_from(size).map_err(|_| io::Error::last_os_error())?];
        // SAFETY: the buffer has the size that the library requires and that the call passes.
        let copied = unsafe { acl_copy_ext_native(bytes.as_mut_ptr().cast(), list.0.as_ptr(), size) };
        bytes.truncate(usize::try_from(copied).map_err(|_| io::Error::last_os_error())?);
        Ok(Some(bytes))
    }

    /// Gives a file the list that [`of`] returned for another file.
    pub(super) fn set(file: &File, list: &[u8]) -> io::Result<()> {
        // SAFETY: these are the bytes of a whole list as the library wrote them. They begin with the number
        // of entries that follow.
        let list = List::from_result(unsafe { acl_copy_int_native(list.as_ptr().cast()) })?;
        list.set(file)
    }

    /// Gives a file a list without entries, which allows and denies nothing.
    pub(super) fn remove(file: &File) -> io::Result<()> {
        // SAFETY: the function takes a number and makes a list.
        List::from_result(unsafe { acl_init(0) })?.set(file)
    }
}
