//! Texts and hashes that do not fit, in words: what is there instead, where the wanted text is, and the call
//! that replaces it there by its digest.

use mcp_text_editor_core::cause::Cause;
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::matching::{CLOSEST, Tier};
use mcp_text_editor_core::rejection::{At, Dependency, Evidence, Excerpt, FoundBy, LineRole, Rejection};
use serde_json::{Value, json};

use super::call::{AROUND, Call, CalledFile, place, reading};
use crate::problem::{Code, IfCut, Passage, PassageKind, Problem};
use crate::render::escape::{on_one_line, unseen};
use crate::render::layout::spelled;
use crate::tool_id::ToolId;

/// The hint where the edit was made before.
const MADE: &str = "if that is what you want, nothing is left to do";

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
    let (problem, lines, evidence) = match rejection {
        Rejection::RangeHashMismatch { at, lines, expected, is_old_there, evidence, .. } => {
            let is_of_file = file_hash.is_some_and(|digest| expected.matches(digest));
            let why = match evidence.made.filter(|made| made.is_sure) {
                _ if is_of_file => "; that is the hash of the file",
                Some(_) => ", and new_string stands there already",
                None => "",
            };
            let reason =
                format!("the bytes of {} are not those that range_hash was taken of{why}", spelled(*lines));
            let hint = correction(*at).of_hash(*lines, *is_old_there, evidence);
            (hint.problem(Code::RangeHashMismatch, reason), Some(*lines), evidence)
        }
        Rejection::ContentMismatch { at, lines, evidence } => {
            let why = because(evidence, Some(*lines), |at| part(call, named, at), named.asked(*at));
            let reason = format!("the text of {} is not old_string{why}", spelled(*lines));
            let hint = correction(*at).of_text(Some(*lines), evidence);
            (hint.problem(Code::ContentMismatch, reason), Some(*lines), evidence)
        }
        Rejection::NoMatch { at, evidence } => {
            let why = because(evidence, None, |at| part(call, named, at), named.asked(*at));
            let hint = correction(*at).of_text(None, evidence);
            (hint.problem(Code::NoMatch, format!("old_string is not in the file{why}")), None, evidence)
        }
        Rejection::AmbiguousMatch { count, tier, evidence, .. } => {
            (ambiguous(*count, *tier, evidence), None, evidence)
        }
        // The caller passes no other kind.
        _ => return Problem::new(Code::InternalError, "a mismatch of no known kind", "report this"),
    };
    let places = places(evidence);
    let total_lines = places.iter().any(|place| place.text.is_some()).then_some(total_lines);
    Problem { lines, places, total_lines, ..problem }
}

/// Makes the problem of a text that occurs `count` times.
fn ambiguous(count: u64, tier: Tier, evidence: &Evidence) -> Problem {
    let blanks = if tier == Tier::TrailingWhitespace { " but for spaces and tabs at line ends" } else { "" };
    // An example of a range would be taken for the one that is meant.
    let hint = if evidence.found_by == FoundBy::Text {
        "keep old_string and name the lines of the place that is meant as \"ranges\", or set replace_all to change them all"
    } else {
        "add lines around it to old_string until it occurs once, or say which place is meant by \"ranges\" with whole lines as \
         old_string, or set replace_all to change them all"
    };
    Problem::new(Code::AmbiguousMatch, format!("old_string occurs {count} times{blanks}"), hint)
}

/// Returns the places that an error shows or names.
fn places(evidence: &Evidence) -> Vec<Passage> {
    let beside = |index: usize| {
        let line = evidence.distinguishing.get(index)?.as_ref()?;
        let side = if line.is_above { "below" } else { "above" };
        Some(format!("{side} \"{}\"", on_one_line(&line.text)))
    };
    let intended = evidence.intended.as_ref();
    let found = evidence.found_at.iter().enumerate().map(|(index, lines)| {
        let text = intended.filter(|place| place.lines == *lines).and_then(|place| place.text.as_ref());
        (PassageKind::Found, *lines, text, beside(index))
    });
    // Similar lines that the call names are shown once.
    let shown = evidence.actual.as_ref();
    let is_shown = |near: &Excerpt| shown.is_some_and(|shown| shown.of == near.of);
    let beside = |index: usize| beside(index).filter(|_| evidence.found_at.is_empty());
    let similar = evidence.nearest.iter().enumerate().filter(|(_, near)| !is_shown(near));
    let similar = similar.map(|(index, text)| (PassageKind::Similar, text.of, Some(text), beside(index)));
    let actual = shown.map(|text| {
        let beside = evidence.nearest.iter().position(is_shown).and_then(beside);
        (PassageKind::Actual, text.of, Some(text), beside)
    });
    let actual = actual.into_iter();
    let all = actual.chain(found).chain(similar);
    all.map(|(kind, lines, text, beside)| Passage { kind, lines, text: text.cloned(), beside }).collect()
}

/// Names a part of the call by itself.
fn part(call: Call<'_>, named: CalledFile<'_>, at: At) -> String {
    place(call, named, at).trim_end_matches(": ").to_owned()
}

/// Says which kind of slip it is; `None` where the place says it.
fn kind(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::Gutter | Cause::FileName => {
            "old_string has the line numbers, or the path, that reads and searches show"
        }
        Cause::BlankLines | Cause::Fence | Cause::PatchMark | Cause::Repeated => {
            "old_string has a blank line, a fence or a mark of a patch that the file lacks there"
        }
        Cause::Indentation
        | Cause::InnerBlanks
        | Cause::TabsAgainstSpaces(_)
        | Cause::LineBreaks
        | Cause::TypographicQuotes(_)
        | Cause::LetterCase => "only blanks, line breaks, quotes or letter case differ",
        Cause::NoBreakSpace(_)
        | Cause::Invisible(_)
        | Cause::Composition(_)
        | Cause::Dashes(_)
        | Cause::CarriageReturn => "only characters that look alike, or are not seen, differ",
        Cause::SpelledOutEscapes
        | Cause::EscapesInFile
        | Cause::DoubledBackslashes(_)
        | Cause::HtmlEntities(_) => "one of the two spells out (\\n, \\\", &lt;) what the other has as such",
        Cause::TrailingWhitespace => "only spaces or tabs at line ends differ, where they count",
        Cause::Elided | Cause::LeftOut => "lines that stand there were left out",
        Cause::RangeTooLong | Cause::RangeTooShort | Cause::CutShort => return None,
    })
}

/// Says why the text did not match, as the end of a sentence; `asked` are the lines that the call named.
fn because(
    evidence: &Evidence,
    asked: Option<LineRange>,
    part: impl Fn(At) -> String,
    old: Option<&str>,
) -> String {
    if let Some(Dependency { at, .. }) = &evidence.dependency {
        let after = part(*at);
        return format!(
            ", but would be after {after}: patches of one call all refer to the file before the call"
        );
    }
    let made = evidence.made.map_or_else(String::new, |made| {
        let either = if made.is_sure {
            "the edit was made before"
        } else {
            "either the edit was made before, or another place is meant"
        };
        format!(", and new_string stands at {} already: {either}", spelled(made.lines))
    });
    let best = evidence.nearest.first().map(|near| near.of);
    let found = evidence.found_at.first().copied();
    let there = found.or(best).filter(|there| Some(*there) != asked);
    let at =
        there.filter(|_| asked.is_some()).map_or_else(String::new, |there| format!("at {} ", spelled(there)));
    let why = match (evidence.found_by, found, evidence.cause.and_then(kind)) {
        _ if evidence.made.is_some_and(|made| made.is_sure) => String::new(),
        (FoundBy::Gap { left_out }, Some(found), _) => {
            format!(": of {} it leaves {} out", spelled(found), spelled(left_out))
        }
        (FoundBy::Text, Some(found), Some(kind)) if asked.is_some() => {
            format!(": {kind}; as it is written it stands at {}", spelled(found))
        }
        (_, _, Some(kind)) => format!(": {at}{kind}"),
        (FoundBy::Text, Some(found), None) => format!(": it stands at {}", spelled(found)),
        (FoundBy::Part { .. }, Some(found), None) => format!(": it is a part of {}", spelled(found)),
        (FoundBy::Alike, Some(_), None) => format!(": {at}it differs in several ways"),
        _ => match (evidence.differs_at, there.or(asked)) {
            (Some(line), Some(lines)) if lines.count() > 1 => {
                let similar = if Some(lines) == asked { "it differs" } else { "similar lines differ" };
                format!(": {similar} first at line {line}")
            }
            _ => String::new(),
        },
    };
    let shown = evidence.intended.as_ref().and_then(|place| place.text.as_ref());
    let shown = shown.or(evidence.nearest.first()).or(evidence.actual.as_ref());
    let unseen = old.zip(shown).map(|(old, shown)| unseen_in(shown, old)).unwrap_or_default();
    why + &unseen + &made
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
    /// Words the hint where lines do not have the digest that was sent.
    fn of_hash(self, lines: LineRange, is_old_there: bool, evidence: &Evidence) -> Hint {
        let shown = evidence.actual.as_ref().filter(|shown| shown.of == lines).and_then(|shown| shown.digest);
        let with_hash = |hash: &Digest| match self.others() {
            0 => format!("send \"range_hash\": \"{}\"", hash.short()),
            _ => format!("in place of {} send {}", self.part(), range(lines, Some(hash))),
        };
        let by_read = match self.others() {
            0 => "send the range_hash of that read".to_owned(),
            _ => format!("send it in {} with the range_hash of that read", self.part()),
        };
        match (&evidence.intended, evidence.found_at.as_slice(), shown) {
            (_, _, Some(hash)) if is_old_there => Hint::new(format!(
                "old_string is their text: leave \"range_hash\" out, or {}",
                with_hash(&hash)
            )),
            _ if evidence.made.is_some_and(|made| made.is_sure) => Hint::to_read(MADE.to_owned()),
            (Some(place), ..) => {
                let range = range(place.lines, Some(&place.digest));
                let call = match self.others() {
                    0 => format!("call {} with \"ranges\": [{range}]", self.call.tool.name()),
                    _ => format!("in place of {} send {range}", self.part()),
                };
                Hint::new(format!("the lines now stand at {}: {call}", spelled(place.lines)))
            }
            (None, [_, ..], _) => {
                let places: Vec<String> = evidence.found_at.iter().map(|place| spelled(*place)).collect();
                Hint::new(format!(
                    "the lines now stand at {}: send the range that is meant",
                    places.join(", ")
                ))
            }
            (None, [], Some(hash)) => {
                let text = format!(
                    "if the text shown is what you mean, {}; else read the file again",
                    with_hash(&hash)
                );
                Hint { if_cut: Some(self.to_see(lines, &by_read)), ..Hint::new(text) }
            }
            (None, [], None) => self.unseen(lines, &by_read),
        }
    }

    /// Words the hint where a text does not stand in the lines that were named, or nowhere.
    fn of_text(self, asked: Option<LineRange>, evidence: &Evidence) -> Hint {
        if let Some(Dependency { at, merged }) = &evidence.dependency {
            let patch =
                |at| part(self.call, self.named, at).split(".ranges").next().unwrap_or_default().to_owned();
            let [earlier, later] = [*at, self.at].map(patch);
            let new = merged.as_ref().map_or_else(
                || "the new_string that both make".to_owned(),
                |merged| format!("\"new_string\": {}", json!(merged)),
            );
            return Hint::new(format!("merge them: send {earlier} with {new}, and leave {later} out"));
        }
        if evidence.made.is_some_and(|made| made.is_sure) {
            return Hint::to_read(MADE.to_owned());
        }
        let first = evidence.made.map_or_else(String::new, |made| {
            let are = if made.lines.count() == 1 { "is" } else { "are" };
            format!("if {} {are} what you want, nothing is left to do; else ", spelled(made.lines))
        });
        let mut hint = self.of_place(asked, evidence);
        hint.text.insert_str(0, &first);
        hint
    }

    fn of_place(self, asked: Option<LineRange>, evidence: &Evidence) -> Hint {
        let is_slip = evidence.cause.is_some_and(Cause::is_slip);
        let is_text = evidence.found_by == FoundBy::Text;
        // The other ranges of the patch need its old text, so the patch cannot do without it.
        if let Some(place) = evidence.intended.as_ref().filter(|_| !is_text || self.others() == 0) {
            let new = match evidence.found_by {
                FoundBy::Text if !is_slip => "",
                FoundBy::Part { of_new: Some(_) } => "",
                FoundBy::Part { of_new: None } => "with the whole lines as new_string, ",
                FoundBy::Gap { .. } => "put what is to stay of the lines left out into new_string, and ",
                FoundBy::Text | FoundBy::Alike => "adapt new_string likewise, and ",
            };
            let shown =
                place.text.as_ref().or(evidence.actual.as_ref()).filter(|shown| shown.of == place.lines);
            let is_known = is_text && !is_slip;
            return match shown.and_then(|shown| shown.digest).or(is_known.then_some(place.digest)) {
                Some(digest) => Hint {
                    if_cut: (!is_known).then(|| self.to_see(place.lines, &self.by_read())),
                    ..Hint::new(new.to_owned() + &self.by_digest(place.lines, &digest))
                },
                None => self.unseen(place.lines, &self.by_read()),
            };
        }
        match (evidence.found_at.as_slice(), evidence.found_by) {
            ([], _) => self.of_similar(asked, evidence),
            ([_], FoundBy::Part { of_new: Some(LineRole::Part) }) => {
                Hint::new(self.apart() + "send the patch without ranges, or the whole lines as old_string")
            }
            (_, FoundBy::Part { .. }) => Hint::new(
                self.apart()
                    + "send the whole lines of the place that is meant, in old_string and in new_string",
            ),
            (places, _) => Hint::new(self.stands_at(places)),
        }
    }

    /// Words the hint where nothing is certain.
    fn of_similar(self, asked: Option<LineRange>, evidence: &Evidence) -> Hint {
        if evidence.is_tied {
            return Hint::new(
                "several places are alike: send the one that you mean as \"ranges\" with its range_hash, without \
                 old_string, or more of the lines around it"
                    .to_owned(),
            );
        }
        // If the failure was not examined, so that no difference is known, the hint goes by the named lines.
        let unexamined =
            evidence.actual.as_ref().filter(|_| evidence.differs_at.is_none() || asked.is_none());
        let similar = evidence.nearest.first().filter(|_| !evidence.is_vague);
        let Some(place) = similar.or(unexamined.filter(|_| evidence.nearest.is_empty())) else {
            let around = asked.map(|asked| {
                let end = asked.end().saturating_add(AROUND).min(self.total_lines);
                (asked.start().get().saturating_sub(AROUND).max(1), end)
            });
            let read = reading(self.call, self.named, around);
            let read =
                read.map_or_else(|| "read the file".to_owned(), |read| format!("read it again: {read}"));
            return Hint::to_read(format!(
                "nothing in the file is so like old_string that it must be meant; {read}"
            ));
        };
        let Some(digest) = place.digest else { return self.unseen(place.of, &self.by_read()) };
        let (lines, call) = (spelled(place.of), self.by_digest(place.of, &digest));
        Hint {
            if_cut: Some(self.to_see(place.of, &self.by_read())),
            ..Hint::new(format!("if you mean {lines}, with the whole lines as new_string, {call}"))
        }
    }

    /// Says which call replaces the old text where it stands as whole lines. There is at least one place.
    fn stands_at(self, places: &[LineRange]) -> String {
        if self.others() == 0 {
            // No more places are kept than this.
            let least = if places.len() < CLOSEST { "" } else { "at least " };
            return format!(
                "old_string stands at {least}{} places: send the patch with the lines of the one that is meant as \"ranges\"",
                places.len(),
            );
        }
        let ranges = self.named.patches.get(self.at.patch).copied().unwrap_or_default();
        let is_taken = |lines: &LineRange| {
            ranges.iter().enumerate().any(|(index, other)| {
                let first = u64::try_from(other.start).unwrap_or_default();
                let last = other.end.map_or(self.total_lines, |end| u64::try_from(end).unwrap_or_default());
                Some(index) != self.at.range && first <= lines.end() && lines.start().get() <= last
            })
        };
        match places.iter().find(|place| !is_taken(place)) {
            Some(free) => {
                let range = range(*free, None);
                format!("old_string stands at {}: in place of {} send {range}", spelled(*free), self.part())
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

    /// Says to name lines by their digest instead of their text.
    fn by_digest(self, lines: LineRange, digest: &Digest) -> String {
        let (apart, range) = (self.apart(), range(lines, Some(digest)));
        format!("{apart}send \"ranges\": [{range}] without old_string")
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
