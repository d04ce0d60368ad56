//! The parts of a person's files that the system keeps programs from, as data: [`Privacy`]. On other systems,
//! the functions here answer that there is no such setting, and no placeholder for a file in a cloud.

/// The part of a person's files that macOS (Transparency, Consent and Control), or Windows, keeps programs
/// from, until the person allows it.
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
    /// On Windows, a folder in which unknown programs may not create files (Controlled Folder Access).
    ControlledFolder,
}

/// Tells whether an error says that a file is a placeholder whose content is in a cloud and is not fetched
/// for this process.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn is_not_downloaded(_: &std::io::Error) -> bool {
    false
}

/// Does nothing: only macOS makes a process wait for content in a cloud.
#[cfg(not(target_vendor = "apple"))]
pub fn fetch_nothing() -> std::io::Result<()> {
    Ok(())
}

/// Returns the privacy setting that denied access to a path, if there was one. `creates` says that a file or
/// directory was to be created: only Controlled Folder Access answers *not found* to this in a directory that
/// exists.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn privacy_of(path: &std::path::Path, error: &std::io::Error, creates: bool) -> Option<Privacy> {
    let is_answer = cfg!(windows) && creates && error.kind() == std::io::ErrorKind::NotFound;
    (is_answer && path.parent().is_some_and(std::path::Path::is_dir)).then_some(Privacy::ControlledFolder)
}
