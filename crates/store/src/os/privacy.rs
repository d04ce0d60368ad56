//! The files of a person that macOS keeps programs from, as data: [`Privacy`]. For other systems, the
//! functions here answer that there is no such setting, and no placeholder for a file in a cloud.

/// The part of a person's files that macOS keeps programs from, until the person allows it to the program
/// that started this one (Transparency, Consent and Control).
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
}

/// Tells whether an error says that a file is a placeholder whose content is in a cloud and is not fetched
/// for this process.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn is_not_downloaded(_: &std::io::Error) -> bool {
    false
}

/// Returns the privacy setting that denied access to a path, if there was one.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn privacy_of(_: &std::path::Path, _: &std::io::Error) -> Option<Privacy> {
    None
}
