//! What the core rejects, in words: hashes that do not fit, texts that are not there, lines that do not exist.

use mcp_text_editor_core::cause::Cause;
use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::matching::{CLOSEST, Tier};
use mcp_text_editor_core::rejection::{At, Evidence, Fit, Rejection};
use mcp_text_editor_core::resolve::GuardedRange;
use serde_json::{Map, Value, json};

use super::call::{Call, Named};
use crate::limits::{Exceeded, Limit};
use crate::problem::{Code, IfCut, Problem};
use crate::render::layout::spelled;
use crate::render::limits;
use crate::tool_id::ToolId;

/// The hint asks to read so many lines above and below the one that was named.
const AROUND: u64 = 20;

/// Makes the problem of a rejection.
pub(super) fn problem(call: Call<'_>, named: Named<'_>, rejection: &Rejection, total_lines: u64) -> Problem {
    let place = |at: At| place(call, named, at);
    let mut problem = match rejection {
        Rejection::HashMismatch { actual, fit } => another_file(call, named, actual, fit, total_lines),
        Rejection::InvalidRange { start, end, .. } => Problem::new(
            Code::InvalidRange,
            format!("end {end} is before start {start}"),
            "send start and end in rising order; without end, the range goes to the last line",
        ),
        Rejection::LineOutOfRange { start, end, total, .. } => {
            let reason = match end {
                Some(end) => {
                    format!("lines {start}-{end} are not all in the file, which has {}", counted(*total))
                }
                None => format!("line {start} is not in the file, which has {}", counted(*total)),
            };
            let problem = Problem::new(Code::LineOutOfRange, reason, out_of_range_hint(call, *total));
            // An empty file has nothing to read, and the hint is about the tool that was called.
            if *total == 0 { problem } else { problem.suggest(ToolId::Get) }
        }
        Rejection::EmptyOldString { .. } => Problem::new(
            Code::InvalidArguments,
            format!(
                "an empty old_string without ranges stands for an empty file, and this one has {total_lines} lines"
            ),
            call.naming(
                ToolId::Insert,
                |name| format!("say what to replace by its text or by ranges; to add lines, call {name}"),
                || "say what to replace by its text or by ranges; to add lines, replace one by itself and them".to_owned(),
            ),
        ),
        Rejection::ByteOrderMark { .. } => Problem::new(
            Code::InvalidArguments,
            "the file would then begin with a byte order mark (U+FEFF), which it does not have",
            "leave U+FEFF out of the text; to delete what stands before one, delete it, too",
        ),
        Rejection::Overlap { first, second } => {
            let name = |at: At| place(at).trim_end_matches(": ").to_owned();
            let which = match (name(first.0), name(second.0)) {
                (a, b) if a.is_empty() || a == b => String::new(),
                (a, b) => format!("{a} and {b}: "),
            };
            let problem = Problem::new(
                Code::OverlappingRanges,
                format!(
                    "{which}two edits of one call overlap, at {} and {}",
                    spelled(first.1),
                    spelled(second.1)
                ),
                if call.tool == ToolId::Patch {
                    "join them into one patch; a range owns its whole lines"
                } else {
                    "name each line once"
                },
            );
            return Problem { lines: Some(first.1).filter(|lines| !lines.is_empty()), ..problem };
        }
        Rejection::Unencodable { character, line, column, .. } => {
            let what = if call.tool == ToolId::Patch { "new_string" } else { "contents" };
            let encoding = named.encoding.unwrap_or("the file's encoding");
            let code_point = u32::from(*character);
            Problem::new(
                Code::EncodeFailed,
                format!(
                    "{encoding} has no {character:?} (U+{code_point:04X}), which is at line {line}, column {column} of {what}"
                ),
                "write it with characters that the encoding has",
            )
        }
        Rejection::ShiftState { lines, .. } => Problem::new(
            Code::EncodeFailed,
            format!("an edit cannot begin or end inside a shifted sequence of bytes, in {}", spelled(*lines)),
            "widen the edit until it begins and ends where the file is in ASCII, as most lines do",
        ),
        Rejection::TooManyOccurrences { count, .. } => {
            limits::exceeded(call.limits, Exceeded { limit: Limit::Occurrences, asked: *count })
        }
        Rejection::TooMuchText { bytes, .. } => {
            limits::exceeded(call.limits, Exceeded { limit: Limit::Inserted, asked: *bytes })
        }
        Rejection::RangeHashMismatch { .. }
        | Rejection::ContentMismatch { .. }
        | Rejection::NoMatch { .. }
        | Rejection::AmbiguousMatch { .. } => mismatched(call, named, rejection, total_lines),
    };
    if let Some(at) = rejection.at() {
        problem.reason.insert_str(0, &place(at));
    }
    problem
}

/// Makes the problem of a file that has changed, and says whether the call can be sent again as it is. Reading the
/// file again is always right.
fn another_file(call: Call<'_>, named: Named<'_>, actual: &Digest, fit: &Fit, total_lines: u64) -> Problem {
    let problem = |why: &str, hint| {
        let reason = format!("the file is not the one that file_hash was taken of, {why}");
        Problem::new(Code::HashMismatch, reason, hint)
    };
    let again = |lines| match reading(call, named, lines) {
        Some(read) => format!("read it again: {read}"),
        None => "read it again".to_owned(),
    };
    let hash = actual.short();
    let problem = match fit {
        Fit::Holds => problem(
            "but all that the call names is still there",
            format!("send the same call with \"file_hash\": \"{hash}\", or first {}", again(None)),
        ),
        Fit::Repeated => problem(
            "but the lines that the call names still have their text, which may stand elsewhere in it, too",
            format!(
                "{}; if the call names the lines that are meant, send it with the file_hash of that read",
                again(None)
            ),
        ),
        Fit::Unsure { line, around } => {
            let line = line.get();
            let near = (line.saturating_sub(AROUND).max(1), line.saturating_add(AROUND).min(total_lines));
            let hint = match reading(call, named, Some(near)) {
                Some(read) => format!(
                    "look which line is meant now: {read}; then send that line with the file_hash of that read"
                ),
                None => {
                    format!(
                        "look which line is meant now; then send that line with \"file_hash\": \"{hash}\""
                    )
                }
            };
            let problem = problem(&format!("and its line {line} may be another one now"), hint);
            let (lines, actual) = (Some(around.of), Some(around.as_ref().clone()));
            Problem { lines, actual, ..problem }
        }
        Fit::Broken => problem("and the call does not fit it any more", again(None)),
    };
    problem.suggest(ToolId::Get)
}

/// Returns the call that reads the file, or some of its lines; `None` where no tool that reads is offered.
fn reading(call: Call<'_>, named: Named<'_>, lines: Option<(u64, u64)>) -> Option<String> {
    let get = ToolId::Get;
    call.offered.contains(get).then(|| format!("{} {}", get.name(), read_call(named, lines)))
}

/// Makes the problem of a hash or a text that does not fit: what is there instead, and where the wanted text is.
fn mismatched(call: Call<'_>, named: Named<'_>, rejection: &Rejection, total_lines: u64) -> Problem {
    let meant = |at: At| Meant::of(call, named, at, total_lines);
    let (problem, lines, evidence) = match rejection {
        Rejection::RangeHashMismatch { at, lines, digest, expected, is_old_there, evidence } => {
            let reason =
                format!("the bytes of {} are not those that range_hash was taken of", spelled(*lines));
            let meant = meant(*at);
            let mut if_cut = None;
            let hint = match evidence.found_at.first() {
                _ if *is_old_there => format!(
                    "old_string is their text: leave \"range_hash\" out, or {}",
                    meant.with_hash(*lines, &digest.short())
                ),
                Some(found) => {
                    let range = range(*found, Some(expected.as_str()));
                    format!("the lines now stand at {}: {}", spelled(*found), meant.with_range(&range))
                }
                None => {
                    if_cut = Some(meant.unseen(*lines, &digest.short()));
                    format!(
                        "if the text shown is what you mean, {}; else read the file again",
                        meant.with_hash(*lines, &digest.short())
                    )
                }
            };
            let problem = Problem::new(Code::RangeHashMismatch, reason, hint);
            (Problem { if_cut, ..problem }, Some(*lines), evidence)
        }
        Rejection::ContentMismatch { at, lines, evidence } => {
            let reason =
                format!("the text of {} is not old_string{}", spelled(*lines), because(evidence, *lines));
            let (hint, if_cut) = content_hint(&meant(*at), *lines, evidence);
            let problem = Problem::new(Code::ContentMismatch, reason, hint);
            (Problem { if_cut, ..problem }, Some(*lines), evidence)
        }
        Rejection::AmbiguousMatch { count, tier, evidence, .. } => {
            let blanks =
                if *tier == Tier::TrailingWhitespace { " but for spaces and tabs at line ends" } else { "" };
            let reason = format!("old_string occurs {count} times{blanks}");
            let hint = "add lines around it to old_string until it occurs once, or say which place is meant by \"ranges\" \
                        with whole lines as old_string, or send \"replace_all\": true to change them all";
            (Problem::new(Code::AmbiguousMatch, reason, hint), None, evidence)
        }
        Rejection::NoMatch { at, evidence } => {
            let reason = format!("old_string is not in the file{}", because_of_nearest(evidence));
            let (hint, if_cut) = no_match_hint(&meant(*at), evidence);
            let mut problem = Problem { if_cut, ..Problem::new(Code::NoMatch, reason, hint) };
            if evidence.nearest.is_empty() && evidence.actual.is_none() {
                problem = problem.suggest(ToolId::Get);
            }
            (problem, None, evidence)
        }
        // The caller passes no other kind.
        _ => return Problem::new(Code::InternalError, "a mismatch of no known kind", "report this"),
    };
    Problem {
        lines,
        actual: evidence.actual.clone(),
        found_at: evidence.found_at.clone(),
        nearest: evidence.nearest.clone(),
        ..problem
    }
}

/// Names the part of the call that is meant, as a prefix; empty where there is only one part.
fn place(call: Call<'_>, named: Named<'_>, at: At) -> String {
    let mut parts = Vec::new();
    if call.many_files {
        parts.push(format!("files[{}]", at.entry));
    }
    if named.patches.len() > 1 {
        parts.push(format!("patches[{}]", at.patch));
    }
    let is_alone = named.patches.get(at.patch).is_some_and(|ranges| ranges.len() < 2);
    if let Some(range) = at.range.filter(|_| !is_alone) {
        parts.push(format!("ranges[{range}]"));
    }
    if parts.is_empty() { String::new() } else { parts.join(".") + ": " }
}

fn because(evidence: &Evidence, lines: LineRange) -> String {
    match (evidence.cause, evidence.found_at.first(), evidence.differs_at) {
        (Some(why), ..) => cause(why),
        (None, Some(found), _) if *found != lines => format!(": it stands at {}", spelled(*found)),
        (None, None, Some(line)) if lines.count() > 1 => format!(": it differs first at line {line}"),
        (None, ..) => String::new(),
    }
}

fn because_of_nearest(evidence: &Evidence) -> String {
    match (evidence.cause, evidence.nearest.first(), evidence.differs_at) {
        (Some(why), ..) => cause(why),
        (None, Some(best), Some(line)) if best.of.count() > 1 => {
            format!(": {}, which are similar, differ first at line {line}", spelled(best.of))
        }
        (None, ..) => String::new(),
    }
}

/// Says why a match failed, as the end of a sentence.
fn cause(cause: Cause) -> String {
    let why = match cause {
        Cause::TabsAgainstSpaces => "one has tabs where the other has spaces",
        Cause::Indentation => "the indentation differs",
        Cause::TypographicQuotes => "one has typographic quotes where the other has plain ones",
        Cause::NoBreakSpace => "one has a no-break space where the other has a space",
        Cause::SpelledOutEscapes => "line ends, tabs or quotes are spelled out as \\n, \\t or \\\"",
        Cause::Gutter => "the line numbers that reads show were copied along",
        Cause::RangeTooLong => "the range has more lines than old_string",
        Cause::RangeTooShort => "the range has fewer lines than old_string",
        Cause::AlreadyThere => "new_string is already there, so perhaps the edit was made before",
        Cause::Elided => "a line of `...` stands for text that was left out",
        Cause::LetterCase => "upper and lower case differ",
        Cause::TrailingWhitespace => "only spaces or tabs differ, where they count",
    };
    format!(": {why}")
}

/// The part of a call that a hint corrects: a range of a patch or of a deletion, or a patch without ranges.
struct Meant<'a> {
    call: Call<'a>,
    named: Named<'a>,
    /// The name of the range in the call, if its patch has other ranges, which are to stay.
    part: Option<String>,
    /// The other ranges of the patch.
    others: Vec<&'a GuardedRange>,
    total_lines: u64,
}

impl<'a> Meant<'a> {
    fn of(call: Call<'a>, named: Named<'a>, at: At, total_lines: u64) -> Self {
        let ranges = named.patches.get(at.patch).copied().unwrap_or_default();
        let others = ranges.iter().enumerate().filter(|(index, _)| Some(*index) != at.range);
        let others: Vec<_> = others.map(|(_, range)| range).collect();
        let name = || place(call, named, at).trim_end_matches(": ").to_owned();
        Self { call, named, part: (!others.is_empty()).then(name), others, total_lines }
    }

    /// Says to send this range.
    fn with_range(&self, range: &Value) -> String {
        match &self.part {
            Some(part) => format!("in place of {part} send {range}"),
            None => format!("call {} with \"ranges\": [{range}]", self.call.tool.name()),
        }
    }

    /// Says to send the same lines with this digest.
    fn with_hash(&self, lines: LineRange, hash: &str) -> String {
        match &self.part {
            Some(_) => self.with_range(&range(lines, Some(hash))),
            None => format!("send \"range_hash\": \"{hash}\""),
        }
    }

    /// Says to leave the range out, before words on a patch that is made in another way, which the other ranges could
    /// not share.
    fn apart(&self) -> String {
        let in_place_of = |part| format!("leave {part} out; in a patch of its own, ");
        self.part.as_ref().map_or_else(String::new, in_place_of)
    }

    /// Says to read lines before their digest is sent: the digest of a text that was not shown guards nothing. A read
    /// gives no digest of a line that it cannot show whole.
    fn unseen(&self, lines: LineRange, hash: &str) -> IfCut {
        let known = self.with_hash(lines, hash);
        let hint = match self.read(lines) {
            Some(read) if lines.count() == 1 => {
                format!("read it: {read}; if it is what you mean, {known}")
            }
            Some(read) => {
                let send = self.with_hash(lines, "…");
                format!(
                    "read the lines whole: {read}; if they are what you mean, {send}, with the range_hash of that read"
                )
            }
            None => format!("read {} whole; if that is what you mean, {known}", spelled(lines)),
        };
        self.if_cut(hint)
    }

    /// Says to name whole lines by their digest, because they are too many to be copied.
    fn unnamed(&self, lines: LineRange) -> IfCut {
        let Some(read) = self.read(lines).filter(|_| lines.count() > 1) else { return self.uncopied(lines) };
        let (apart, range) = (self.apart(), range(lines, Some("…")));
        self.if_cut(format!(
            "read the lines whole: {read}; if they are what you mean, {apart}send \"ranges\": [{range}], with the range_hash \
             of that read, and no old_string"
        ))
    }

    /// Says to copy from a read what was not shown whole. It may begin and end inside of lines, so a digest would not
    /// do.
    fn uncopied(&self, lines: LineRange) -> IfCut {
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

    /// Whether another range of the patch names some of these lines.
    fn is_taken(&self, lines: LineRange) -> bool {
        self.others.iter().any(|other| {
            let first = u64::try_from(other.start).unwrap_or_default();
            let last = other.end.map_or(self.total_lines, |end| u64::try_from(end).unwrap_or_default());
            first <= lines.end() && lines.start().get() <= last
        })
    }

    /// Returns all ranges of the patch at the places where its old text stands, if there are as many places as ranges
    /// and the text alone guards each range.
    fn all_at(&self, places: &[LineRange]) -> Option<String> {
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

fn content_hint(meant: &Meant<'_>, lines: LineRange, evidence: &Evidence) -> (String, Option<IfCut>) {
    let hint = match (evidence.found_at.as_slice(), evidence.cause) {
        (_, Some(Cause::AlreadyThere)) => {
            "if the text shown is what you want, nothing is left to do".to_owned()
        }
        ([], _) => {
            let copy = match evidence.nearest.first() {
                Some(near) => format!(
                    "copy old_string from the text of the lines you mean: {}, or the similar {}",
                    spelled(lines),
                    spelled(near.of)
                ),
                None => format!("copy old_string from the text of {} shown above", spelled(lines)),
            };
            let mut if_cut = meant.unnamed(lines);
            if let Some(near) = evidence.nearest.first() {
                if_cut.hint = format!("{}; or do so with the similar {}", if_cut.hint, spelled(near.of));
            }
            return (meant.apart() + &copy, Some(if_cut));
        }
        (places, _) if evidence.whole_lines => stands_at(meant, places),
        ([found, ..], _) => format!(
            "old_string is a part of {}: {}send the patch without ranges, or the whole lines as old_string",
            spelled(*found),
            meant.apart()
        ),
    };
    (hint, None)
}

/// Says which call replaces the old text where it stands as whole lines. There is at least one place.
fn stands_at(meant: &Meant<'_>, places: &[LineRange]) -> String {
    if let (Some(part), [first, ..]) = (&meant.part, places) {
        return match (meant.all_at(places), places.iter().find(|place| !meant.is_taken(**place))) {
            (Some(all), _) => {
                let places: Vec<String> = places.iter().map(|place| spelled(*place)).collect();
                format!(
                    "old_string stands at {}: send the patch with \"ranges\": [{all}]",
                    places.join(" and ")
                )
            }
            (None, Some(free)) => {
                format!("old_string stands at {}: {}", spelled(*free), meant.with_range(&range(*free, None)))
            }
            (None, None) => format!(
                "old_string stands at {}, which another of the ranges names: leave {part} out, or make it a patch of its own, \
                 with its text as old_string",
                spelled(*first)
            ),
        };
    }
    let first = places.first().map_or(Value::Null, |first| range(*first, None));
    match places {
        [only] => {
            format!("old_string stands at {}: send the patch with \"ranges\": [{first}]", spelled(*only))
        }
        _ => format!(
            "old_string stands at {}{} places; for the first of them send the patch with \"ranges\": [{first}]",
            // No more places are kept than this.
            if places.len() < CLOSEST { "" } else { "at least " },
            places.len(),
        ),
    }
}

fn no_match_hint(meant: &Meant<'_>, evidence: &Evidence) -> (String, Option<IfCut>) {
    match (evidence.cause, evidence.nearest.first(), &evidence.actual) {
        (Some(Cause::AlreadyThere), ..) => {
            ("if the text shown is what you want, nothing is left to do".to_owned(), None)
        }
        (_, Some(near), _) => (
            format!(
                "if you mean {}, copy old_string from the text shown above, without line numbers",
                spelled(near.of)
            ),
            Some(meant.uncopied(near.of)),
        ),
        (_, None, Some(there)) => (
            "copy old_string from the text shown above, with the blanks at line ends".to_owned(),
            Some(meant.uncopied(there.of)),
        ),
        (_, None, None) => {
            let read = reading(meant.call, meant.named, None);
            (read.map_or_else(|| "read the file".to_owned(), |read| format!("read the file: {read}")), None)
        }
    }
}

fn out_of_range_hint(call: Call<'_>, total: u64) -> String {
    let tool = call.tool;
    match total {
        _ if tool == ToolId::Insert => {
            format!("after takes 0 to {total}, before takes 1 to {}", total + 1)
        }
        0 if tool == ToolId::Patch => {
            "the file is empty: to put text into it, send the patch without ranges, with \"old_string\": \"\""
                .to_owned()
        }
        0 => "the file is empty: nothing is left to do".to_owned(),
        _ => call.naming(
            ToolId::Append,
            |name| format!("lines are 1 to {total}; to add lines at the end, call {name}"),
            || format!("lines are 1 to {total}"),
        ),
    }
}

/// Makes the arguments that read the file, or some of its lines, in the encoding of the call.
fn read_call(named: Named<'_>, lines: Option<(u64, u64)>) -> Value {
    let mut call = Map::from_iter([("file_path".to_owned(), json!(named.file_path))]);
    if let Some((start, end)) = lines {
        call.extend([("line_start".to_owned(), json!(start)), ("line_end".to_owned(), json!(end))]);
    }
    call.extend(named.encoding.map(|encoding| ("encoding".to_owned(), json!(encoding))));
    Value::Object(call)
}

fn counted(lines: u64) -> String {
    if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") }
}

fn range(lines: LineRange, hash: Option<&str>) -> Value {
    let (start, end) = (lines.start().get(), lines.end());
    match hash {
        Some(hash) => json!({"start": start, "end": end, "range_hash": hash}),
        None => json!({"start": start, "end": end}),
    }
}
