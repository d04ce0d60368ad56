//! What is to be changed in which file, so that a client has the server or has it no more.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::broken::{Broken, at};
use super::clients::{Client, Item, NAME, Starts};
use super::entry::Words;
use super::harmless;
use super::json;
use super::machine::Machine;

/// Why nothing is changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    /// The file is not what it should be.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// An entry of our name starts something else.
    #[error("its entry `{NAME}` starts something else: {0}; --force replaces it")]
    Foreign(String),
    /// The project's entry does what a project may not choose unasked.
    #[error("its entry `{NAME}` came with the project, and is not taken over: {0}; --force replaces it")]
    NotHarmless(String),
    /// The client starts servers anywhere, so an entry must name directories.
    #[error("{0} starts servers in no particular directory: name those that it may read and edit")]
    NoDirectory(&'static str),
}

/// What an entry is to be.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    pub(super) client: &'static Client,
    /// The words that start the program.
    pub(super) start: Vec<String>,
    /// The tools, if a person has chosen them.
    pub(super) tools: Option<&'a str>,
    /// The other options that the server is to have, each with its values, in the place of what the entry has of them.
    pub(super) options: &'a [(String, Vec<String>)],
    /// The directories; none: those of the entry that is there, or what suits the client.
    pub(super) directories: Vec<String>,
    /// What the server is to have in its environment, and would not get from the client.
    pub(super) variables: Vec<(String, String)>,
    /// The project that it is for, if it is not a person's own.
    pub(super) project: Option<&'a Path>,
    /// Whether another program's entry is replaced.
    pub(super) is_forced: bool,
}

/// Returns the files in which a client has its entries, a person's own or a project's; which files there are on this
/// machine decides between them. The error says that there are none for projects.
pub fn files_of(client: &Client, machine: &Machine, project: Option<&Path>) -> Result<Vec<PathBuf>, String> {
    match (project, client.project) {
        (None, _) => Ok((client.user)(machine, &|path| path.exists())),
        (Some(project), Some(name)) => {
            Ok(vec![name.split('/').fold(project.to_owned(), |path, name| path.join(name))])
        }
        (Some(_), None) => {
            Err(format!("{} has no configuration in a project; leave --project out", client.program))
        }
    }
}

/// Names the place of an entry in its file.
#[must_use]
pub fn place_of(client: &Client) -> String {
    client.entry().join(".")
}

/// Returns the text with the entry, and the words that it starts then.
pub(super) fn install(text: &str, wanted: &Wanted<'_>) -> Result<(String, Words), Refused> {
    let Wanted { client, .. } = *wanted;
    let said = client.syntax.read(text)?;
    let entry = client.entry();
    let there = at(&said, &entry);
    let words = there.map(|there| Client::words(there).unwrap_or_default());
    let mut own = words.as_ref().and_then(|words| Words::of(words));
    if let (Some(words), None, false) = (&words, &own, wanted.is_forced) {
        return Err(Refused::Foreign(words.join(" ")));
    }
    if let (Some(there), Some(words), Some(project)) = (there, &own, wanted.project)
        && let Err(why) = left_is_harmless(wanted, there, words, project)
    {
        if !wanted.is_forced {
            return Err(Refused::NotHarmless(why));
        }
        own = None;
    }
    let is_new = own.is_none();
    let mut words = own.unwrap_or_default();
    words.start.clone_from(&wanted.start);
    if is_new || wanted.tools.is_some() {
        words.tools = Some(wanted.tools.unwrap_or(client.tools).to_owned());
    }
    words.set_options(wanted.options);
    if !wanted.directories.is_empty() {
        words.directories.clone_from(&wanted.directories);
    } else if is_new {
        words.directories = match client.starts {
            Starts::Names(variable) => vec![variable.to_owned()],
            Starts::InProject => Vec::new(),
            Starts::Anywhere if wanted.project.is_some() => Vec::new(),
            Starts::Anywhere => return Err(Refused::NoDirectory(client.program)),
        };
    }
    let mut members = client.members(&words);
    if !wanted.variables.is_empty() {
        let variables = wanted.variables.iter().map(|(name, value)| (name.clone(), json!(value)));
        members.push(("env".to_owned(), Value::Object(variables.collect())));
    }
    if is_new {
        let entry = client.entry();
        let value = Value::Object(members.into_iter().collect());
        if there == Some(&value) {
            return Ok((text.to_owned(), words));
        }
        return Ok((client.syntax.set(text, &entry, &value)?, words));
    }
    // Of an entry that is ours only the command is changed, and what it lacks is added.
    let mut new = text.to_owned();
    for (name, value) in members {
        let old = there.and_then(|there| there.get(&name));
        let is_command = name == "command" || name == "args";
        if old == Some(&value) || (old.is_some() && !is_command) {
            continue;
        }
        let path: Vec<&str> = entry.iter().copied().chain([name.as_str()]).collect();
        new = client.syntax.set(&new, &path, &value)?;
    }
    Ok((new, words))
}

/// Says why what is left of a project's entry, beside what the person has typed, may not be taken over unasked.
fn left_is_harmless(wanted: &Wanted<'_>, there: &Value, words: &Words, project: &Path) -> Result<(), String> {
    let mut left = words.clone();
    left.drop_options(wanted.options);
    if !wanted.directories.is_empty() {
        left.directories.clear();
    }
    harmless::members(wanted.client, there)?;
    harmless::arguments(wanted.client, &expanded(wanted.client, &left.arguments(), project), project)
}

/// Returns words with the project in the place of the client's variable for it.
#[must_use]
pub fn expanded(client: &Client, words: &[String], project: &Path) -> Vec<String> {
    match client.starts {
        Starts::Names(variable) => {
            words.iter().map(|word| word.replace(variable, &project.to_string_lossy())).collect()
        }
        Starts::InProject | Starts::Anywhere => words.to_vec(),
    }
}

/// Returns the text without the entry; unchanged if there is none.
pub(super) fn remove(text: &str, client: &Client, is_forced: bool) -> Result<String, Refused> {
    let said = client.syntax.read(text)?;
    let entry = client.entry();
    let Some(there) = at(&said, &entry) else { return Ok(text.to_owned()) };
    let words = Client::words(there).unwrap_or_default();
    if Words::of(&words).is_none() && !is_forced {
        return Err(Refused::Foreign(words.join(" ")));
    }
    Ok(client.syntax.unset(text, &entry)?)
}

/// Returns the text with an item in a list.
pub(super) fn with(text: &str, item: &Item) -> Result<String, Broken> {
    json::push(text, item.path, &item.item)
}

/// Returns the text without it.
pub(super) fn without(text: &str, item: &Item) -> Result<String, Broken> {
    json::pull(text, item.path, &item.item)
}

/// Returns the entry as text, for a person who adds it by hand.
pub(super) fn by_hand(wanted: &Wanted<'_>) -> String {
    let client = wanted.client;
    let directories = match (wanted.directories.as_slice(), client.starts) {
        ([], Starts::Names(variable)) => vec![variable.to_owned()],
        (named, _) => named.to_vec(),
    };
    let tools = Some(wanted.tools.unwrap_or(client.tools).to_owned());
    let mut words = Words { start: wanted.start.clone(), tools, options: Vec::new(), directories };
    words.set_options(wanted.options);
    let value: Value = Value::Object(client.members(&words).into_iter().collect());
    client.syntax.set("", &client.entry(), &value).unwrap_or_else(|_| json!(value).to_string())
}
