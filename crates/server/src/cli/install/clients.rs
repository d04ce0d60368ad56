//! The one table of clients. It says where each client keeps its configuration, what an entry looks like,
//! what the client needs to call tools where nobody can be asked, and how it starts servers.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::entry::Words;
use super::machine::{Machine, System};
use super::remote::{self, Remote};
use super::syntax::Syntax;
use crate::config::ToolSet;

/// The name of the server in every configuration.
pub const NAME: &str = "text-editor";

/// A function that tells whether a file or a directory exists.
pub type IsThere<'a> = &'a dyn Fn(&Path) -> bool;

/// A client that can be told of the server. Two of them are the same if their names are.
#[derive(Debug)]
pub struct Client {
    /// Its name on the command line.
    pub name: &'static str,
    /// The name that people give it.
    pub program: &'static str,
    /// The syntax of its configuration.
    pub syntax: Syntax,
    /// The path of the entries of all servers in its configuration.
    pub servers: &'static [&'static str],
    /// The shape of an entry.
    pub shape: Shape,
    /// The shape of an entry that leads to a server over HTTP.
    pub remote: Remote,
    /// The files of a person's own configuration. They can depend on which files and directories exist on the
    /// machine.
    pub user: fn(&Machine, IsThere<'_>) -> Vec<PathBuf>,
    /// The file in a project, if it has one; `/` between names.
    pub project: Option<&'static str>,
    /// The directory in which it starts servers.
    pub starts: Starts,
    /// The tools that suit it, as `--tools` has them.
    pub tools: &'static str,
    /// The further items that are written, so that it calls the tools where nobody can be asked.
    pub approval: fn(&Machine, Option<&Path>) -> Vec<Item>,
    /// The search behind which it hides the tools of servers; `None` if the model sees all tools at once.
    pub search: Option<ToolSearch>,
    /// The way in which its own tools that change files are switched off.
    pub instead: Instead,
    /// The way in which a person has it call the tools where nobody can be asked, if no written item does
    /// that.
    pub asks: Option<&'static str>,
    /// The further step that a person has to take, for all projects.
    pub user_step: Option<&'static str>,
    /// The further step that a person has to take, in a project with an entry.
    pub project_step: Option<&'static str>,
    /// The variables of its own that a server gets.
    pub passes: PassedVariables,
    /// Names of its programs.
    pub programs: &'static [&'static str],
    /// The source of the facts in this row.
    pub known: ClientSource,
}

/// A client's search for tools. The model sees no more than the names of the tools behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ToolSearch {
    /// Its name in the client's documentation.
    pub name: &'static str,
    /// The setting that switches it on and off, as a clause.
    pub switch: &'static str,
    /// The member of an entry that keeps the server's tools out of the search. `install` writes it.
    pub unless: Option<&'static str>,
    /// The tools that the client offers without that member, because the server asks for it by `_meta`.
    pub at_once: Option<&'static str>,
}

/// The way in which a client's own tools that change files are switched off, so that the model edits through
/// the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instead {
    /// By these settings, each a path and, as JSON, the items of a list or the value. They stand in the file
    /// of the client's permissions, or else in that of the entry.
    Settings(&'static [(&'static [&'static str], &'static str)]),
    /// By nothing that could be written; what a person can do.
    ByHand(&'static str),
}

/// The shape of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// `command`, a text, and `args`, a list; with these members before and after them, as JSON.
    CommandAndArgs {
        /// Before.
        before: &'static str,
        /// After.
        behind: &'static str,
    },
    /// `command`, a list of all words; `type` is `local`.
    CommandList,
}

/// In which directory a client starts servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Starts {
    /// In the project, so that an entry need not name it.
    InProject,
    /// Anywhere, but it replaces this variable by the project's path.
    Names(&'static str),
    /// Anywhere.
    Anywhere,
}

/// The variables of a client that its servers get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PassedVariables {
    /// All.
    All,
    /// All but those whose names look like secrets.
    AllButSecrets,
    /// These alone.
    Only(&'static [&'static str]),
}

impl PassedVariables {
    /// Tells whether a server gets the variable of this name.
    #[must_use]
    pub fn gives(self, name: &str) -> bool {
        let name = name.to_uppercase();
        match self {
            Self::All => true,
            Self::AllButSecrets => {
                !["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word))
            }
            Self::Only(names) => names.contains(&name.as_str()),
        }
    }
}

/// The variables that say where the history is kept: a server has to get those that a person has set.
pub const STATE_VARIABLES: &[&str] = &["MCP_TEXT_EDITOR_STATE_DIR", "XDG_STATE_HOME"];

/// The source of the facts in a row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientSource {
    /// This version was configured by `install` and used, on 2026-11-22, on Linux.
    Tried(&'static str),
    /// This page says so.
    Documentation(&'static str),
}

/// An item of a list, or a value, besides the entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// The file, in JSON.
    pub file: PathBuf,
    /// The path of the list, or of the value, in it.
    pub path: &'static [&'static str],
    /// The item, or the value.
    pub item: Value,
    /// Whether it is an item of a list.
    pub is_listed: bool,
    /// The effect, for people.
    pub effect: &'static str,
}

const PLAIN: Shape = Shape::CommandAndArgs { before: "{}", behind: "{}" };
const TRUSTED: Shape = Shape::CommandAndArgs { before: "{}", behind: r#"{"trust": true}"# };
const CLAUDE_CODE: Shape =
    Shape::CommandAndArgs { before: r#"{"type": "stdio"}"#, behind: r#"{"alwaysLoad": true}"# };
const QWEN: Shape =
    Shape::CommandAndArgs { before: "{}", behind: r#"{"trust": true, "alwaysLoadTools": true}"# };
/// Edits need no approval, since `codex exec` could not ask for it. The variables have the server use the
/// person's own state directory.
const CODEX: Shape = Shape::CommandAndArgs {
    before: "{}",
    behind: r#"{"default_tools_approval_mode": "approve", "omit_tools_from": ["deferred"], "env_vars": ["XDG_STATE_HOME", "MCP_TEXT_EDITOR_STATE_DIR"]}"#,
};
const COPILOT: Shape = Shape::CommandAndArgs {
    before: r#"{"type": "local"}"#,
    behind: r#"{"tools": ["*"], "deferTools": "never"}"#,
};
const STDIO: Shape = Shape::CommandAndArgs { before: r#"{"type": "stdio"}"#, behind: "{}" };
const CUSTOM: Shape = Shape::CommandAndArgs { before: r#"{"source": "custom"}"#, behind: r#"{"env": {}}"# };

/// A profile needs its name; the tools that it does not name stay as they are.
const ZED: Instead = Instead::Settings(&[
    (&["agent", "profiles", "write", "name"], r#""Write""#),
    (&["agent", "profiles", "write", "tools", "edit_file"], "false"),
    (&["agent", "profiles", "write", "tools", "write_file"], "false"),
    (&["agent", "profiles", "write", "tools", "create_directory"], "false"),
    (&["agent", "profiles", "write", "tools", "copy_path"], "false"),
    (&["agent", "profiles", "write", "tools", "move_path"], "false"),
    (&["agent", "profiles", "write", "tools", "delete_path"], "false"),
]);

/// The patch tool alone, for clients with editing tools of their own.
const PATCH: &str = "claude-code";
const MCP_SERVERS: &[&str] = &["mcpServers"];
/// The variables that the TypeScript SDK passes on unless told otherwise.
const OF_THE_SDK: PassedVariables = PassedVariables::Only(&[
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "USER",
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PROCESSOR_ARCHITECTURE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "USERNAME",
    "USERPROFILE",
    "PROGRAMFILES",
]);
/// The variables that Codex passes on.
const OF_CODEX: PassedVariables = PassedVariables::Only(&[
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "USER",
    "__CF_USER_TEXT_ENCODING",
    "LANG",
    "LC_ALL",
    "TERM",
    "TMPDIR",
    "TZ",
    "PATHEXT",
    "COMSPEC",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "USERNAME",
    "USERDOMAIN",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "PROGRAMFILES",
    "APPDATA",
    "LOCALAPPDATA",
    "TEMP",
    "TMP",
    "POWERSHELL",
    "PWSH",
]);

/// The values that hold for most clients. Values that each client has to set itself are empty here, or the
/// most cautious ones.
const USUAL: Client = Client {
    name: "",
    program: "",
    syntax: Syntax::Json,
    servers: MCP_SERVERS,
    shape: PLAIN,
    remote: Remote::No,
    user: |_, _| Vec::new(),
    project: None,
    starts: Starts::Anywhere,
    tools: PATCH,
    approval: |_, _| Vec::new(),
    search: None,
    instead: Instead::ByHand("it has no setting for that"),
    asks: None,
    user_step: None,
    project_step: None,
    passes: PassedVariables::All,
    programs: &[],
    known: ClientSource::Documentation(""),
};

/// Every client, in the order in which they are listed.
pub static CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        program: "Claude Code",
        shape: CLAUDE_CODE,
        remote: remote::CLAUDE_CODE,
        user: |machine, _| vec![machine.named_or_home("CLAUDE_CONFIG_DIR", "").join(".claude.json")],
        project: Some(".mcp.json"),
        starts: Starts::InProject,
        approval: claude_code,
        search: Some(ToolSearch {
            name: "ToolSearch",
            switch: "ENABLE_TOOL_SEARCH switches that",
            unless: Some("alwaysLoad"),
            at_once: Some("the tools that read and patch"),
        }),
        instead: Instead::Settings(&[(&["permissions", "deny"], r#"["Edit", "Write", "NotebookEdit"]"#)]),
        project_step: Some(
            "everybody else who opens the project is asked whether to use the server, and before it edits",
        ),
        programs: &["claude"],
        known: ClientSource::Tried("2.1.332"),
        ..USUAL
    },
    Client {
        name: "claude-desktop",
        program: "Claude Desktop",
        remote: Remote::No,
        user: claude_desktop,
        starts: Starts::Anywhere,
        tools: "all",
        instead: Instead::ByHand("it has none"),
        user_step: Some(
            "quit Claude Desktop and start it again; it asks before it uses a tool, once for each if you choose so",
        ),
        passes: OF_THE_SDK,
        programs: &[],
        known: ClientSource::Documentation(
            "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
        ),
        ..USUAL
    },
    Client {
        name: "cursor",
        program: "Cursor",
        remote: remote::CURSOR,
        user: |machine, _| vec![machine.home.join(".cursor").join("mcp.json")],
        project: Some(".cursor/mcp.json"),
        starts: Starts::Names("${workspaceFolder}"),
        search: Some(ToolSearch {
            name: "files that describe them",
            switch: "no setting changes that",
            unless: None,
            at_once: None,
        }),
        instead: Instead::ByHand(
            "`permissions.deny` with `Write(**)` in ~/.cursor/cli-config.json has its command line refuse them",
        ),
        asks: Some(
            "Cursor asks before it calls the tool; to have it run unasked, put `text-editor:*` into the MCP allowlist of its settings, or \
             into `mcpAllowlist` of ~/.cursor/permissions.json, which then takes that list's place",
        ),
        project_step: Some("switch the server on in Cursor's settings, under MCP"),
        programs: &["cursor", "cursor-agent"],
        known: ClientSource::Documentation("https://cursor.com/docs/mcp"),
        ..USUAL
    },
    Client {
        name: "vscode",
        program: "VS Code",
        servers: &["servers"],
        shape: STDIO,
        remote: remote::VSCODE,
        user: |machine, _| vec![machine.application_data().join("Code").join("User").join("mcp.json")],
        project: Some(".vscode/mcp.json"),
        starts: Starts::Names("${workspaceFolder}"),
        search: Some(ToolSearch {
            name: "its tool search",
            switch: "chat.agentHost.copilot.toolSearch.enabled and github.copilot.chat.*.toolSearchTool.enabled switch that",
            unless: None,
            at_once: None,
        }),
        instead: Instead::ByHand(
            "take the tools under `edit` out of the choice under Configure Tools in the chat",
        ),
        user_step: Some(
            "VS Code asks whether to trust the server when it first starts it, and before it calls the tool",
        ),
        programs: &["code"],
        known: ClientSource::Documentation(
            "https://code.visualstudio.com/docs/copilot/customization/mcp-servers",
        ),
        ..USUAL
    },
    Client {
        name: "codex",
        program: "Codex CLI",
        syntax: Syntax::Toml,
        servers: &["mcp_servers"],
        shape: CODEX,
        remote: remote::CODEX,
        user: |machine, _| vec![machine.named_or_home("CODEX_HOME", ".codex").join("config.toml")],
        project: Some(".codex/config.toml"),
        starts: Starts::InProject,
        search: Some(ToolSearch {
            name: "tool_search",
            switch: "the model decides that",
            unless: Some("omit_tools_from"),
            at_once: None,
        }),
        instead: Instead::ByHand("its `apply_patch` belongs to the model"),
        project_step: Some(
            "Codex reads the file only in a project that it trusts: start `codex` in it once and say so",
        ),
        passes: OF_CODEX,
        programs: &["codex"],
        known: ClientSource::Tried("0.171.0"),
        ..USUAL
    },
    Client {
        name: "gemini",
        program: "Gemini CLI",
        shape: TRUSTED,
        remote: remote::GEMINI,
        user: |machine, _| {
            vec![machine.named_or_home("GEMINI_CLI_HOME", "").join(".gemini").join("settings.json")]
        },
        project: Some(".gemini/settings.json"),
        starts: Starts::InProject,
        instead: Instead::Settings(&[(&["tools", "exclude"], r#"["replace", "write_file"]"#)]),
        user_step: Some(GEMINI_TRUST),
        project_step: Some(GEMINI_TRUST),
        passes: PassedVariables::AllButSecrets,
        programs: &["gemini"],
        known: ClientSource::Tried("0.61.0"),
        ..USUAL
    },
    Client {
        name: "zed",
        program: "Zed",
        servers: &["context_servers"],
        shape: CUSTOM,
        remote: remote::ZED,
        user: |machine, _| match machine.system {
            System::Windows => vec![machine.application_data().join("Zed").join("settings.json")],
            System::Mac => vec![machine.home.join(".config").join("zed").join("settings.json")],
            System::Linux => vec![machine.xdg_config().join("zed").join("settings.json")],
        },
        project: Some(".zed/settings.json"),
        starts: Starts::Anywhere,
        instead: ZED,
        asks: Some(
            "Zed asks before it calls the tool; `\"mcp:text-editor:patch_text_file_contents\": {\"default\": \"allow\"}` under \
             agent.tool_permissions.tools has it run unasked",
        ),
        project_step: Some("Zed starts the server only in a worktree that you trust"),
        programs: &["zed", "zeditor"],
        known: ClientSource::Documentation("https://zed.dev/docs/ai/mcp"),
        ..USUAL
    },
    Client {
        name: "windsurf",
        program: "Windsurf",
        remote: remote::WINDSURF,
        user: |machine, _| vec![machine.home.join(".codeium").join("windsurf").join("mcp_config.json")],
        starts: Starts::Anywhere,
        user_step: Some("press Refresh in Cascade's list of MCP servers"),
        programs: &["windsurf"],
        known: ClientSource::Documentation("https://docs.windsurf.com/windsurf/cascade/mcp"),
        ..USUAL
    },
    Client {
        name: "opencode",
        program: "opencode",
        servers: &["mcp"],
        shape: Shape::CommandList,
        remote: remote::OPENCODE,
        user: |machine, is_there| {
            let [json, jsonc] = ["opencode.json", "opencode.jsonc"]
                .map(|name| machine.xdg_config().join("opencode").join(name));
            vec![if is_there(&jsonc) { jsonc } else { json }]
        },
        project: Some("opencode.json"),
        starts: Starts::InProject,
        instead: Instead::Settings(&[(&["permission", "edit"], r#""deny""#)]),
        programs: &["opencode"],
        known: ClientSource::Tried("1.18.33"),
        ..USUAL
    },
    Client {
        name: "copilot",
        program: "Copilot CLI",
        shape: COPILOT,
        remote: remote::COPILOT,
        user: |machine, _| vec![machine.named_or_home("COPILOT_HOME", ".copilot").join("mcp-config.json")],
        project: Some(".github/mcp.json"),
        starts: Starts::InProject,
        search: Some(ToolSearch {
            name: "its tool search",
            switch: "`toolSearch` in its settings switches that",
            unless: Some("deferTools"),
            at_once: None,
        }),
        instead: Instead::ByHand("start it with `--excluded-tools edit create apply_patch`"),
        asks: Some(
            "where nobody can be asked, Copilot edits with it only if it is started with `--allow-tool text-editor`",
        ),
        project_step: Some(
            "Copilot reads the file only in a folder that it was told to trust: start `copilot` in it once and say so",
        ),
        passes: PassedVariables::AllButSecrets,
        programs: &["copilot"],
        known: ClientSource::Tried("1.0.102"),
        ..USUAL
    },
    Client {
        name: "qwen",
        program: "Qwen Code",
        shape: QWEN,
        remote: remote::QWEN,
        user: |machine, _| vec![machine.named_or_home("QWEN_HOME", ".qwen").join("settings.json")],
        project: Some(".qwen/settings.json"),
        starts: Starts::InProject,
        search: Some(ToolSearch {
            name: "tool_search",
            switch: "`tools.toolSearch.enabled` in settings.json switches that",
            unless: Some("alwaysLoadTools"),
            at_once: None,
        }),
        instead: Instead::Settings(&[(
            &["permissions", "deny"],
            r#"["edit", "write_file", "notebook_edit"]"#,
        )]),
        project_step: Some(
            "Qwen Code starts the server in a project only after `qwen mcp approve text-editor` there",
        ),
        programs: &["qwen"],
        known: ClientSource::Tried("0.24.4"),
        ..USUAL
    },
    Client {
        name: "cline",
        program: "Cline",
        shape: Shape::CommandAndArgs { before: "{}", behind: r#"{"disabled": false, "autoApprove": []}"# },
        remote: remote::CLINE,
        user: |machine, is_there| {
            let storage = machine.application_data().join("Code").join("User").join("globalStorage");
            let extension = storage.join("saoudrizwan.claude-dev");
            let own = machine.home.join(".cline");
            let file = |directory: PathBuf| directory.join("settings").join("cline_mcp_settings.json");
            match (is_there(&extension), is_there(&own)) {
                (true, false) => vec![file(extension)],
                (true, true) => vec![file(extension), file(own.join("data"))],
                (false, _) => vec![file(own.join("data"))],
            }
        },
        starts: Starts::Anywhere,
        passes: OF_THE_SDK,
        programs: &["cline"],
        known: ClientSource::Documentation("https://docs.cline.bot/mcp/configuring-mcp-servers"),
        ..USUAL
    },
    Client {
        name: "jetbrains",
        program: "JetBrains Junie",
        remote: Remote::No,
        user: |machine, _| vec![machine.home.join(".junie").join("mcp").join("mcp.json")],
        project: Some(".junie/mcp/mcp.json"),
        starts: Starts::Anywhere,
        user_step: Some(
            "Junie asks before it calls the tool, unless its Action Allowlist says otherwise; AI Assistant takes the same entry in its \
             settings, under Model Context Protocol",
        ),
        programs: &["junie"],
        known: ClientSource::Documentation(
            "https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html",
        ),
        ..USUAL
    },
];

/// Returns every file of this person that configures a client, even if it does not exist.
#[must_use]
pub fn own_configurations() -> Vec<PathBuf> {
    let Ok(machine) = Machine::of_person(PathBuf::new(), PathBuf::new()) else { return Vec::new() };
    let of = |client: &Client| {
        // The files that a client reads can depend on which of them exist.
        let [one, other] = [true, false].map(|is_there| (client.user)(&machine, &|_| is_there));
        let approving = (client.approval)(&machine, None).into_iter().map(|item| item.file);
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

const GEMINI_TRUST: &str = "where nobody can be asked, Gemini starts only in a folder that it was told to trust: start `gemini` in it once and \
                            say so, or set GEMINI_CLI_TRUST_WORKSPACE=true";

impl Client {
    /// Returns the path to our entry in its configuration.
    #[must_use]
    pub fn entry(&self) -> Vec<&'static str> {
        self.servers.iter().copied().chain([NAME]).collect()
    }

    /// Returns a configuration with this entry alone, for a person who adds it by hand.
    #[must_use]
    pub fn alone(&self, entry: &Value) -> String {
        self.syntax.set("", &self.entry(), entry).unwrap_or_else(|_| entry.to_string())
    }

    /// Returns the arguments of `install`, besides the client, that a fresh entry needs: directories, if
    /// nothing else names them.
    #[must_use]
    pub fn needs(&self, is_project: bool) -> &'static str {
        if self.starts == Starts::Anywhere && !is_project { " DIR" } else { "" }
    }

    /// Returns the settings that switch its own tools that change files off; none if a person has to do that.
    /// `files` have its entries.
    #[must_use]
    pub fn switched_off(&self, machine: &Machine, files: &[PathBuf]) -> Vec<Item> {
        let permissions = (self.approval)(machine, None).into_iter().next().map(|item| item.file);
        let (Instead::Settings(settings), Some(file)) =
            (self.instead, permissions.or(files.first().cloned()))
        else {
            return Vec::new();
        };
        let of = |(path, value): &(&'static [&'static str], &str)| {
            let (is_listed, items) = match serde_json::from_str(value).unwrap_or_default() {
                Value::Array(items) => (true, items),
                value => (false, vec![value]),
            };
            let (path, file) = (*path, file.clone());
            let effect = "its own editing is switched off";
            items.into_iter().map(move |item| Item { file: file.clone(), path, item, is_listed, effect })
        };
        settings.iter().flat_map(of).collect()
    }

    /// Returns a member of an entry, for these words.
    #[must_use]
    pub fn member(&self, name: &str, words: &Words) -> Option<Value> {
        self.members(words).into_iter().find(|(member, _)| member == name).map(|(_, value)| value)
    }

    /// Returns the members of an entry, for these words.
    #[must_use]
    pub fn members(&self, words: &Words) -> Vec<(String, Value)> {
        let tools = words.tools.as_deref().unwrap_or("default").parse::<ToolSet>().unwrap_or_default();
        let words = words.all();
        let of = |text: &str| match serde_json::from_str(text) {
            Ok(Value::Object(members)) => members.into_iter().collect(),
            _ => Vec::new(),
        };
        match self.shape {
            Shape::CommandAndArgs { before, behind } => {
                let (command, args) =
                    words.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
                let own = [("command".to_owned(), json!(command)), ("args".to_owned(), json!(args))];
                let mut members: Vec<(String, Value)> =
                    of(before).into_iter().chain(own).chain(of(behind)).collect();
                // All tools that the server offers run unasked.
                if let Some((_, unasked)) = members.iter_mut().find(|(name, _)| name == "autoApprove") {
                    *unasked = tools.to_string().split(',').collect();
                }
                members
            }
            Shape::CommandList => {
                vec![("type".to_owned(), json!("local")), ("command".to_owned(), json!(words))]
            }
        }
    }

    /// Returns the words of an entry's command; `None` if it starts no program.
    #[must_use]
    pub fn words(entry: &Value) -> Option<Vec<String>> {
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

/// Returns the configurations of Claude Desktop. On Windows it is a package (MSIX) since 2026-02, and reads
/// the package's own part of `AppData`. A directory of an earlier version, or of one that was installed
/// otherwise, is written, too.
fn claude_desktop(machine: &Machine, is_there: IsThere<'_>) -> Vec<PathBuf> {
    let directory = machine.application_data().join("Claude");
    let packages = machine.packages("Claude_").into_iter();
    let mut all: Vec<PathBuf> = packages.map(|data| data.join("Roaming").join("Claude")).collect();
    if all.is_empty() || is_there(&directory) {
        all.push(directory);
    }
    all.into_iter().map(|directory| directory.join("claude_desktop_config.json")).collect()
}

/// Returns the settings by which Claude Code does not ask. It asks before each call, even of a read, unless
/// its settings allow the call. In a project they go into the settings that are this person's alone.
fn claude_code(machine: &Machine, project: Option<&Path>) -> Vec<Item> {
    let permission = |file: PathBuf| Item {
        file,
        path: &["permissions", "allow"],
        item: json!(format!("mcp__{NAME}")),
        is_listed: true,
        effect: "it calls the tools unasked, also where nobody can be asked",
    };
    let Some(project) = project else {
        return vec![permission(machine.named_or_home("CLAUDE_CONFIG_DIR", ".claude").join("settings.json"))];
    };
    let file = project.join(".claude").join("settings.local.json");
    let enabled = Item {
        file: file.clone(),
        path: &["enabledMcpjsonServers"],
        item: json!(NAME),
        is_listed: true,
        effect: "it starts this server of the project unasked, for you",
    };
    vec![permission(file), enabled]
}
