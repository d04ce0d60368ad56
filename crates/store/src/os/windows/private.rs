//! Reads the owner and the access list of a file, in the notation SDDL; sets access lists; and creates
//! directories with an access list of their own. `state_dir/access_list` interprets the lists.

use std::ffi::OsString;
use std::io;
use std::os::windows::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::ptr;

use windows_sys::Win32::Foundation::{
    CloseHandle, ERROR_INSUFFICIENT_BUFFER, ERROR_SUCCESS, HANDLE, LocalFree,
};
use windows_sys::Win32::Security::Authorization::{
    ConvertSecurityDescriptorToStringSecurityDescriptorW, ConvertSidToStringSidW,
    ConvertStringSecurityDescriptorToSecurityDescriptorW, GetNamedSecurityInfoW, SDDL_REVISION_1,
    SE_FILE_OBJECT, SetNamedSecurityInfoW,
};
use windows_sys::Win32::Security::{
    ACL, DACL_SECURITY_INFORMATION, GetSecurityDescriptorDacl, GetTokenInformation,
    OWNER_SECURITY_INFORMATION, PROTECTED_DACL_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR,
    SECURITY_ATTRIBUTES, SetFileSecurityW, TOKEN_QUERY, TOKEN_USER, TokenUser,
};
use windows_sys::Win32::Storage::FileSystem::CreateDirectoryW;
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

use crate::os::windows::names::verbatim;

/// The maximum number of retries if another process changes an access list meanwhile.
const MAX_CHANGES: usize = 100;

/// Memory that the system allocated for this process; it is freed with the value.
struct Local(*mut core::ffi::c_void);

impl Drop for Local {
    #[expect(unsafe_code, reason = "the system allocates what it returns")]
    fn drop(&mut self) {
        // SAFETY: the pointer is null or came from a function that documents LocalFree for it, and is freed
        // here alone.
        unsafe { LocalFree(self.0) };
    }
}

/// Returns the user of this process, in the form that access lists use for users.
#[expect(unsafe_code, reason = "std knows no users of Windows")]
pub(crate) fn own_user() -> io::Result<String> {
    let mut token: HANDLE = ptr::null_mut();
    // SAFETY: the pseudo handle of this process needs no closing, and `token` outlives the call.
    if unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) } == 0 {
        return Err(io::Error::last_os_error());
    }
    // The buffer has room for a user with its identifier, which has at most 68 bytes. It consists of words,
    // so that it is aligned.
    let mut buffer = [0_u64; 32];
    let room = u32::try_from(size_of_val(&buffer)).unwrap_or(0);
    let mut length = 0;
    // SAFETY: the token is open, and the buffer has the length that is passed.
    let done =
        unsafe { GetTokenInformation(token, TokenUser, buffer.as_mut_ptr().cast(), room, &raw mut length) };
    let error = io::Error::last_os_error();
    // SAFETY: the token was opened above, and is not used any more.
    unsafe { CloseHandle(token) };
    if done == 0 {
        return Err(error);
    }
    let mut text = ptr::null_mut();
    // SAFETY: GetTokenInformation has filled the aligned buffer with a TOKEN_USER, whose identifier lies in
    // the buffer, too.
    let done = unsafe {
        let user = buffer.as_ptr().cast::<TOKEN_USER>().read();
        ConvertSidToStringSidW(user.User.Sid, &raw mut text)
    };
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    let text = Local(text.cast());
    // SAFETY: a string that ends in a zero, and lives as long as `text`.
    let sid = unsafe { string_at(text.0.cast()) };
    // For some users, SDDL has letters instead of an identifier. So this function converts the identifier to
    // a descriptor with this owner, and back to SDDL.
    let list = described(&Described::read(&format!("O:{sid}"))?, OWNER_SECURITY_INFORMATION)?;
    Ok(list.strip_prefix("O:").unwrap_or(&sid).to_owned())
}

/// Returns the owner and the access list of the file at a path. A link is not followed, because the path gets
/// the prefix `\\?\`.
pub(crate) fn access_list_of(path: &Path) -> io::Result<String> {
    let what = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
    described(&at_rest(|| descriptor_of(path, what))?, what)
}

/// Repeats a call that reads or sets an access list while the error says that a buffer was too small. The
/// system queries the length first, and another process can set a longer list before the list is copied.
fn at_rest<T>(act: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let is_short = |error: &io::Error| error.raw_os_error() == i32::try_from(ERROR_INSUFFICIENT_BUFFER).ok();
    for _ in 0..MAX_CHANGES {
        match act() {
            Err(error) if is_short(&error) => {}
            done => return done,
        }
    }
    act()
}

#[expect(unsafe_code, reason = "std knows no access lists")]
fn descriptor_of(path: &Path, what: u32) -> io::Result<Described> {
    let wide = wide(path);
    let mut descriptor: PSECURITY_DESCRIPTOR = ptr::null_mut();
    let none = ptr::null_mut;
    // SAFETY: the path ends in a zero, what is not asked for is null, and `descriptor` outlives the call.
    let error = unsafe {
        GetNamedSecurityInfoW(
            wide.as_ptr(),
            SE_FILE_OBJECT,
            what,
            none(),
            none(),
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut descriptor,
        )
    };
    if error == ERROR_SUCCESS { Ok(Described(Local(descriptor))) } else { Err(error_of(error)) }
}

/// Gives a directory an access list. The list inherits nothing from the parent directory. The files and
/// directories below the directory inherit the list.
#[expect(unsafe_code, reason = "std knows no access lists")]
pub(crate) fn set_access_list(path: &Path, list: &str) -> io::Result<()> {
    let described = Described::read(list)?;
    let (mut is_there, mut is_default) = (0, 0);
    let mut entries: *mut ACL = ptr::null_mut();
    // SAFETY: the descriptor is valid, and the three places outlive the call.
    let done = unsafe {
        GetSecurityDescriptorDacl(described.0.0, &raw mut is_there, &raw mut entries, &raw mut is_default)
    };
    if done == 0 || is_there == 0 || entries.is_null() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let wide = wide(path);
    let what = DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION;
    at_rest(|| {
        // SAFETY: the path ends in a zero; the list lies in `described`, which outlives the call; the rest is
        // not set.
        let error = unsafe {
            SetNamedSecurityInfoW(
                wide.as_ptr(),
                SE_FILE_OBJECT,
                what,
                ptr::null_mut(),
                ptr::null_mut(),
                entries,
                ptr::null(),
            )
        };
        if error == ERROR_SUCCESS { Ok(()) } else { Err(error_of(error)) }
    })?;
    // The call above has also passed the list on to the files and directories below. But Wine adds entries of
    // the parent directory's list, although the list must not inherit any. So the list is set again. SAFETY:
    // the path ends in a zero, and the descriptor outlives the call.
    let done = unsafe { SetFileSecurityW(wide.as_ptr(), what, described.0.0) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Creates a directory with this owner and access list.
#[expect(unsafe_code, reason = "std makes directories with the list of the one above alone")]
pub(crate) fn create_directory_with(path: &Path, list: &str) -> io::Result<()> {
    let described = Described::read(list)?;
    let attributes = SECURITY_ATTRIBUTES {
        nLength: u32::try_from(size_of::<SECURITY_ATTRIBUTES>()).unwrap_or(0),
        lpSecurityDescriptor: described.0.0,
        bInheritHandle: 0,
    };
    let wide = wide(path);
    // SAFETY: the path ends in a zero, and the descriptor outlives the call.
    let done = unsafe { CreateDirectoryW(wide.as_ptr(), &raw const attributes) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A security descriptor.
struct Described(Local);

impl Described {
    #[expect(unsafe_code, reason = "std knows no access lists")]
    fn read(text: &str) -> io::Result<Self> {
        let wide: Vec<u16> = text.encode_utf16().chain([0]).collect();
        let mut descriptor: PSECURITY_DESCRIPTOR = ptr::null_mut();
        // SAFETY: the text ends in a zero, and `descriptor` outlives the call; its length is not asked for.
        let done = unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                wide.as_ptr(),
                SDDL_REVISION_1,
                &raw mut descriptor,
                ptr::null_mut(),
            )
        };
        if done == 0 { Err(io::Error::last_os_error()) } else { Ok(Self(Local(descriptor))) }
    }
}

/// Returns the parts of a descriptor that `what` selects, in SDDL.
#[expect(unsafe_code, reason = "std knows no access lists")]
fn described(descriptor: &Described, what: u32) -> io::Result<String> {
    let mut text = ptr::null_mut();
    // SAFETY: the descriptor is valid, and `text` outlives the call; its length is not asked for.
    let done = unsafe {
        ConvertSecurityDescriptorToStringSecurityDescriptorW(
            descriptor.0.0,
            SDDL_REVISION_1,
            what,
            &raw mut text,
            ptr::null_mut(),
        )
    };
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    let text = Local(text.cast());
    // SAFETY: a string that ends in a zero, and lives as long as `text`.
    Ok(unsafe { string_at(text.0.cast()) })
}

/// Returns the string that begins at an address.
///
/// # Safety
///
/// The string must end in a zero, and live as long as the call.
#[expect(unsafe_code, reason = "strings of the system have no length")]
unsafe fn string_at(start: *const u16) -> String {
    let mut length = 0;
    // SAFETY: nothing behind the zero is read.
    while unsafe { *start.add(length) } != 0 {
        length += 1;
    }
    // SAFETY: so many units were just read.
    let units = unsafe { std::slice::from_raw_parts(start, length) };
    OsString::from_wide(units).to_string_lossy().into_owned()
}

fn wide(path: &Path) -> Vec<u16> {
    verbatim(path).as_os_str().encode_wide().chain([0]).collect()
}

fn error_of(code: u32) -> io::Error {
    io::Error::from_raw_os_error(i32::try_from(code).unwrap_or(i32::MAX))
}
