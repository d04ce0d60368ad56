//! The declaration of an argument: its schema is made from it, [`super::Fields`] reads by it, and other names
//! are taken for it.

use serde_json::{Map, Value, json};

use crate::limits::Limit;
use crate::tool_id::ToolId;
use crate::wire::schema::{arguments, text};

/// An argument, as `vocabulary` has it, and as an object refines that.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// The name under which it is given.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: ValueKind,
    /// The words of its schema.
    pub words: &'static str,
    /// The purpose, told where it is needed and not given.
    pub purpose: &'static str,
    /// The names that other tools have for it, with blanks between them.
    pub others: &'static str,
    /// The kind of each item of its list.
    pub items: Object,
    /// True if there is no call without it.
    pub is_needed: bool,
    /// True if it is taken, and nobody is told to write it.
    pub is_hidden: bool,
    /// The tool that does the same, without which it is not taken.
    pub with: Option<ToolId>,
}

/// The kind of an argument's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueKind {
    /// A path; `""` is none where none is needed.
    Path,
    /// A path at which there is to be nothing yet.
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
    /// A flag, and what its absence means.
    Flag(bool),
    /// The prefix of a digest.
    Tag,
    /// A list of paths.
    Paths,
    /// A list of globs, or one by itself.
    Globs,
    /// A list of objects, and what bounds how many they are.
    Objects(Limit),
    /// Nothing that any tool takes. Such an argument of other tools is understood, and told in words of this
    /// one.
    Strange,
}

/// The meaning of line ends and NULs in a text argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// Text that becomes lines of a file: `\r\n` is read as `\n`, a lone CR and U+0000 are refused.
    Lines,
    /// Text that becomes a whole file as it is: only U+0000 is refused.
    Kept,
}

/// A predicate that says if a tool is offered.
type Offered<'a> = &'a dyn Fn(ToolId) -> bool;

/// An object among the arguments of a call, or these themselves.
#[derive(Clone, Copy, Default, Debug)]
pub struct Object {
    /// The arguments that belong there, in the order in which clients show them.
    pub own: &'static [Argument],
    /// The other arguments that are understood there: those of objects in it or around it, and of other
    /// tools.
    pub also: &'static [Argument],
}

impl Argument {
    /// Returns the same, of which a schema says this. What was said in the same words further up is not said
    /// again.
    #[must_use]
    pub const fn says(self, words: &'static str) -> Self {
        Self { words, ..self }
    }

    /// Returns the same, where it is needed.
    #[must_use]
    pub const fn needed(self) -> Self {
        Self { is_needed: true, ..self }
    }

    /// Returns the same, where it is needed for this.
    #[must_use]
    pub const fn needed_for(self, purpose: &'static str) -> Self {
        Self { purpose, is_needed: true, ..self }
    }

    /// Returns the same, as a list of these.
    #[must_use]
    pub const fn of(self, items: Object) -> Self {
        Self { items, ..self }
    }

    /// Returns the same, of which nobody is told.
    #[must_use]
    pub const fn hidden(self) -> Self {
        Self { is_hidden: true, ..self }
    }

    /// Returns the same, where it is taken only if this tool is offered.
    #[must_use]
    pub const fn with(self, tool: ToolId) -> Self {
        Self { with: Some(tool), ..self }
    }

    /// Returns the same, where no tool takes it.
    #[must_use]
    pub const fn strange(self) -> Self {
        Self { kind: ValueKind::Strange, ..self }
    }

    /// Returns what stands for it in a call that lacks it: what it is for, up to a comma.
    pub(crate) fn blank(self) -> &'static str {
        self.purpose.split_once(',').map_or(self.purpose, |(blank, _)| blank)
    }

    /// Tells whether it is never an empty text: clients that cannot leave a key out send `""` for it.
    pub(super) fn is_never_empty(self) -> bool {
        matches!(self.kind, ValueKind::Encoding | ValueKind::Tag)
    }

    /// Tells whether it is a list, and no item stands for it.
    pub(super) fn is_list(self) -> bool {
        matches!(self.kind, ValueKind::Objects(_) | ValueKind::Paths)
    }

    /// Makes its schema. `told` is what was said further up.
    fn schema(&self, is_offered: Offered<'_>, told: &mut Vec<(&'static str, &'static str)>) -> Value {
        let kind = match self.kind {
            ValueKind::Integer | ValueKind::Positive | ValueKind::Count => "integer",
            ValueKind::Flag(_) => "boolean",
            ValueKind::Paths | ValueKind::Globs | ValueKind::Objects(_) => "array",
            _ => "string",
        };
        let mut out = Map::from_iter([("type".to_owned(), json!(kind))]);
        let said = (self.name, self.words);
        if !self.words.is_empty() && !told.contains(&said) {
            out.insert("description".to_owned(), json!(self.words));
            told.push(said);
        }
        let items = match self.kind {
            ValueKind::Paths => Some(text("Absolute path.")),
            ValueKind::Globs => Some(text("Glob.")),
            ValueKind::Objects(_) => Some(Value::Object(self.items.schema_below(is_offered, told))),
            _ => None,
        };
        out.extend(items.map(|items| ("items".to_owned(), items)));
        Value::Object(out)
    }
}

impl Object {
    /// Makes the schema of what is taken where these tools are offered.
    #[must_use]
    pub fn schema(self, is_offered: Offered<'_>) -> Map<String, Value> {
        self.schema_below(is_offered, &mut Vec::new())
    }

    fn schema_below(
        self,
        is_offered: Offered<'_>,
        told: &mut Vec<(&'static str, &'static str)>,
    ) -> Map<String, Value> {
        let shown = self.own.iter().filter(|own| !own.is_hidden && own.with.is_none_or(is_offered));
        let needed: Vec<&str> = shown.clone().filter(|own| own.is_needed).map(|own| own.name).collect();
        let properties: Vec<_> = shown.map(|own| (own.name, own.schema(is_offered, told))).collect();
        arguments(&properties, &needed)
    }

    /// Finds what belongs there by its name.
    #[must_use]
    pub fn named(self, name: &str) -> Option<&'static Argument> {
        self.own.iter().find(|own| own.name == name)
    }
}
