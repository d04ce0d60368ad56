//! Parses paths and names as Windows reads them: [`Spelled`] and [`fault_of`]. It is used only on Windows,
//! but asks the system nothing, so it is tested on every system.
//!
//! Win32 drops dots and spaces at the end of a name, takes what follows a colon as a stream of the file, and
//! takes some names as devices in any directory (Microsoft, *Naming Files, Paths, and Namespaces*). Such a
//! name would mean a file other than the one it spells. So it is refused before the file system is accessed.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf, Prefix};

/// Returns a path for the header of a diff. On Windows, `/` replaces `\`, as in git's diffs, since a
/// backslash would need quotes and a second backslash.
pub(crate) fn in_diff(path: &str) -> Cow<'_, str> {
    if cfg!(windows) { path.replace('\\', "/").into() } else { path.into() }
}

/// The reasons why no file on Windows can have a certain name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unusable {
    /// The name has this character, which is not allowed in names.
    Character(char),
    /// The name has a colon, which separates a file's name from the name of a stream.
    Stream,
    /// The name ends in a dot or a space, which Windows drops.
    End,
    /// The name is that of a device, with or without an extension.
    Device,
}

/// A component of a path that no file on Windows can have as its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnusableName {
    /// The component.
    pub name: String,
    /// The fault.
    pub why: Unusable,
    /// The whole path of the file that Windows would open instead, if there is such a path.
    pub instead: Option<PathBuf>,
}

/// The beginning of a path, which says where the path starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PathStart {
    /// `C:\`, or the same with `\\?\` or `\\.\` before it.
    Drive,
    /// `\\server\share`, or `\\?\UNC\server\share`.
    Share,
    /// `C:name`: relative to the drive's own current directory.
    DriveRelative,
    /// `\name`: relative to the top of the current drive.
    RootRelative,
    /// Another name in the device namespace, such as `\\.\PhysicalDrive0`.
    Device,
    /// `name`: relative to the current directory.
    Relative,
}

/// A path as Windows reads it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Spelled {
    pub(crate) start: PathStart,
    /// The text before the names: `C:\`, `\\server\share\`; empty for a path that is not absolute.
    head: String,
    /// The names after `head`, including `..`; empty names and `.` are left out.
    names: Vec<String>,
}

impl Spelled {
    /// Reads a path. `/` is everywhere the same separator as `\`.
    pub(crate) fn of(text: &str) -> Self {
        let text = text.replace('/', "\\");
        let with = |start, head: String, rest: &str| {
            let names = rest.split('\\').filter(|name| !name.is_empty() && *name != ".");
            Self { start, head, names: names.map(str::to_owned).collect() }
        };
        if let Some(rest) = [r"\\?\", r"\\.\", r"\??\"].iter().find_map(|prefix| text.strip_prefix(prefix)) {
            if let Some((drive, rest)) = drive_of(rest)
                && let Some(rest) = rest.strip_prefix('\\')
            {
                return with(PathStart::Drive, format!("{drive}:\\"), rest);
            }
            if let Some((first, rest)) = rest.split_once('\\')
                && first.eq_ignore_ascii_case("UNC")
            {
                return Self::of_share(rest);
            }
            return with(PathStart::Device, String::new(), rest);
        }
        if let Some(rest) = text.strip_prefix(r"\\") {
            return Self::of_share(rest);
        }
        if let Some((drive, rest)) = drive_of(&text) {
            return match rest.strip_prefix('\\') {
                Some(rest) => with(PathStart::Drive, format!("{drive}:\\"), rest),
                None => with(PathStart::DriveRelative, String::new(), rest),
            };
        }
        let start = if text.starts_with('\\') { PathStart::RootRelative } else { PathStart::Relative };
        with(start, String::new(), &text)
    }

    /// Reads what follows the two separators before a server's name.
    fn of_share(rest: &str) -> Self {
        let mut names = rest.split('\\').filter(|name| !name.is_empty() && *name != ".").map(str::to_owned);
        let (server, share) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
        Self { start: PathStart::Share, head: format!(r"\\{server}\{share}\"), names: names.collect() }
    }

    /// Tells whether the path is absolute: it depends on no current directory or drive.
    pub(crate) fn is_absolute(&self) -> bool {
        matches!(self.start, PathStart::Drive | PathStart::Share)
    }

    /// Tells whether one of the path's names is `..`.
    pub(crate) fn traverses(&self) -> bool {
        self.names.iter().any(|name| name == "..")
    }

    /// Returns the absolute path in the usual notation, with the drive's letter in upper case.
    pub(crate) fn plain(&self) -> PathBuf {
        PathBuf::from(self.head.clone() + &self.names.join("\\"))
    }

    /// Returns the absolute path with `/`, as the beginning of a pattern; `None` for a path that is not
    /// absolute.
    pub(crate) fn pattern(&self) -> Option<String> {
        self.is_absolute().then(|| (self.head.clone() + &self.names.join("\\")).replace('\\', "/"))
    }

    /// Returns the components that no file can have as its name; none for a path that is not absolute, since
    /// it may be a URL instead.
    pub(crate) fn faults(&self) -> Vec<UnusableName> {
        if !self.is_absolute() {
            return Vec::new();
        }
        let names = self.names.iter().filter(|name| *name != "..");
        let faults = names.filter_map(|name| Some((name, fault_of(name)?)));
        faults.map(|(name, why)| UnusableName { name: name.clone(), why, instead: self.instead() }).collect()
    }

    /// Returns the path that Windows would use instead of this absolute one.
    fn instead(&self) -> Option<PathBuf> {
        let names = self.names.iter().map(|name| taken_for(name).to_owned()).collect();
        let other = Self { names, ..self.clone() };
        // Without its dots, a name `..` is empty.
        let is_fine = other.names.iter().all(|name| !name.is_empty() && fault_of(name).is_none());
        is_fine.then(|| other.plain())
    }
}

/// Tells whether a path lies on another machine, or claims to. Access to it sends that machine this user's
/// name and a proof of the password.
pub(crate) fn is_share(path: &Path) -> bool {
    matches!(path.components().next(), Some(Component::Prefix(prefix)) if is_of_share(prefix.kind()))
}

fn is_of_share(prefix: Prefix<'_>) -> bool {
    matches!(prefix, Prefix::UNC(..) | Prefix::VerbatimUNC(..))
}

/// Returns the drive's letter at the beginning of a text, in upper case, and what follows the colon.
fn drive_of(text: &str) -> Option<(char, &str)> {
    let (drive, rest) = text.split_once(':')?;
    match drive.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some((char::from(letter.to_ascii_uppercase()), rest)),
        _ => None,
    }
}

/// Tells why no file on Windows can have this name; `None` if a file can.
pub(crate) fn fault_of(name: &str) -> Option<Unusable> {
    let forbidden = |character: char| character < ' ' || "<>\"|?*/\\".contains(character);
    if let Some(character) = name.chars().find(|character| forbidden(*character)) {
        return Some(Unusable::Character(character));
    }
    if is_device(name) {
        return Some(Unusable::Device);
    }
    if name.contains(':') {
        return Some(Unusable::Stream);
    }
    name.ends_with(['.', ' ']).then_some(Unusable::End)
}

/// Returns the name of the file that Windows would open: without a colon and what follows it, and without
/// dots and spaces at the end.
fn taken_for(name: &str) -> &str {
    let name = name.split_once(':').map_or(name, |(file, _)| file);
    name.trim_end_matches(['.', ' '])
}

/// Tells whether a name is a device's, up to its first dot or colon.
fn is_device(name: &str) -> bool {
    let stem = name.split(['.', ':']).next().unwrap_or_default().trim_end_matches(' ').to_uppercase();
    if let "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$" = stem.as_str() {
        return true;
    }
    let port = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT")).map(|number| number.chars());
    // Some versions of Windows count the superscripts of Latin-1 as digits.
    port.is_some_and(|mut number| {
        matches!(number.next(), Some('0'..='9' | '¹' | '²' | '³')) && number.next().is_none()
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn names_that_no_file_of_windows_has() {
        let check = |name: &str, why| assert_eq!(fault_of(name), why, "{name:?}");
        for name in [
            "a", ".env", ".git", "a.b", "..a", " a", "COM", "COM10", "CONS", "nul_", "LPT", "aux2", "COM¹²",
            "$MFT",
        ] {
            check(name, None);
        }
        for name in [
            "CON",
            "con",
            "nul.txt",
            "NUL .txt",
            "Aux.tar.gz",
            "prn",
            "COM1",
            "com0",
            "lpt9.log",
            "COM¹",
            "LPT³.x",
            "CONIN$",
            "conout$",
            "NUL.",
            "NUL ",
            "nul:",
            "COM1:x",
        ] {
            check(name, Some(Unusable::Device));
        }
        for name in ["secret.", "secret ", "secret. .", "...", " ", ".git.", ".git "] {
            check(name, Some(Unusable::End));
        }
        for name in [".env::$DATA", ".git::$INDEX_ALLOCATION", "a:b", "a:", ":a", ".git.:x"] {
            check(name, Some(Unusable::Stream));
        }
        for character in "<>\"|?*\u{1}\t\u{1f}".chars() {
            check(&format!("a{character}b:c."), Some(Unusable::Character(character)));
        }
    }

    #[test]
    fn what_lies_on_another_machine() {
        let [server, share] = ["s", "d"].map(OsStr::new);
        assert!(is_of_share(Prefix::UNC(server, share)) && is_of_share(Prefix::VerbatimUNC(server, share)));
        for prefix in [Prefix::Disk(b'C'), Prefix::VerbatimDisk(b'C'), Prefix::DeviceNS(server)] {
            assert!(!is_of_share(prefix), "{prefix:?}");
        }
    }

    #[test]
    fn paths_of_windows_in_each_notation() {
        let check = |text: &str, start: PathStart, plain: &str| {
            let spelled = Spelled::of(text);
            assert_eq!((spelled.start, spelled.plain().to_str().unwrap()), (start, plain), "{text:?}");
        };
        for text in [
            r"C:\a\b",
            "c:/a/b",
            r"C:\\a\.\b\",
            r"\\?\C:\a\b",
            "//?/c:/a/b",
            r"\\.\C:\a\b",
            r"\??\C:\a\b",
            r"\\?\c:/a\b",
        ] {
            check(text, PathStart::Drive, r"C:\a\b");
        }
        check("c:/", PathStart::Drive, r"C:\");
        for text in
            [r"\\s\d\a", "//s/d/a", r"\\?\UNC\s\d\a", r"\\?\unc\s\d\a\", r"\\.\UNC\s\d\a", r"\\s\\d\.\a"]
        {
            check(text, PathStart::Share, r"\\s\d\a");
        }
        check(r"\\wsl.localhost\Ubuntu\home", PathStart::Share, r"\\wsl.localhost\Ubuntu\home");
        for (text, start) in [
            ("C:a", PathStart::DriveRelative),
            ("c:", PathStart::DriveRelative),
            (r"\a", PathStart::RootRelative),
            ("/c/a", PathStart::RootRelative),
            ("a", PathStart::Relative),
            ("", PathStart::Relative),
            ("ab:c", PathStart::Relative),
            ("1:/a", PathStart::Relative),
            (r"\\.\PhysicalDrive0", PathStart::Device),
            (r"\\.\C:", PathStart::Device),
            (r"\\?\C:", PathStart::Device),
            (r"\\?\Volume{0}\a", PathStart::Device),
            (r"\\?\GLOBALROOT\Device", PathStart::Device),
            (r"\\.\pipe\a", PathStart::Device),
        ] {
            assert_eq!(Spelled::of(text).start, start, "{text:?}");
            assert!(!Spelled::of(text).is_absolute());
        }
        assert_eq!(Spelled::of(r"c:\a\.\*.txt").pattern().as_deref(), Some("C:/a/*.txt"));
        assert_eq!(Spelled::of(r"\\?\UNC\s\d\**").pattern().as_deref(), Some("//s/d/**"));
        assert_eq!(Spelled::of(r"a\*").pattern(), None);
        assert!(Spelled::of("C:/a/../b").traverses() && Spelled::of(r"\\?\C:\..").traverses());
        assert!(!Spelled::of("C:/a/..b").traverses());
    }

    #[test]
    fn what_windows_would_take_a_path_for() {
        let check = |text: &str, expected: &[(&str, Unusable, Option<&str>)]| {
            let faults = Spelled::of(text).faults();
            let faults: Vec<_> = faults
                .iter()
                .map(|fault| {
                    (fault.name.as_str(), fault.why, fault.instead.as_ref().and_then(|path| path.to_str()))
                })
                .collect();
            assert_eq!(faults, expected, "{text:?}");
        };
        check(r"C:\a\b", &[]);
        check("c:/a/secret.", &[("secret.", Unusable::End, Some(r"C:\a\secret"))]);
        check(
            "c:/a. /.env::$DATA",
            &[
                ("a. ", Unusable::End, Some(r"C:\a\.env")),
                (".env::$DATA", Unusable::Stream, Some(r"C:\a\.env")),
            ],
        );
        check(r"\\s\d\a.", &[("a.", Unusable::End, Some(r"\\s\d\a"))]);
        check("c:/NUL", &[("NUL", Unusable::Device, None)]);
        check("c:/a?b", &[("a?b", Unusable::Character('?'), None)]);
        check("c:/...", &[("...", Unusable::End, None)]);
        check("c:/../a.", &[("a.", Unusable::End, None)]);
        check("c:/..:x", &[("..:x", Unusable::Stream, None)]);
        check("c:/.. ", &[(".. ", Unusable::End, None)]);
        for text in ["x/a.", "c:a.", r"\a.", r"\\.\a.", "file:///c:/a.", "1:/a."] {
            check(text, &[]);
        }
    }
}
