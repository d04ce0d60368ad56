//! An object among the arguments, whose keys are asked for one after the other.

use std::rc::Rc;

use mcp_text_editor_core::digest::DigestPrefix;
use mcp_text_editor_core::line::reversed;
use serde_json::{Map, Value};

use super::deferred::Named;
use super::names::meant;
use super::notes::Notes;
use super::values::{is_absent, is_empty_list, kind, line_of, shown, whole};
use crate::clients::is_added;
use crate::limits::Limit;
use crate::problem::{Code, Problem};
use crate::wire::json_weight::weigh;

/// In an object of more keys than this no key is taken for a misspelled one.
const MAX_KEYS: usize = 100;

/// No more of a path than this goes with each problem: no error shows more, and a path may be as long as a call.
const MAX_PATH: usize = 8_000;

/// What line ends and NULs mean in a text argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// Text that becomes lines of a file: `\r\n` is read as `\n`, a lone CR and U+0000 are refused.
    Lines,
    /// Text that becomes a whole file as it is: only U+0000 is refused.
    Kept,
}

/// The error of a string that spells more than a call may hold; the excess is noted.
struct TooMuch;

/// An object among the arguments. Each key is asked for once. When the object is dropped, the keys that nobody asked
/// for are noted.
#[derive(Debug)]
pub struct Fields<'n> {
    notes: &'n Notes<'n>,
    /// The place where it stands; empty for the arguments themselves.
    place: String,
    /// The file that it is about.
    file: Option<Rc<str>>,
    values: Map<String, Value>,
    asked: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// Takes the arguments of a call.
    #[must_use]
    pub fn top(notes: &'n Notes<'n>, mut values: Map<String, Value>) -> Self {
        values.retain(|name, _| !is_added(name));
        Self { notes, place: String::new(), file: None, values, asked: Vec::new() }
    }

    /// Returns the problems of the call.
    #[must_use]
    pub fn notes(&self) -> &'n Notes<'n> {
        self.notes
    }

    /// Whether the key is given, with a value that does not count as absent. Must be called before the key is asked
    /// for.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|value| !is_absent(name, value))
    }

    /// Whether an optional list is given and not empty: `[]` counts as absent there. Must be called before the key is
    /// asked for.
    #[must_use]
    pub fn has_items(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|value| !is_absent(name, value) && !is_empty_list(value))
    }

    /// Whether the key is given as an empty text. Must be called before the key is asked for.
    #[must_use]
    pub fn is_empty_text(&self, name: &str) -> bool {
        self.values.get(name).and_then(Value::as_str) == Some("")
    }

    /// Whether the key is given as false. Must be called before the key is asked for.
    #[must_use]
    pub fn is_false(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|value| *value == false || value.as_str() == Some("false"))
    }

    /// Returns the place of an argument of this object.
    #[must_use]
    pub fn place_of(&self, name: &str) -> String {
        if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) }
    }

    /// Returns the place of this object.
    #[must_use]
    pub fn place(&self) -> &str {
        if self.place.is_empty() { "the call" } else { &self.place }
    }

    /// Returns the place of this object as a sentence has it.
    #[must_use]
    pub fn named(&self) -> String {
        if self.place.is_empty() { self.place().to_owned() } else { format!("`{}`", self.place) }
    }

    /// Notes that the arguments are not what the tool takes.
    pub fn note_invalid(&self, reason: String, hint: impl Into<String>) {
        self.note(Code::InvalidArguments, reason, hint.into());
    }

    /// Notes a problem of this object.
    pub fn note(&self, code: Code, reason: String, hint: String) {
        let mut problem = Problem::new(code, reason, hint);
        problem.file_path = self.file.as_deref().map(str::to_owned);
        self.notes.note(problem);
    }

    /// Notes that a key is needed; `what` says what for.
    pub fn missing(&self, name: &str, what: &str) {
        self.note_invalid(format!("`{}` is missing", self.place_of(name)), format!("give `{name}`: {what}"));
    }

    /// Reads a text that is not the text of a file: a path or a label.
    pub fn label(&mut self, name: &'static str) -> Option<String> {
        let text = self.string(name)?;
        if text.contains('\0') {
            let place = self.place_of(name);
            self.note_invalid(format!("`{place}` holds U+0000"), "leave that character out");
            return None;
        }
        Some(text)
    }

    /// Reads the path that this object is about, which is required. Problems that are noted from here on, for this
    /// object and those in it, name that file.
    pub fn file_path(&mut self) -> Option<String> {
        self.path_of_file("file_path")
    }

    /// As [`Fields::file_path`], by another name.
    pub fn path_of_file(&mut self, name: &'static str) -> Option<String> {
        let path = self.required(name, "the absolute path of the file", Self::path)?;
        let end = path.char_indices().nth(MAX_PATH).map_or(path.len(), |(end, _)| end);
        self.file = Some(Rc::from(path.get(..end).unwrap_or_default()));
        Some(path)
    }

    fn path(&mut self, name: &'static str) -> Option<String> {
        let path = self.label(name)?;
        self.notes.defer(self.file.as_ref(), Named::Path(path.clone()));
        Some(path)
    }

    /// Reads a path at which there is to be nothing yet.
    pub fn new_path(&mut self, name: &'static str) -> Option<String> {
        let path = self.label(name)?;
        self.notes.defer(self.file.as_ref(), Named::NewPath(path.clone()));
        Some(path)
    }

    /// Reads a path that may be left out; `""` is none.
    pub fn optional_path(&mut self, name: &'static str) -> Option<String> {
        if self.is_empty_text(name) {
            self.label(name).filter(|path| !path.is_empty())
        } else {
            self.path(name)
        }
    }

    /// Reads the label of the encoding.
    pub fn encoding(&mut self) -> Option<String> {
        let label = self.label("encoding")?;
        self.notes.defer(self.file.as_ref(), Named::Encoding(label.clone()));
        Some(label)
    }

    /// Reads a text of a file.
    pub fn text(&mut self, name: &'static str, ends: Ends) -> Option<String> {
        let text = self.string(name)?;
        if !self.notes.admit(Limit::Text, text.len()) {
            return None;
        }
        let place = self.place_of(name);
        if let Some(at) = text.find('\0') {
            let line = line_of(&text, at);
            self.note_invalid(
                format!("`{place}` holds U+0000 on its line {line}, and a text file holds none"),
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
            self.note_invalid(
                format!("`{place}` holds a carriage return without a line feed on its line {line}"),
                "write line ends as \\n; lines of a file that hold a lone carriage return are named by `range_hash`",
            );
            return None;
        }
        Some(folded)
    }

    /// Reads an integer. One that no `i64` holds becomes the nearest that does: no file has so many lines.
    pub fn integer(&mut self, name: &'static str) -> Option<i64> {
        let value = self.take(name)?;
        let spelled = self.unspelled(&value).ok()?;
        let number = match spelled.as_ref().unwrap_or(&value) {
            Value::Number(number) => whole(number),
            _ => None,
        };
        if number.is_none() {
            self.mistyped(name, "an integer", &value);
        }
        number
    }

    /// Reads an integer that is at least 1.
    pub fn positive(&mut self, name: &'static str) -> Option<u64> {
        let number = self.integer(name)?;
        if number < 1 {
            let place = self.place_of(name);
            self.note_invalid(
                format!("`{place}` is {number}, and counts from 1"),
                format!("give a `{name}` of 1 or more"),
            );
            return None;
        }
        u64::try_from(number).ok()
    }

    /// Reads an integer that is at least 0.
    pub fn count(&mut self, name: &'static str) -> Option<u64> {
        let number = self.integer(name)?;
        if number < 0 {
            let place = self.place_of(name);
            self.note_invalid(
                format!("`{place}` is {number}, and cannot be negative"),
                format!("give a `{name}` of 0 or more"),
            );
        }
        u64::try_from(number).ok()
    }

    /// Reads a flag; `default` where it is absent.
    pub fn flag(&mut self, name: &'static str, default: bool) -> bool {
        let Some(value) = self.take(name) else { return default };
        let Ok(spelled) = self.unspelled(&value) else { return default };
        if let Value::Bool(flag) = spelled.as_ref().unwrap_or(&value) {
            return *flag;
        }
        self.mistyped(name, "true or false", &value);
        default
    }

    /// Reads the prefix of a digest.
    pub fn tag(&mut self, name: &'static str) -> Option<DigestPrefix> {
        let text = self.string(name)?;
        let tag = DigestPrefix::parse(&text);
        if tag.is_none() {
            let place = self.place_of(name);
            self.note_invalid(
                format!("`{place}` must be 12 to 64 hexadecimal digits, not \"{}\"", shown(&text)),
                format!("copy `{name}` from the last reply, without anything added"),
            );
        }
        tag
    }

    /// Reads a list of paths, which may be left out. Items that are no texts are noted and left out.
    pub fn paths(&mut self, name: &'static str) -> Option<Vec<String>> {
        let items = self.items(name)?;
        if !self.notes.admit(Limit::Files, items.len()) {
            return None;
        }
        let mut paths = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            if let Some(path) = self.item(name, index, item, "write it as an absolute path, in quotes") {
                self.notes.defer(self.file.as_ref(), Named::Path(path.clone()));
                paths.push(path);
            }
        }
        Some(paths)
    }

    /// Reads globs, which may be left out: a list of them, or one by itself, of which `""` is none. Items that are no texts are noted and
    /// left out.
    pub fn globs(&mut self, name: &'static str) -> Vec<String> {
        let Some(value) = self.take(name) else { return Vec::new() };
        let Ok(spelled) = self.unspelled(&value) else { return Vec::new() };
        let items = match (value, spelled) {
            (Value::Array(items), _) | (_, Some(Value::Array(items))) => items,
            (text @ Value::String(_), _) => vec![text],
            (other, _) => {
                self.mistyped(name, "an array of strings", &other);
                return Vec::new();
            }
        };
        let items = items.into_iter().enumerate();
        let globs = items.filter_map(|(index, item)| self.item(name, index, item, "write it in quotes"));
        globs.filter(|glob| !glob.is_empty()).collect()
    }

    /// Reads an item of a list that must be a text that is not the text of a file.
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

    /// Reads a list.
    fn items(&mut self, name: &'static str) -> Option<Vec<Value>> {
        let value = self.take(name)?;
        match self.unspelled(&value).ok()?.unwrap_or(value) {
            Value::Array(items) => Some(items),
            other => {
                self.mistyped(name, "an array", &other);
                None
            }
        }
    }

    /// Reads a list of objects. Items that are no objects are noted and left out.
    pub fn objects(&mut self, name: &'static str) -> Option<Vec<Self>> {
        let items = self.items(name)?;
        let limit = match name {
            "files" => Limit::Files,
            "patches" => Limit::Patches,
            _ => Limit::Ranges,
        };
        if !self.notes.admit(limit, items.len()) {
            return None;
        }
        let list = self.place_of(name);
        let mut objects = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let place = format!("{list}[{index}]");
            match self.unspelled(&item).ok()?.unwrap_or(item) {
                Value::Object(values) => objects.push(Self {
                    notes: self.notes,
                    place,
                    file: self.file.clone(),
                    values,
                    asked: Vec::new(),
                }),
                other => self.note_invalid(
                    format!("`{place}` must be an object, not {}", kind(&other)),
                    "write it as {…} with named fields",
                ),
            }
        }
        Some(objects)
    }

    /// Reads a list of objects that must not be empty.
    pub fn some_objects(&mut self, name: &'static str, what: &str) -> Option<Vec<Self>> {
        let before = self.notes.count();
        let place = self.place_of(name);
        let objects = self.required(name, what, Self::objects)?;
        if objects.is_empty() && self.notes.count() == before {
            self.note_invalid(
                format!("`{place}` is empty, so there is nothing to do"),
                format!("give `{name}`: {what}"),
            );
        }
        Some(objects)
    }

    /// Reads by `get` a key that must be there; `what` says what it is for.
    pub fn required<T>(
        &mut self,
        name: &'static str,
        what: &str,
        get: impl FnOnce(&mut Self, &'static str) -> Option<T>,
    ) -> Option<T> {
        self.adopt(name);
        let given = self.has(name);
        let value = get(self, name);
        if !given {
            self.missing(name, what);
        }
        value
    }

    /// Notes a range that ends before it starts, if that is sure without the file.
    pub fn check_order(&self, start: i64, end: Option<i64>) {
        if let Some(end) = reversed(start, end).filter(|_| start > 0) {
            self.note(
                Code::InvalidRange,
                format!("{} ends at line {end}, before its start at line {start}", self.quoted()),
                "the first and the last line of a range are both part of it; leave the end out, or send -1, for the \
                 last line of the file"
                    .to_owned(),
            );
        }
    }

    /// Renames a key that was given by the name that other tools have for it, or misspelled. That is noted, and the
    /// value is checked in the same call, so that one mistake is told once.
    pub fn adopt(&mut self, name: &'static str) {
        if self.has(name) || self.values.len() > MAX_KEYS {
            return;
        }
        let is_list = matches!(name, "files" | "patches" | "ranges" | "paths");
        let suits = |value: &Value| match value {
            Value::Null => false,
            Value::Array(_) => true,
            Value::String(text) => !is_list || text.trim_start().starts_with('['),
            _ => !is_list,
        };
        let mut meaning = self
            .values
            .iter()
            .filter(|(key, value)| *key != name && suits(value) && meant(key, &[name]).is_some())
            .map(|(key, _)| key.clone());
        let (Some(key), None) = (meaning.next(), meaning.next()) else { return };
        drop(meaning);
        self.note_invalid(
            format!(
                "`{}` is not an argument; did you mean `{}`?",
                self.place_of(&shown(&key)),
                self.place_of(name)
            ),
            format!("write `{name}` instead of `{}`", shown(&key)),
        );
        if let Some(value) = self.values.shift_remove(&key) {
            self.values.insert(name.to_owned(), value);
        }
    }

    /// Returns the names of the arguments that nobody has asked for yet and that say something.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let says = |(name, value): &(&String, &Value)| !is_absent(name, value) && !is_empty_list(value);
        self.values.iter().filter(says).map(|(name, _)| name.as_str())
    }

    /// Takes the arguments that nobody has asked for yet and that say something. They are not looked at again.
    pub fn take_all(&mut self) -> Map<String, Value> {
        let values = std::mem::take(&mut self.values);
        values.into_iter().filter(|(name, value)| !is_absent(name, value) && !is_empty_list(value)).collect()
    }

    fn quoted(&self) -> String {
        if self.place.is_empty() { "the range".to_owned() } else { format!("`{}`", self.place) }
    }

    /// Returns what a string spells, if that is an array, an object, a number or a boolean.
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

    fn string(&mut self, name: &'static str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            other => {
                self.mistyped(name, "a string", &other);
                None
            }
        }
    }

    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.asked.push(name);
        self.values.shift_remove(name).filter(|value| !is_absent(name, value))
    }

    fn mistyped(&self, name: &str, wanted: &str, value: &Value) {
        let place = self.place_of(name);
        let got = kind(value);
        self.note_invalid(
            format!("`{place}` must be {wanted}, not {got}"),
            format!("give `{name}` as {wanted}"),
        );
    }
}

impl Drop for Fields<'_> {
    fn drop(&mut self) {
        for name in self.values.keys() {
            if self.notes.is_full() {
                return;
            }
            let place = self.place_of(&shown(name));
            let meant = meant(name, &self.asked)
                .map_or_else(String::new, |meant| format!("; did you mean `{}`?", self.place_of(meant)));
            self.note_invalid(
                format!("`{place}` is not an argument{meant}"),
                format!("{} takes: {}", self.place(), self.asked.join(", ")),
            );
        }
    }
}

/// Reads each object of a list. All are read, so that all problems are found, even if one of them makes the result
/// `None`.
pub fn each<'n, T>(objects: Vec<Fields<'n>>, read: impl FnMut(Fields<'n>) -> Option<T>) -> Option<Vec<T>> {
    let read: Vec<Option<T>> = objects.into_iter().map(read).collect();
    read.into_iter().collect()
}
