//! The declaration of an argument. It determines the schema of the argument, the way in which
//! [`super::Fields`] reads the value, and the names of other tools that are accepted as aliases.
//!
//! Every client accepts the schemas: one string `type` per property, no combinators, no references, no null
//! types, no number formats, typed `items`. Defaults and bounds are in the descriptions. Each rule is there
//! because some client refuses the tool, or all tools, without it.
//!
//! No object says `additionalProperties: false`, at any depth: clients that check calls would then refuse an
//! unknown key themselves, and they cannot say which key was meant. The server refuses unknown keys by
//! itself.

use serde_json::{Map, Value, json};

use crate::limits::Limit;
use crate::tool_id::ToolId;

/// An argument: as `vocabulary` declares it, or as an object refines that.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Its name: the key in the arguments of a call.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: ValueKind,
    /// The description in its schema; empty for none.
    pub words: &'static str,
    /// Its purpose, for the error if the argument is needed and missing.
    pub purpose: &'static str,
    /// The names that other tools have for it, with blanks between them.
    pub others: &'static str,
    /// The fields of each item, if it is a list of objects.
    pub items: Object,
    /// Whether every call must have it.
    pub is_needed: bool,
    /// Whether it is accepted, but is not in the schema.
    pub is_hidden: bool,
    /// The tool that does the same; the argument is accepted only where that tool is offered.
    pub with: Option<ToolId>,
}

/// The kind of an argument's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueKind {
    /// A path; `""` counts as absent unless the path is needed.
    Path,
    /// A path at which nothing may exist yet.
    NewPath,
    /// A text that is not the text of a file.
    Label,
    /// The label of an encoding.
    Encoding,
    /// A text of a file.
    Text(Ends),
    /// An integer.
    Integer,
    /// An integer that is at least 1.
    Positive,
    /// An integer that is at least 0.
    Count,
    /// A flag, with its default.
    Flag(bool),
    /// The prefix of a digest.
    Tag,
    /// A list of paths.
    Paths,
    /// A list of globs, or a single one.
    Globs,
    /// A list of objects, with the limit on their number.
    Objects(Limit),
}

/// The treatment of line ends and NULs in a text argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// Text that becomes lines of a file: `\r\n` is read as `\n`, a lone CR and U+0000 are refused.
    Lines,
    /// Text that becomes a whole file as it is: only U+0000 is refused.
    Kept,
}

/// Whether a tool is offered.
type Offered<'a> = &'a dyn Fn(ToolId) -> bool;

/// The arguments that belong to a call, or to an object among its arguments, in the order in which clients
/// show them.
#[derive(Clone, Copy, Default, Debug)]
pub struct Object(pub &'static [Argument]);

impl Argument {
    /// Returns the same argument with this description in its schema. A schema does not repeat the
    /// description of a name that occurs again.
    #[must_use]
    pub const fn says(self, words: &'static str) -> Self {
        Self { words, ..self }
    }

    /// Returns the same argument, needed.
    #[must_use]
    pub const fn needed(self) -> Self {
        Self { is_needed: true, ..self }
    }

    /// Returns the same argument, needed for this purpose.
    #[must_use]
    pub const fn needed_for(self, purpose: &'static str) -> Self {
        Self { purpose, is_needed: true, ..self }
    }

    /// Returns the same argument, as a list of these objects.
    #[must_use]
    pub const fn of(self, items: Object) -> Self {
        Self { items, ..self }
    }

    /// Returns the same argument, left out of the schema.
    #[must_use]
    pub const fn hidden(self) -> Self {
        Self { is_hidden: true, ..self }
    }

    /// Returns the same argument, accepted only if this tool is offered.
    #[must_use]
    pub const fn with(self, tool: ToolId) -> Self {
        Self { with: Some(tool), ..self }
    }

    /// Tells whether an empty text counts as absent: it has no meaning here, and clients that cannot leave a
    /// key out send `""`.
    pub(super) fn is_never_empty(self) -> bool {
        matches!(self.kind, ValueKind::Encoding | ValueKind::Tag)
    }

    /// Builds its schema. `described` has the descriptions that the schema of the call has so far.
    fn schema(&self, is_offered: Offered<'_>, described: &mut Vec<(&'static str, &'static str)>) -> Value {
        let kind = match self.kind {
            ValueKind::Integer | ValueKind::Positive | ValueKind::Count => "integer",
            ValueKind::Flag(_) => "boolean",
            ValueKind::Paths | ValueKind::Globs | ValueKind::Objects(_) => "array",
            _ => "string",
        };
        let mut out = Map::from_iter([("type".to_owned(), json!(kind))]);
        let description = (self.name, self.words);
        if !self.words.is_empty() && !described.contains(&description) {
            out.insert("description".to_owned(), json!(self.words));
            described.push(description);
        }
        let items = match self.kind {
            ValueKind::Paths => Some(json!({"type": "string", "description": "Absolute path."})),
            ValueKind::Globs => Some(json!({"type": "string", "description": "Glob."})),
            ValueKind::Objects(_) => Some(Value::Object(self.items.schema_below(is_offered, described))),
            _ => None,
        };
        out.extend(items.map(|items| ("items".to_owned(), items)));
        Value::Object(out)
    }
}

impl Object {
    /// Builds the schema of the arguments that are accepted if these tools are offered.
    #[must_use]
    pub fn schema(self, is_offered: Offered<'_>) -> Map<String, Value> {
        self.schema_below(is_offered, &mut Vec::new())
    }

    fn schema_below(
        self,
        is_offered: Offered<'_>,
        described: &mut Vec<(&'static str, &'static str)>,
    ) -> Map<String, Value> {
        let shown = self.0.iter().filter(|own| !own.is_hidden && own.with.is_none_or(is_offered));
        let needed: Vec<&str> = shown.clone().filter(|own| own.is_needed).map(|own| own.name).collect();
        let properties: Map<_, _> =
            shown.map(|own| (own.name.to_owned(), own.schema(is_offered, described))).collect();
        let schema =
            [("type", json!("object")), ("properties", json!(properties)), ("required", json!(needed))];
        schema.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()
    }

    /// Finds an argument of the object by its name.
    #[must_use]
    pub fn named(self, name: &str) -> Option<&'static Argument> {
        self.0.iter().find(|own| own.name == name)
    }
}
