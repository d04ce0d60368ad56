//! Resolves the symbolic links of a path: [`real_path`].

use std::path::{Path, PathBuf};

/// Returns the path without symbolic links. Components at the end of the path that do not exist stay as they
/// are.
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

/// Returns `C:\…` for `\\?\C:\…`, and `\\server\…` for `\\?\UNC\server\…`: Windows puts the prefix `\\?\`
/// before canonical paths. Returns any other path, and every path on other systems, unchanged.
#[cfg(not(windows))]
pub(crate) fn without_verbatim_prefix(path: PathBuf) -> PathBuf {
    path
}

#[cfg(windows)]
pub(crate) fn without_verbatim_prefix(path: PathBuf) -> PathBuf {
    use std::ffi::OsString;
    use std::path::{Component, Prefix};

    let mut components = path.components();
    let Some(Component::Prefix(prefix)) = components.next() else { return path };
    let mut plain = OsString::new();
    match prefix.kind() {
        Prefix::VerbatimDisk(letter) => plain.push(format!("{}:", char::from(letter))),
        Prefix::VerbatimUNC(server, share) => {
            for part in [r"\\".as_ref(), server, r"\".as_ref(), share] {
                plain.push(part);
            }
        }
        _ => return path,
    }
    plain.push(r"\");
    let mut plain = PathBuf::from(plain);
    plain.extend(components.filter(|component| *component != Component::RootDir));
    plain
}
