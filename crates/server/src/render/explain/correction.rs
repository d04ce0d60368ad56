//! The part of a call that a hint corrects.

use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::matching::CLOSEST;
use mcp_text_editor_core::rejection::At;
use mcp_text_editor_core::resolve::GuardedRange;
use serde_json::{Value, json};

use super::call::{Call, CalledFile, place, reading};
use crate::problem::IfCut;
use crate::render::layout::spelled;
use crate::tool_id::ToolId;

/// The part of a call that a hint corrects: a range of a patch or of a deletion, or a patch without ranges.
pub(super) struct Correction<'a> {
    pub(super) call: Call<'a>,
    pub(super) named: CalledFile<'a>,
    /// The place in the call.
    pub(super) at: At,
    /// The name of the range in the call, if its patch has other ranges, which are to stay.
    pub(super) part: Option<String>,
    /// The other ranges of the patch.
    others: Vec<&'a GuardedRange>,
    pub(super) total_lines: u64,
}

impl<'a> Correction<'a> {
    pub(super) fn of(call: Call<'a>, named: CalledFile<'a>, at: At, total_lines: u64) -> Self {
        let ranges = named.patches.get(at.patch).copied().unwrap_or_default();
        let others = ranges.iter().enumerate().filter(|(index, _)| Some(*index) != at.range);
        let others: Vec<_> = others.map(|(_, range)| range).collect();
        let name = || place(call, named, at).trim_end_matches(": ").to_owned();
        Self { call, named, at, part: (!others.is_empty()).then(name), others, total_lines }
    }

    /// Says to send this range.
    pub(super) fn with_range(&self, range: &Value) -> String {
        match &self.part {
            Some(part) => format!("in place of {part} send {range}"),
            None => format!("call {} with \"ranges\": [{range}]", self.call.tool.name()),
        }
    }

    /// Says to send the same lines with this digest.
    pub(super) fn with_hash(&self, lines: LineRange, hash: &str) -> String {
        match &self.part {
            Some(_) => self.with_range(&range(lines, Some(hash))),
            None => format!("send \"range_hash\": \"{hash}\""),
        }
    }

    /// Tells whether the patch has other ranges.
    pub(super) fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    /// Says to name lines by their digest instead of their text.
    pub(super) fn by_digest(&self, lines: LineRange, hash: &str) -> String {
        let (apart, range) = (self.apart(), range(lines, Some(hash)));
        format!("{apart}send \"ranges\": [{range}] without old_string")
    }

    /// Says to leave the range out, before words on a patch that is made in another way, which the other
    /// ranges could not share.
    pub(super) fn apart(&self) -> String {
        let in_place_of = |part| format!("leave {part} out; in a patch of its own, ");
        self.part.as_ref().map_or_else(String::new, in_place_of)
    }

    /// Says to read lines before their digest is sent: the digest of a text that was not shown guards
    /// nothing. A read gives no digest of a line that it cannot show whole.
    pub(super) fn unseen(&self, lines: LineRange, hash: &str) -> IfCut {
        let known = self.with_hash(lines, hash);
        let hint = match self.read(lines) {
            Some(read) if lines.count() == 1 => {
                format!("read it: {read}; if it is what you mean, {known}")
            }
            Some(read) => format!(
                "read the lines whole: {read}; if they are what you mean, send the range_hash of that read"
            ),
            None => format!("read {} whole; if that is what you mean, {known}", spelled(lines)),
        };
        self.if_cut(hint)
    }

    /// Says to name whole lines by their digest, because they are too many to be copied.
    pub(super) fn unnamed(&self, lines: LineRange) -> IfCut {
        let Some(read) = self.read(lines).filter(|_| lines.count() > 1) else { return self.uncopied(lines) };
        let apart = self.apart();
        self.if_cut(format!(
            "read the lines whole: {read}; if they are what you mean, {apart}send those lines as \"ranges\" with the \
             range_hash of that read, without old_string"
        ))
    }

    /// Says to copy from a read what was not shown whole. It may begin and end inside of lines, so a digest
    /// would not do.
    pub(super) fn uncopied(&self, lines: LineRange) -> IfCut {
        let apart = self.apart();
        let (read, first) = match self.read(lines) {
            Some(read) => {
                (format!("read {}: {read}", spelled(lines)), format!("read the lines whole: {read}"))
            }
            None => (format!("read {}", spelled(lines)), format!("read {} whole", spelled(lines))),
        };
        self.if_cut(if lines.count() == 1 {
            format!(
                "{read}; {apart}copy old_string from it, or, without ranges, the part of it that is to change"
            )
        } else {
            format!("{first}; {apart}copy old_string from them, without line numbers")
        })
    }

    fn read(&self, lines: LineRange) -> Option<String> {
        reading(self.call, self.named, Some((lines.start().get(), lines.end())))
    }

    fn if_cut(&self, hint: String) -> IfCut {
        let get = ToolId::Get;
        IfCut { hint, suggestion: self.call.offered.contains(get).then_some(get) }
    }

    /// Tells whether another range of the patch names some of these lines.
    pub(super) fn is_taken(&self, lines: LineRange) -> bool {
        self.others.iter().any(|other| {
            let first = u64::try_from(other.start).unwrap_or_default();
            let last = other.end.map_or(self.total_lines, |end| u64::try_from(end).unwrap_or_default());
            first <= lines.end() && lines.start().get() <= last
        })
    }

    /// Returns all ranges of the patch at the places where its old text stands, if there are as many places
    /// as ranges and the text alone guards each range.
    pub(super) fn all_at(&self, places: &[LineRange]) -> Option<String> {
        let is_all = places.len() == self.others.len() + 1 && places.len() < CLOSEST;
        let mut places = places.to_vec();
        places.sort_by_key(|lines| lines.start());
        let are_apart = places.windows(2).all(|pair| match pair {
            [one, next] => one.end() < next.start().get(),
            _ => true,
        });
        let ranges: Vec<String> = places.into_iter().map(|lines| range(lines, None).to_string()).collect();
        (is_all && are_apart && self.others.iter().all(|other| other.range_hash.is_none()))
            .then(|| ranges.join(","))
    }
}

/// Makes a range as a call names it.
pub(super) fn range(lines: LineRange, hash: Option<&str>) -> Value {
    let (start, end) = (lines.start().get(), lines.end());
    match hash {
        Some(hash) => json!({"start": start, "end": end, "range_hash": hash}),
        None => json!({"start": start, "end": end}),
    }
}
