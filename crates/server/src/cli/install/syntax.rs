//! The notations of configurations, and what a change of one does: each takes a text and gives the text with
//! the change.

use serde_json::Value;

use super::broken::{Broken, at};
use super::{json, toml};

/// The syntax of a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Syntax {
    /// JSON, where comments and trailing commas are left as they are.
    Json,
    /// TOML.
    Toml,
}

impl Syntax {
    /// Returns all that a text says. An empty text says an empty object.
    pub fn read(self, text: &str) -> Result<Value, Broken> {
        match self {
            Self::Json => json::read(text),
            Self::Toml => toml::read(text),
        }
    }

    /// Sets what stands at `path`; objects that are missing on the way are made.
    pub(super) fn set(self, text: &str, path: &[&str], value: &Value) -> Result<String, Broken> {
        let new = match self {
            Self::Json => json::set(text, path, value)?,
            Self::Toml => toml::set(text, path, value)?,
        };
        self.checked(new, path, Some(value))
    }

    /// Takes away what stands at `path`, and the objects on the way that are empty then.
    pub(super) fn unset(self, text: &str, path: &[&str]) -> Result<String, Broken> {
        let new = match self {
            Self::Json => json::unset(text, path)?,
            Self::Toml => toml::unset(text, path)?,
        };
        self.checked(new, path, None)
    }

    /// Returns the text if it can be read and has `value` at `path`.
    fn checked(self, text: String, path: &[&str], value: Option<&Value>) -> Result<String, Broken> {
        let said = self.read(&text).map_err(|_| Broken::NotSafe)?;
        if at(&said, path) == value { Ok(text) } else { Err(Broken::NotSafe) }
    }
}
