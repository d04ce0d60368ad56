//! What single clients do otherwise than the protocol has it, by client and version: tables, and nothing that acts on them.

/// A key that a client adds to the arguments of every call by itself, whatever the tool's schema says.
#[derive(Clone, Copy, Debug)]
pub struct AddedKey {
    /// The key.
    pub name: &'static str,
    /// The client that sends it, the version in which that was seen, and when.
    pub seen_in: &'static str,
}

/// The keys that clients add. At the top level of a call's arguments they mean nothing, whoever the client is: a proxy may
/// stand between it and the server, and a model may have copied them.
pub const ADDED_KEYS: &[AddedKey] = &[
    // Put into the schema of every tool for the client's own scheduler, and sent to the server with its value.
    AddedKey { name: "wait_for_previous", seen_in: "Gemini CLI 0.61.0, 2026-11-22" },
];
