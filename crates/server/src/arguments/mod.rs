//! Complete and tolerant checking of a call's arguments.
//!
//! Complete: every problem of a call is collected in [`Notes`] and reported at once, each with the place where it stands
//! (`files[0].patches[2].ranges`), and a key that nobody asks for is refused by name. Tolerant, where one meaning is sure:
//! an array, object, integer or boolean may come as the JSON string that spells it, an integer as `5.0`, and null is
//! absent; so is `""` for what is never empty (`NEVER_EMPTY`), since some clients must send every key. Text is never
//! read as anything else. Which keys a tool has is decided in its file under [`crate::tools`], by
//! asking; whether a path, a label or a line exists is not decided here.

mod late;
mod names;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use mcp_text_editor_core::digest::DigestPrefix;
use mcp_text_editor_store::access::roots::Roots;
use serde_json::{Map, Value};

use self::late::Late;
pub(crate) use self::names::meant;
use crate::clients::ADDED_KEYS;
use crate::context::Context;
use crate::limits::{Exceeded, Limit, Limits};
use crate::problem::{Code, Failure, Problem};
use crate::render::limits as words;
use crate::tool_id::ToolId;
use crate::wire::json_weight::weigh;

/// More problems than this are not collected: a hostile call could hold millions.
const MAX: usize = 1_000;
/// In an object of more keys than this nobody meant anything by one of them.
const MAX_KEYS: usize = 100;
/// More of a key or word than this is not repeated.
const MAX_SHOWN: usize = 60;

/// What is never an empty text: `""` for it is what a client sends that cannot leave a key out.
const NEVER_EMPTY: &[&str] = &["encoding", "file_hash", "range_hash"];

/// More of a path than this does not go with each problem: no error shows more, and a path may be as long as a call.
const MAX_PATH: usize = 8_000;

/// The problems of a call so far, and how much it asks for.
#[derive(Debug)]
pub struct Notes<'l> {
    problems: RefCell<Vec<Problem>>,
    /// What is looked at only if there are other problems.
    late: RefCell<Vec<Late>>,
    limits: &'l Limits,
    /// The allowed directories, where paths are looked at, too.
    roots: Option<&'l Roots>,
    /// What was asked of each limit.
    asked: [Cell<u64>; Limit::ALL.len()],
}

impl<'l> Notes<'l> {
    /// No problems yet, of a call that may ask for so much.
    #[must_use]
    pub fn new(limits: &'l Limits) -> Self {
        Self {
            problems: RefCell::default(),
            late: RefCell::default(),
            limits,
            roots: None,
            asked: Default::default(),
        }
    }

    /// No problems yet, of a call to this server: if it has any, those of its paths and encodings are told with them.
    #[must_use]
    pub fn of(context: &'l Context) -> Self {
        Self { roots: Some(&context.workspace.roots), ..Self::new(&context.config.limits) }
    }

    /// Counts what a call asks for; whether all of it so far is within the limit. What is not should not be looked at.
    #[must_use]
    pub fn admit(&self, limit: Limit, asked: usize) -> bool {
        let Some(sum) = self.asked.get(limit as usize) else { return true };
        sum.set(sum.get().saturating_add(asked as u64));
        sum.get() <= self.limits.get(limit)
    }

    /// Notes that something nests too deep.
    fn note_depth(&self, depth: u64) {
        if let Some(asked) = self.asked.get(Limit::Depth as usize) {
            asked.set(asked.get().max(depth));
        }
    }

    /// The limits that were exceeded.
    fn exceeded(&self) -> impl Iterator<Item = Exceeded> {
        let asked = Limit::ALL.iter().zip(&self.asked).map(|(limit, asked)| (*limit, asked.get()));
        asked
            .filter(|(limit, asked)| *asked > self.limits.get(*limit))
            .map(|(limit, asked)| Exceeded { limit, asked })
    }

    fn is_full(&self) -> bool {
        self.count() >= MAX
    }

    /// How many problems there are. Checks that relate several arguments are made only where none of them is wrong by
    /// itself, or one mistake would be reported twice.
    #[must_use]
    pub fn count(&self) -> usize {
        self.problems.borrow().len()
    }

    /// Notes a problem.
    pub fn note(&self, problem: Problem) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < MAX {
            problems.push(problem);
        }
    }

    /// The request, or every reason why there is none. `tool` is what the error suggests to call again.
    pub fn finish<T>(self, request: Option<T>, tool: ToolId) -> Result<T, Failure> {
        let mut problems: Vec<Problem> =
            self.exceeded().map(|exceeded| words::exceeded(self.limits, exceeded)).collect();
        let found = self.problems.into_inner();
        // Without other problems the files are looked at, and what is wrong with their names is told with what is wrong
        // with them.
        let is_to_fail = !(problems.is_empty() && found.is_empty());
        match self.roots.filter(|_| is_to_fail) {
            Some(roots) => problems.extend(late::merged(roots, found, self.late.into_inner())),
            None => problems.extend(found),
        }
        problems.truncate(MAX);
        match request {
            Some(request) if problems.is_empty() => Ok(request),
            _ if problems.is_empty() => {
                let problem = Problem::new(
                    Code::InternalError,
                    "the arguments could not be read",
                    "report this as a defect",
                );
                Err(Failure::of(problem, tool.name(), !tool.is_read_only()))
            }
            _ => Err(Failure { problems, suggestion: tool.name().to_owned(), editing: !tool.is_read_only() }),
        }
    }
}

/// What line ends and NULs mean in a text argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// Text that becomes lines of a file: `\r\n` is read as `\n`, a lone CR and U+0000 are refused.
    Lines,
    /// Text that becomes a whole file as it is: only U+0000 is refused.
    Kept,
}

/// A string spells more than a call may hold; that is noted.
struct TooMuch;

/// An object among the arguments. Each key is asked for once; when it is dropped, the keys that nobody asked for are noted.
#[derive(Debug)]
pub struct Fields<'n> {
    notes: &'n Notes<'n>,
    /// Where it stands: empty for the arguments themselves.
    place: String,
    /// The file that it is about.
    file: Option<Rc<str>>,
    values: Map<String, Value>,
    asked: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// The arguments of a call.
    #[must_use]
    pub fn top(notes: &'n Notes<'n>, mut values: Map<String, Value>) -> Self {
        for key in ADDED_KEYS {
            values.shift_remove(key.name);
        }
        Self { notes, place: String::new(), file: None, values, asked: Vec::new() }
    }

    /// The problems of the call.
    #[must_use]
    pub fn notes(&self) -> &'n Notes<'n> {
        self.notes
    }

    /// Whether the key is given, and not as what counts as absent. Only true before it is asked for.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|value| !is_absent(name, value))
    }

    /// Whether an optional list is given, and is not empty: `[]` counts as absent there. Only true before it is asked for.
    #[must_use]
    pub fn has_items(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|value| !is_absent(name, value) && !is_empty_list(value))
    }

    /// Whether the key is given as an empty text. Only true before it is asked for.
    #[must_use]
    pub fn is_empty_text(&self, name: &str) -> bool {
        self.values.get(name).and_then(Value::as_str) == Some("")
    }

    /// Where an argument of this object stands.
    #[must_use]
    pub fn place_of(&self, name: &str) -> String {
        if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) }
    }

    /// Where this object stands.
    #[must_use]
    pub fn place(&self) -> &str {
        if self.place.is_empty() { "the call" } else { &self.place }
    }

    /// Notes that the arguments are not what the tool takes.
    pub fn refuse(&self, reason: String, hint: impl Into<String>) {
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
        self.refuse(format!("`{}` is missing", self.place_of(name)), format!("give `{name}`: {what}"));
    }

    /// A text that is no text of a file: a path or a label.
    pub fn label(&mut self, name: &'static str) -> Option<String> {
        let text = self.string(name)?;
        if text.contains('\0') {
            let place = self.place_of(name);
            self.refuse(format!("`{place}` holds U+0000"), "leave that character out");
            return None;
        }
        Some(text)
    }

    /// The path that this object is about; required. What is noted from here on, here and below, names that file.
    pub fn file_path(&mut self) -> Option<String> {
        let path = self.required("file_path", "the absolute path of the file", Self::path)?;
        let end = path.char_indices().nth(MAX_PATH).map_or(path.len(), |(end, _)| end);
        self.file = Some(Rc::from(path.get(..end).unwrap_or_default()));
        Some(path)
    }

    fn path(&mut self, name: &'static str) -> Option<String> {
        let path = self.label(name)?;
        self.look_later(late::Named::Path(path.clone()));
        Some(path)
    }

    /// A path that may be left out; `""` is none.
    pub fn optional_path(&mut self, name: &'static str) -> Option<String> {
        if self.is_empty_text(name) {
            self.label(name).filter(|path| !path.is_empty())
        } else {
            self.path(name)
        }
    }

    /// The label of the encoding.
    pub fn encoding(&mut self) -> Option<String> {
        let label = self.label("encoding")?;
        self.look_later(late::Named::Encoding(label.clone()));
        Some(label)
    }

    fn look_later(&self, named: late::Named) {
        let mut late = self.notes.late.borrow_mut();
        if self.notes.roots.is_some() && late.len() < MAX {
            late.push(Late { after: self.notes.count(), file: self.file.clone(), named });
        }
    }

    /// A text of a file.
    pub fn text(&mut self, name: &'static str, ends: Ends) -> Option<String> {
        let text = self.string(name)?;
        if !self.notes.admit(Limit::Text, text.len()) {
            return None;
        }
        let place = self.place_of(name);
        if let Some(at) = text.find('\0') {
            let line = line_of(&text, at);
            self.refuse(
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
            self.refuse(
                format!("`{place}` holds a carriage return without a line feed on its line {line}"),
                "write line ends as \\n; lines of a file that hold a lone carriage return are named by `range_hash`",
            );
            return None;
        }
        Some(folded)
    }

    /// An integer. One that no `i64` holds becomes the nearest that does: no file has so many lines.
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

    /// An integer that is at least 1.
    pub fn positive(&mut self, name: &'static str) -> Option<u64> {
        let number = self.integer(name)?;
        if number < 1 {
            let place = self.place_of(name);
            self.refuse(
                format!("`{place}` is {number}, and counts from 1"),
                format!("give a `{name}` of 1 or more"),
            );
            return None;
        }
        u64::try_from(number).ok()
    }

    /// A flag; false where it is absent, unless `default` says otherwise.
    pub fn flag(&mut self, name: &'static str, default: bool) -> bool {
        let Some(value) = self.take(name) else { return default };
        let Ok(spelled) = self.unspelled(&value) else { return default };
        if let Value::Bool(flag) = spelled.as_ref().unwrap_or(&value) {
            return *flag;
        }
        self.mistyped(name, "true or false", &value);
        default
    }

    /// The prefix of a digest.
    pub fn tag(&mut self, name: &'static str) -> Option<DigestPrefix> {
        let text = self.string(name)?;
        let tag = DigestPrefix::parse(&text);
        if tag.is_none() {
            let place = self.place_of(name);
            self.refuse(
                format!("`{place}` must be 12 to 64 hexadecimal digits, not \"{}\"", shown(&text)),
                format!("copy `{name}` from the last reply, without anything added"),
            );
        }
        tag
    }

    /// A list of objects; what is not an object in it is noted and left out.
    pub fn objects(&mut self, name: &'static str) -> Option<Vec<Self>> {
        let value = self.take(name)?;
        let items = match self.unspelled(&value).ok()?.unwrap_or(value) {
            Value::Array(items) => items,
            other => {
                self.mistyped(name, "an array", &other);
                return None;
            }
        };
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
                other => self.refuse(
                    format!("`{place}` must be an object, not {}", kind(&other)),
                    "write it as {…} with named fields",
                ),
            }
        }
        Some(objects)
    }

    /// A list of objects that must hold something.
    pub fn some_objects(&mut self, name: &'static str, what: &str) -> Option<Vec<Self>> {
        let before = self.notes.count();
        let place = self.place_of(name);
        let objects = self.required(name, what, Self::objects)?;
        if objects.is_empty() && self.notes.count() == before {
            self.refuse(
                format!("`{place}` is empty, so there is nothing to do"),
                format!("give `{name}`: {what}"),
            );
        }
        Some(objects)
    }

    /// What `get` gives for a key that must be there; `what` says what for.
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

    /// Notes a range that ends before it starts, as far as that can be said without the file.
    pub fn check_order(&self, start: i64, end: Option<i64>) {
        if let Some(end) = end.filter(|end| start > 0 && *end < start) {
            self.note(
                Code::InvalidRange,
                format!("{} ends at line {end}, before its start at line {start}", self.quoted()),
                "the first and the last line of a range are both part of it; leave the end out, or send -1, for the \
                 last line of the file"
                    .to_owned(),
            );
        }
    }

    /// Reads what was given by a name that other tools have for this argument, or misspelled, as if it had its own: that is
    /// noted, and the value is looked at in the same call, so that one mistake is told once.
    pub fn adopt(&mut self, name: &'static str) {
        if self.has(name) || self.values.len() > MAX_KEYS {
            return;
        }
        let is_list = matches!(name, "files" | "patches" | "ranges");
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
        self.refuse(
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

    /// The names of all arguments that nobody has asked for yet, but for those that say nothing.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let says = |(name, value): &(&String, &Value)| !is_absent(name, value) && !is_empty_list(value);
        self.values.iter().filter(says).map(|(name, _)| name.as_str())
    }

    /// All arguments that nobody has asked for yet, but for those that say nothing; they are not looked at again.
    pub fn take_all(&mut self) -> Map<String, Value> {
        let values = std::mem::take(&mut self.values);
        values.into_iter().filter(|(name, value)| !is_absent(name, value) && !is_empty_list(value)).collect()
    }

    fn quoted(&self) -> String {
        if self.place.is_empty() { "the range".to_owned() } else { format!("`{}`", self.place) }
    }

    /// What a string spells, if that is an array, an object, a number or a boolean.
    fn unspelled(&self, value: &Value) -> Result<Option<Value>, TooMuch> {
        let Some(text) = value.as_str() else { return Ok(None) };
        if text.trim_start().starts_with(['[', '{']) {
            let weight = weigh(text.as_bytes());
            let depth = self.notes.limits.get(Limit::Depth);
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
        self.refuse(format!("`{place}` must be {wanted}, not {got}"), format!("give `{name}` as {wanted}"));
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
            self.refuse(
                format!("`{place}` is not an argument{meant}"),
                format!("{} takes: {}", self.place(), self.asked.join(", ")),
            );
        }
    }
}

/// Reads each object of a list. All are read, so that all problems are found, before one that says nothing makes the
/// whole say nothing.
pub fn each<'n, T>(objects: Vec<Fields<'n>>, read: impl FnMut(Fields<'n>) -> Option<T>) -> Option<Vec<T>> {
    let read: Vec<Option<T>> = objects.into_iter().map(read).collect();
    read.into_iter().collect()
}

/// Whether a value is what clients send for a key that they would leave out if they could.
fn is_absent(name: &str, value: &Value) -> bool {
    value.is_null() || NEVER_EMPTY.contains(&name) && value.as_str() == Some("")
}

/// Whether a value is a list without items, or spells one.
fn is_empty_list(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::String(text) => {
            let inside = text.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            inside.is_some_and(|inside| inside.trim().is_empty())
        }
        _ => false,
    }
}

/// The integer that a number is: `5`, `5.0` and `5e0` alike.
fn whole(number: &serde_json::Number) -> Option<i64> {
    if let Some(number) = number.as_i64() {
        return Some(number);
    }
    if number.is_u64() {
        return Some(i64::MAX);
    }
    let float = number.as_f64().filter(|float| float.is_finite() && float.fract() == 0.0)?;
    #[expect(clippy::cast_possible_truncation, reason = "the cast saturates, which is what is wanted")]
    Some(float as i64)
}

fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => format!("{flag}"),
        Value::Number(number) => format!("the number {}", shown(&number.to_string())),
        Value::String(text) => format!("the string \"{}\"", shown(text)),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The number of the line on which a byte stands.
fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}
