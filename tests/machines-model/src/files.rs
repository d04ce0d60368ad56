//! The shared file system: names, inodes, and the steps that it does as one. Where a step fails, nothing has
//! changed.

use std::collections::{BTreeMap, BTreeSet};

/// The content of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Content {
    /// The calls that it has been through, a bit each.
    pub(crate) calls: u8,
    /// Whether only a part of the file has been overwritten.
    pub(crate) is_torn: bool,
    /// Whether it holds the other of the two texts, if the world has only two.
    pub(crate) is_other: bool,
}

impl Content {
    /// Returns content of these calls that is whole.
    pub(crate) fn whole(calls: u8) -> Self {
        Self { calls, is_torn: false, is_other: false }
    }

    /// Returns the content that a call makes of it. The text is always another one.
    pub(crate) fn edited(self, calls: u8) -> Self {
        Self { calls: self.calls | calls, is_other: !self.is_other, ..self }
    }
}

/// A file, and what it holds.
pub(crate) type There = (Inode, Content);

/// A name in the tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Name {
    /// A file of the users.
    File(u8),
    /// A temporary of a file of a call, in the turn of its owner (0) or of who took the record over (1, 2,
    /// …).
    New(Temporary),
    /// The second name of the old content, or its copy, likewise.
    Old(Temporary),
    /// The file that was taken away, in the directory that the record names for it.
    Taken(Temporary),
}

/// The identity of a temporary.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Temporary {
    pub(crate) call: u8,
    /// The number of the change in its call.
    pub(crate) change: u8,
    pub(crate) turn: u8,
}

/// A file, whatever its names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Inode {
    /// The one that was there at the beginning.
    First(u8),
    /// The new content that a call has made.
    Made { call: u8, change: u8 },
    /// The copy of the old content that a call has made.
    Copy { call: u8, change: u8 },
}

/// The facts of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct About {
    pub(crate) content: Content,
    /// The process that holds its lock.
    pub(crate) lock: Option<u8>,
}

/// The tree.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Files {
    pub(crate) names: BTreeMap<Name, Inode>,
    pub(crate) inodes: BTreeMap<Inode, About>,
    /// The directories of temporaries.
    pub(crate) directories: BTreeSet<Temporary>,
}

/// A step that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Failed;

impl Files {
    pub(crate) fn at(&self, name: Name) -> Option<There> {
        let inode = *self.names.get(&name)?;
        self.inodes.get(&inode).map(|about| (inode, about.content))
    }

    pub(crate) fn content_at(&self, name: Name) -> Option<Content> {
        self.at(name).map(|(_, content)| content)
    }

    fn there(&self, name: Name) -> Result<Inode, Failed> {
        self.names.get(&name).copied().ok_or(Failed)
    }

    /// Fails if the directory of a name is not there.
    fn has_directory(&self, name: Name) -> Result<(), Failed> {
        match name {
            Name::Taken(of) if !self.directories.contains(&of) => Err(Failed),
            _ => Ok(()),
        }
    }

    /// Does `open` with `O_CREAT | O_EXCL`, and all of the content; locked by its maker.
    pub(crate) fn create(&mut self, name: Name, inode: Inode, about: About) -> Result<(), Failed> {
        self.has_directory(name)?;
        if self.names.contains_key(&name) {
            return Err(Failed);
        }
        self.names.insert(name, inode);
        self.inodes.insert(inode, about);
        Ok(())
    }

    /// Does `renameat2` with `RENAME_EXCHANGE`.
    pub(crate) fn exchange(&mut self, one: Name, other: Name) -> Result<(), Failed> {
        let (first, second) = (self.there(one)?, self.there(other)?);
        self.names.insert(one, second);
        self.names.insert(other, first);
        Ok(())
    }

    /// Does `rename`, whatever has the new name.
    pub(crate) fn rename(&mut self, from: Name, to: Name) -> Result<(), Failed> {
        let inode = self.there(from)?;
        self.has_directory(to)?;
        self.names.remove(&from);
        self.names.insert(to, inode);
        self.forget_unnamed();
        Ok(())
    }

    /// Does `renameat2` with `RENAME_NOREPLACE`.
    pub(crate) fn rename_new(&mut self, from: Name, to: Name) -> Result<(), Failed> {
        if self.names.contains_key(&to) { Err(Failed) } else { self.rename(from, to) }
    }

    /// Does `link`.
    pub(crate) fn link(&mut self, from: Name, to: Name) -> Result<(), Failed> {
        let inode = self.there(from)?;
        if self.names.contains_key(&to) {
            return Err(Failed);
        }
        self.names.insert(to, inode);
        Ok(())
    }

    /// Does `unlink`; it is no failure if there is nothing.
    pub(crate) fn unlink(&mut self, name: Name) {
        self.names.remove(&name);
        self.forget_unnamed();
    }

    /// Does `rmdir`.
    pub(crate) fn remove_directory(&mut self, of: Temporary) -> Result<(), Failed> {
        if self.names.contains_key(&Name::Taken(of)) {
            return Err(Failed);
        }
        self.directories.remove(&of);
        Ok(())
    }

    /// Takes the lock of a file by its handle, or has it already.
    pub(crate) fn lock(&mut self, inode: Inode, by: u8) -> Result<(), Failed> {
        match self.inodes.get_mut(&inode) {
            Some(about) if about.lock.is_none_or(|holder| holder == by) => {
                about.lock = Some(by);
                Ok(())
            }
            // A file that has no name any more is nobody else's.
            None => Ok(()),
            Some(_) => Err(Failed),
        }
    }

    /// Lets go of all locks of a process.
    pub(crate) fn unlock_all(&mut self, of: u8) {
        for about in self.inodes.values_mut() {
            if about.lock == Some(of) {
                about.lock = None;
            }
        }
    }

    /// Forgets a file without a name: it can be reached by handles alone, and nothing is looked at by them
    /// but files that have one.
    fn forget_unnamed(&mut self) {
        let named: BTreeSet<Inode> = self.names.values().copied().collect();
        self.inodes.retain(|inode, _| named.contains(inode));
    }
}
