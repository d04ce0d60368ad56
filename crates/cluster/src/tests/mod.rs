//! Support for tests that share a database.

use std::path::Path;

use mcp_text_editor_store::Observer;

use crate::cluster::{Cluster, WithoutDatabase};
use crate::postgres::url::StateUrl;
use crate::root_names::{RootName, RootNames};

#[expect(
    clippy::disallowed_methods,
    reason = "a test starts a server, and looks at files, without the store"
)]
pub(crate) mod fixture;

/// Returns names in which these directories have these names.
pub(crate) fn names(named: &[(&str, &str)]) -> RootNames {
    let named = named.iter().map(|(name, path)| (RootName::given(name).unwrap(), Path::new(path).to_owned()));
    RootNames::new(&named.collect::<Vec<_>>()).unwrap()
}

/// Returns the shared state of a machine on which these directories have these names.
pub(crate) fn cluster(url: &StateUrl, named: &[(&str, &str)]) -> Cluster {
    Cluster::new(url.clone(), WithoutDatabase::Refuse, names(named), Observer::default()).unwrap()
}
