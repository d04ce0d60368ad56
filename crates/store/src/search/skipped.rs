//! Records the files and directories that a search or a listing left out: [`Skipped`].

use std::collections::BTreeMap;

/// The maximum number of names that are kept for each cause.
const NAMED: usize = 3;

/// The reason why a file or directory was left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// The file holds a NUL byte.
    Binary,
    /// The file holds a NUL byte, the call named it, and something was found in its bytes.
    BinaryHit,
    /// Something was found in the file, but not all of the file decodes, so no tool could read or edit it.
    Undecodable,
    /// The file does not decode, so the pattern, or its non-ASCII characters, could not be searched for in
    /// the file.
    NotDecoded,
    /// A line of the file is too long to be held in memory, or too long to decide whether it matches.
    LineTooLong,
    /// The file is too large to be matched as a whole.
    TooLarge,
    /// Something was found in the file, but the file is protected, so its matches are not replaced.
    Protected,
    /// The content of the file is elsewhere, in a cloud or on a tape, and would have to be fetched. The call
    /// did not name the file.
    Elsewhere,
    /// The file kept changing while it was searched.
    Changed,
    /// The file or directory cannot be opened or read.
    Unreadable,
    /// A search found a symbolic link, which it does not follow; or a listing found a symbolic link that
    /// leads to nothing, or in a circle.
    Link,
    /// The entry is a symbolic link that leads out of the roots (the directories that the server serves).
    Outside,
    /// The entry is neither a regular file nor a directory, or the kernel generates the content of the file
    /// while it is read.
    Special,
    /// The name is not Unicode, so no call can contain it.
    NotUnicode,
    /// The directory is nested too deeply.
    TooDeep,
    /// An ignore file cannot be read, has a line that is too long, or is too large, by itself or together
    /// with the ignore files above it. So the ignore file was not applied, or only in part.
    IgnoreFile,
    /// The file has a hit if each `\|` of the pattern is read as `|`.
    AlternativesReading,
    /// The file has a hit if the expression is read as plain text.
    LiteralReading,
    /// The file has a hit if the plain text is read as an expression.
    ExpressionReading,
    /// The file has a hit if accents in the pattern are composed, or decomposed.
    CompositionReading,
    /// The globs leave the file out, but would not if they were read in another way: with literal brackets
    /// and braces, with accents composed as in the file's name, and without a leading `./`.
    GlobReading,
    /// An ignore file names the file or directory, or its name is `.git`. The call itself did not name it.
    Ignored,
    /// The globs leave the file or directory out.
    Glob,
    /// The directory is at the maximum depth of the listing, so its entries were not listed.
    Depth,
}

impl Cause {
    /// Tells whether the cause is reported only if nothing was found. Such a cause is a choice of the request
    /// itself, an ignore file, or another meaning that the request could have had. The enum has these causes
    /// last.
    fn explains_nothing_found(self) -> bool {
        self >= Self::AlternativesReading
    }
}

/// The files that were left out for one reason.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct SkippedFiles {
    /// The number of files and directories.
    pub count: u64,
    /// The paths of at most three of them, sorted, in the form of
    /// [`FileMatches::file_path`](crate::FileMatches::file_path).
    pub names: Vec<String>,
}

/// The files that were left out, by cause.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Skipped(BTreeMap<Cause, SkippedFiles>);

impl Skipped {
    /// Returns the causes for which something was left out, each with its files.
    pub fn iter(&self) -> impl Iterator<Item = (Cause, &SkippedFiles)> {
        self.0.iter().map(|(cause, files)| (*cause, files))
    }

    /// Returns the number of files and directories that were left out for a cause.
    #[must_use]
    pub fn count(&self, cause: Cause) -> u64 {
        self.0.get(&cause).map_or(0, |files| files.count)
    }

    /// Tells whether nothing was left out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a file. Keeps the names that come first in sorted order, whatever the order in which files are
    /// added.
    pub(crate) fn add(&mut self, cause: Cause, name: String) {
        let files = self.0.entry(cause).or_default();
        files.count += 1;
        files.keep(name);
    }

    /// Counts a file or directory without its name.
    pub(crate) fn count_one(&mut self, cause: Cause) {
        self.0.entry(cause).or_default().count += 1;
    }

    /// Removes the causes that are reported only if nothing was found.
    pub(crate) fn forget_explanations(&mut self) {
        self.0.retain(|cause, _| !cause.explains_nothing_found());
    }

    /// Adds all files of another list.
    pub(crate) fn join(&mut self, other: Self) {
        for (cause, others) in other.0 {
            let files = self.0.entry(cause).or_default();
            files.count += others.count;
            others.names.into_iter().for_each(|name| files.keep(name));
        }
    }
}

impl SkippedFiles {
    fn keep(&mut self, name: String) {
        let at = self.names.partition_point(|known| *known <= name);
        if at < NAMED {
            self.names.insert(at, name);
            self.names.truncate(NAMED);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_names_are_kept_in_whatever_order_they_come() {
        let (mut one, mut other) = (Skipped::default(), Skipped::default());
        assert!(one.is_empty());
        for name in ["e", "b", "d", "b"] {
            one.add(Cause::Binary, name.to_owned());
        }
        for name in ["f", "a", "c"] {
            other.add(Cause::Binary, name.to_owned());
        }
        other.add(Cause::Link, "z".to_owned());
        one.join(other);
        let kept: Vec<_> = one.iter().map(|(cause, files)| (cause, files.names.concat())).collect();
        assert_eq!(kept, [(Cause::Binary, "abb".to_owned()), (Cause::Link, "z".to_owned())]);
        let counts = [Cause::Binary, Cause::Link, Cause::Special].map(|cause| one.count(cause));
        assert_eq!((counts, one.is_empty()), ([7, 1, 0], false));
    }
}
