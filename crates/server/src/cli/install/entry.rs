//! Makes the words (program and arguments) that start the server. Recognises the server that existing words
//! start: this server, or the server in Python, whose tools have the same names. Existing words are parsed,
//! so that a person's additions are kept.

use std::path::Path;

use clap::CommandFactory as _;
use hyper::Uri;

use super::environment::{Environment, is_same_file};
use crate::cli::args::Arguments;

/// The words of an entry that starts this server.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Words {
    /// The program, and the words before the server's own arguments: `npx -y mcp-text-editor-rs`.
    pub(crate) start: Vec<String>,
    /// The value of `--tools`, if that option is given.
    pub(crate) tools: Option<String>,
    /// All other options, each with its value: one word with `=`, or two.
    pub(crate) options: Vec<Vec<String>>,
    /// The allowed directories.
    pub(crate) directories: Vec<String>,
}

impl Words {
    /// Parses words; `None` if they do not start this server.
    pub(crate) fn of(words: &[String], env: &Environment) -> Option<Self> {
        let EntryServer::This(own) = EntryServer::of(words, env)? else { return None };
        let mut found = Self { start: words.get(..=own)?.to_vec(), ..Self::default() };
        let mut rest = words.get(own + 1..)?.iter();
        while let Some(word) = rest.next() {
            let Some(option) = word.strip_prefix('-').filter(|_| word != "--") else {
                if word != "--" {
                    found.directories.push(word.clone());
                }
                continue;
            };
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None if takes_value(option) => (option, rest.next().map(String::as_str)),
                None => (option, None),
            };
            match value {
                Some(value) if matches!(name, "-tools" | "-mode") => found.tools = Some(value.to_owned()),
                Some(value) if name == option => found.options.push(vec![word.clone(), value.to_owned()]),
                _ => found.options.push(vec![word.clone()]),
            }
        }
        Some(found)
    }

    /// Removes these options, with their values.
    pub(crate) fn drop_options(&mut self, options: &[(String, Vec<String>)]) {
        let is_dropped = |word: &str| options.iter().any(|(name, _)| word.split('=').next() == Some(name));
        self.options.retain(|option| !option.first().is_some_and(|word| is_dropped(word)));
    }

    /// Sets these options, each with its values. They replace existing options of the same names.
    pub(crate) fn set_options(&mut self, options: &[(String, Vec<String>)]) {
        self.drop_options(options);
        for (name, values) in options {
            if values.is_empty() {
                self.options.push(vec![name.clone()]);
            }
            // Name and value are one word, since a value may begin with a hyphen.
            self.options.extend(values.iter().map(|value| vec![format!("{name}={value}")]));
        }
    }

    /// Returns the server's own arguments.
    pub(crate) fn arguments(&self) -> Vec<String> {
        self.all().split_off(self.start.len())
    }

    /// Returns all words.
    pub(crate) fn all(&self) -> Vec<String> {
        let mut words = self.start.clone();
        if let Some(tools) = self.tools.as_ref().filter(|tools| *tools != "default") {
            words.extend(["--tools".to_owned(), tools.clone()]);
        }
        words.extend(self.options.iter().flatten().cloned());
        words.extend(self.directories.iter().cloned());
        words
    }
}

/// Whether an option, without its first hyphen, takes the next word as its value.
fn takes_value(option: &str) -> bool {
    let command = Arguments::command();
    let long = option.strip_prefix('-');
    command
        .get_arguments()
        .any(|argument| argument.get_long() == long && long.is_some() && argument.get_action().takes_values())
}

/// Returns the words that start this program again: its path or, if a package manager has put the program
/// into a cache, where it will not stay, the command that starts the package.
pub(crate) fn start_of(program: &Path) -> Vec<String> {
    let names: Vec<&str> = program.iter().filter_map(|name| name.to_str()).collect();
    let words: &[&str] = if names.contains(&"_npx") {
        // On Windows `npx` is a script, and clients there start no scripts (anthropics/claude-code#9594).
        if cfg!(windows) {
            &["cmd", "/c", "npx", "-y", "mcp-text-editor-rs"]
        } else {
            &["npx", "-y", "mcp-text-editor-rs"]
        }
    } else if names.iter().any(|name| name.starts_with("archive-v")) && names.contains(&"uv") {
        &["uvx", "mcp-text-editor-rs"]
    } else {
        return vec![program.to_string_lossy().into_owned()];
    };
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Splits a typed command at blanks outside of quotation marks. The path of an existing file is one word.
pub(crate) fn split(command: &str) -> Result<Vec<String>, String> {
    if Path::new(command).is_file() {
        return Ok(vec![command.to_owned()]);
    }
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in command.chars() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    match quote {
        Some(_) => Err(format!("--command: a quotation mark is not closed in `{command}`")),
        None if words.is_empty() => Err("--command names no program".to_owned()),
        None => Ok(words),
    }
}

/// The name of this program, and also of the Python server's package in Python's registry.
const PROGRAM: &str = "mcp-text-editor";

/// The name of the packages that contain this program.
const PACKAGE: &str = "mcp-text-editor-rs";

/// The Python server's module, for `python -m`, and its container image.
const OF_PYTHON: &[&str] = &["mcp_text_editor", "mcp/text-editor"];

/// Programs that start a package by its name.
const STARTERS: &[&str] =
    &["bunx", "npm", "npx", "pipx", "pnpm", "pnpx", "py", "python", "python3", "uv", "uvx", "yarn"];

/// A server whose tools have the same names as ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EntryServer {
    /// This server. The index is that of the last word before the server's own arguments.
    This(usize),
    /// The server in Python.
    Python,
}

impl EntryServer {
    /// Returns the server that the words start; `None` if they start another program.
    pub(crate) fn of(words: &[String], env: &Environment) -> Option<Self> {
        let first = words.first()?;
        if [PROGRAM, PACKAGE].contains(&name_of(first)) || is_this_program(first, env) {
            return Some(if is_in_python(first, env) { Self::Python } else { Self::This(0) });
        }
        let mut is_by_package = is_starter(name_of(first));
        let mut is_our_package = false;
        for (index, word) in words.iter().enumerate().skip(1) {
            let name = name_of(word);
            if OF_PYTHON.contains(&unversioned(word)) {
                return Some(Self::Python);
            }
            // A path is not the program if it follows a package runner, which takes names of packages, or if
            // it leads to a directory, which can have any name.
            let is_elsewhere = is_path(word) && (is_by_package || env.here.join(word).is_dir());
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

/// Whether the word is the value of an option that names a package. If so, the package's program is a later
/// word.
fn is_named_by_option(words: &[String], index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|before| words.get(before));
    before.is_some_and(|before| ["--from", "--spec", "--package", "-p"].contains(&before.as_str()))
}

/// Whether a word leads to the running program, whatever its name.
fn is_this_program(word: &str, env: &Environment) -> bool {
    let own = env.program.to_str().map(name_of);
    own == Some(name_of(word))
        || env
            .find_program(word, env.variable("PATH"))
            .is_some_and(|found| is_same_file(&found, &env.program))
}

/// Whether a word leads to a program in a Python environment that does not contain this program's package.
fn is_in_python(word: &str, env: &Environment) -> bool {
    let found = env.find_program(word, env.variable("PATH")).and_then(|path| path.canonicalize().ok());
    let Some(directory) = found.as_deref().and_then(|found| found.parent()) else { return false };
    directory.with_file_name("pyvenv.cfg").exists()
        && !["", ".exe"].iter().any(|ending| directory.join(format!("{PACKAGE}{ending}")).exists())
}

fn is_path(word: &str) -> bool {
    let has_drive = word.as_bytes().get(1) == Some(&b':');
    word.starts_with(['/', '\\', '.', '~']) || has_drive
}

/// Returns the last name in a path or a package's name, without its version and without the ending of a
/// Windows program.
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

/// Returns a name without a version such as `@2`, `==2` or `:2`. The `@` at the beginning of a scope stays.
fn unversioned(word: &str) -> &str {
    let name = word.rfind(['/', '\\']).map_or(0, |slash| slash + 1);
    let (_, last) = word.split_at_checked(name).unwrap_or(("", word));
    let end = ["@", "==", ":"].iter().filter_map(|mark| last.find(mark)).min().unwrap_or(last.len());
    word.get(..name + end).unwrap_or(word)
}

/// The running server to which a client's entry shall lead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The server's URL.
    pub url: String,
    /// The variable that has the token, if the server requires one.
    pub token_env: Option<String>,
}

impl Target {
    /// Checks the URL that was typed. The error says what is wrong with it.
    pub fn new(url: String, token_env: Option<String>) -> Result<Self, String> {
        let fail = |why: &str| Err(format!("--http {url}: {why}, such as http://127.0.0.1:8000/mcp"));
        let uri = url.parse::<Uri>().ok();
        match uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https"))) {
            None => return fail("it takes the URL of a server that runs"),
            Some(uri) if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) => {
                return fail("it takes a URL with a host, and without a password");
            }
            Some(uri) if matches!(uri.path(), "" | "/") => {
                return fail("it takes the whole URL, with the path");
            }
            Some(_) => {}
        }
        let is_name = |name: &str| {
            name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
        };
        match &token_env {
            Some(name) if !is_name(name) => Err(
                "--token-env takes the name of the variable that has the token, and not the token: nothing is written"
                    .to_owned(),
            ),
            _ => Ok(Self { url, token_env }),
        }
    }
}
