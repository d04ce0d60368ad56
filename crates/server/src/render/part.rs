//! A call as it is told: values, and blanks for what nobody gave.

use serde_json::Value;

use super::escape::json_text;

/// A part of a call.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// A value that was given, or follows from what was.
    Value(Value),
    /// A value that was not given: words for it.
    Blank(&'static str),
    /// Named parts.
    Object(Vec<(&'static str, Part)>),
    /// Parts without names.
    List(Vec<Part>),
}

/// The amount of detail in which a call is told. A part that is not told has words in its place that no
/// parser takes for JSON, because a text that is cut within its quotes could be sent as it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detail {
    /// The most characters of a text.
    pub(crate) text: usize,
    /// The most items of a list.
    pub(crate) items: usize,
}

impl Detail {
    /// The amounts of detail, the fullest first.
    pub(crate) const STEPS: [Self; 5] = [
        Self { text: 5_000, items: 5_000 },
        Self { text: 200, items: 5_000 },
        Self { text: 40, items: 5_000 },
        Self { text: 40, items: 3 },
        Self::LEAST,
    ];
    const LEAST: Self = Self { text: 0, items: 1 };
}

impl Part {
    /// Makes a blank for a text.
    pub(crate) fn blank(words: &'static str) -> Self {
        Self::Blank(words)
    }

    /// Returns the call in writing. It is JSON unless something in it stands in `<…>`.
    pub(crate) fn told(&self, detail: Detail) -> Told {
        let mut told = Told { text: String::new(), is_json: true };
        self.tell("text", detail, &mut told);
        told
    }

    /// Returns the fullest writing of the call that has at most `most` characters as a JSON string; the
    /// shortest one if none is so short.
    pub(crate) fn told_within(&self, most: usize) -> Told {
        let in_json = |text: &str| json_text(&Value::from(text)).chars().count();
        let mut details = Detail::STEPS.into_iter();
        loop {
            let told = self.told(details.next().unwrap_or(Detail::LEAST));
            if in_json(&told.text) <= most || details.len() == 0 {
                return told;
            }
        }
    }

    fn tell(&self, name: &str, detail: Detail, told: &mut Told) {
        match self {
            Self::Value(Value::String(text)) if text.chars().nth(detail.text).is_some() => {
                told.leave(&format!("{name} as you gave it"));
            }
            Self::Value(value) => told.text.push_str(&json_text(value)),
            Self::Blank(words) => told.leave(words),
            Self::Object(parts) => {
                told.text.push('{');
                for (index, (name, part)) in parts.iter().enumerate() {
                    told.text.push_str(if index == 0 { "\"" } else { ",\"" });
                    told.text.push_str(name);
                    told.text.push_str("\":");
                    part.tell(name, detail, told);
                }
                told.text.push('}');
            }
            Self::List(parts) => {
                told.text.push('[');
                for (index, part) in parts.iter().take(detail.items).enumerate() {
                    if index > 0 {
                        told.text.push(',');
                    }
                    part.tell(name, detail, told);
                }
                match parts.len().saturating_sub(detail.items) {
                    0 => {}
                    more => {
                        told.text.push(',');
                        told.leave(&format!("{more} more, likewise"));
                    }
                }
                told.text.push(']');
            }
        }
    }
}

/// A call in writing.
#[derive(Debug)]
pub(crate) struct Told {
    /// The text.
    pub(crate) text: String,
    /// True if the text is all of the call, and JSON.
    pub(crate) is_json: bool,
}

impl Told {
    /// Returns the words after a call that has something to fill in; empty if it has nothing.
    pub(crate) fn to_fill(&self) -> &'static str {
        if self.is_json { "" } else { ", and put in what <…> stands for" }
    }

    fn leave(&mut self, words: &str) {
        self.is_json = false;
        self.text.push('<');
        self.text.push_str(words);
        self.text.push('>');
    }
}
