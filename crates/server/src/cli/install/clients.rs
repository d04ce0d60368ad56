//! Defines the clients. The facts about a client are a row of `clients.json`: the paths of its configuration,
//! the form of an entry, the settings with which the client calls tools without asking a person, and the way
//! in which it starts servers.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::config_error::at;
use super::entry::{Target, Words};
use super::environment::{Environment, System, below};
use super::syntax::Syntax;
use crate::config::ToolSet;
use crate::render::escape::on_one_line;

/// The name of the server in every configuration.
pub const NAME: &str = "text-editor";

/// The environment variables that determine the path of the history. If a person has set them, a server must
/// get them.
pub const STATE_VARIABLES: &[&str] = &["MCP_TEXT_EDITOR_STATE_DIR", "XDG_STATE_HOME"];

/// Every client, in the order in which they are listed.
#[expect(clippy::expect_used, reason = "the rows are a part of this program, and every test reads them")]
pub static CLIENTS: LazyLock<Vec<Client>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("clients.json")).expect("clients.json has rows of clients")
});

/// A client whose configuration `install` can write. Two clients are equal if their names are.
#[derive(Default, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Client {
    /// The client's name on the command line.
    pub name: &'static str,
    /// The name that people use for the client.
    pub program: &'static str,
    /// The names of the client's programs.
    pub programs: Vec<&'static str>,
    /// The version that was configured with `install` and tried, on 2026-11-22, on Linux.
    pub tried: Option<&'static str>,
    /// The source of the facts in this row, if the client was not tried.
    pub page: Option<&'static str>,
    /// The syntax of the client's configuration.
    pub syntax: Syntax,
    /// The path in the configuration of the object with the entries of all servers.
    pub servers: Vec<&'static str>,
    /// The files of a person's own configuration.
    pub user: Vec<ConfigPath>,
    /// The configuration file in a project, with `/` between names; `None` if the client reads none in
    /// projects.
    pub project: Option<&'static str>,
    /// A file in a project that the client reads before `project`.
    pub also_reads: Option<&'static str>,
    /// The directories of a project in which the client looks for that file.
    pub looks_in: LooksIn,
    /// The configurations of the machine that outrank all others.
    pub machine_first: Vec<ConfigPath>,
    /// The environment variable that names a file to use instead of `machine_first`.
    pub machine_variable: Option<&'static str>,
    /// The configurations of the machine that all others outrank.
    pub machine_last: Vec<ConfigPath>,
    /// The directory in which the client starts servers.
    pub starts: WorkingDirectory,
    /// The template of an entry that starts a program. `PROGRAM`, `ARGUMENTS` or `WORDS` (both) stand for the
    /// command, `TOOLS` for the names of the offered tools.
    pub stdio: Map<String, Value>,
    /// The template of an entry that leads to a server over HTTP; `None` if the client only starts programs.
    /// `URL` stands for the server's address, `NAME` for the variable that has the token.
    pub http: Option<Map<String, Value>>,
    /// Whether the client replaces `$NAME` in a header, and not only `${NAME}`.
    pub fills_bare_variables: bool,
    /// Whether the client regards a `url` without a type as the URL of an SSE server.
    pub url_is_sse: bool,
    /// The file of a person's permissions, as a template for `Environment::paths`, if it is not the file of
    /// the entry.
    pub permissions: Option<&'static str>,
    /// The file of the permissions in a project.
    pub project_permissions: Option<&'static str>,
    /// The items that let the client call the tools without asking a person.
    approval: Vec<Item>,
    /// Further such items for a project.
    project_approval: Vec<Item>,
    /// The items that make the client ask a person for the token.
    token_inputs: Vec<Item>,
    /// The tools that suit the client, as a value of `--tools`.
    pub tools: &'static str,
    /// The search behind which the client hides the tools of servers; `None` if the model sees all tools at
    /// once.
    pub search: Option<ToolSearch>,
    /// The items that disable the client's own tools for changing files, so that the model edits through the
    /// server. They go into the file of permissions, or else into the file of the entry.
    pub instead: Vec<Item>,
    /// The way in which a person disables those tools, if no item can.
    pub instead_by_hand: Option<&'static str>,
    /// The way in which a person lets the client call the tools without asking, if no item can.
    pub asks: Option<String>,
    /// The further step that a person has to take, for all projects.
    pub user_step: Option<&'static str>,
    /// The further step that a person has to take, in a project with an entry.
    pub project_step: Option<&'static str>,
    /// A fact that a person has to know if the token is in a variable.
    pub token_step: Option<&'static str>,
    /// The client's environment variables that a server gets.
    pub passes: PassedVariables,
    #[serde(rename = "//")]
    _notes: IgnoredAny,
}

/// A file of a configuration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigPath {
    /// The path, as a template for [`Environment::paths`].
    path: &'static str,
    /// The system on which the file is used; `None` for all.
    system: Option<System>,
    /// The file or directory that must exist for this path to be used.
    when: Option<&'static str>,
}

/// The directories of a project in which a client looks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LooksIn {
    /// Only the project's own directory.
    #[default]
    Project,
    /// Also the directories above it, up to the top of the repository.
    Repository,
    /// Also all directories above it.
    Ancestors,
}

/// A client's search for tools. Until the model searches, it sees at most the names of these tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub struct ToolSearch {
    /// The name of the search in the client's documentation.
    pub name: &'static str,
    /// The setting that switches the search on and off, as a clause.
    pub switch: &'static str,
    /// The member of an entry that keeps the server's tools out of the search. `install` writes it.
    pub unless: Option<&'static str>,
    /// The tools that the model sees at once even without that member, because their `_meta` says so.
    pub at_once: Option<&'static str>,
}

/// The directory in which a client starts servers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkingDirectory {
    /// The project. So an entry need not name the project.
    InProject,
    /// Any directory. In an entry, the client replaces this variable by the project's path.
    Names(&'static str),
    /// Anywhere.
    #[default]
    Anywhere,
}

/// The client's environment variables that its servers get.
#[derive(Clone, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassedVariables {
    /// All.
    #[default]
    All,
    /// All except those whose names look like secrets.
    AllButSecrets,
    /// Only these.
    Only(Vec<String>),
}

impl PassedVariables {
    /// Whether a server gets the variable of this name.
    pub(crate) fn gives(&self, name: &str) -> bool {
        let name = name.to_uppercase();
        match self {
            Self::All => true,
            Self::AllButSecrets => {
                !["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word))
            }
            Self::Only(names) => names.contains(&name),
        }
    }
}

/// The way in which a client gets a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenForm<'a> {
    /// The client replaces variables in headers. A variable is written as its name between these two texts.
    Header(&'a str, &'a str),
    /// This member of the entry names the variable.
    Member(&'a str),
    /// The client asks the person, once, and stores the answer.
    Asked,
    /// Only a header with the token itself is possible.
    Literal,
}

/// A setting that `install` writes in addition to the entry: an item of a list, or a value.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// The file, in JSON.
    #[serde(skip)]
    pub file: PathBuf,
    /// The path of the list, or of the value, in the file.
    pub path: Vec<&'static str>,
    /// The item, or the value.
    pub item: Value,
    /// Whether `item` is an item of a list, and not a value.
    #[serde(default)]
    pub is_listed: bool,
    /// The effect, for people.
    pub effect: &'static str,
}

/// Returns these items with `file` as their file.
fn items_in<'a>(items: &'a [Item], file: &'a Path) -> impl Iterator<Item = Item> {
    items.iter().map(|item| Item { file: file.to_owned(), ..item.clone() })
}

/// Returns the files of those places that are used on this machine. If no other place is used, the last one
/// is.
#[must_use]
pub fn files_at(places: &[ConfigPath], env: &Environment, exists: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let of_system = |place: &&ConfigPath| place.system.is_none_or(|system| system == env.system);
    let places: Vec<&ConfigPath> = places.iter().filter(of_system).collect();
    let mut files = Vec::new();
    for (index, place) in places.iter().enumerate() {
        let is_last = index + 1 == places.len();
        let is_used = match place.when {
            Some(when) => env.paths(when).iter().any(|path| exists(path)) || is_last && files.is_empty(),
            None => !is_last || files.is_empty(),
        };
        if is_used {
            files.extend(env.paths(place.path));
        }
    }
    files
}

/// Returns every file of this person that can configure a client, whether it exists or not.
pub(crate) fn own_configurations() -> Vec<PathBuf> {
    let Ok(env) = Environment::of_person(PathBuf::new(), PathBuf::new()) else { return Vec::new() };
    let of = |client: &'static Client| {
        // The files that a client reads can depend on which of them exist.
        let [one, other] = [true, false].map(|exists| files_at(&client.user, &env, &|_| exists));
        let approving = client.approval(&env, None).into_iter().map(|item| item.file);
        one.into_iter().chain(other).chain(approving).collect::<Vec<_>>()
    };
    CLIENTS.iter().flat_map(of).collect()
}

impl PartialEq for Client {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Client {}

impl Client {
    /// Finds a client by its name on the command line.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// Finds a client by its name as it was typed. The error names the clients that may have been meant.
    pub(crate) fn find(typed: &str) -> Result<&'static Self, String> {
        Self::named(typed).ok_or_else(|| {
            let names = |clients: &[&Self], last: &str| {
                let names: Vec<&str> = clients.iter().map(|client| client.name).collect();
                match names.split_last() {
                    Some((name, before)) if !before.is_empty() => {
                        format!("{} {last} {name}", before.join(", "))
                    }
                    _ => names.concat(),
                }
            };
            let why = match suggested(typed).as_slice() {
                [] => format!("there are {}", names(&CLIENTS.iter().collect::<Vec<_>>(), "and")),
                suggested => format!("did you mean {}?", names(suggested, "or")),
            };
            format!("there is no client `{}`; {why}", on_one_line(typed))
        })
    }

    /// Returns a trace of the client on a machine: one of its files, its program, or the directory of a file.
    /// `None` if there is none.
    pub(crate) fn trace(&self, env: &Environment, files: &[PathBuf]) -> Option<PathBuf> {
        let path = env.variable("PATH");
        let file = files.iter().find(|file| file.exists()).cloned();
        let program = || self.programs.iter().find_map(|name| env.find_program(name, path));
        let directory = || {
            let above = files.iter().filter_map(|file| file.parent());
            above.into_iter().find(|above| *above != env.home && above.is_dir()).map(Path::to_owned)
        };
        file.or_else(program).or_else(directory)
    }

    /// Returns the files that have the client's entries: the files of `project` if it is given, or else the
    /// person's own files. The error says that the client reads none in projects.
    pub fn files(&self, env: &Environment, project: Option<&Path>) -> Result<Vec<PathBuf>, String> {
        match (project, self.project) {
            (None, _) => Ok(files_at(&self.user, env, &|path| path.exists())),
            (Some(project), Some(name)) => Ok(vec![below(project, name)]),
            (Some(_), None) => {
                Err(format!("{} has no configuration in a project; leave --project out", self.program))
            }
        }
    }

    /// Returns the path to our entry in the client's configuration.
    #[must_use]
    pub fn entry(&self) -> Vec<&'static str> {
        self.servers.iter().copied().chain([NAME]).collect()
    }

    /// Returns our entry in the client's configuration. For all clients, `null` counts as no entry.
    pub(crate) fn entry_in<'a>(&self, parsed: &'a Value) -> Option<&'a Value> {
        at(parsed, &self.entry()).filter(|there| !there.is_null())
    }

    /// Returns the place of our entry in its file, in words.
    pub(crate) fn place(&self) -> String {
        self.entry().join(".")
    }

    /// Returns the arguments of `install`, in addition to the client, that a new entry requires: directories,
    /// if nothing else names them.
    pub(crate) fn needs(&self, is_project: bool) -> &'static str {
        if self.starts == WorkingDirectory::Anywhere && !is_project { " DIR" } else { "" }
    }

    /// Returns the items that let the client call the tools without asking a person.
    #[must_use]
    pub fn approval(&self, env: &Environment, project: Option<&Path>) -> Vec<Item> {
        let Some(project) = project else {
            let files = self.permissions.map_or_else(Vec::new, |path| env.paths(path));
            return files.iter().flat_map(|file| items_in(&self.approval, file)).collect();
        };
        let file = below(project, self.project_permissions.unwrap_or_default());
        items_in(&self.approval, &file).chain(items_in(&self.project_approval, &file)).collect()
    }

    /// Returns the items that disable the client's own tools for changing files; none if a person has to do
    /// that. `files` are the files that have the client's entries.
    pub(crate) fn switched_off(&self, env: &Environment, files: &[PathBuf]) -> Vec<Item> {
        let permissions = self.permissions.map(|path| env.paths(path));
        let file = permissions.as_deref().unwrap_or(files).first();
        file.into_iter().flat_map(|file| items_in(&self.instead, file)).collect()
    }

    /// Returns the items that make the client ask for the token, in the files that have the client's entries.
    pub(crate) fn token_inputs(&self, files: &[PathBuf]) -> Vec<Item> {
        files.iter().flat_map(|file| items_in(&self.token_inputs, file)).collect()
    }

    /// Returns the way in which the client gets a token; `None` if it does not support servers over HTTP.
    #[must_use]
    pub fn token_form(&self) -> Option<TokenForm<'_>> {
        let http = self.http.as_ref()?;
        let header = http.get("headers").and_then(|headers| headers.get("Authorization")?.as_str());
        let Some(form) = header.and_then(|header| header.strip_prefix("Bearer ")) else {
            return http.iter().find(|(_, value)| *value == "NAME").map(|(name, _)| TokenForm::Member(name));
        };
        Some(match form.split_once("NAME") {
            Some((open, close)) => TokenForm::Header(open, close),
            None if form.contains("input:") => TokenForm::Asked,
            None => TokenForm::Literal,
        })
    }

    /// Returns the members of an entry that starts a program by these words or, if `target` is given, leads
    /// to a server over HTTP. There are none if the client has no such entries.
    pub(crate) fn members(&self, words: &Words, target: Option<&Target>) -> Map<String, Value> {
        let all = words.all();
        let template = target.map_or(Some(&self.stdio), |_| self.http.as_ref());
        let fill = |(name, template): (&String, &Value)| {
            let value = match (template.as_str().unwrap_or(name), target) {
                ("PROGRAM", None) => json!(all.first()),
                ("ARGUMENTS", None) => json!(all.get(1..)),
                ("WORDS", None) => json!(all),
                ("TOOLS", _) => {
                    let tools = words.tools.as_deref().filter(|_| target.is_none()).unwrap_or("default");
                    tools.parse::<ToolSet>().unwrap_or_default().to_string().split(',').collect()
                }
                ("URL", Some(target)) => json!(target.url),
                ("NAME" | "headers", Some(target)) => {
                    let filled = template.to_string().replace("NAME", target.token_env.as_ref()?);
                    serde_json::from_str(&filled).ok()?
                }
                _ => template.clone(),
            };
            Some((name.clone(), value))
        };
        template.into_iter().flatten().filter_map(fill).collect()
    }

    /// Returns a configuration that has only the entry with these members, for a person who adds it by hand.
    pub(crate) fn alone(&self, members: Map<String, Value>) -> String {
        let entry = Value::Object(members);
        self.syntax.set("", &self.entry(), &entry).unwrap_or_else(|_| entry.to_string())
    }

    /// Returns the words of an entry's command; `None` if the entry starts no program.
    pub(crate) fn words(entry: &Value) -> Option<Vec<String>> {
        let texts = |value: &Value| -> Option<Vec<String>> {
            value.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
        };
        let command = entry.get("command")?;
        if command.is_array() {
            return texts(command).filter(|words| !words.is_empty());
        }
        let args = entry.get("args").map_or(Some(Vec::new()), texts)?;
        Some(std::iter::once(command.as_str()?.to_owned()).chain(args).collect())
    }
}

/// The minimum length, in characters, of a name that is searched for in other names.
const SHORTEST: usize = 3;

/// Returns the clients that a typed name may mean: those whose name has the same letters and digits, in any
/// case; if there are none, those whose names contain it or are contained in it; if there are none either,
/// those whose names differ by a typing error.
fn suggested(typed: &str) -> Vec<&'static Client> {
    let typed = plain(typed);
    let names = |client: &Client| [client.name, client.program].map(plain);
    let all = |client: &Client| -> Vec<String> {
        names(client).into_iter().chain(client.programs.iter().map(|name| plain(name))).collect()
    };
    let is_within = |one: &str, other: &str| one.len() >= SHORTEST && other.contains(one);
    let is_slip = |name: &str| strsim::damerau_levenshtein(&typed, name) <= (name.len() / 4).max(1);
    let tier = |client: &Client| match all(client) {
        _ if names(client).contains(&typed) => 0,
        all if all.iter().any(|name| is_within(name, &typed) || is_within(&typed, name)) => 1,
        all if typed.len() >= SHORTEST && all.iter().any(|name| is_slip(name)) => 2,
        _ => 3,
    };
    let best = CLIENTS.iter().map(tier).min().unwrap_or_default();
    CLIENTS.iter().filter(|client| best < 3 && tier(client) == best).collect()
}

fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .take(64)
        .collect()
}
