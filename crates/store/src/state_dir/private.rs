//! Makes sure that only this user can use the state directory (`check_above`, `claim`), or returns the reason
//! why that is impossible. The directory holds text of files, and journal records that tell recovery how to
//! change files.
//!
//! Opens the state directory: [`StateDir`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;

use crate::error::{ErrorContext as _, Operation, StoreError};
use crate::os;
use crate::os::directory::Dir;
use crate::os::real_path::real_path;

/// The system's id of a user: a number.
#[cfg(not(windows))]
pub type UserId = u32;
/// The system's id of a user: a SID as text.
#[cfg(windows)]
pub type UserId = String;

/// The reason why a directory cannot be the state directory: other users can use it and that cannot be
/// changed, or other machines can reach it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotPrivate {
    /// It belongs to another user.
    #[error("it belongs to user {0}, not to this one")]
    Owner(UserId),
    /// Other users have rights to it, and it also holds other files (the field is the name of one). So this
    /// program does not change its mode or access list.
    #[error("others may use it, and it holds {}, which is no part of the state: a directory for the state alone is needed", .0.display())]
    Shared(PathBuf),
    /// Its mode, or access list, cannot be changed, or has no effect.
    #[error("others may use it, and {} does not change that", if cfg!(windows) { "another access list" } else { "chmod" })]
    Open,
    /// An entry in it belongs to another user, or is a link, which this program never creates there.
    #[error("{} in it was not put there by this program", .0.display())]
    Planted(PathBuf),
    /// Another user owns a directory above it, or a link in its path, and so can replace it.
    #[error("{} belongs to user {owner}, who can put another in its place", path.display())]
    Above {
        /// The directory above, or the link.
        path: PathBuf,
        /// The owner.
        owner: UserId,
    },
    /// It is on a file system that other machines can reach. The field is the file system's name.
    #[error(
        "it is on a network file system ({0}), where neither its locks nor its database are safe; name a directory on a local one"
    )]
    Network(&'static str),
    /// Others can rename the entries of a directory above it.
    #[error("{by} can rename what is in {}", path.display())]
    Renamable {
        /// The directory above.
        path: PathBuf,
        /// Everybody, or on Windows an identifier (SID) or the letters for one.
        by: String,
    },
}

impl From<NotPrivate> for io::Error {
    fn from(reason: NotPrivate) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, reason)
    }
}

/// The entries of a directory that count as this program's.
#[derive(Clone, Copy)]
pub(crate) enum Holds<'a> {
    /// Entries with any name count: this is for the subdirectories of the state directory.
    Anything,
    /// Only entries whose names begin with one of these texts count.
    #[cfg_attr(not(any(unix, windows)), expect(dead_code, reason = "nobody looks there"))]
    Only(&'a [&'a str]),
}

#[cfg(not(windows))]
pub(crate) use crate::os::create_private_directories;
#[cfg(not(any(unix, windows)))]
pub(crate) use other::{check_above, claim};
#[cfg(unix)]
pub(crate) use unix::{check_above, claim};
#[cfg(windows)]
pub(crate) use windows::{check_above, claim, create_private_directories};

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::{Path, PathBuf};

    use cap_std::fs::MetadataExt as _;
    use rustix::fs::{AtFlags, Mode};

    use crate::os::directory::Dir;
    use crate::state_dir::private::{Holds, NotPrivate};

    /// The mode bits of everybody except the owner. If there is an access control list, the group's bits
    /// limit all that the list grants.
    const OTHERS: u32 = 0o077;
    /// The mode bit that lets everybody write.
    const EVERYBODY_WRITES: u32 = 0o002;
    /// The mode bit with which only the owner of an entry can rename the entry.
    const STICKY: u32 = 0o1000;

    /// Checks that nobody else can replace the directory that a path names, whether or not it exists yet: by
    /// renaming it or a directory above it, or by changing a link on the way.
    ///
    /// A group with write permission is assumed to be the user's own, as on systems where each user has a
    /// group.
    pub(crate) fn check_above(named: &Path, real: &Path) -> io::Result<()> {
        let trusted = [Some(0), Some(own_id()), Path::new("/").metadata().ok().map(|top| top.uid())];
        // In a user namespace (user_namespaces(7)), root's directories belong to the owner of the top
        // directory.
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
                return Err(
                    NotPrivate::Renamable { path: path.to_owned(), by: "everybody".to_owned() }.into()
                );
            }
        }
        Ok(())
    }

    /// Checks that an open directory belongs to this user alone, and that this user created its entries. If
    /// the only problem is that its mode admits others, changes the mode.
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
            // The owner's own bits are kept: a later check finds out whether the directory is writable. The
            // mode is built bit by bit, since the type of a raw mode differs between systems.
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

#[cfg(windows)]
mod windows {
    use std::io;
    use std::path::{Path, PathBuf};

    use crate::os;
    use crate::os::directory::Dir;
    use crate::state_dir::access_list::{AccessList, private_to};
    use crate::state_dir::private::{Holds, NotPrivate};

    /// The maximum number of times that an access list is set again because another process has set one
    /// meanwhile.
    const MAX_RETRIES: usize = 100;

    /// Checks that nobody else can replace the directory that a path names, whether or not it exists yet: by
    /// renaming it or a directory above it, or by changing a link on the way.
    pub(crate) fn check_above(named: &Path, real: &Path) -> io::Result<()> {
        let user = os::own_user()?;
        for path in named.ancestors() {
            if path.symlink_metadata().is_ok_and(|link| link.is_symlink())
                && let Some(list) = list_of(path)
                && !list.is_owned_by(&user)
            {
                return Err(NotPrivate::Above { path: path.to_owned(), owner: list.owner }.into());
            }
        }
        for path in real.ancestors().skip(1) {
            let Some(list) = list_of(path) else { continue };
            if !list.is_owned_by(&user) {
                return Err(NotPrivate::Above { path: path.to_owned(), owner: list.owner }.into());
            }
            // The root of a drive has no name, so nobody can rename it.
            let above = path.parent().and_then(|above| Some((above, list.who_renames_it(&user)?)));
            if let Some((path, by)) = list.who_renames_in_it(&user).map(|by| (path, by)).or(above) {
                return Err(NotPrivate::Renamable { path: path.to_owned(), by: by.to_owned() }.into());
            }
        }
        Ok(())
    }

    /// Checks that an open directory belongs to this user alone, and that this user created its entries. If
    /// the only problem is that its access list admits others, replaces the list.
    pub(crate) fn claim(directory: &Dir, holds: Holds<'_>) -> io::Result<()> {
        let user = os::own_user()?;
        let path = os::final_path(directory)?;
        let list = read(&path)?;
        if !list.is_owned_by(&user) {
            return Err(NotPrivate::Owner(list.owner).into());
        }
        let is_open = list.is_open_to_others(&user);
        let (mut is_empty, mut is_ours_alone) = (true, true);
        for entry in directory.entries()? {
            is_empty = false;
            let entry = entry?;
            let name = PathBuf::from(entry.file_name());
            let is_ours = match holds {
                Holds::Anything => true,
                Holds::Only(names) => {
                    names.iter().any(|own| name.as_os_str().as_encoded_bytes().starts_with(own.as_bytes()))
                }
            };
            if !is_ours && is_open {
                return Err(NotPrivate::Shared(name).into());
            }
            if !is_ours {
                is_ours_alone = false;
                continue;
            }
            match read(&path.join(&name)) {
                // Another process of this server has removed it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
                Ok(own) if !own.is_owned_by(&user) || entry.file_type()?.is_symlink() => {
                    return Err(NotPrivate::Planted(name).into());
                }
                Ok(_) => {}
            }
        }
        if is_open {
            if !is_empty {
                tracing::warn!(
                    "the state directory was open to others, and may have been read; now it is private"
                );
            }
            // Another process of this server may set the list at the same time, and while it does so, the
            // directory is not private at every moment (`set_access_list`). So this is retried.
            for _ in 0..MAX_RETRIES {
                os::set_access_list(&path, &private_to(&user)).map_err(|_| NotPrivate::Open)?;
                if !read(&path)?.is_open_to_others(&user) {
                    return Ok(());
                }
            }
            return Err(NotPrivate::Open.into());
        }
        if is_ours_alone && !list.is_protected {
            // The directory is private only by its inherited list, which can change. So the directory gets
            // its own list; if that fails, it is still private.
            let _ = os::set_access_list(&path, &private_to(&user));
        }
        Ok(())
    }

    /// Creates a directory and the missing directories above it, for this user alone. Existing directories do
    /// not change.
    pub(crate) fn create_private_directories(path: &Path) -> io::Result<()> {
        let list = private_to(&os::own_user()?);
        let missing: Vec<&Path> = path.ancestors().take_while(|path| !path.is_dir()).collect();
        for path in missing.into_iter().rev() {
            match os::create_directory_with(path, &list) {
                // Another process was first.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// Returns the access list of a path; `None` if nothing exists at the path, or the list is not readable.
    fn list_of(path: &Path) -> Option<AccessList> {
        read(path).ok()
    }

    fn read(path: &Path) -> io::Result<AccessList> {
        let text = os::access_list_of(path)?;
        AccessList::read(&text)
            .ok_or_else(|| io::Error::other(format!("its access list cannot be read: {text}")))
    }
}

#[cfg(not(any(unix, windows)))]
mod other {
    use std::io;
    use std::path::Path;

    use crate::os::directory::Dir;
    use crate::state_dir::private::Holds;

    #[expect(clippy::unnecessary_wraps, reason = "Unix must ask the system")]
    pub(crate) fn check_above(_: &Path, _: &Path) -> io::Result<()> {
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "Unix must ask the system")]
    pub(crate) fn claim(_: &Dir, _: Holds<'_>) -> io::Result<()> {
        Ok(())
    }
}

/// The subdirectory with a journal record for each running transaction.
pub(crate) const JOURNAL: &str = "journal";

/// The subdirectory for the new content of files whose own directory is not writable.
pub(crate) const CONTENT: &str = "content";

/// The file with the database of past edits.
pub const HISTORY: &str = "history.db";

/// The open state directory.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    directory: Arc<Dir>,
    journal: Arc<Dir>,
    content: Arc<Dir>,
}

impl StateDir {
    /// Opens the state directory. Creates it and the missing directories above it, with mode 0700 whatever
    /// the umask; on Windows, with an access list for this user, the system and the administrators.
    ///
    /// If other users have rights to the directory and it holds only the state, makes it private. Fails if
    /// the directory belongs to another user or cannot be made private, if others could replace it, if
    /// something in it belongs to another user, or if it is on a network file system (as far as Linux and
    /// Windows report that). In these cases, the source of the error is a
    /// [`NotPrivate`](crate::state_dir::private::NotPrivate).
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let make = |path: &Path| create_private_directories(path).context(Operation::OpenState, path);
        let check = |real: &Path| check_above(path, real).context(Operation::OpenState, path);
        // The check runs before anything is created, and again afterwards, since the directory may not have
        // existed before.
        check(&real_path(path))?;
        make(path)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the state directory is named by its real path, found once"
        )]
        let path = std::fs::canonicalize(path).context(Operation::OpenState, path)?;
        check(&path)?;
        let open = |path: &Path, holds: Holds<'_>| {
            make(path)?;
            let directory = Dir::open_ambient_dir(path, ambient_authority());
            let directory = directory.context(Operation::OpenState, path)?;
            claim(&directory, holds).context(Operation::OpenState, path)?;
            os::check_writable(&directory).context(Operation::OpenState, path)?;
            Ok(Arc::new(directory))
        };
        let is_local = |directory: &Dir| -> io::Result<()> {
            match os::network_file_system(directory)? {
                Some(name) => Err(NotPrivate::Network(name).into()),
                None => Ok(()),
            }
        };
        let directory = open(&path, Holds::Only(&[JOURNAL, CONTENT, HISTORY]))?;
        is_local(&directory).context(Operation::OpenState, &path)?;
        let journal = open(&path.join(JOURNAL), Holds::Anything)?;
        let content = open(&path.join(CONTENT), Holds::Anything)?;
        Ok(Self { path, directory, journal, content })
    }

    /// Returns the directory's handle, for [`confine`](crate::access::landlock::confine).
    #[must_use]
    pub fn directory(&self) -> &Dir {
        &self.directory
    }

    /// Returns the directory's real path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn journal(&self) -> &Arc<Dir> {
        &self.journal
    }

    pub(crate) fn content(&self) -> &Arc<Dir> {
        &self.content
    }
}

#[cfg(test)]
#[cfg(windows)]
#[expect(
    clippy::disallowed_methods,
    reason = "a test sets its files up, and looks at them, without the store"
)]
#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::state_dir::access_list::{AccessList, private_to};

    fn list(path: &Path) -> AccessList {
        AccessList::read(&os::access_list_of(path).unwrap()).unwrap()
    }

    /// Tells why a state directory is refused, with its path.
    fn open(path: &Path) -> Result<(), String> {
        let Err(error) = StateDir::open(path) else { return Ok(()) };
        let source = error.source.unwrap();
        let why = source.get_ref().and_then(|why| why.downcast_ref::<NotPrivate>());
        Err(why.map_or_else(|| panic!("{source}"), |why| format!("{why:?}")))
    }

    #[test]
    fn the_state_directory_has_an_access_list_of_its_own() {
        let user = os::own_user().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("a").join("state");
        open(&state).unwrap();
        for path in [directory.path().join("a"), state.clone(), state.join("journal"), state.join("content")]
        {
            let list = list(&path);
            assert!(list.is_owned_by(&user) && !list.is_open_to_others(&user), "{path:?}: {list:?}");
        }
        open(&state).unwrap();
    }

    #[test]
    fn a_state_directory_that_is_open_to_others_is_made_private_or_refused() {
        let user = os::own_user().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let (state, other) = (directory.path().join("state"), directory.path().join("other"));
        let everybody = format!("{}(A;OICI;FA;;;WD)", private_to(&user));
        for path in [&state, &other] {
            os::create_directory_with(path, &everybody).unwrap();
            assert!(list(path).is_open_to_others(&user));
        }
        open(&state).unwrap();
        assert!(!list(&state).is_open_to_others(&user));
        std::fs::write(other.join("letter.txt"), "dear").unwrap();
        assert_eq!(open(&other), Err("Shared(\"letter.txt\")".to_owned()));
        assert!(list(&other).is_open_to_others(&user), "and it stays as it is");
        if list(&other).who_renames_in_it(&user).is_none() {
            return eprintln!(
                "skipped: this system does not keep the right to rename what is in a directory"
            );
        }
        // A directory is refused, too, if everybody can rename what is in the one above it.
        assert!(open(&other.join("state")).unwrap_err().starts_with("Renamable {"));
        assert!(!other.join("state").exists());
    }
}
