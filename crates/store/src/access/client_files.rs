//! The project files by which known clients start programs: one table, [`CLIENT_FILES`]. A program that can
//! write to such a file can make a command run when a person opens the project, or uses the client in it. So
//! the policy (`policy.rs`) protects these files by default.
//!
//! A client may be started in any directory, so a row applies in every directory below a root. Files with
//! text for a model (`AGENTS.md`, rules, memories) are not in the table: such text does not start a program
//! by itself.

use std::sync::LazyLock;

use mcp_text_editor_core::file_names::{FoldedName, could_be};

/// A project file, or directory, by which clients start programs.
#[derive(PartialEq, Eq, Debug)]
pub struct ClientFile {
    /// The path from any directory of the project, with `/` between names. A path that ends in `/` means
    /// everything below it. A `*` stands for any part of one name.
    pub path: &'static str,
    /// The clients that read the file.
    pub clients: &'static str,
    /// The part of the file that starts programs.
    pub starts: &'static str,
    /// The source for the claim that the client starts these programs.
    pub known: KnownFrom,
}

/// The source for the claim that a client starts the programs that a file names. All sources date from
/// 2026-11.
#[derive(PartialEq, Eq, Debug)]
pub enum KnownFrom {
    /// It was tried: these versions of the clients ran a program that the file names.
    Tried(&'static str),
    /// This version of the client shows it: its program, or files that are installed with it.
    Client(&'static str),
    /// The client's documentation or source code says so.
    Documentation(&'static str),
    /// Others quote the documentation; the documentation itself was not available.
    Quoted(&'static str),
}

use KnownFrom::{Client, Documentation, Quoted, Tried};

const CLAUDE: &str = "Claude Code 2.1.197";
const CLAUDE_COPILOT: &str = "Claude Code 2.1.197, Copilot CLI 1.0.102";
const CODEX: &str = "Codex 0.169.0";
const GEMINI: &str = "Gemini CLI 0.61.0";
const OPENCODE: &str = "opencode 1.18.33";
const COPILOT: &str = "Copilot CLI 1.0.102";
const QWEN: &str = "Qwen Code 0.15.10";

const fn row(
    path: &'static str,
    clients: &'static str,
    starts: &'static str,
    known: KnownFrom,
) -> ClientFile {
    ClientFile { path, clients, starts, known }
}

/// Every project file by which a known client starts programs.
pub static CLIENT_FILES: &[ClientFile] = &[
    row(".mcp.json", "Claude Code, Copilot CLI and others", "MCP servers", Tried(CLAUDE_COPILOT)),
    row(
        ".claude/settings.json",
        "Claude Code, Copilot CLI",
        "hooks, apiKeyHelper, statusLine",
        Tried(CLAUDE_COPILOT),
    ),
    row(
        ".claude/settings.local.json",
        "Claude Code, Copilot CLI",
        "hooks, apiKeyHelper, statusLine",
        Tried(CLAUDE_COPILOT),
    ),
    row(".claude/agents/", "Claude Code", "hooks and MCP servers of agents", Tried(CLAUDE)),
    row(".claude/commands/", "Claude Code", "embedded shell commands", Tried(CLAUDE)),
    row(
        ".claude/skills/",
        "Claude Code, opencode",
        "embedded shell commands, hooks and MCP servers of plugins",
        Tried(CLAUDE),
    ),
    row(".claude/hooks/", "Claude Code", "scripts of hooks", Client(CLAUDE)),
    row(".claude/launch.json", "Claude Code", "servers for previews", Client(CLAUDE)),
    row(".claude/workflows/", "Claude Code", "scripts of workflows", Client(CLAUDE)),
    row(".claude/routines/", "Claude Code", "agents, by the clock", Client(CLAUDE)),
    row(".claude/scheduled_tasks.json", "Claude Code", "agents, by the clock", Client(CLAUDE)),
    row(".codex/config.toml", "Codex", "MCP servers, hooks", Tried(CODEX)),
    row(".codex/hooks.json", "Codex", "hooks", Tried(CODEX)),
    row(".codex/hooks/", "Codex", "scripts of hooks", Client(CODEX)),
    row(".codex/rules/", "Codex", "which commands run unasked", Client(CODEX)),
    row(".agents/skills/", "opencode, Amp", "embedded shell commands, MCP servers", Tried(OPENCODE)),
    row(".gemini/settings.json", "Gemini CLI", "MCP servers, hooks, discovery of tools", Tried(GEMINI)),
    row(".gemini/commands/", "Gemini CLI", "embedded shell commands", Tried(GEMINI)),
    row(".gemini/agents/", "Gemini CLI", "MCP servers of agents", Client(GEMINI)),
    row(".gemini/hooks/", "Gemini CLI", "scripts of hooks", Client(GEMINI)),
    row(".gemini/.env", "Gemini CLI", "the sandbox to run in", Client(GEMINI)),
    row(".gemini/sandbox.Dockerfile", "Gemini CLI", "the sandbox to run in", Client(GEMINI)),
    row(".gemini/sandbox-macos-*.sb", "Gemini CLI", "the sandbox to run in", Client(GEMINI)),
    row(
        "opencode.json",
        "opencode",
        "MCP servers, plugins, commands, formatters, language servers",
        Tried(OPENCODE),
    ),
    row(
        "opencode.jsonc",
        "opencode",
        "MCP servers, plugins, commands, formatters, language servers",
        Tried(OPENCODE),
    ),
    row(
        ".opencode/opencode.json",
        "opencode",
        "MCP servers, plugins, commands, formatters, language servers",
        Tried(OPENCODE),
    ),
    row(
        ".opencode/opencode.jsonc",
        "opencode",
        "MCP servers, plugins, commands, formatters, language servers",
        Tried(OPENCODE),
    ),
    row(".opencode/plugin/", "opencode", "plugins", Tried(OPENCODE)),
    row(".opencode/plugins/", "opencode", "plugins", Tried(OPENCODE)),
    row(".opencode/tool/", "opencode", "tools", Tried(OPENCODE)),
    row(".opencode/tools/", "opencode", "tools", Tried(OPENCODE)),
    row(".opencode/command/", "opencode", "embedded shell commands", Tried(OPENCODE)),
    row(".opencode/commands/", "opencode", "embedded shell commands", Tried(OPENCODE)),
    row(".opencode/skill/", "opencode", "embedded shell commands", Tried(OPENCODE)),
    row(".opencode/skills/", "opencode", "embedded shell commands", Tried(OPENCODE)),
    row(".github/mcp.json", "Copilot CLI", "MCP servers", Tried(COPILOT)),
    row(".github/hooks/", "Copilot CLI, VS Code", "hooks", Tried(COPILOT)),
    row(".github/copilot/settings.json", "Copilot CLI", "hooks", Tried(COPILOT)),
    row(".github/copilot/settings.local.json", "Copilot CLI", "hooks", Tried(COPILOT)),
    row(".github/agents/", "Copilot CLI", "MCP servers of agents", Tried(COPILOT)),
    row(
        ".github/extensions/",
        "Copilot CLI",
        "extensions",
        Documentation("docs.github.com/en/copilot/concepts/agents/copilot-cli/about-cli-extensions"),
    ),
    row(
        ".github/lsp.json",
        "Copilot CLI",
        "language servers",
        Documentation("docs.github.com/copilot/concepts/agents/copilot-cli/lsp-servers"),
    ),
    row(".qwen/settings.json", "Qwen Code", "MCP servers, hooks, discovery of tools", Tried(QWEN)),
    row(
        ".qwen/settings.local.json",
        "Qwen Code",
        "MCP servers, hooks, discovery of tools",
        Documentation("qwenlm.github.io/qwen-code-docs/1.x/en/users/hooks"),
    ),
    row(".qwen/.env", "Qwen Code", "settings to use instead", Tried(QWEN)),
    row(".qwen/commands/", "Qwen Code", "embedded shell commands", Tried(QWEN)),
    row(
        ".qwen/hooks/",
        "Qwen Code",
        "scripts of hooks",
        Documentation("qwenlm.github.io/qwen-code-docs/1.x/en/users/hooks"),
    ),
    row(".lsp.json", "Qwen Code", "language servers", Tried(QWEN)),
    row(".cursor/mcp.json", "Cursor", "MCP servers", Quoted("cursor.com/docs/mcp")),
    row(".cursor/hooks.json", "Cursor", "hooks", Documentation("cursor.com/docs/agent/hooks")),
    row(".cursor/hooks/", "Cursor", "scripts of hooks", Documentation("cursor.com/docs/agent/hooks")),
    row(
        ".cursor/worktrees.json",
        "Cursor",
        "set-up of worktrees",
        Documentation("cursor.com/docs/configuration/worktrees"),
    ),
    row(
        ".cursor/environment.json",
        "Cursor",
        "set-up of cloud agents",
        Documentation("cursor.com/docs/cloud-agent"),
    ),
    row(
        ".vscode/mcp.json",
        "VS Code",
        "MCP servers",
        Documentation("code.visualstudio.com/docs/copilot/customization/mcp-servers"),
    ),
    row(
        ".vscode/tasks.json",
        "VS Code, Zed",
        "tasks",
        Documentation("code.visualstudio.com/docs/editing/workspaces/workspace-trust"),
    ),
    row(
        ".vscode/launch.json",
        "VS Code, Zed",
        "programs to debug",
        Documentation("code.visualstudio.com/docs/editing/workspaces/workspace-trust"),
    ),
    row(
        ".vscode/settings.json",
        "VS Code",
        "programs of extensions and terminals, what runs unasked",
        Documentation("code.visualstudio.com/docs/editing/workspaces/workspace-trust"),
    ),
    row(
        "*.code-workspace",
        "VS Code",
        "tasks, programs to debug, settings",
        Documentation("code.visualstudio.com/docs/editing/workspaces/multi-root-workspaces"),
    ),
    row(
        ".devcontainer.json",
        "VS Code",
        "initializeCommand, on the host",
        Documentation("containers.dev/implementors/json_reference"),
    ),
    row(
        ".devcontainer/devcontainer.json",
        "VS Code",
        "initializeCommand, on the host",
        Documentation("containers.dev/implementors/json_reference"),
    ),
    row(
        ".devcontainer/*/devcontainer.json",
        "VS Code",
        "initializeCommand, on the host",
        Documentation("containers.dev/implementors/json_reference"),
    ),
    row(
        ".windsurf/hooks.json",
        "Windsurf",
        "hooks",
        Documentation("docs.windsurf.com/windsurf/cascade/hooks"),
    ),
    row(
        ".devin/hooks.v1.json",
        "Windsurf (Devin)",
        "hooks",
        Documentation("docs.devin.ai/desktop/cascade/hooks"),
    ),
    row(
        ".zed/settings.json",
        "Zed",
        "MCP and language servers, formatters",
        Documentation("zed.dev/docs/worktree-trust"),
    ),
    row(".zed/tasks.json", "Zed", "tasks", Documentation("zed.dev/docs/tasks")),
    row(".zed/debug.json", "Zed", "programs to debug", Documentation("zed.dev/docs/debugger")),
    row(
        ".roo/mcp.json",
        "Roo Code",
        "MCP servers",
        Documentation("docs.roocode.com/features/mcp/using-mcp-in-roo"),
    ),
    row(".clinerules/hooks/", "Cline", "hooks", Documentation("docs.cline.bot/customization/hooks")),
    row(
        ".continue/mcpServers/",
        "Continue",
        "MCP servers",
        Documentation("docs.continue.dev/customize/deep-dives/mcp"),
    ),
    row(".kiro/settings/mcp.json", "Kiro", "MCP servers", Documentation("kiro.dev/docs/mcp/configuration")),
    row(".kiro/hooks/", "Kiro", "hooks", Documentation("kiro.dev/docs/cli/v3/hooks")),
    row(
        ".kiro/agents/",
        "Kiro",
        "MCP servers and hooks of agents",
        Documentation("kiro.dev/docs/custom-agents"),
    ),
    row(".amp/settings.json", "Amp", "MCP servers", Documentation("ampcode.com/manual")),
    row(".amp/plugins/", "Amp", "plugins", Documentation("ampcode.com/manual")),
    row(
        ".idea/",
        "JetBrains",
        "run configurations, tasks at start, file watchers, tools",
        Documentation("jetbrains.com/help/idea/settings-tools-startup-tasks"),
    ),
    row(
        "*.run.xml",
        "JetBrains",
        "run configurations",
        Documentation(
            "github.com/JetBrains/intellij-community/blob/master/platform/execution-impl/src/com/intellij/execution/impl/RCInArbitraryFileManager.kt",
        ),
    ),
    row(
        ".junie/mcp/mcp.json",
        "JetBrains Junie",
        "MCP servers",
        Documentation("jetbrains.com/help/junie/model-context-protocol-mcp"),
    ),
];

impl ClientFile {
    /// Returns the components of the row's path.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter(|name| !name.is_empty())
    }

    /// Tells whether the row stands for everything below a directory.
    pub(crate) fn is_directory(&self) -> bool {
        self.path.ends_with('/')
    }

    /// Tells whether the path has a `*`.
    pub(crate) fn is_pattern(&self) -> bool {
        self.path.contains('*')
    }

    /// Tells whether a file system could take `path` for this file, or for something below this directory.
    /// `names` are the names of the row's own path, and `root` is the number of names in the root's path.
    fn matches(&self, names: &[&str], path: &[FoldedName], root: usize) -> bool {
        let length = names.len();
        let is_at = |start: usize| {
            let here = path.get(start..start + length);
            here.is_some_and(|here| here.iter().zip(names).rev().all(|(own, name)| could_be(own, name)))
        };
        let last = path.len().saturating_sub(length);
        // If the root itself lies in such a directory, a person has named it on purpose. So the directory's
        // last name must be below the root.
        let first = (root + 1).saturating_sub(length);
        if self.is_directory() { (first..=last).any(is_at) } else { is_at(last) }
    }
}

/// Returns the client's file that a path could mean, or the client's directory that it could lie in. The
/// first `root` names of the path are the root's.
pub(crate) fn client_file(path: &[FoldedName], root: usize) -> Option<&'static ClientFile> {
    // Each edit compares a path with all rows, so the rows' paths are split only once.
    static SPLIT: LazyLock<Vec<(&ClientFile, Vec<&str>)>> =
        LazyLock::new(|| CLIENT_FILES.iter().map(|file| (file, file.names().collect())).collect());
    SPLIT.iter().find(|(file, names)| file.matches(names, path, root)).map(|(file, _)| *file)
}
