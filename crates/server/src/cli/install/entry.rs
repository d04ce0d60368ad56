//! The words that start the server. Existing ones are parsed, so that a person's additions are kept.

use std::path::Path;

use clap::CommandFactory as _;

use super::machine::Machine;
use super::server::EntryServer;
use crate::cli::args::Arguments;

/// The words of an entry that starts this server.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Words {
    /// The program, and the words before the server's own arguments: `npx -y mcp-text-editor-rs`.
    pub start: Vec<String>,
    /// The tools, as `--tools` has them, if they are named.
    pub tools: Option<String>,
    /// All other options.
    pub options: Vec<String>,
    /// The allowed directories.
    pub directories: Vec<String>,
}

impl Words {
    /// Parses words; `None` if they start something else than this server.
    #[must_use]
    pub fn of(words: &[String], machine: &Machine) -> Option<Self> {
        let EntryServer::This(own) = EntryServer::of(words, machine)? else { return None };
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
                Some((name, value)) => (name, Some(value.to_owned())),
                None if takes_value(option) => (option, rest.next().cloned()),
                None => (option, None),
            };
            match (name, value) {
                ("-tools" | "-mode", Some(value)) => found.tools = Some(value),
                (_, value) => {
                    found.options.push(word.clone());
                    found.options.extend(value.filter(|_| !option.contains('=')));
                }
            }
        }
        Some(found)
    }

    /// Removes these options, with their values.
    pub fn drop_options(&mut self, options: &[(String, Vec<String>)]) {
        let names: Vec<&str> = options.iter().map(|(name, _)| name.as_str()).collect();
        let mut kept = Vec::new();
        let mut rest = std::mem::take(&mut self.options).into_iter();
        while let Some(word) = rest.next() {
            let name = word.split('=').next().unwrap_or(&word);
            let value = if name == word && takes_value(word.get(1..).unwrap_or_default()) {
                rest.next()
            } else {
                None
            };
            if !names.contains(&name) {
                kept.extend([Some(word), value].into_iter().flatten());
            }
        }
        self.options = kept;
    }

    /// Sets these options, each with its values. They replace the same options.
    pub fn set_options(&mut self, options: &[(String, Vec<String>)]) {
        self.drop_options(options);
        for (name, values) in options {
            if values.is_empty() {
                self.options.push(name.clone());
            }
            // Name and value are one word, since a value may begin with a hyphen.
            self.options.extend(values.iter().map(|value| format!("{name}={value}")));
        }
    }

    /// Returns the server's own arguments.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        self.all().split_off(self.start.len())
    }

    /// Returns all words.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        let mut words = self.start.clone();
        if let Some(tools) = self.tools.as_ref().filter(|tools| *tools != "default") {
            words.extend(["--tools".to_owned(), tools.clone()]);
        }
        words.extend(self.options.iter().cloned());
        words.extend(self.directories.iter().cloned());
        words
    }
}

/// Tells whether an option, without its first hyphen, takes the next word as its value.
fn takes_value(option: &str) -> bool {
    let command = Arguments::command();
    let long = option.strip_prefix('-');
    command
        .get_arguments()
        .any(|argument| argument.get_long() == long && long.is_some() && argument.get_action().takes_values())
}

/// Returns the words that start this program again: its path. If a package manager has put it into a cache,
/// where it will not stay, they are the command that starts the package.
#[must_use]
pub fn start_of(program: &Path) -> Vec<String> {
    let names: Vec<&str> = program.iter().filter_map(|name| name.to_str()).collect();
    let words: &[&str] = if names.contains(&"_npx") {
        // Clients on Windows start no script, which `npx` is there (anthropics/claude-code#9594).
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

/// Splits a command that a person typed at blanks, but not within quotation marks. The path of an existing
/// file is one word.
pub fn split(command: &str) -> Result<Vec<String>, String> {
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
