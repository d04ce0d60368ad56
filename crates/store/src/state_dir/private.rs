//! Makes sure that the state directory is this user's alone (`check_above`, `claim`), or says why it cannot be. It holds text of
//! files, and records by which recovery changes files.

use std::io;
use std::path::PathBuf;

/// Why a directory cannot hold the state: it is not this user's alone and cannot be made so, or not this machine's.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotPrivate {
    /// It is another user's.
    #[error("it belongs to user {0}, not to this one")]
    Owner(u32),
    /// Others may use it, and it is not for the state alone, so its mode is not to be changed.
    #[error("others may use it, and it holds {}, which is no part of the state: a directory for the state alone is needed", .0.display())]
    Shared(PathBuf),
    /// Its mode cannot be changed, or has no effect.
    #[error("others may use it, and chmod does not change that")]
    Open,
    /// Something in it is another user's, or is none of the things that are put there.
    #[error("{} in it was not put there by this program", .0.display())]
    Planted(PathBuf),
    /// Another user owns a directory above it, or a link on the way, and can put another in its place.
    #[error("{} belongs to user {owner}, who can put another in its place", path.display())]
    Above {
        /// The directory above, or the link.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// It is on a file system that other machines can reach, which this is the name of.
    #[error(
        "it is on a network file system ({0}), where neither its locks nor its database are safe; name a directory on a local one"
    )]
    Network(&'static str),
    /// Everybody can rename what is in a directory above it.
    #[error("everybody can rename what is in {}", .0.display())]
    Renamable(PathBuf),
}

impl From<NotPrivate> for io::Error {
    fn from(why: NotPrivate) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, why)
    }
}

/// What a directory may hold.
#[derive(Clone, Copy)]
pub(crate) enum Holds<'a> {
    /// Entries of any name are this program's: the directory has the name that this program gives it.
    Anything,
    /// Entries whose names begin so.
    #[cfg_attr(not(unix), expect(dead_code, reason = "nobody looks there"))]
    Only(&'a [&'a str]),
}

#[cfg(not(unix))]
pub(crate) use other::{check_above, claim};
#[cfg(unix)]
pub(crate) use unix::{check_above, claim};

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::{Path, PathBuf};

    use cap_std::fs::MetadataExt as _;
    use rustix::fs::{AtFlags, Mode};

    use crate::os::directory::Dir;
    use crate::state_dir::private::{Holds, NotPrivate};

    /// Mode bits of everybody but the owner; where there is an access control list, the group's bound all it grants.
    const OTHERS: u32 = 0o077;
    /// Everybody may write.
    const EVERYBODY_WRITES: u32 = 0o002;
    /// Only who owns an entry may rename it.
    const STICKY: u32 = 0o1000;

    /// Checks that nobody else can put another directory in the place of the one that a path names, whether or not that is
    /// there yet: what is above it, and the links on the way.
    ///
    /// A group that may write is taken to be the user's own, as on systems where each user has one.
    pub(crate) fn check_above(named: &Path, real: &Path) -> io::Result<()> {
        let trusted = [Some(0), Some(own_id()), Path::new("/").metadata().ok().map(|top| top.uid())];
        // In a user namespace (user_namespaces(7)) root's directories belong to whoever owns the top directory.
        let is_trusted = |owner: u32| trusted.contains(&Some(owner));
        for path in named.ancestors() {
            if let Ok(link) = path.symlink_metadata()
                && link.is_symlink()
                && !is_trusted(link.uid())
            {
                return Err(NotPrivate::Above { path: path.to_owned(), owner: link.uid() }.into());
            }
        }
        for path in real.ancestors().skip(1) {
            let Ok(directory) = path.metadata() else { continue };
            if !is_trusted(directory.uid()) {
                return Err(NotPrivate::Above { path: path.to_owned(), owner: directory.uid() }.into());
            }
            if directory.mode() & EVERYBODY_WRITES != 0 && directory.mode() & STICKY == 0 {
                return Err(NotPrivate::Renamable(path.to_owned()).into());
            }
        }
        Ok(())
    }

    /// Checks that an open directory is this user's alone, makes it so where only its mode is in the way, and checks that
    /// what is in it was put there by this user.
    pub(crate) fn claim(directory: &Dir, holds: Holds<'_>) -> io::Result<()> {
        let metadata = directory.dir_metadata()?;
        if metadata.uid() != own_id() {
            return Err(NotPrivate::Owner(metadata.uid()).into());
        }
        let is_open = metadata.mode() & OTHERS != 0;
        let mut is_empty = true;
        for entry in directory.entries()? {
            is_empty = false;
            let name = PathBuf::from(entry?.file_name());
            let is_ours = match holds {
                Holds::Anything => true,
                Holds::Only(names) => {
                    names.iter().any(|own| name.as_os_str().as_encoded_bytes().starts_with(own.as_bytes()))
                }
            };
            match directory.symlink_metadata(&name) {
                Ok(_) if !is_ours && is_open => return Err(NotPrivate::Shared(name).into()),
                Ok(entry) if is_ours && (entry.uid() != own_id() || entry.is_symlink()) => {
                    return Err(NotPrivate::Planted(name).into());
                }
                // Another process of this server has removed it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
                Ok(_) => {}
            }
        }
        if is_open {
            if !is_empty {
                tracing::warn!(
                    "the state directory was open to others, and may have been read; now it is private"
                );
            }
            // The owner's own bits are kept: whether the directory can be written is checked later.
            // Bit by bit: the type of a raw mode differs between systems.
            let bits = [(0o400, Mode::RUSR), (0o200, Mode::WUSR), (0o100, Mode::XUSR)];
            let own: Mode = bits
                .into_iter()
                .filter(|(bit, _)| metadata.mode() & bit != 0)
                .map(|(_, mode)| mode)
                .collect();
            rustix::fs::chmodat(directory, ".", own, AtFlags::empty()).map_err(|_| NotPrivate::Open)?;
            if directory.dir_metadata()?.mode() & OTHERS != 0 {
                return Err(NotPrivate::Open.into());
            }
        }
        Ok(())
    }

    fn own_id() -> u32 {
        rustix::process::geteuid().as_raw()
    }
}

#[cfg(not(unix))]
mod other {
    use std::io;
    use std::path::Path;

    use crate::os::directory::Dir;
    use crate::state_dir::private::Holds;

    /// Directories in a user's profile are private by inheritance.
    #[expect(clippy::unnecessary_wraps, reason = "Unix must ask the system")]
    pub(crate) fn check_above(_: &Path, _: &Path) -> io::Result<()> {
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "Unix must ask the system")]
    pub(crate) fn claim(_: &Dir, _: Holds<'_>) -> io::Result<()> {
        Ok(())
    }
}
