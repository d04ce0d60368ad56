//! Reads and changes configurations in each of their syntaxes. Each change takes a text and returns the
//! changed text.

use serde_json::Value;

use super::config_error::{ConfigError, at};
use super::{json, toml};

/// The syntax of a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Syntax {
    #[default]
    /// JSON, with comments and trailing commas, which are left unchanged.
    Json,
    /// TOML.
    Toml,
}

impl Syntax {
    /// Parses a text. An empty text is an empty object.
    pub fn read(self, text: &str) -> Result<Value, ConfigError> {
        match self {
            Self::Json => json::read(text),
            Self::Toml => toml::read(text),
        }
    }

    /// Sets the value at `path`. Missing objects above it are added.
    pub(super) fn set(self, text: &str, path: &[&str], value: &Value) -> Result<String, ConfigError> {
        let new = match self {
            Self::Json => json::set(text, path, value)?,
            Self::Toml => toml::set(text, path, value)?,
        };
        self.checked(new, path, Some(value))
    }

    /// Removes the value at `path`; in JSON, also the objects above it that have become empty.
    pub(super) fn unset(self, text: &str, path: &[&str]) -> Result<String, ConfigError> {
        let new = match self {
            Self::Json => json::unset(text, path)?,
            Self::Toml => toml::unset(text, path)?,
        };
        self.checked(new, path, None)
    }

    /// Returns the text if it can be parsed and has `value` at `path`; otherwise an error.
    fn checked(self, text: String, path: &[&str], value: Option<&Value>) -> Result<String, ConfigError> {
        let said = self.read(&text).map_err(|_| ConfigError::NotSafe)?;
        if at(&said, path) == value { Ok(text) } else { Err(ConfigError::NotSafe) }
    }
}
