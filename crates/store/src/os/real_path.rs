//! The path of a file or directory without symbolic links: [`real_path`].

use std::path::{Path, PathBuf};

/// The path without links, as far as it exists.
#[must_use]
pub fn real_path(path: &Path) -> PathBuf {
    for existing in path.ancestors() {
        #[expect(
            clippy::disallowed_methods,
            reason = "a directory, or an edited file, is named by its real path"
        )]
        if let (Ok(real), Ok(rest)) = (std::fs::canonicalize(existing), path.strip_prefix(existing)) {
            // Joining an empty path would append a slash.
            let whole = if rest.as_os_str().is_empty() { real } else { real.join(rest) };
            return without_verbatim_prefix(whole);
        }
    }
    path.to_owned()
}

/// `C:\…` for `\\?\C:\…`, which is what Windows makes of a canonical path; elsewhere the path itself.
pub(crate) fn without_verbatim_prefix(path: PathBuf) -> PathBuf {
    #[cfg(windows)]
    {
        use std::path::{Component, Prefix};

        let mut components = path.components();
        if let Some(Component::Prefix(prefix)) = components.next()
            && let Prefix::VerbatimDisk(letter) = prefix.kind()
        {
            let mut plain = PathBuf::from(format!("{}:\\", char::from(letter)));
            plain.extend(components.filter(|component| *component != Component::RootDir));
            return plain;
        }
    }
    path
}
