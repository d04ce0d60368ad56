//! An object of a call that may be in another form: its values by the names that they have here, and what was
//! odd about it.

use serde_json::{Map, Value};

use crate::arguments::{
    Object, ValueKind, beginning, folded, is_absent, is_empty_list, other_name, suggested,
};
use crate::clients::is_added;
use crate::limits::{Limit, Limits};
use crate::render::part::Part;
use crate::wire::json_weight::weigh;

/// The most keys of an object that is read: no known form has more.
const MAX_KEYS: usize = 20;
/// The most entries that each list of oddities keeps.
const MAX_KEPT: usize = 100;
/// The most characters of a name that are repeated.
const MAX_NAME: usize = 40;

/// The signs that a call is in another form, and what is lost when it is rewritten.
#[derive(Default, Debug)]
pub(super) struct Odd {
    /// The arguments that this tool does not have, or not there.
    pub(super) names: Vec<String>,
    /// The arguments that are misspelled. They alone are no other form.
    pub(super) misspelled: Vec<String>,
    /// The arguments that mean nothing here.
    pub(super) left_out: Vec<String>,
    /// Further notes on the rewritten call.
    pub(super) notes: Vec<String>,
}

impl Odd {
    /// Notes an argument that this tool does not have, or not there.
    pub(super) fn name(&mut self, name: &str) {
        add(&mut self.names, quoted(name));
    }

    /// Notes something else that this tool does not take, in words.
    pub(super) fn say(&mut self, what: &str) {
        add(&mut self.names, what.to_owned());
    }

    /// Notes an argument that means nothing here.
    pub(super) fn leave_out(&mut self, name: &str) {
        add(&mut self.left_out, quoted(name));
    }

    /// Adds a further note.
    pub(super) fn note(&mut self, note: String) {
        add(&mut self.notes, note);
    }
}

fn add(list: &mut Vec<String>, entry: String) {
    if list.len() < MAX_KEPT && !list.contains(&entry) {
        list.push(entry);
    }
}

/// Returns the beginning of a name, in backquotes for a sentence.
pub(super) fn quoted(name: &str) -> String {
    let shown = beginning(name, MAX_NAME);
    if shown.len() < name.len() { format!("`{shown}…`") } else { format!("`{name}`") }
}

/// The parts of an object that is rewritten.
pub(super) type Parts = Vec<(&'static str, Part)>;

/// The values of an object by the names that they have here. Each is taken once.
#[derive(Debug)]
pub(super) struct Given<'v> {
    values: Vec<(&'static str, &'v Value)>,
    /// The names that the caller gave them, where those are others.
    named: Vec<(&'static str, &'v str)>,
}

impl<'v> Given<'v> {
    /// Finds what each argument means. Returns `None` if there are too many of them.
    pub(super) fn of(values: &'v Map<String, Value>, object: Object, odd: &mut Odd) -> Option<Self> {
        if values.len() > MAX_KEYS {
            return None;
        }
        let says = |(name, value): &(&String, &Value)| !is_absent(name, value) && !is_added(name);
        let own = |name: &str| object.named(name).map(|own| own.name);
        let mut out: Vec<(&'static str, &'v Value)> =
            values.iter().filter(says).filter_map(|(name, value)| Some((own(name)?, value))).collect();
        let known: Vec<&'static str> = object.own.iter().chain(object.also).map(|known| known.name).collect();
        let mut named = Vec::new();
        for (name, value) in values.iter().filter(says).filter(|(name, _)| own(name).is_none()) {
            let moved = object.also.iter().find(|also| also.name == name);
            let renamed = moved.map(|moved| moved.name).or_else(|| other_name(name, &known));
            let meaning = renamed.or_else(|| suggested(name, &known));
            match meaning.filter(|meaning| out.iter().all(|(taken, _)| taken != meaning)) {
                Some(meaning) => {
                    if moved.is_some_and(|moved| moved.kind != ValueKind::Strange) {
                        odd.say(&format!("{} there", quoted(name)));
                    } else if renamed.is_some() {
                        odd.name(name);
                    } else {
                        add(&mut odd.misspelled, quoted(name));
                    }
                    out.push((meaning, value));
                    named.push((meaning, name.as_str()));
                }
                None => odd.leave_out(name),
            }
        }
        Some(Self { values: out, named })
    }

    /// Returns the name by which the caller gave the value that has this name here, in snake case.
    pub(super) fn name_of(&self, name: &str) -> String {
        let named = self.named.iter().find(|(known, _)| *known == name);
        named.map_or_else(|| name.to_owned(), |(_, named)| folded(named))
    }

    /// Takes the value of one name for that of another.
    pub(super) fn rename(&mut self, name: &'static str, other: &'static str) {
        for (known, _) in self.values.iter_mut().filter(|(known, _)| *known == name) {
            *known = other;
            let called = self.named.iter().position(|(known, _)| *known == name);
            let called = called.map_or(name, |index| self.named.swap_remove(index).1);
            self.named.push((other, called));
        }
    }

    /// Takes a value.
    pub(super) fn take(&mut self, name: &str) -> Option<&'v Value> {
        let index = self.values.iter().position(|(known, _)| *known == name)?;
        Some(self.values.swap_remove(index).1)
    }

    /// Takes those of these values that are given, as they are.
    pub(super) fn rest(&mut self, names: &[&'static str]) -> Parts {
        names.iter().filter_map(|name| Some((*name, Part::Value(self.take(name)?.clone())))).collect()
    }

    /// Returns a text that is given, and was not taken.
    pub(super) fn text_of(&self, name: &str) -> Option<&'v str> {
        self.values.iter().find(|(known, _)| *known == name)?.1.as_str()
    }

    /// Takes the value of a list, read from the text if a text spells it; `None` if the list is empty.
    pub(super) fn take_list(&mut self, name: &str, limits: &Limits) -> Option<Value> {
        let value = self.take(name).filter(|value| !is_empty_list(value))?;
        Some(unspelled(value, limits).unwrap_or_else(|| value.clone()))
    }

    /// Tells whether a value is given and was not taken.
    pub(super) fn has(&self, name: &str) -> bool {
        self.values.iter().any(|(known, _)| *known == name)
    }

    /// Notes that what was not taken is left out.
    pub(super) fn leave_rest(&self, odd: &mut Odd) {
        for (name, _) in &self.values {
            odd.leave_out(name);
        }
    }
}

/// Returns the list or object that a text spells, if it is within the limits.
pub(super) fn unspelled(value: &Value, limits: &Limits) -> Option<Value> {
    let text = value.as_str()?;
    if !text.trim_start().starts_with(['[', '{']) {
        return None;
    }
    let weight = weigh(text.as_bytes());
    let is_light = weight.values <= limits.get(Limit::Values) && weight.depth <= limits.get(Limit::Depth);
    serde_json::from_str(text).ok().filter(|_| is_light)
}
