//! Reads the arguments of a call, or an object among them, key by key.

use std::fmt::Display;
use std::rc::Rc;

use mcp_text_editor_core::digest::DigestPrefix;
use mcp_text_editor_core::line::reversed;
use serde_json::{Map, Value};

use super::aliases::suggested;
use super::notes::{DeferredName, Notes};
use super::vocabulary::{
    Argument, Ends, Object, ValueKind, beginning, is_absent, is_empty_list, kind, line_of, shown, whole,
};
use crate::clients::is_added;
use crate::json::weigh;
use crate::limits::Limit;
use crate::problem::{Code, Problem};

/// The maximum number of keys of an object whose wrong names are recognised. In a larger object, wrong names
/// count as unknown keys.
const MAX_KEYS: usize = 100;

/// The maximum number of characters of a path that a problem carries. No error shows more, and a path can be
/// as long as a call.
const MAX_PATH: usize = 8_000;

/// The error for a string that spells more values, or a deeper nesting, than a call may have. The problem is
/// already noted.
struct TooMuch;

/// The arguments of a call, or an object among them. Each argument is read once, as the object declares it.
/// When this value is dropped, it notes each key that was not read as a problem.
#[derive(Debug)]
pub struct Fields<'n> {
    notes: &'n Notes<'n>,
    /// The place of the object in the arguments, such as `files[0].patches[2]`; empty for the arguments
    /// themselves.
    place: String,
    /// The file that the object is about.
    file: Option<Rc<str>>,
    values: Map<String, Value>,
    /// The declared arguments of the object.
    object: Object,
    asked: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// Takes the arguments of a call, without the keys that clients add on their own.
    #[must_use]
    pub fn top(notes: &'n Notes<'n>, object: Object, mut values: Map<String, Value>) -> Self {
        values.retain(|name, _| !is_added(name));
        Self::new(notes, String::new(), None, values, object)
    }

    fn new(
        notes: &'n Notes<'n>,
        place: String,
        file: Option<Rc<str>>,
        mut values: Map<String, Value>,
        object: Object,
    ) -> Self {
        if values.len() <= MAX_KEYS {
            notes.rename(&mut values, object);
        }
        Self { notes, place, file, values, object, asked: Vec::new() }
    }

    /// Tells whether the argument is given, with a value that does not count as absent. Must be called before
    /// the argument is read.
    #[must_use]
    pub fn has(&self, argument: Argument) -> bool {
        self.values.get(argument.name).is_some_and(|value| !is_absent(argument.name, value))
    }

    /// Tells whether the argument is given, with a value that is not an empty text, an empty list, or false.
    /// Must be called before the argument is read.
    #[must_use]
    pub fn says(&self, argument: Argument) -> bool {
        let value = self.values.get(argument.name).filter(|_| self.has(argument));
        value.is_some_and(|value| match argument.kind {
            ValueKind::Integer | ValueKind::Positive | ValueKind::Count => true,
            ValueKind::Flag(_) => *value != false && value.as_str() != Some("false"),
            ValueKind::Paths | ValueKind::Globs | ValueKind::Objects(_) => !is_empty_list(value),
            _ => value.as_str() != Some(""),
        })
    }

    /// Tells whether the argument is accepted, which can depend on the tools that are offered.
    #[must_use]
    pub fn takes(&self, argument: Argument) -> bool {
        self.declared(argument).with.is_none_or(|tool| self.notes.offers(tool))
    }

    /// Returns the place of an argument of this object.
    #[must_use]
    pub fn place_of(&self, name: &str) -> String {
        if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) }
    }

    /// Returns the place of this object; "the call" for the arguments of a call themselves.
    #[must_use]
    pub fn place(&self) -> &str {
        if self.place.is_empty() { "the call" } else { &self.place }
    }

    /// Returns the place of this object for a sentence: in backquotes, or as "the call".
    #[must_use]
    pub fn named(&self) -> String {
        if self.place.is_empty() { self.place().to_owned() } else { format!("`{}`", self.place) }
    }

    /// Notes a problem with the code `InvalidArguments`.
    pub fn note_invalid(&self, reason: impl Into<String>, hint: impl Into<String>) {
        self.note(Code::InvalidArguments, reason, hint);
    }

    /// Notes what is wrong with an argument.
    fn wrong(&self, name: &str, what: impl Display, hint: impl Into<String>) {
        self.note_invalid(format!("`{}` {what}", self.place_of(name)), hint);
    }

    /// Notes a problem of this object.
    pub fn note(&self, code: Code, reason: impl Into<String>, hint: impl Into<String>) {
        let mut problem = Problem::new(code, reason, hint);
        problem.file_path = self.file.as_deref().map(str::to_owned);
        self.notes.note(problem);
    }

    /// Reads the path of the file that this object is about, which is required. Later problems of this
    /// object, and of objects in it, name that file.
    pub fn file(&mut self, argument: Argument) -> Option<String> {
        let path = self.text(argument.needed())?;
        self.file = Some(Rc::from(beginning(&path, MAX_PATH)));
        Some(path)
    }

    /// Reads an argument whose value is a string: the text of a file, a path, the label of an encoding, a
    /// digest, or another short text. An empty path counts as absent unless the path is required.
    pub fn text(&mut self, argument: Argument) -> Option<String> {
        let argument = self.declared(argument);
        let text = match self.take(argument)? {
            Value::String(text) => text,
            other => {
                self.mistyped(argument.name, "a string", &other);
                return None;
            }
        };
        let named = match argument.kind {
            ValueKind::Text(ends) => return self.content(argument.name, text, ends),
            ValueKind::Tag => return Some(text),
            _ if text.contains('\0') => {
                self.wrong(argument.name, "holds U+0000", "leave that character out");
                return None;
            }
            ValueKind::Path | ValueKind::NewPath if text.is_empty() && !argument.is_needed => return None,
            ValueKind::Path => DeferredName::Path(text.clone()),
            ValueKind::NewPath => DeferredName::NewPath(text.clone()),
            ValueKind::Encoding => DeferredName::Encoding(text.clone()),
            _ => return Some(text),
        };
        self.notes.defer(self.file.as_ref(), named);
        Some(text)
    }

    fn content(&self, name: &str, text: String, ends: Ends) -> Option<String> {
        if !self.notes.admit(Limit::Text, text.len()) {
            return None;
        }
        if let Some(at) = text.find('\0') {
            let line = line_of(&text, at);
            self.wrong(
                name,
                format_args!("holds U+0000 on its line {line}, and a text file holds none"),
                "leave that character out; binary files cannot be written",
            );
            return None;
        }
        if ends == Ends::Kept || !text.contains('\r') {
            return Some(text);
        }
        let folded = text.replace("\r\n", "\n");
        if let Some(at) = folded.find('\r') {
            let line = line_of(&folded, at);
            self.wrong(
                name,
                format_args!("holds a carriage return without a line feed on its line {line}"),
                "write line ends as \\n; lines of a file that hold a lone carriage return are named by `range_hash`",
            );
            return None;
        }
        Some(folded)
    }

    /// Reads an integer. An integer beyond the range of `i64` becomes the nearest `i64`, because no file has
    /// so many lines.
    pub fn integer(&mut self, argument: Argument) -> Option<i64> {
        let value = self.take(argument)?;
        let spelled = self.unspelled(&value).ok()?;
        let number = match spelled.as_ref().unwrap_or(&value) {
            Value::Number(number) => whole(number),
            _ => None,
        };
        if number.is_none() {
            self.mistyped(argument.name, "an integer", &value);
        }
        number
    }

    /// Reads an integer that is at least 1, or at least 0 if it is a count.
    pub fn number(&mut self, argument: Argument) -> Option<u64> {
        let number = self.integer(argument)?;
        let (least, why) = if argument.kind == ValueKind::Positive {
            (1, "counts from 1")
        } else {
            (0, "cannot be negative")
        };
        if number < least {
            let hint = format!("give a `{}` of {least} or more", argument.name);
            self.wrong(argument.name, format_args!("is {number}, and {why}"), hint);
            return None;
        }
        u64::try_from(number).ok()
    }

    /// Reads a flag. If the argument is absent, or is not a flag, returns the default.
    pub fn flag(&mut self, argument: Argument) -> bool {
        let default = argument.kind == ValueKind::Flag(true);
        let Some(value) = self.take(argument) else { return default };
        let Ok(spelled) = self.unspelled(&value) else { return default };
        if let Value::Bool(flag) = spelled.as_ref().unwrap_or(&value) {
            return *flag;
        }
        self.mistyped(argument.name, "true or false", &value);
        default
    }

    /// Reads the prefix of a digest, alone or after its name, as replies print it.
    pub fn tag(&mut self, argument: Argument) -> Option<DigestPrefix> {
        let text = self.text(argument)?;
        let tag = labeled(&text, argument.name).and_then(DigestPrefix::parse);
        if tag.is_none() {
            let what = format!("must be 12 to 64 hexadecimal digits, not \"{}\"", shown(&text));
            let hint = format!("copy `{}` from the last reply, without anything added", argument.name);
            self.wrong(argument.name, what, hint);
        }
        tag
    }

    /// Reads an optional list of paths, or a single path. Items that are not strings, or hold U+0000, are
    /// noted as problems and left out.
    pub fn paths(&mut self, argument: Argument) -> Option<Vec<String>> {
        let items = self.items(argument, Limit::Files)?;
        let mut paths = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            if let Some(path) =
                self.item(argument.name, index, item, "write it as an absolute path, in quotes")
            {
                self.notes.defer(self.file.as_ref(), DeferredName::Path(path.clone()));
                paths.push(path);
            }
        }
        Some(paths)
    }

    /// Reads optional globs: a list of them, or a single one. Empty globs are left out; items that are not
    /// strings, or hold U+0000, are noted as problems and left out.
    pub fn globs(&mut self, argument: Argument) -> Vec<String> {
        let Some(value) = self.take(argument) else { return Vec::new() };
        let Ok(spelled) = self.unspelled(&value) else { return Vec::new() };
        let items = match (value, spelled) {
            (Value::Array(items), _) | (_, Some(Value::Array(items))) => items,
            (text @ Value::String(_), _) => vec![text],
            (other, _) => {
                self.mistyped(argument.name, "an array of strings", &other);
                return Vec::new();
            }
        };
        let items = items.into_iter().enumerate();
        let globs =
            items.filter_map(|(index, item)| self.item(argument.name, index, item, "write it in quotes"));
        globs.filter(|glob| !glob.is_empty()).collect()
    }

    /// Reads an item of a list of paths or globs, which must be a string without U+0000.
    fn item(&self, name: &str, index: usize, item: Value, hint: &str) -> Option<String> {
        let place = format!("{}[{index}]", self.place_of(name));
        match item {
            Value::String(text) if !text.contains('\0') => return Some(text),
            Value::String(_) => {
                self.note_invalid(format!("`{place}` holds U+0000"), "leave that character out");
            }
            other => {
                self.note_invalid(format!("`{place}` must be a string, not {}", kind(&other)), hint);
            }
        }
        None
    }

    /// Reads a list, or a single item without a list; `None` also if there are more items than the limit.
    fn items(&mut self, argument: Argument, limit: Limit) -> Option<Vec<Value>> {
        let value = self.take(argument)?;
        let items = match (self.unspelled(&value).ok()?.unwrap_or(value), argument.kind) {
            (Value::Array(items), _) => items,
            (item @ Value::Object(_), ValueKind::Objects(_))
            | (item @ Value::String(_), ValueKind::Paths) => vec![item],
            (other, _) => {
                self.mistyped(argument.name, "an array", &other);
                return None;
            }
        };
        self.notes.admit(limit, items.len()).then_some(items)
    }

    /// Reads a list of objects, or a single object. If the objects have a field `start`, an array of two
    /// items stands for an object of `start` and `end`. Any other item that is not an object is noted as a
    /// problem and left out.
    pub fn objects(&mut self, argument: Argument) -> Option<Vec<Self>> {
        let Argument { kind: ValueKind::Objects(limit), items: object, .. } = self.declared(argument) else {
            return None;
        };
        let items = self.items(argument, limit)?;
        let list = self.place_of(argument.name);
        let mut objects = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let place = format!("{list}[{index}]");
            let item = match self.unspelled(&item).ok()?.unwrap_or(item) {
                Value::Array(pair) if pair.len() == 2 && object.named("start").is_some() => {
                    let names = ["start", "end"].map(str::to_owned);
                    Value::Object(names.into_iter().zip(pair).collect())
                }
                item => item,
            };
            match item {
                Value::Object(values) => {
                    objects.push(Self::new(self.notes, place, self.file.clone(), values, object));
                }
                other => self.note_invalid(
                    format!("`{place}` must be an object, not {}", kind(&other)),
                    "write it as {…} with named fields",
                ),
            }
        }
        Some(objects)
    }

    /// Reads a required list of objects, which must not be empty. `read` reads each object.
    pub fn some<T>(
        &mut self,
        argument: Argument,
        read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let argument = self.declared(argument.needed());
        let before = self.notes.count();
        let objects = self.objects(argument)?;
        if objects.is_empty() && self.notes.count() == before {
            let hint = format!("give `{}`: {}", argument.name, argument.purpose);
            self.wrong(argument.name, "is empty, so there is nothing to do", hint);
        }
        each(objects, read)
    }

    /// Reads an argument whose value is not used, so that its name counts as known and its type is checked.
    pub fn check(&mut self, argument: Argument) {
        match argument.kind {
            ValueKind::Integer => drop(self.integer(argument)),
            ValueKind::Positive | ValueKind::Count => drop(self.number(argument)),
            ValueKind::Flag(_) => drop(self.flag(argument)),
            ValueKind::Tag => drop(self.tag(argument)),
            ValueKind::Paths => drop(self.paths(argument)),
            ValueKind::Globs => drop(self.globs(argument)),
            ValueKind::Objects(_) => {
                for mut object in self.objects(argument).into_iter().flatten() {
                    object.object.0.iter().for_each(|own| object.check(*own));
                }
            }
            _ => drop(self.text(argument)),
        }
    }

    /// Notes a range that certainly ends before it starts, whatever the length of the file.
    pub fn check_order(&self, start: i64, end: Option<i64>) {
        if let Some(end) = reversed(start, end).filter(|_| start > 0) {
            self.note(
                Code::InvalidRange,
                format!("{} ends at line {end}, before its start at line {start}", self.quoted()),
                "the first and the last line of a range are both part of it; leave the end out, or send -1, for the \
                 last line of the file",
            );
        }
    }

    fn quoted(&self) -> String {
        if self.place.is_empty() { "the range".to_owned() } else { format!("`{}`", self.place) }
    }

    /// Returns the array, object, number or boolean that a string spells as JSON; `None` for any other value.
    fn unspelled(&self, value: &Value) -> Result<Option<Value>, TooMuch> {
        let Some(text) = value.as_str() else { return Ok(None) };
        if text.trim_start().starts_with(['[', '{']) {
            let weight = weigh(text.as_bytes());
            let depth = self.notes.limits().get(Limit::Depth);
            let values = usize::try_from(weight.values).unwrap_or(usize::MAX);
            if !self.notes.admit(Limit::Values, values) {
                return Err(TooMuch);
            }
            if weight.depth > depth {
                self.notes.note_depth(weight.depth);
                return Err(TooMuch);
            }
        }
        let spelled = serde_json::from_str(text).ok();
        Ok(spelled.filter(|value: &Value| !value.is_string() && !value.is_null()))
    }

    /// Returns the argument as this object declares it.
    fn declared(&self, argument: Argument) -> Argument {
        let own = self.object.named(argument.name);
        debug_assert!(own.is_some(), "{} is read and not declared", argument.name);
        let own = *own.unwrap_or(&argument);
        Argument { is_needed: own.is_needed || argument.is_needed, ..own }
    }

    fn take(&mut self, argument: Argument) -> Option<Value> {
        let Argument { name, purpose, is_needed, is_hidden, with, .. } = self.declared(argument);
        if with.is_some_and(|tool| !self.notes.offers(tool)) {
            if self.says(argument) {
                let hint =
                    format!("leave `{name}` out; whoever configures the server can offer it with --tools");
                self.wrong(name, "is switched off", hint);
            }
            self.values.shift_remove(name);
            return None;
        }
        if is_needed && !self.has(argument) {
            self.wrong(name, "is missing", format!("give `{name}`: {purpose}"));
        }
        // An error names a hidden argument only to callers who wrote it.
        if !is_hidden || self.values.contains_key(name) {
            self.asked.push(name);
        }
        self.values.shift_remove(name).filter(|value| !is_absent(name, value))
    }

    fn mistyped(&self, name: &str, wanted: &str, value: &Value) {
        let what = format!("must be {wanted}, not {}", kind(value));
        self.wrong(name, what, format!("give `{name}` as {wanted}"));
    }
}

impl Drop for Fields<'_> {
    fn drop(&mut self) {
        for name in self.values.keys() {
            if self.notes.is_full() {
                return;
            }
            let place = self.place_of(&shown(name));
            let suggested = suggested(name, &self.asked).map_or_else(String::new, |suggested| {
                format!("; did you mean `{}`?", self.place_of(suggested))
            });
            self.note_invalid(
                format!("`{place}` is not an argument{suggested}"),
                format!("{} takes: {}", self.place(), self.asked.join(", ")),
            );
        }
    }
}

/// Returns the digest in the text of this argument: all of the text or, if it has several words, the word
/// after the argument's name, `hash` or `sha256`, as in `range_hash 0123…` and `sha256:0123…`.
fn labeled<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut words =
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    if words.clone().nth(1).is_none() {
        return Some(text);
    }
    words.find(|word| *word == name || matches!(*word, "hash" | "sha256"))?;
    words.next()
}

/// Reads each object of a list with `read`. If `read` returns `None` for an object, the result is `None`, but
/// the other objects are still read to find all problems.
pub fn each<'n, T>(
    objects: Vec<Fields<'n>>,
    mut read: impl FnMut(&mut Fields<'n>) -> Option<T>,
) -> Option<Vec<T>> {
    let read: Vec<Option<T>> = objects.into_iter().map(|mut fields| read(&mut fields)).collect();
    let mut read: Vec<T> = read.into_iter().collect::<Option<_>>()?;
    // `collect` reuses the memory of `objects`, whose items are larger.
    read.shrink_to_fit();
    Some(read)
}
