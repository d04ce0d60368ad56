//! Texts and hashes that do not fit, in words: what is there instead, where the wanted text is, and the call
//! that replaces it there by its digest.

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::matching::{CLOSEST, Tier};
use mcp_text_editor_core::rejection::{
    At, Evidence, Excerpt, MatchKind, MatchPlace, Normalization, Rejection,
};
use serde_json::{Value, json};

use super::call::{AROUND, Call, CalledFile, place, reading};
use crate::problem::{Code, IfCut, Passage, PassageKind, Problem};
use crate::render::escape::{on_one_line, unseen};
use crate::render::layout::spelled;
use crate::tool_id::ToolId;

/// The hint where the edit was made before.
const MADE: &str = "if that is what you want, nothing is left to do";

/// The number of lines above and below a place that may belong to it, too.
const BESIDE: u64 = 3;

/// The words on the new text for lines that have more than the old one.
const WHOLE: &str = "with the whole lines as new_string, ";

/// The part of a call that a hint corrects: a range of a patch or of a deletion, or a patch without ranges.
#[derive(Clone, Copy)]
struct Correction<'a> {
    call: Call<'a>,
    named: CalledFile<'a>,
    at: At,
    total_lines: u64,
}

/// Makes the problem of a hash or a text that does not fit.
pub(super) fn problem(
    call: Call<'_>,
    named: CalledFile<'_>,
    rejection: &Rejection,
    file_hash: Option<&Digest>,
    total_lines: u64,
) -> Problem {
    let correction = |at: At| Correction { call, named, at, total_lines };
    let (problem, lines, passages) = match rejection {
        Rejection::RangeHashMismatch { at, lines, expected, is_old_there, actual, evidence, .. } => {
            let is_of_file = file_hash.is_some_and(|digest| expected.matches(digest));
            let why = match evidence.as_ref() {
                _ if is_of_file => "; that is the hash of the file",
                Evidence::Applied(_) => ", and new_string stands there already",
                _ => "",
            };
            let reason =
                format!("the bytes of {} are not those that range_hash was taken of{why}", spelled(*lines));
            let hint = correction(*at).of_hash(actual, *is_old_there, evidence);
            let passages = passages(Some(actual), evidence);
            (hint.problem(Code::RangeHashMismatch, reason), Some(*lines), passages)
        }
        Rejection::ContentMismatch { at, lines, actual, evidence } => {
            let why = correction(*at).because(evidence, Some(actual));
            let reason = format!("the text of {} is not old_string{why}", spelled(*lines));
            let hint = correction(*at).of_text(Some(actual), evidence);
            let passages = passages(Some(actual), evidence);
            (hint.problem(Code::ContentMismatch, reason), Some(*lines), passages)
        }
        Rejection::NoMatch { at, evidence } => {
            let why = correction(*at).because(evidence, None);
            let hint = correction(*at).of_text(None, evidence);
            let reason = format!("old_string is not in the file{why}");
            (hint.problem(Code::NoMatch, reason), None, passages(None, evidence))
        }
        Rejection::AmbiguousMatch { count, tier, places, .. } => {
            (ambiguous(*count, *tier, places), None, places.iter().map(passage).collect())
        }
        // The caller passes no other kind.
        _ => return Problem::new(Code::InternalError, "a mismatch of no known kind", "report this"),
    };
    let total_lines = passages.iter().any(|place| place.text.is_some()).then_some(total_lines);
    Problem { lines, places: passages, total_lines, ..problem }
}

/// Makes the problem of a text that occurs `count` times.
fn ambiguous(count: u64, tier: Tier, places: &[MatchPlace]) -> Problem {
    let blanks = if tier == Tier::TrailingWhitespace { " but for spaces and tabs at line ends" } else { "" };
    // An example of a range would be taken for the one that is meant.
    let hint = if places.first().is_some_and(is_text) {
        "keep old_string and name the lines of the place that is meant as \"ranges\", or set replace_all to change them all"
    } else {
        "add lines around it to old_string until it occurs once, or say which place is meant by \"ranges\" with whole lines as \
         old_string, or set replace_all to change them all"
    };
    Problem::new(Code::AmbiguousMatch, format!("old_string occurs {count} times{blanks}"), hint)
}

/// Returns the places of evidence.
fn places(evidence: &Evidence) -> &[MatchPlace] {
    match evidence {
        Evidence::Applied(place) | Evidence::One(place) | Evidence::Nothing(Some(place)) => {
            std::slice::from_ref(place)
        }
        Evidence::Several(places) => places,
        Evidence::NotSearched | Evidence::After { .. } | Evidence::Nothing(None) => &[],
    }
}

/// Whether the very text stands there as whole lines.
fn is_text(place: &MatchPlace) -> bool {
    place.how == MatchKind::Lines(Normalization::Exact)
}

/// Returns the places that an error shows or names. Lines that the call names are shown once.
fn passages(actual: Option<&Excerpt>, evidence: &Evidence) -> Vec<Passage> {
    let mut shown: Vec<Passage> = places(evidence).iter().map(passage).collect();
    if matches!(evidence, Evidence::Several(_)) {
        // Of places that are only like the text, none is where it stands.
        let like = |place: &&mut Passage| place.text.is_some();
        shown.iter_mut().filter(like).for_each(|place| place.kind = PassageKind::Similar);
    }
    if let Some(actual) = actual {
        let own = shown.iter().position(|place| place.lines == actual.of && place.text.is_some());
        let beside = own.and_then(|own| match shown.get_mut(own)? {
            place if place.kind == PassageKind::Found => {
                place.text = None;
                place.beside.take()
            }
            _ => shown.remove(own).beside,
        });
        let (kind, lines, text) = (PassageKind::Actual, actual.of, Some(actual.clone()));
        shown.insert(0, Passage { kind, lines, text, beside });
    }
    shown
}

fn passage(place: &MatchPlace) -> Passage {
    let kind = match place.how {
        MatchKind::Fuzzy | MatchKind::Applied => PassageKind::Similar,
        MatchKind::Lines(_) | MatchKind::Part(_) | MatchKind::Gap { .. } => PassageKind::Found,
    };
    let beside = place.context.as_ref().map(|line| {
        let side = if line.is_above { "below" } else { "above" };
        format!("{side} \"{}\"", on_one_line(&line.text))
    });
    Passage { kind, lines: place.lines, text: place.text.clone(), beside }
}

/// Names a part of the call by itself.
fn part(call: Call<'_>, named: CalledFile<'_>, at: At) -> String {
    place(call, named, at).trim_end_matches(": ").to_owned()
}

/// Says what differs where undoing this makes a place match.
fn difference(step: Normalization) -> &'static str {
    match step {
        Normalization::Exact => "it stands there",
        Normalization::TrailingBlanks => "only spaces or tabs at line ends differ, where they count",
        Normalization::Characters => "only characters that look alike, or are not seen, differ",
        Normalization::Layout => "only blanks, line breaks, quotes or letter case differ",
        Normalization::Escapes => "one of the two spells out (\\n, \\\", &lt;) what the other has as such",
        Normalization::LineNumbers => {
            "old_string has the line numbers, or the path, that reads and searches show"
        }
        Normalization::Wrapper => {
            "old_string has a blank line, a fence, a name or a mark that the file lacks there"
        }
    }
}

/// Names the first characters that nobody can type, and that the text lacks.
fn unseen_in(shown: &Excerpt, old: &str) -> String {
    let lines = (shown.start.get()..).zip(shown.text.lines());
    let all = lines.flat_map(|(number, line)| {
        let first = if number == shown.start.get() { shown.from_char } else { 1 };
        (first..).zip(line.chars()).filter_map(move |(column, character)| {
            let spelled = unseen(character)?;
            (!old.contains(character)).then(|| format!("line {number}, character {column}: {spelled}"))
        })
    });
    all.take(3).fold(String::new(), |out, one| out + "; " + &one)
}

/// A hint.
struct Hint {
    text: String,
    /// The one that takes its place if the text that it goes by is not shown.
    if_cut: Option<IfCut>,
    /// The tool to call next; `None` for the one that was called.
    suggestion: Option<ToolId>,
}

impl Hint {
    fn new(text: String) -> Self {
        Self { text, if_cut: None, suggestion: None }
    }

    /// Makes a hint after which the file is to be read.
    fn to_read(text: String) -> Self {
        Self { text, if_cut: None, suggestion: Some(ToolId::Get) }
    }

    fn problem(self, code: Code, reason: String) -> Problem {
        let Self { text, if_cut, suggestion } = self;
        Problem { if_cut, suggestion, ..Problem::new(code, reason, text) }
    }
}

impl Correction<'_> {
    /// Says why the text did not match, as the end of a sentence; `actual` are the lines that the call names.
    fn because(self, evidence: &Evidence, actual: Option<&Excerpt>) -> String {
        let asked = actual.map(|actual| actual.of);
        let places = places(evidence);
        let applied = places.iter().find(|place| place.how == MatchKind::Applied);
        let best = places.iter().find(|place| place.how != MatchKind::Applied);
        let at = |place: &MatchPlace| match asked {
            Some(asked) if asked != place.lines => format!("at {} ", spelled(place.lines)),
            _ => String::new(),
        };
        let why = match (evidence, best) {
            (Evidence::After { patch, .. }, _) => {
                let after = part(self.call, self.named, *patch);
                return format!(
                    ", but would be after {after}: patches of one call all refer to the file before the call"
                );
            }
            (_, Some(best)) => match best.how {
                MatchKind::Lines(Normalization::Exact) => format!(": it stands at {}", spelled(best.lines)),
                MatchKind::Part(Normalization::Exact) => format!(": it is a part of {}", spelled(best.lines)),
                MatchKind::Lines(step) | MatchKind::Part(step) => {
                    format!(": {}{}", at(best), difference(step))
                }
                MatchKind::Gap { left_out } => {
                    format!(": of {} it leaves {} out", spelled(best.lines), spelled(left_out))
                }
                MatchKind::Fuzzy | MatchKind::Applied => match best.differs_at {
                    Some(line) if best.lines.count() > 1 => {
                        let similar =
                            if Some(best.lines) == asked { "it differs" } else { "similar lines differ" };
                        format!(": {similar} first at line {line}")
                    }
                    _ => String::new(),
                },
            },
            _ => String::new(),
        };
        let shown = best.and_then(|best| best.text.as_ref()).or(actual);
        let old = self.named.asked(self.at).filter(|_| !matches!(evidence, Evidence::Applied(_)));
        let unseen = old.zip(shown).map(|(old, shown)| unseen_in(shown, old)).unwrap_or_default();
        let applied = applied.map_or_else(String::new, |applied| {
            let either = match evidence {
                Evidence::Applied(_) => "the edit was made before",
                _ => "either the edit was made before, or another place is meant",
            };
            format!(", and new_string stands at {} already: {either}", spelled(applied.lines))
        });
        why + &unseen + &applied
    }

    /// Words the hint where lines do not have the digest that was sent.
    fn of_hash(self, actual: &Excerpt, is_old_there: bool, evidence: &Evidence) -> Hint {
        let with_hash = |hash: &Digest| match self.others() {
            0 => format!("send \"range_hash\": \"{}\"", hash.short()),
            _ => format!("in place of {} send {}", self.part(), range(actual.of, Some(hash))),
        };
        let by_read = match self.others() {
            0 => "send the range_hash of that read".to_owned(),
            _ => format!("send it in {} with the range_hash of that read", self.part()),
        };
        match (evidence, actual.digest) {
            (_, Some(hash)) if is_old_there => Hint::new(format!(
                "old_string is their text: leave \"range_hash\" out, or {}",
                with_hash(&hash)
            )),
            (Evidence::Applied(_), _) => Hint::to_read(MADE.to_owned()),
            (Evidence::One(place), _) => {
                let range = range(place.lines, place.digest.as_ref());
                let call = match self.others() {
                    _ if self.call.tool == ToolId::CopyLines => {
                        format!("send {}", range.to_string().trim_matches(['{', '}']))
                    }
                    0 => format!("call {} with \"ranges\": [{range}]", self.call.tool.name()),
                    _ => format!("in place of {} send {range}", self.part()),
                };
                Hint::new(format!("the lines now stand at {}: {call}", spelled(place.lines)))
            }
            (Evidence::Several(places), _) => {
                let places: Vec<String> = places.iter().map(|place| spelled(place.lines)).collect();
                Hint::new(format!(
                    "the lines now stand at {}: send the range that is meant",
                    places.join(", ")
                ))
            }
            (_, Some(hash)) => {
                let text = format!(
                    "if the text shown is what you mean, {}; else read the file again",
                    with_hash(&hash)
                );
                Hint { if_cut: Some(self.to_see(actual.of, &by_read)), ..Hint::new(text) }
            }
            (_, None) => self.unseen(actual.of, &by_read),
        }
    }

    /// Words the hint where a text does not stand in the lines that were named, or nowhere.
    fn of_text(self, actual: Option<&Excerpt>, evidence: &Evidence) -> Hint {
        match evidence {
            Evidence::After { patch, merged } => {
                let name = |at| {
                    part(self.call, self.named, at).split(".ranges").next().unwrap_or_default().to_owned()
                };
                let [earlier, later] = [*patch, self.at].map(name);
                let new = merged.as_ref().map_or_else(
                    || "the new_string that both make".to_owned(),
                    |merged| format!("\"new_string\": {}", json!(merged)),
                );
                Hint::new(format!("merge them: send {earlier} with {new}, and leave {later} out"))
            }
            Evidence::Applied(_) => Hint::to_read(MADE.to_owned()),
            Evidence::One(place) => self.of_place(place),
            Evidence::Several(places) => {
                let (applied, places): (Vec<&MatchPlace>, Vec<&MatchPlace>) =
                    places.iter().partition(|place| place.how == MatchKind::Applied);
                let mut hint = match places.as_slice() {
                    [] => self.to_look(actual),
                    [one] => self.of_place(one),
                    [first, ..] if is_text(first) => Hint::new(self.stands_at(&places)),
                    _ => Hint::new(
                        "several places are alike: send the one that you mean as \"ranges\" with its range_hash, \
                         without old_string, or more of the lines around it"
                            .to_owned(),
                    ),
                };
                if let [applied, ..] = applied.as_slice() {
                    let are = if applied.lines.count() == 1 { "is" } else { "are" };
                    let lines = spelled(applied.lines);
                    let first = format!("if {lines} {are} what you want, nothing is left to do; else ");
                    hint.text.insert_str(0, &first);
                }
                hint
            }
            Evidence::NotSearched => match actual {
                Some(actual) => self.of_similar(actual.of, actual.digest.as_ref()),
                None => self.to_look(None),
            },
            Evidence::Nothing(_) => self.to_look(actual),
        }
    }

    /// Words the hint for one place.
    fn of_place(self, place: &MatchPlace) -> Hint {
        // The other ranges of the patch need its old text, so the patch cannot do without it.
        if is_text(place) && self.others() > 0 {
            return Hint::new(self.stands_at(&[place]));
        }
        let digest = place.digest.as_ref();
        if digest.is_none() && place.text.as_ref().is_some_and(Excerpt::is_whole) {
            return self.to_look_around(place.lines);
        }
        match place.how {
            MatchKind::Lines(Normalization::Exact) => self.of_lines(place.lines, digest, ""),
            MatchKind::Lines(_) => self.of_lines(place.lines, digest, "adapt new_string likewise, and "),
            MatchKind::Part(_) => self.of_lines(place.lines, digest, WHOLE),
            MatchKind::Gap { .. } => {
                let new = "put what is to stay of the lines left out into new_string, and ";
                self.of_lines(place.lines, digest, new)
            }
            MatchKind::Fuzzy | MatchKind::Applied => self.of_similar(place.lines, digest),
        }
    }

    /// Words the hint for lines that are only similar.
    fn of_similar(self, lines: LineRange, digest: Option<&Digest>) -> Hint {
        self.of_lines(lines, digest, &format!("if you mean {}, {WHOLE}", spelled(lines)))
    }

    /// Says to name lines by their digest, after words on the new text; without a digest, to read them first.
    fn of_lines(self, lines: LineRange, digest: Option<&Digest>, new: &str) -> Hint {
        let Some(digest) = digest else { return self.unseen(lines, &self.by_read()) };
        let (apart, range) = (self.apart(), range(lines, Some(digest)));
        let text = format!("{new}{apart}send \"ranges\": [{range}] without old_string");
        let if_cut = (!new.is_empty()).then(|| self.to_see(lines, &self.by_read()));
        Hint { if_cut, ..Hint::new(text) }
    }

    /// Says to read the file, around the named lines if there are any.
    fn to_look(self, actual: Option<&Excerpt>) -> Hint {
        let around = actual.map(|actual| {
            let end = actual.of.end().saturating_add(AROUND).min(self.total_lines);
            (actual.of.start().get().saturating_sub(AROUND).max(1), end)
        });
        let read = reading(self.call, self.named, around);
        let read = read.map_or_else(|| "read the file".to_owned(), |read| format!("read it again: {read}"));
        Hint::to_read(format!("nothing in the file is so like old_string that it must be meant; {read}"))
    }

    /// Says to read around lines of which it is not certain where they begin or end.
    fn to_look_around(self, lines: LineRange) -> Hint {
        let first = lines.start().get().saturating_sub(BESIDE).max(1);
        let last = lines.end().saturating_add(BESIDE).min(self.total_lines);
        let read = reading(self.call, self.named, Some((first, last)));
        let read = read.unwrap_or_else(|| format!("lines {first}-{last}"));
        Hint::to_read(format!(
            "look where they begin and end: {read}; then send the lines that you mean as \"ranges\", with their text as old_string"
        ))
    }

    /// Says which call replaces the old text where it stands as whole lines. There is at least one place.
    fn stands_at(self, places: &[&MatchPlace]) -> String {
        if self.others() == 0 {
            // No more places are kept than this.
            let least = if places.len() < CLOSEST { "" } else { "at least " };
            return format!(
                "old_string stands at {least}{} places: send the patch with the lines of the one that is meant as \"ranges\"",
                places.len(),
            );
        }
        let ranges = self.named.patches.get(self.at.patch).copied().unwrap_or_default();
        let is_taken = |lines: LineRange| {
            ranges.iter().enumerate().any(|(index, other)| {
                let first = u64::try_from(other.start).unwrap_or_default();
                let last = other.end.map_or(self.total_lines, |end| u64::try_from(end).unwrap_or_default());
                Some(index) != self.at.range && first <= lines.end() && lines.start().get() <= last
            })
        };
        match places.iter().map(|place| place.lines).find(|lines| !is_taken(*lines)) {
            Some(free) => {
                let range = range(free, None);
                format!("old_string stands at {}: in place of {} send {range}", spelled(free), self.part())
            }
            None => format!(
                "old_string stands only where other ranges name it: leave {} out, or make it a patch of its own, with its \
                 text as old_string",
                self.part()
            ),
        }
    }

    /// Returns the number of other ranges of the patch, which are to stay.
    fn others(self) -> usize {
        let ranges = self.named.patches.get(self.at.patch).copied().unwrap_or_default();
        ranges.len().saturating_sub(usize::from(self.at.range.is_some()))
    }

    /// Names the range in the call.
    fn part(self) -> String {
        part(self.call, self.named, self.at)
    }

    /// Says to leave the range out, before words on a patch that is made in another way, which the other
    /// ranges could not share.
    fn apart(self) -> String {
        match self.others() {
            0 => String::new(),
            _ => format!("leave {} out; in a patch of its own, ", self.part()),
        }
    }

    /// Says to name lines that were read by their digest.
    fn by_read(self) -> String {
        self.apart() + "send them as \"ranges\" with the range_hash of that read, without old_string"
    }

    /// Says to read lines before their digest is sent: the digest of a text that was not shown guards
    /// nothing. A read gives no digest of a line that it cannot show whole.
    fn to_see(self, lines: LineRange, then: &str) -> IfCut {
        let read = reading(self.call, self.named, Some((lines.start().get(), lines.end())));
        let read = read.map_or_else(
            || format!("read {} whole", spelled(lines)),
            |read| format!("read {}: {read}", spelled(lines)),
        );
        let part = if lines.count() == 1 {
            "; or send, without ranges, the part of it that is to change"
        } else {
            ""
        };
        let get = ToolId::Get;
        IfCut {
            hint: format!("{read}; if that is what you mean, {then}{part}"),
            suggestion: self.call.offered.contains(get).then_some(get),
        }
    }

    fn unseen(self, lines: LineRange, then: &str) -> Hint {
        let IfCut { hint, suggestion } = self.to_see(lines, then);
        Hint { text: hint, if_cut: None, suggestion }
    }
}

/// Makes a range as a call names it.
pub(super) fn range(lines: LineRange, digest: Option<&Digest>) -> Value {
    let (start, end) = (lines.start().get(), lines.end());
    match digest {
        Some(digest) => json!({"start": start, "end": end, "range_hash": digest.short()}),
        None => json!({"start": start, "end": end}),
    }
}
