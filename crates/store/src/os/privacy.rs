//! Names the parts of a person's files that the system protects from programs: [`Privacy`]. The functions in
//! this file are for systems other than macOS.

/// The part of a person's files that macOS (Transparency, Consent and Control), or Windows, protects from
/// programs until the person allows access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Privacy {
    /// `~/Desktop`.
    Desktop,
    /// `~/Documents`.
    Documents,
    /// `~/Downloads`.
    Downloads,
    /// A removable or a network volume.
    Volume,
    /// The data of applications, and iCloud Drive: somewhere in `~/Library`.
    Library,
    /// On Windows, a folder in which unknown programs must not create files (Controlled Folder Access).
    ControlledFolder,
}

/// Returns `false`: only macOS has this error, which says that a file is a placeholder whose content is in a
/// cloud and is not fetched for this process.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn is_not_downloaded(_: &std::io::Error) -> bool {
    false
}

/// Does nothing: only macOS makes a process wait for content in a cloud.
#[cfg(not(target_vendor = "apple"))]
pub fn fetch_nothing() -> std::io::Result<()> {
    Ok(())
}

/// Returns the privacy setting that denied access to a path; `None` if something else denied it. `creates`
/// says whether the operation was to create a file or directory. Only Controlled Folder Access lets such an
/// operation fail with *not found* although the parent directory exists.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn privacy_of(path: &std::path::Path, error: &std::io::Error, creates: bool) -> Option<Privacy> {
    let is_answer = cfg!(windows) && creates && error.kind() == std::io::ErrorKind::NotFound;
    (is_answer && path.parent().is_some_and(std::path::Path::is_dir)).then_some(Privacy::ControlledFolder)
}
