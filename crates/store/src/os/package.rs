//! Determines the Windows package (MSIX) to which this process belongs: [`package_of_this_process`].

/// Returns the family name of the package to which this process, or the program that started it, belongs
/// (`GetCurrentPackageFamilyName`); `None` if they belong to none. Files that such a process writes to
/// `AppData` go to the package's own copy of that directory.
#[cfg(windows)]
#[must_use]
#[expect(unsafe_code, reason = "std does not know packages")]
pub fn package_of_this_process() -> Option<String> {
    use windows_sys::Win32::Foundation::ERROR_SUCCESS;
    use windows_sys::Win32::Storage::Packaging::Appx::GetCurrentPackageFamilyName;
    // PACKAGE_FAMILY_NAME_MAX_LENGTH of appmodel.h is 64, without the NUL.
    let mut name = [0_u16; 65];
    let mut length = 65;
    // SAFETY: `length` is the length of the buffer `name`, and both outlive the call.
    let status = unsafe { GetCurrentPackageFamilyName(&raw mut length, name.as_mut_ptr()) };
    let name = name.split(|unit| *unit == 0).next().filter(|_| status == ERROR_SUCCESS)?;
    Some(String::from_utf16_lossy(name))
}

/// Returns `None`: other systems have no such packages.
#[cfg(not(windows))]
#[must_use]
pub fn package_of_this_process() -> Option<String> {
    None
}
