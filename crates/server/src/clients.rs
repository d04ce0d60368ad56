//! The known facts about the programs that call this server, by the name that each gives itself, with its
//! version and the day of the measurement: how much of a reply they show (`docs/install.md` describes the
//! measurement), and the keys that they add to calls. This module has only tables and lookups.

use mcp_text_editor_core::text_length::{LengthUnit, Measure};

use crate::capacity::Capacity;
use crate::config::Output;

/// A program, and how much of a reply it shows to its model without a cut.
#[derive(Debug)]
pub struct ClientFacts {
    /// The `name` of its `clientInfo`.
    pub name: Name,
    /// The name that people give it.
    pub program: &'static str,
    /// The version that was measured.
    pub version: &'static str,
    /// The day of the measurement.
    pub measured: &'static str,
    /// Its capacity for a reply with `--output text`.
    pub text: Capacity,
    /// Its capacity for a reply with `--output json`: for the JSON text, and in some programs for the
    /// structured content in addition.
    pub json: Capacity,
}

/// The name that a program gives itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Name {
    /// Exactly this name.
    Is(&'static str),
    /// A name that begins with this, and ends with the name under which a person has registered the server.
    BeginsWith(&'static str),
}

impl Name {
    fn is_of(self, name: &str) -> bool {
        match self {
            Self::Is(known) => name == known,
            Self::BeginsWith(known) => name.starts_with(known),
        }
    }
}

const fn capacity(unit: LengthUnit, escapes: u8, whole: usize, lines: u64) -> Capacity {
    Capacity { measure: Measure { unit, escapes }, whole, lines, text: None }
}

/// The capacity for an unknown program: less than that of each known one.
pub const UNKNOWN: Capacity = capacity(LengthUnit::Utf8, 0, 18_000, 900);

const ANY: u64 = u64::MAX;

/// The programs that were measured. Each number is a few hundredths below the measured one.
pub static CLIENTS: &[ClientFacts] = &[
    // Shows 50 000 UTF-16 units of text. In another measurement of this version, it showed as many units of
    // the text as JSON, where a line end takes two; the capacity fits both. A reply in JSON is not escaped
    // again.
    ClientFacts {
        name: Name::Is("claude-code"),
        program: "Claude Code",
        version: "2.1.197",
        measured: "2026-11-22",
        text: capacity(LengthUnit::Utf16, 1, 49_000, ANY),
        json: capacity(LengthUnit::Utf16, 0, 49_000, ANY),
    },
    // Shows 40 000 bytes of the whole result as JSON with gpt-6.1-sol, so that the text is escaped; 48 000
    // with gpt-5.5, not escaped. A reply in JSON is there twice: as structured content, and as escaped text.
    ClientFacts {
        name: Name::Is("codex-mcp-client"),
        program: "Codex CLI",
        version: "0.169.0",
        measured: "2026-11-22",
        text: capacity(LengthUnit::Utf8, 1, 38_500, ANY),
        json: capacity(LengthUnit::Utf8, 1, 19_000, ANY),
    },
    // Shows 40 000 UTF-16 units, some 200 of which are its own words around the reply.
    ClientFacts {
        name: Name::BeginsWith("gemini-cli-mcp-client"),
        program: "Gemini CLI",
        version: "0.61.0",
        measured: "2026-11-22",
        text: capacity(LengthUnit::Utf16, 0, 39_000, ANY),
        json: capacity(LengthUnit::Utf16, 0, 39_000, ANY),
    },
    // Shows 51 200 bytes, and fewer than 2 000 lines.
    ClientFacts {
        name: Name::Is("opencode"),
        program: "OpenCode",
        version: "1.18.33",
        measured: "2026-11-22",
        text: capacity(LengthUnit::Utf8, 0, 50_000, 1_950),
        json: capacity(LengthUnit::Utf8, 0, 50_000, 1_950),
    },
    // Shows 25 000 UTF-16 units, and fewer than 1 000 lines.
    ClientFacts {
        name: Name::BeginsWith("qwen-cli-mcp-client"),
        program: "Qwen Code",
        version: "0.15.10",
        measured: "2026-11-22",
        text: capacity(LengthUnit::Utf16, 0, 24_400, 970),
        json: capacity(LengthUnit::Utf16, 0, 24_400, 970),
    },
    // Shows 20 480 bytes.
    ClientFacts {
        name: Name::Is("copilot-cli"),
        program: "Copilot CLI",
        version: "1.0.102",
        measured: "2026-11-22",
        text: capacity(LengthUnit::Utf8, 0, 20_000, ANY),
        json: capacity(LengthUnit::Utf8, 0, 20_000, ANY),
    },
];

/// Returns how much of a reply the program of this name shows.
#[must_use]
pub fn capacity_of(name: Option<&str>, output: Output) -> Capacity {
    let known = CLIENTS.iter().find(|client| name.is_some_and(|name| client.name.is_of(name)));
    known.map_or(UNKNOWN, |client| match output {
        Output::Text => client.text,
        Output::Json => client.json,
    })
}

/// A key that a client itself adds to the arguments of every call, regardless of the tool's schema.
#[derive(Clone, Copy, Debug)]
pub struct AddedKey {
    /// The key.
    pub name: &'static str,
    /// The client that sends it, with the version and the day of the observation.
    pub seen_in: &'static str,
}

/// The keys that clients add. They are ignored at the top level of a call's arguments, whichever client
/// calls: the call may come through a proxy, and a model may have copied them.
pub const ADDED_KEYS: &[AddedKey] = &[
    // Gemini CLI puts it into the schema of every tool for its own scheduler, and sends it to the server with
    // its value.
    AddedKey { name: "wait_for_previous", seen_in: "Gemini CLI 0.61.0, 2026-11-22" },
    // Models add these to calls because tools of these clients demand them: it is a habit, not a mistake in
    // the call.
    AddedKey { name: "instruction", seen_in: "Gemini CLI 0.61.0, of its `replace`, 2026-11-22" },
    AddedKey { name: "explanation", seen_in: "Copilot in VS Code, of `insert_edit_into_file`, 2026-11-23" },
    AddedKey { name: "description", seen_in: "Windsurf, of `replace_file_content`, 2026-11-23" },
];

/// Tells whether a key is one that clients add. Ignores letter case.
#[must_use]
pub fn is_added(name: &str) -> bool {
    ADDED_KEYS.iter().any(|key| key.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_the_name_that_it_gives_itself() {
        let weight = |name| capacity_of(name, Output::Text).whole;
        assert_eq!(weight(Some("claude-code")), 49_000);
        assert_eq!(weight(Some("claude-code-2")), UNKNOWN.whole);
        assert_eq!(weight(Some("qwen-cli-mcp-client-text-editor")), 24_400);
        assert_eq!(weight(None), UNKNOWN.whole);
    }

    #[test]
    fn no_known_program_shows_less_than_an_unknown_one() {
        for client in CLIENTS {
            for capacity in [client.text, client.json] {
                assert!(capacity.whole >= UNKNOWN.whole && capacity.lines >= UNKNOWN.lines, "{client:?}");
            }
        }
    }
}
