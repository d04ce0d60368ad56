//! Resolves and opens the shared state, in a build with the feature `cluster`.

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Arc;

use etcetera::base_strategy::{BaseStrategy as _, choose_native_strategy};
use mcp_text_editor_cluster::{Cluster, RootName, RootNames, StateUrl, WithoutDatabase};
use mcp_text_editor_store::WorkspaceBuilder;

use super::typed::{NotShared, TypedShared};
use crate::cli::doctor::database;
use crate::cli::terminal::absolute;
use crate::protocol::measure;

/// The URL of the shared database, and the names that directories have on all machines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedOptions {
    url: StateUrl,
    without: WithoutDatabase,
    /// The names, each with the directory's absolute path.
    names: Vec<(RootName, PathBuf)>,
}

/// A state that is shared.
pub struct SharedState(Arc<Cluster>);

/// Resolves the options; `None` if this machine shares no state.
pub fn resolve(typed: TypedShared<'_>) -> Result<Option<SharedOptions>, String> {
    let names = root_names(typed.root_names)?;
    let without = if typed.is_optional { WithoutDatabase::GoOn } else { WithoutDatabase::Refuse };
    let url = state_url(typed.state_url, typed.is_typed)?;
    Ok(url.map(|url| SharedOptions { url, without, names }))
}

/// Returns the names that directories have on all machines, each with the directory's absolute path.
fn root_names(named: &[String]) -> Result<Vec<(RootName, PathBuf)>, String> {
    const OPTION: &str = "--root-name";
    let named = named.iter().filter(|named| !named.is_empty()).map(|named| {
        let (name, directory) =
            named.split_once('=').ok_or_else(|| format!("{OPTION} {named}: NAME=DIR is wanted"))?;
        let name = RootName::given(name).map_err(|why| format!("{OPTION} {named}: {why}"))?;
        let directory = absolute(directory.into())?;
        if directory.is_dir() {
            Ok((name, directory))
        } else {
            Err(format!("{OPTION} {named}: there is no such directory"))
        }
    });
    named.collect()
}

/// Returns the URL of the database. A URL on the command line must not contain a password, because everybody
/// can see it in the list of processes.
fn state_url(named: Option<String>, is_typed: bool) -> Result<Option<StateUrl>, String> {
    const OPTION: &str = "--state-url";
    const VARIABLE: &str = "MCP_TEXT_EDITOR_STATE_URL";
    let Some(named) = named.filter(|named| !named.is_empty()) else { return Ok(None) };
    let url = StateUrl::from_str(&named);
    let url = url.map_err(|why| format!("{}: {why}", if is_typed { OPTION } else { VARIABLE }))?;
    if is_typed && url.has_password() {
        return Err(format!(
            "{OPTION}: everybody can see what is typed; a URL with a password is set as {VARIABLE}, or the password as PGPASSWORD or in .pgpass"
        ));
    }
    let password_file = std::env::var_os("PGPASSFILE").map(PathBuf::from).or_else(|| {
        if cfg!(windows) {
            return choose_native_strategy()
                .ok()
                .map(|own| own.config_dir().join("postgresql").join("pgpass.conf"));
        }
        Some(std::env::home_dir()?.join(".pgpass"))
    });
    let password = std::env::var_os("PGPASSWORD").and_then(|password| password.into_string().ok());
    Ok(Some(url.or_password(password).or_password_file(password_file)))
}

impl SharedOptions {
    /// Reads the files that the URL names, and looks up the addresses of its hosts. Connects to nothing.
    pub fn open(&self) -> Result<SharedState, NotShared> {
        let names = RootNames::new(&self.names).map_err(|taken| NotShared::RootName(taken.to_string()))?;
        let cluster = Cluster::new(self.url.clone(), self.without, names, measure::observer());
        Ok(SharedState(cluster.map_err(NotShared::Database)?.into()))
    }
}

impl SharedState {
    /// Configures a workspace to use this shared state.
    pub fn share(&self, builder: WorkspaceBuilder) -> WorkspaceBuilder {
        builder.shared(self.0.clone())
    }

    /// Says what is wrong with the database, and with directories that machines share. Returns true if
    /// nothing is wrong.
    pub fn examine(&self, directories: &[PathBuf], out: &mut impl io::Write) -> io::Result<bool> {
        database::database(&self.0, directories, out)
    }

    /// Says that a directory shows changes of other machines too late for this machine to end their
    /// interrupted edits, and how to mount it instead; `None` if it shows them in time.
    #[must_use]
    pub fn late(&self, directory: &Path) -> Option<(String, String)> {
        database::late(directory, &self.0.roots().caches(directory))
    }
}
