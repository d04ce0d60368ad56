//! Words the mismatch of a text or a hash with the file: what the file has there instead, where the wanted
//! text is, and which call replaces it there by its digest.

use std::slice;

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::matching::{CLOSEST, Tier};
use mcp_text_editor_core::rejection::{
    At, Evidence, Excerpt, MatchKind, MatchPlace, Normalization, Rejection,
};
use serde_json::{Value, json};

use super::call::{AROUND, Call, CalledFile, place, reading};
use crate::problem::{Code, Problem};
use crate::render::escape::unseen;
use crate::render::layout::spelled;
use crate::tool_id::ToolId;

/// The hint if the edit was made already.
const MADE: &str = "if that is what you want, nothing is left to do";

/// The number of lines to read above and below a place whose first or last line is uncertain.
const BESIDE: u64 = 3;

/// The words on the new text where the lines to replace hold more than `old_string`.
const WHOLE: &str = "with the whole lines as new_string, ";

/// A hint, and whether the file is to be read next.
type Hint = (String, bool);

/// The part of a call that a hint corrects: a range of a patch or of a deletion, or a patch without ranges.
#[derive(Clone, Copy)]
struct Correction<'a> {
    call: Call<'a>,
    named: CalledFile<'a>,
    at: At,
    total_lines: u64,
}

/// Makes the problem of a hash or a text that does not match the file.
pub(super) fn problem(
    call: Call<'_>,
    named: CalledFile<'_>,
    rejection: &Rejection,
    file_hash: Option<&Digest>,
    total_lines: u64,
) -> Problem {
    let correction = |at: At| Correction { call, named, at, total_lines };
    let (code, reason, (hint, is_to_read), actual, places) = match rejection {
        Rejection::RangeHashMismatch { at, lines, expected, is_old_there, actual, evidence, .. } => {
            let why = match evidence.as_ref() {
                _ if file_hash.is_some_and(|digest| expected.matches(digest)) => {
                    "; that is the hash of the file"
                }
                Evidence::Applied(_) => ", and new_string stands there already",
                _ => "",
            };
            let reason =
                format!("the bytes of {} are not those that range_hash was taken of{why}", spelled(*lines));
            let hint = correction(*at).of_hash(actual, *is_old_there, evidence);
            (Code::RangeHashMismatch, reason, hint, Some(actual), places(evidence))
        }
        Rejection::ContentMismatch { at, lines, actual, evidence } => {
            let why = correction(*at).because(evidence, Some(actual));
            let reason = format!("the text of {} is not old_string{why}", spelled(*lines));
            let hint = correction(*at).of_text(Some(actual), evidence);
            (Code::ContentMismatch, reason, hint, Some(actual), places(evidence))
        }
        Rejection::NoMatch { at, evidence } => {
            let reason = format!("old_string is not in the file{}", correction(*at).because(evidence, None));
            (Code::NoMatch, reason, correction(*at).of_text(None, evidence), None, places(evidence))
        }
        Rejection::AmbiguousMatch { count, tier, places, .. } => {
            let (reason, hint) = ambiguous(*count, *tier, places);
            (Code::AmbiguousMatch, reason, (hint, false), None, places.as_slice())
        }
        // The caller passes no other kind.
        _ => return Problem::new(Code::InternalError, "a mismatch of no known kind", "report this"),
    };
    let (lines, actual) = (actual.map(|actual| actual.of), actual.map(|actual| actual.as_ref().clone()));
    let problem = Problem::new(code, reason, hint);
    let problem = if is_to_read { problem.suggest(ToolId::Get) } else { problem };
    let problem = Problem { lines, actual, places: places.to_vec(), ..problem };
    let has_text = problem.texts().next().is_some();
    Problem { total_lines: has_text.then_some(total_lines), ..problem }
}

/// Returns the reason and the hint for an `old_string` that occurs `count` times.
fn ambiguous(count: u64, tier: Tier, places: &[MatchPlace]) -> (String, String) {
    let blanks = if tier == Tier::TrailingWhitespace { " but for spaces and tabs at line ends" } else { "" };
    // The hint has no example of a range: a caller would send that very range.
    let hint = if places.first().is_some_and(is_text) {
        "keep old_string and name the lines of the place that is meant as \"ranges\", or set replace_all to change them all"
    } else {
        "add lines around it to old_string until it occurs once, or say which place is meant by \"ranges\" with whole lines as \
         old_string, or set replace_all to change them all"
    };
    (format!("old_string occurs {count} times{blanks}"), hint.to_owned())
}

/// Returns the places of evidence.
fn places(evidence: &Evidence) -> &[MatchPlace] {
    match evidence {
        Evidence::Applied(place) | Evidence::One(place) | Evidence::Nothing(Some(place)) => {
            slice::from_ref(place)
        }
        Evidence::Several(places) => places,
        Evidence::NotSearched | Evidence::After { .. } | Evidence::Nothing(None) => &[],
    }
}

/// Whether the place has exactly the wanted text, as whole lines.
fn is_text(place: &MatchPlace) -> bool {
    place.how == MatchKind::Lines(Normalization::Exact)
}

/// Names a part of the call, without the colon that [`place`] appends.
fn part(call: Call<'_>, named: CalledFile<'_>, at: At) -> String {
    place(call, named, at).trim_end_matches(": ").to_owned()
}

/// Says how a place differs from the wanted text if this normalization makes them equal.
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

/// Names the first three of the shown characters that nobody can type and that `old` lacks.
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

impl Correction<'_> {
    /// Says why the text did not match, as the end of a sentence. `actual` is the text of the lines that the
    /// call names, if it names any.
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

    /// Words the hint for lines whose digest is not the one that was sent.
    fn of_hash(self, actual: &Excerpt, is_old_there: bool, evidence: &Evidence) -> Hint {
        let text = match (evidence, actual.digest) {
            (_, Some(hash)) if is_old_there => {
                let send = self.send(actual.of, Some(&hash));
                format!("old_string is their text: leave \"range_hash\" out, or {send}")
            }
            (Evidence::Applied(_), _) => return (MADE.to_owned(), true),
            (Evidence::One(place), _) => {
                let send = self.send(place.lines, place.digest.as_ref());
                format!("the lines now stand at {}: {send}", spelled(place.lines))
            }
            (Evidence::Several(places), _) => {
                format!("the lines now stand at {}: send the range that is meant", listed(places.iter()))
            }
            (_, Some(hash)) => {
                let send = self.send(actual.of, Some(&hash));
                format!("if the text shown is what you mean, {send}; else read the file again")
            }
            (_, None) => return self.read_whole(actual.of, true),
        };
        (text, false)
    }

    /// Words the hint for an `old_string` that is not the text of the named lines, or, if none are named, is
    /// not in the file.
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
                (format!("merge them: send {earlier} with {new}, and leave {later} out"), false)
            }
            Evidence::Applied(_) => (MADE.to_owned(), true),
            Evidence::One(place) => self.of_place(place),
            Evidence::Several(places) => {
                let (applied, places): (Vec<&MatchPlace>, Vec<&MatchPlace>) =
                    places.iter().partition(|place| place.how == MatchKind::Applied);
                let (hint, is_to_read) = match places.as_slice() {
                    [] => self.to_look(actual),
                    [one] => self.of_place(one),
                    [first, ..] if is_text(first) => (self.stands_at(&places), false),
                    _ => (
                        "several places are alike: send the one that you mean as \"ranges\" with its range_hash, \
                         without old_string, or more of the lines around it"
                            .to_owned(),
                        false,
                    ),
                };
                let first = applied.first().map_or_else(String::new, |applied| {
                    let are = if applied.lines.count() == 1 { "is" } else { "are" };
                    let lines = spelled(applied.lines);
                    format!("if {lines} {are} what you want, nothing is left to do; else ")
                });
                (first + &hint, is_to_read)
            }
            Evidence::NotSearched if let Some(actual) = actual => {
                self.of_similar(actual.of, actual.digest.as_ref())
            }
            Evidence::NotSearched | Evidence::Nothing(_) => self.to_look(actual),
        }
    }

    /// Words the hint for evidence of a single place.
    fn of_place(self, place: &MatchPlace) -> Hint {
        // The patch's other ranges need its `old_string`, so the hint cannot say to leave that out.
        if is_text(place) && self.others() > 0 {
            return (self.stands_at(&[place]), false);
        }
        let digest = place.digest.as_ref();
        if digest.is_none() && place.text.as_ref().is_some_and(Excerpt::is_whole) {
            return self.to_look_around(place.lines);
        }
        let new = match place.how {
            MatchKind::Lines(Normalization::Exact) => "",
            MatchKind::Lines(_) => "adapt new_string likewise, and ",
            MatchKind::Part(_) => WHOLE,
            MatchKind::Gap { .. } => "put what is to stay of the lines left out into new_string, and ",
            MatchKind::Fuzzy | MatchKind::Applied => return self.of_similar(place.lines, digest),
        };
        self.by_digest(place.lines, digest, new)
    }

    /// Words the hint for lines that are only similar.
    fn of_similar(self, lines: LineRange, digest: Option<&Digest>) -> Hint {
        self.by_digest(lines, digest, &format!("if you mean {}, {WHOLE}", spelled(lines)))
    }

    /// Says to name the lines by `digest`, after `new`, the words on the new text. Without a digest, says to
    /// read the lines first.
    fn by_digest(self, lines: LineRange, digest: Option<&Digest>, new: &str) -> Hint {
        let Some(digest) = digest else { return self.read_whole(lines, false) };
        let (apart, range) = (self.apart(), range(lines, Some(digest)));
        (format!("{new}{apart}send \"ranges\": [{range}] without old_string"), false)
    }

    /// Says to send a range in place of the one that was sent.
    fn send(self, lines: LineRange, digest: Option<&Digest>) -> String {
        let range = range(lines, digest);
        match self.others() {
            _ if self.call.tool == ToolId::CopyLines => {
                format!("send {}", range.to_string().trim_matches(['{', '}']))
            }
            0 => format!("send \"ranges\": [{range}]"),
            _ => format!("in place of {} send {range}", self.part()),
        }
    }

    /// Says to read the file, around the named lines if there are any.
    fn to_look(self, actual: Option<&Excerpt>) -> Hint {
        let read = reading(self.call, self.named, actual.map(|actual| self.around(actual.of, AROUND)));
        let read = read.map_or_else(|| "read the file".to_owned(), |read| format!("read it again: {read}"));
        (format!("nothing in the file is so like old_string that it must be meant; {read}"), true)
    }

    /// Says to read some lines before and after a place whose first or last line is uncertain.
    fn to_look_around(self, lines: LineRange) -> Hint {
        let around = self.around(lines, BESIDE);
        let read = reading(self.call, self.named, Some(around));
        let read = read.unwrap_or_else(|| format!("lines {}-{}", around.0, around.1));
        let hint = format!(
            "look where they begin and end: {read}; then send the lines that you mean as \"ranges\", with their text as old_string"
        );
        (hint, true)
    }

    /// Returns the numbers of the first and the last line of a range that is widened by `more` lines on
    /// either side, within the file.
    fn around(self, lines: LineRange, more: u64) -> (u64, u64) {
        let first = lines.start().get().saturating_sub(more).max(1);
        (first, lines.end().saturating_add(more).min(self.total_lines))
    }

    /// Says to read lines before their digest is sent: the digest of a text that the caller has not seen does
    /// not guard against a wrong edit. A read gives no digest of a line that it cannot show whole.
    fn read_whole(self, lines: LineRange, is_hash: bool) -> Hint {
        let read = reading(self.call, self.named, Some(self.around(lines, 0)));
        let read = read.map_or_else(
            || format!("read {} whole", spelled(lines)),
            |read| format!("read {}: {read}", spelled(lines)),
        );
        let part = if lines.count() == 1 {
            "; or send, without ranges, the part of it that is to change"
        } else {
            ""
        };
        let (first, without) = match (is_hash, self.others()) {
            (true, 0) => (String::new(), ""),
            (true, _) => (format!("in place of {} ", self.part()), ""),
            (false, _) => (self.apart(), ", without old_string"),
        };
        let send = format!("{first}send them as \"ranges\" with the range_hash of that read{without}");
        (format!("{read}; if that is what you mean, {send}{part}"), true)
    }

    /// Says which call replaces the old text at one of `places`, where it stands as whole lines. There is at
    /// least one of them.
    fn stands_at(self, places: &[&MatchPlace]) -> String {
        if self.others() == 0 {
            // The search keeps no more places than this, so there may be others.
            let least = if places.len() < CLOSEST { "" } else { "at least " };
            return format!(
                "old_string stands at {least}{} places: send the patch with the lines of the one that is meant as \"ranges\"",
                places.len(),
            );
        }
        let ranges = self.named.patches.get(self.at.patch).copied().unwrap_or_default();
        let is_taken = |place: &&&MatchPlace| {
            let other = ranges.iter().enumerate().filter(|(index, _)| Some(*index) != self.at.range);
            let mut other =
                other.filter_map(|(_, other)| LineRange::existing(other.start, other.end, self.total_lines));
            other.any(|other| other.overlaps(place.lines))
        };
        match places.iter().find(|place| !is_taken(place)) {
            Some(free) => {
                let lines = free.lines;
                format!("old_string stands at {}: {}", spelled(lines), self.send(lines, None))
            }
            None => format!(
                "old_string stands only where other ranges name it: leave {} out, or make it a patch of its own, with its \
                 text as old_string",
                self.part()
            ),
        }
    }

    /// Returns the number of the patch's other ranges, which the hint leaves as they are.
    fn others(self) -> usize {
        let ranges = self.named.patches.get(self.at.patch).copied().unwrap_or_default();
        ranges.len().saturating_sub(usize::from(self.at.range.is_some()))
    }

    /// Names the part of the call that the hint corrects.
    fn part(self) -> String {
        part(self.call, self.named, self.at)
    }

    /// Says to leave the range out, and begins the words on a patch of its own, which has no `old_string`.
    /// The patch's other ranges could not share that. Empty if there are none.
    fn apart(self) -> String {
        match self.others() {
            0 => String::new(),
            _ => format!("leave {} out; in a patch of its own, ", self.part()),
        }
    }
}

/// Lists the lines of places.
fn listed<'a>(places: impl Iterator<Item = &'a MatchPlace>) -> String {
    places.map(|place| spelled(place.lines)).collect::<Vec<_>>().join(", ")
}

/// Returns a range in JSON, as an argument of a call has it.
pub(super) fn range(lines: LineRange, digest: Option<&Digest>) -> Value {
    let (start, end) = (lines.start().get(), lines.end());
    match digest {
        Some(digest) => json!({"start": start, "end": end, "range_hash": digest.short()}),
        None => json!({"start": start, "end": end}),
    }
}
