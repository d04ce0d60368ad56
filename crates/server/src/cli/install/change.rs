//! The changes that give a client the server, or take it away. They turn one text into another, and touch no
//! file.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::broken::{Broken, at};
use super::clients::{Client, Item, NAME, Starts};
use super::entry::Words;
use super::harmless;
use super::json;
use super::machine::Machine;
use super::remote_entry::{RemoteEntry, is_as_written};
use super::server::EntryServer;
use super::syntax::Syntax;

/// The reason why nothing is changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChangeRefused {
    /// The file is not what it should be.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// An entry of our name starts something else.
    #[error("its entry `{NAME}` starts something else: {0}; --force replaces it")]
    Foreign(String),
    /// An entry of our name leads to a server over HTTP.
    #[error(
        "its entry `{NAME}` leads to {0} over HTTP; --http URL changes where it leads, --force replaces it"
    )]
    Leads(String),
    /// The project's entry does something that a project may not choose by itself.
    #[error("its entry `{NAME}` came with the project, and is not taken over: {0}; --force replaces it")]
    NotHarmless(String),
    /// The client starts servers anywhere, so an entry must name directories.
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

/// The entry that is to be written.
#[derive(Debug)]
pub(super) struct DesiredEntry<'a> {
    pub(super) client: &'static Client,
    /// The machine on which it is.
    pub(super) machine: &'a Machine,
    /// The words that start the program.
    pub(super) start: Vec<String>,
    /// The tools, if a person has chosen them.
    pub(super) tools: Option<&'a str>,
    /// The other options that the server is to have, each with its values. They replace the same options of
    /// the entry.
    pub(super) options: &'a [(String, Vec<String>)],
    /// The directories. If there are none, those of the existing entry stay, or the client's default is
    /// written.
    pub(super) directories: Vec<String>,
    /// The variables that the server is to have, and would not get from the client.
    pub(super) variables: Vec<(String, String)>,
    /// The project that the entry is for, if it is not a person's own.
    pub(super) project: Option<&'a Path>,
    /// True if another program's entry is replaced.
    pub(super) is_forced: bool,
}

/// Returns the files in which a client has its entries, a person's own or a project's. Some clients read
/// different files, depending on which exist on the machine. The error says that the client has none in
/// projects.
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

/// Returns the text with the entry, and the words of that entry.
pub(super) fn install(text: &str, wanted: &DesiredEntry<'_>) -> Result<(String, Words), ChangeRefused> {
    let DesiredEntry { client, .. } = *wanted;
    let said = client.syntax.read(text)?;
    let entry = client.entry();
    // No client takes `null` for an entry.
    let there = at(&said, &entry).filter(|there| !there.is_null());
    if let (Some(remote_entry), false) =
        (there.and_then(|there| RemoteEntry::of(client, there)), wanted.is_forced)
    {
        return Err(ChangeRefused::Leads(remote_entry.shown()));
    }
    let words = there.map(|there| Client::words(there).unwrap_or_default());
    let server = words.as_ref().and_then(|words| EntryServer::of(words, wanted.machine));
    if let (Some(words), None, false) = (&words, server, wanted.is_forced) {
        return Err(ChangeRefused::Foreign(words.join(" ")));
    }
    // The server in Python takes no options and no directories, so there are none to keep.
    let mut own = words.and_then(|words| Words::of(&words, wanted.machine));
    let mut kept = there.filter(|_| server.is_some());
    if let (Some(there), Some(project)) = (kept, wanted.project)
        && let Err(why) = left_is_harmless(wanted, there, own.as_ref(), project)
    {
        if !wanted.is_forced {
            return Err(ChangeRefused::NotHarmless(why));
        }
        (own, kept) = (None, None);
    }
    let is_fresh = own.is_none();
    let mut words = own.unwrap_or_default();
    words.start.clone_from(&wanted.start);
    if is_fresh || wanted.tools.is_some() {
        words.tools = Some(wanted.tools.unwrap_or(client.tools).to_owned());
    }
    words.set_options(wanted.options);
    if !wanted.directories.is_empty() {
        words.directories.clone_from(&wanted.directories);
    } else if is_fresh && let Starts::Names(variable) = client.starts {
        words.directories = vec![variable.to_owned()];
    }
    if words.directories.is_empty() && client.starts == Starts::Anywhere && wanted.project.is_none() {
        return Err(ChangeRefused::NoDirectory { client, here: wanted.machine.here.clone() });
    }
    let mut members = client.members(&words);
    if !wanted.variables.is_empty() {
        let variables = wanted.variables.iter().map(|(name, value)| (name.clone(), json!(value)));
        members.push(("env".to_owned(), Value::Object(variables.collect())));
    }
    let Some(kept) = kept else {
        let value = Value::Object(members.into_iter().collect());
        if there == Some(&value) {
            return Ok((text.to_owned(), words));
        }
        return Ok((client.syntax.set(text, &entry, &value)?, words));
    };
    // In an entry that is taken over only the command is changed, and missing members are added.
    let mut new = text.to_owned();
    for (name, value) in members {
        let old = kept.get(&name);
        let is_command = name == "command" || name == "args";
        if old == Some(&value) || (old.is_some() && !is_command) {
            continue;
        }
        let path: Vec<&str> = entry.iter().copied().chain([name.as_str()]).collect();
        new = client.syntax.set(&new, &path, &value)?;
    }
    Ok((new, words))
}

/// Checks that the rest of a project's entry, apart from the words that the person typed, may be taken over
/// unasked. The error says why not. `own` are the words of an entry of this server, whose options stay.
fn left_is_harmless(
    wanted: &DesiredEntry<'_>,
    there: &Value,
    own: Option<&Words>,
    project: &Path,
) -> Result<(), String> {
    harmless::members(wanted.client, there)?;
    let Some(mut left) = own.cloned() else { return Ok(()) };
    left.drop_options(wanted.options);
    if !wanted.directories.is_empty() {
        left.directories.clear();
    }
    harmless::arguments(wanted.client, &expanded(wanted.client, &left.arguments(), project), project)
}

/// Returns words in which the client's variable for the project is replaced by the project's path.
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
pub(super) fn remove(
    text: &str,
    client: &Client,
    machine: &Machine,
    is_forced: bool,
) -> Result<String, ChangeRefused> {
    let said = client.syntax.read(text)?;
    let entry = client.entry();
    let Some(there) = at(&said, &entry).filter(|there| !there.is_null()) else { return Ok(text.to_owned()) };
    let remote_entry = RemoteEntry::of(client, there);
    if let (Some(remote_entry), false) = (&remote_entry, is_forced || is_as_written(client, there)) {
        return Err(ChangeRefused::Leads(remote_entry.shown()));
    }
    let words = Client::words(there).unwrap_or_default();
    if remote_entry.is_none() && Words::of(&words, machine).is_none() && !is_forced {
        return Err(ChangeRefused::Foreign(words.join(" ")));
    }
    Ok(client.syntax.unset(text, &entry)?)
}

/// Returns the text with an item.
pub(super) fn with(text: &str, item: &Item) -> Result<String, Broken> {
    match (item.is_listed, is_there(&json::read(text)?, item)) {
        (_, true) => Ok(text.to_owned()),
        (true, _) => json::push(text, item.path, &item.item),
        (false, _) => Syntax::Json.set(text, item.path, &item.item),
    }
}

/// Returns the text without an item.
pub(super) fn without(text: &str, item: &Item) -> Result<String, Broken> {
    match (item.is_listed, is_there(&json::read(text)?, item)) {
        (true, _) => json::pull(text, item.path, &item.item),
        (false, true) => Syntax::Json.unset(text, item.path),
        (false, false) => Ok(text.to_owned()),
    }
}

/// Whether a configuration has an item.
#[must_use]
pub fn is_there(said: &Value, item: &Item) -> bool {
    let there = at(said, item.path);
    match there.and_then(Value::as_array).filter(|_| item.is_listed) {
        Some(list) => list.contains(&item.item),
        None => there == Some(&item.item),
    }
}

/// An entry under another name, whose server has tools of the same names as ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OtherEntry {
    /// Its place in the file.
    pub place: String,
    /// The server that it starts.
    pub server: EntryServer,
    /// Its words.
    pub words: String,
}

impl OtherEntry {
    /// Says what it is, for people; `is_second` tells that there is an entry of our name, too.
    #[must_use]
    pub fn what(&self, is_second: bool) -> String {
        let server = match self.server {
            EntryServer::This(_) => "this server",
            EntryServer::Python => "the server mcp-text-editor in Python",
        };
        let twice = if is_second { ", so that tools of the same names are offered twice" } else { "" };
        format!("{} starts {server}{twice}: {}", self.place, self.words)
    }

    /// Says what ends that.
    #[must_use]
    pub fn mend(&self, file: &Path) -> String {
        format!("take {} out of {}", self.place, file.display())
    }
}

/// The most other entries that are reported: a project can hold any number.
const MOST_BESIDE: usize = 8;

/// Returns the first entries among these servers, under other names, that start this server or the one in
/// Python.
#[must_use]
pub fn other_entries(said: &Value, servers: &[&str], machine: &Machine) -> Vec<OtherEntry> {
    let entries = at(said, servers).and_then(Value::as_object);
    let others = entries.into_iter().flatten().filter(|(name, _)| *name != NAME);
    let found = others.filter_map(|(name, entry)| {
        let words = Client::words(entry)?;
        let server = EntryServer::of(&words, machine)?;
        let place = servers.iter().copied().chain([name.as_str()]).collect::<Vec<_>>().join(".");
        Some(OtherEntry { place, server, words: words.join(" ") })
    });
    found.take(MOST_BESIDE).collect()
}

/// Returns the entry as text, for a person who adds it by hand.
pub(super) fn by_hand(wanted: &DesiredEntry<'_>) -> String {
    let client = wanted.client;
    let directories = match (wanted.directories.as_slice(), client.starts) {
        ([], Starts::Names(variable)) => vec![variable.to_owned()],
        (named, _) => named.to_vec(),
    };
    let tools = Some(wanted.tools.unwrap_or(client.tools).to_owned());
    let mut words = Words { start: wanted.start.clone(), tools, options: Vec::new(), directories };
    words.set_options(wanted.options);
    client.alone(&Value::Object(client.members(&words).into_iter().collect()))
}
