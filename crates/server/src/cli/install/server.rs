//! The server that the words of an entry start: this one, or the one in Python, whose tools have the same
//! names.

use super::machine::{Machine, is_same_file};

/// The name of this program, and of the server in Python in its registry.
const PROGRAM: &str = "mcp-text-editor";

/// The name of the packages with this program.
const PACKAGE: &str = "mcp-text-editor-rs";

/// The module of the server in Python, for `python -m`, and its image.
const OF_PYTHON: &[&str] = &["mcp_text_editor", "mcp/text-editor"];

/// Programs that start a package by its name.
const STARTERS: &[&str] =
    &["bunx", "npm", "npx", "pipx", "pnpm", "pnpx", "py", "python", "python3", "uv", "uvx", "yarn"];

/// A server whose tools have the names of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryServer {
    /// This one; the index is that of the last word before its own arguments.
    This(usize),
    /// The one in Python.
    Python,
}

impl EntryServer {
    /// Tells which server the words start; `None` if they start something else.
    #[must_use]
    pub fn of(words: &[String], machine: &Machine) -> Option<Self> {
        let first = words.first()?;
        if [PROGRAM, PACKAGE].contains(&name_of(first)) || is_this_program(first, machine) {
            return Some(if is_in_python(first, machine) { Self::Python } else { Self::This(0) });
        }
        let mut is_by_package = is_starter(name_of(first));
        let mut is_our_package = false;
        for (index, word) in words.iter().enumerate().skip(1) {
            let name = name_of(word);
            if OF_PYTHON.contains(&unversioned(word)) {
                return Some(Self::Python);
            }
            // A path is not the program if a package runner starts it, which takes names of packages, or if
            // it leads to a directory, which can have any name.
            let is_elsewhere = is_path(word) && (is_by_package || machine.here.join(word).is_dir());
            if is_elsewhere || word.starts_with('-') || is_named_by_option(words, index) {
                // `uvx --from mcp-text-editor-rs mcp-text-editor`
                is_our_package |= word.contains(PACKAGE);
                continue;
            }
            match name {
                PROGRAM if is_by_package && !is_our_package => return Some(Self::Python),
                PROGRAM | PACKAGE => return Some(Self::This(index)),
                _ => is_by_package |= is_starter(name),
            }
        }
        None
    }
}

fn is_starter(name: &str) -> bool {
    STARTERS.iter().any(|starter| starter.eq_ignore_ascii_case(name))
}

/// Tells whether the word is the value of an option that names a package; the program in it is a later word.
fn is_named_by_option(words: &[String], index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|before| words.get(before));
    before.is_some_and(|before| ["--from", "--spec", "--package", "-p"].contains(&before.as_str()))
}

/// Tells whether a word leads to the running program, whatever its name.
fn is_this_program(word: &str, machine: &Machine) -> bool {
    let own = machine.program.to_str().map(name_of);
    own == Some(name_of(word))
        || machine
            .find_program(word, machine.variable("PATH"))
            .is_some_and(|found| is_same_file(&found, &machine.program))
}

/// Tells whether a word leads to a program in an environment of Python that does not hold this program's
/// package.
fn is_in_python(word: &str, machine: &Machine) -> bool {
    let found =
        machine.find_program(word, machine.variable("PATH")).and_then(|path| path.canonicalize().ok());
    let Some(directory) = found.as_deref().and_then(|found| found.parent()) else { return false };
    directory.with_file_name("pyvenv.cfg").exists()
        && !["", ".exe"].iter().any(|ending| directory.join(format!("{PACKAGE}{ending}")).exists())
}

fn is_path(word: &str) -> bool {
    let has_drive = word.as_bytes().get(1) == Some(&b':');
    word.starts_with(['/', '\\', '.', '~']) || has_drive
}

/// Returns the last name of a path or a package, without its version and without the ending of a Windows
/// program.
fn name_of(word: &str) -> &str {
    let name = unversioned(word).rsplit(['/', '\\']).next().unwrap_or_default();
    ["exe", "cmd"]
        .iter()
        .find_map(|ending| {
            let (name, own) = name.rsplit_once('.')?;
            own.eq_ignore_ascii_case(ending).then_some(name)
        })
        .unwrap_or(name)
}

/// Returns a name without a version such as `@2`, `==2` or `:2`. A scope's `@` in front stays.
fn unversioned(word: &str) -> &str {
    let name = word.rfind(['/', '\\']).map_or(0, |slash| slash + 1);
    let (_, last) = word.split_at_checked(name).unwrap_or(("", word));
    let end = ["@", "==", ":"].iter().filter_map(|mark| last.find(mark)).min().unwrap_or(last.len());
    word.get(..name + end).unwrap_or(word)
}
