//! Changes a configuration's text: adds or removes the entry that gives a client the server, and further
//! settings. This module accesses no files.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::clients::{Client, Item, NAME, WorkingDirectory};
use super::config_error::{ConfigError, at};
use super::entry::{EntryServer, Target, Words};
use super::environment::Environment;
use super::http::{RemoteEntry, URLS, is_as_written};
use super::json;
use super::project_allowlist;
use super::syntax::Syntax;

/// The reason why a configuration is left unchanged.
#[derive(Debug, thiserror::Error)]
pub(super) enum MergeRefused {
    /// The file cannot be parsed or changed.
    #[error(transparent)]
    ConfigError(#[from] ConfigError),
    /// An entry of our name starts another program.
    #[error("its entry `{NAME}` starts something else: {0}; --force replaces it")]
    Foreign(String),
    /// An entry of our name leads to a server over HTTP.
    #[error(
        "its entry `{NAME}` leads to {0} over HTTP; --http URL changes where it leads, --force replaces it"
    )]
    Leads(String),
    /// The project's entry has something that a person must decide, and not the project.
    #[error("its entry `{NAME}` came with the project, and is not taken over: {0}; --force replaces it")]
    NotAllowed(String),
    /// The client can start servers in any directory, so an entry must name directories.
    #[error(
        "{} starts servers in no particular directory, so the entry has to name those that it may read and edit; this one, {}: \
         mcp-text-editor install {} .",
        client.program, here.display(), client.name
    )]
    NoDirectory {
        /// The client.
        client: &'static Client,
        /// The current directory.
        here: PathBuf,
    },
}

/// The entry to write.
#[derive(Debug)]
pub(super) struct DesiredEntry<'a> {
    pub(super) client: &'static Client,
    /// The machine for which the entry is.
    pub(super) env: &'a Environment,
    /// The server over HTTP to which the entry leads. `None`: the entry starts a program, and the fields from
    /// `start` to `variables` apply.
    pub(super) target: Option<&'a Target>,
    /// The words that start the program.
    pub(super) start: Vec<String>,
    /// The tools, if a person has chosen them.
    pub(super) tools: Option<&'a str>,
    /// The other options of the server, each with its values. They replace options of the same names in the
    /// existing entry.
    pub(super) options: &'a [(String, Vec<String>)],
    /// The directories. If this is empty, those of the existing entry stay, or the client's default is
    /// written.
    pub(super) directories: Vec<String>,
    /// The variables that the server needs, and would not get from the client.
    pub(super) variables: Vec<(String, String)>,
    /// The project that the entry is for, if it is not a person's own.
    pub(super) project: Option<&'a Path>,
    /// Whether to replace another program's entry of our name.
    pub(super) is_forced: bool,
}

impl DesiredEntry<'_> {
    /// Returns the words of the new entry. `own` are the words of an existing entry; what a person has added
    /// to them stays.
    fn words(&self, own: Option<Words>) -> Words {
        let is_fresh = own.is_none();
        let mut words = own.unwrap_or_default();
        words.start.clone_from(&self.start);
        if is_fresh || self.tools.is_some() {
            words.tools = Some(self.tools.unwrap_or(self.client.tools).to_owned());
        }
        words.set_options(self.options);
        if !self.directories.is_empty() {
            words.directories.clone_from(&self.directories);
        } else if is_fresh && let WorkingDirectory::Names(variable) = self.client.starts {
            words.directories = vec![variable.to_owned()];
        }
        words
    }

    /// Whether the new entry replaces an existing member of this name. Other members are only added if they
    /// are missing.
    fn owns(&self, name: &str) -> bool {
        match self.target {
            None => ["command", "args"].contains(&name),
            Some(_) => {
                ["type", "headers"].contains(&name) || URLS.contains(&name) || name.ends_with("_env_var")
            }
        }
    }

    /// Returns the entry as text, for a person who adds it by hand.
    pub(super) fn by_hand(&self) -> String {
        self.client.alone(self.client.members(&self.words(None), self.target))
    }

    /// Checks that the rest of a project's entry, apart from what the person typed, may be kept without
    /// asking the person. The error says why not. `own` are the entry's words if it starts this server; their
    /// options stay.
    fn check_rest(&self, there: &Value, own: Option<&Words>, project: &Path) -> Result<(), String> {
        if self.target.is_some() {
            let why = "it has members, or headers, that `install` does not write";
            return if is_as_written(self.client, there) { Ok(()) } else { Err(why.to_owned()) };
        }
        project_allowlist::members(self.client, there)?;
        let Some(mut left) = own.cloned() else { return Ok(()) };
        left.drop_options(self.options);
        if !self.directories.is_empty() {
            left.directories.clear();
        }
        project_allowlist::arguments(self.client, &expanded(self.client, &left.arguments(), project), project)
    }
}

/// Returns the text with the entry, and the words of that entry. In an existing entry of this server,
/// replaces only the members that determine the program or URL, and adds missing members.
pub(super) fn merge(text: &str, wanted: &DesiredEntry<'_>) -> Result<(String, Words), MergeRefused> {
    let DesiredEntry { client, env, is_forced, .. } = *wanted;
    let parsed = client.syntax.read(text)?;
    let entry = client.entry();
    let there = client.entry_in(&parsed);
    let remote = there.and_then(|there| RemoteEntry::of(client, there));
    let words = there.filter(|_| remote.is_none()).map(|there| Client::words(there).unwrap_or_default());
    let server = words.as_ref().and_then(|words| EntryServer::of(words, env));
    match (&remote, &words) {
        (Some(remote), _) if wanted.target.is_none() && !is_forced => {
            return Err(MergeRefused::Leads(remote.shown()));
        }
        (_, Some(words)) if server.is_none() && !is_forced => {
            return Err(MergeRefused::Foreign(words.join(" ")));
        }
        _ => {}
    }
    // The server in Python takes no options and no directories, so its entry has none to keep.
    let mut own = words.and_then(|words| Words::of(&words, env));
    let mut kept = there.filter(|_| match wanted.target {
        Some(_) => remote.is_some() && !is_forced,
        None => server.is_some(),
    });
    if let (Some(there), Some(project)) = (kept, wanted.project)
        && let Err(why) = wanted.check_rest(there, own.as_ref(), project)
    {
        if !is_forced {
            return Err(MergeRefused::NotAllowed(why));
        }
        (own, kept) = (None, None);
    }
    let words = wanted.words(own);
    let mut members = client.members(&words, wanted.target);
    if wanted.target.is_none() {
        if words.directories.is_empty()
            && client.starts == WorkingDirectory::Anywhere
            && wanted.project.is_none()
        {
            return Err(MergeRefused::NoDirectory { client, here: env.here.clone() });
        }
        if !wanted.variables.is_empty() {
            let variables = wanted.variables.iter().map(|(name, value)| (name.clone(), json!(value)));
            members.insert("env".to_owned(), Value::Object(variables.collect()));
        }
    }
    let Some(kept) = kept else {
        let value = Value::Object(members);
        let is_same = there == Some(&value);
        return Ok((if is_same { text.to_owned() } else { client.syntax.set(text, &entry, &value)? }, words));
    };
    let mut new = text.to_owned();
    let path = |names: &[&'static str]| [entry.as_slice(), names].concat();
    if wanted.target.is_some() {
        for url in URLS.iter().filter(|url| !members.contains_key(**url) && kept.get(**url).is_some()) {
            new = client.syntax.unset(&new, &path(&[*url]))?;
        }
    }
    for (name, value) in &members {
        let old = kept.get(name);
        // A person may have added headers. Only `Authorization` is replaced, in any letter case.
        let headers = old.and_then(Value::as_object).filter(|_| name == "headers");
        let (names, old, value) = match headers {
            Some(headers) => {
                let known = headers.keys().find(|name| name.eq_ignore_ascii_case("authorization"));
                let header = known.map_or("Authorization", String::as_str);
                (
                    vec![name.as_str(), header],
                    headers.get(header),
                    value.get("Authorization").unwrap_or(value),
                )
            }
            None => (vec![name.as_str()], old, value),
        };
        if old != Some(value) && (old.is_none() || wanted.owns(name)) {
            let path: Vec<&str> = entry.iter().copied().chain(names).collect();
            new = client.syntax.set(&new, &path, value)?;
        }
    }
    Ok((new, words))
}

/// Returns words in which the client's variable for the project is replaced by the project's path.
pub(crate) fn expanded(client: &Client, words: &[String], project: &Path) -> Vec<String> {
    match client.starts {
        WorkingDirectory::Names(variable) => {
            words.iter().map(|word| word.replace(variable, &project.to_string_lossy())).collect()
        }
        WorkingDirectory::InProject | WorkingDirectory::Anywhere => words.to_vec(),
    }
}

/// Returns the text without the entry; unchanged if there is none.
pub(super) fn remove(
    text: &str,
    client: &Client,
    env: &Environment,
    is_forced: bool,
) -> Result<String, MergeRefused> {
    let parsed = client.syntax.read(text)?;
    let Some(there) = client.entry_in(&parsed) else { return Ok(text.to_owned()) };
    match RemoteEntry::of(client, there) {
        _ if is_forced => {}
        Some(remote) if !is_as_written(client, there) => return Err(MergeRefused::Leads(remote.shown())),
        Some(_) => {}
        None => {
            let words = Client::words(there).unwrap_or_default();
            if Words::of(&words, env).is_none() {
                return Err(MergeRefused::Foreign(words.join(" ")));
            }
        }
    }
    Ok(client.syntax.unset(text, &client.entry())?)
}

/// Returns the text with an item.
pub(super) fn with(text: &str, item: &Item) -> Result<String, ConfigError> {
    match (item.is_listed, is_there(&json::read(text)?, item)) {
        (_, true) => Ok(text.to_owned()),
        (true, _) => json::push(text, &item.path, &item.item),
        (false, _) => Syntax::Json.set(text, &item.path, &item.item),
    }
}

/// Returns the text without an item.
pub(super) fn without(text: &str, item: &Item) -> Result<String, ConfigError> {
    match (item.is_listed, is_there(&json::read(text)?, item)) {
        (true, _) => json::pull(text, &item.path, &item.item),
        (false, true) => Syntax::Json.unset(text, &item.path),
        (false, false) => Ok(text.to_owned()),
    }
}

/// Tells whether a configuration has an item.
pub(crate) fn is_there(parsed: &Value, item: &Item) -> bool {
    let there = at(parsed, &item.path);
    match there.and_then(Value::as_array).filter(|_| item.is_listed) {
        Some(list) => list.contains(&item.item),
        None => there == Some(&item.item),
    }
}

/// An entry under another name, for a server whose tools have the same names as ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OtherEntry {
    /// The place of the entry in the file.
    pub(crate) place: String,
    /// The server that the entry starts.
    pub(crate) server: EntryServer,
    /// The words of the entry's command.
    pub(crate) words: String,
}

impl OtherEntry {
    /// Describes the entry for people. `is_second` is whether there is an entry of our name, too.
    pub(crate) fn what(&self, is_second: bool) -> String {
        let server = match self.server {
            EntryServer::This(_) => "this server",
            EntryServer::Python => "the server mcp-text-editor in Python",
        };
        let twice = if is_second { ", so that tools of the same names are offered twice" } else { "" };
        format!("{} starts {server}{twice}: {}", self.place, self.words)
    }

    /// Says how to remove the entry.
    pub(crate) fn mend(&self, file: &Path) -> String {
        format!("take {} out of {}", self.place, file.display())
    }
}

/// The maximum number of other entries that are reported: a project can have any number.
const MOST_BESIDE: usize = 8;

/// Returns the first entries under other names, in the object at the path `servers`, that start this server
/// or the one in Python.
pub(crate) fn other_entries(said: &Value, servers: &[&str], env: &Environment) -> Vec<OtherEntry> {
    let entries = at(said, servers).and_then(Value::as_object);
    let others = entries.into_iter().flatten().filter(|(name, _)| *name != NAME);
    let found = others.filter_map(|(name, entry)| {
        let words = Client::words(entry)?;
        let server = EntryServer::of(&words, env)?;
        let place = servers.iter().copied().chain([name.as_str()]).collect::<Vec<_>>().join(".");
        Some(OtherEntry { place, server, words: words.join(" ") })
    });
    found.take(MOST_BESIDE).collect()
}
