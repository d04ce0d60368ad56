//! Texts and hashes that do not fit, in words: what is there instead, where the wanted text is, and the call
//! that replaces it there.

use mcp_text_editor_core::cause::Cause;
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::matching::CLOSEST;
use mcp_text_editor_core::rejection::{At, Dependency, Evidence, FoundBy, LineRole, Rejection};

use super::call::{AROUND, Call, CalledFile, place, reading};
use super::correction::{Correction, range};
use super::{ambiguous, cause};
use crate::problem::{Code, IfCut, Problem};
use crate::render::layout::spelled;
use crate::tool_id::ToolId;

/// The hint where the edit was made before.
const MADE: &str = "if that is what you want, nothing is left to do";

/// The hint where several places are equally similar: an example would be taken for the one that is meant.
const TIED: &str = "several places are alike: copy old_string from the text of the one that you mean and name its lines in \"ranges\", or send \
                    more of the lines around it";

/// A hint.
struct Hint {
    text: String,
    /// The one that takes its place if the text that it goes by is cut.
    if_cut: Option<IfCut>,
    /// The tool to call next; `None` for the one that was called.
    suggestion: Option<ToolId>,
}

impl Hint {
    fn new(text: String, if_cut: Option<IfCut>) -> Self {
        Self { text, if_cut, suggestion: None }
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

/// Makes the problem of a hash or a text that does not fit.
pub(super) fn problem(
    call: Call<'_>,
    named: CalledFile<'_>,
    rejection: &Rejection,
    total_lines: u64,
) -> Problem {
    let suggested = |at: At| Correction::of(call, named, at, total_lines);
    let (problem, lines, evidence) = match rejection {
        Rejection::RangeHashMismatch { at, lines, digest, is_old_there, evidence, .. } => {
            let made = evidence.made.filter(|made| made.is_sure);
            let already = if made.is_some() { ", and new_string stands there already" } else { "" };
            let reason = format!(
                "the bytes of {} are not those that range_hash was taken of{already}",
                spelled(*lines)
            );
            let suggested = suggested(*at);
            let hint = match (&evidence.intended, evidence.found_at.as_slice()) {
                _ if *is_old_there => {
                    let with_hash = suggested.with_hash(*lines, &digest.short());
                    Hint::new(
                        format!("old_string is their text: leave \"range_hash\" out, or {with_hash}"),
                        None,
                    )
                }
                _ if made.is_some() => Hint::to_read(MADE.to_owned()),
                (Some(place), _) => {
                    let range = range(place.lines, Some(&place.digest.short()));
                    let (lines, call) = (spelled(place.lines), suggested.with_range(&range));
                    Hint::new(format!("the lines now stand at {lines}: {call}"), None)
                }
                (None, [_, ..]) => {
                    let places = all(&evidence.found_at);
                    Hint::new(format!("the lines now stand at {places}: send the range that is meant"), None)
                }
                (None, []) => {
                    let hash = digest.short();
                    let with_hash = suggested.with_hash(*lines, &hash);
                    Hint::new(
                        format!("if the text shown is what you mean, {with_hash}; else read the file again"),
                        Some(suggested.unseen(*lines, &hash)),
                    )
                }
            };
            (hint.problem(Code::RangeHashMismatch, reason), Some(*lines), evidence)
        }
        Rejection::ContentMismatch { at, lines, evidence } => {
            let why = because(evidence, Some(*lines), |at| part(call, named, at));
            let reason = format!("the text of {} is not old_string{why}", spelled(*lines));
            let hint = content_hint(&suggested(*at), *lines, evidence);
            (hint.problem(Code::ContentMismatch, reason), Some(*lines), evidence)
        }
        Rejection::AmbiguousMatch { count, tier, evidence, .. } => {
            (ambiguous::problem(*count, *tier, evidence), None, evidence)
        }
        Rejection::NoMatch { at, evidence } => {
            let why = because(evidence, None, |at| part(call, named, at));
            let reason = format!("old_string is not in the file{why}");
            let hint = no_match_hint(&suggested(*at), evidence);
            (hint.problem(Code::NoMatch, reason), None, evidence)
        }
        // The caller passes no other kind.
        _ => return Problem::new(Code::InternalError, "a mismatch of no known kind", "report this"),
    };
    let found_by = match evidence.found_by {
        FoundBy::Text | FoundBy::Part { .. } => None,
        FoundBy::Alike => Some("alike"),
        FoundBy::Gap { .. } => Some("gap"),
    };
    Problem {
        lines,
        actual: evidence.actual.clone(),
        found_at: evidence.found_at.clone(),
        found_by,
        landmarks: ambiguous::landmarks(evidence),
        place: evidence.intended.as_ref().and_then(|place| place.text.clone()),
        nearest: evidence.nearest.clone(),
        ..problem
    }
}

/// Names a part of the call by itself.
fn part(call: Call<'_>, named: CalledFile<'_>, at: At) -> String {
    place(call, named, at).trim_end_matches(": ").to_owned()
}

/// Says why the text did not match, as the end of a sentence; `asked` are the lines that the call named.
fn because(evidence: &Evidence, asked: Option<LineRange>, part: impl Fn(At) -> String) -> String {
    if let Some(Dependency { at, .. }) = &evidence.dependency {
        return format!(
            ", but would be after {}: patches of one call all refer to the file before the call",
            part(*at)
        );
    }
    let made = evidence.made.map_or_else(String::new, |made| {
        let lines = spelled(made.lines);
        if made.is_sure {
            format!(", and new_string stands at {lines} already: the edit was made before")
        } else {
            format!(", and new_string stands at {lines}: either the edit was made before, or another place is meant")
        }
    });
    let slip = || evidence.cause.map_or("it differs in several ways", cause::words);
    let found = evidence.found_at.first().copied();
    let why = match (evidence.found_by, found, evidence.cause) {
        _ if evidence.made.is_some_and(|made| made.is_sure) => String::new(),
        (FoundBy::Text, Some(found), Some(why)) if why.is_slip() => {
            format!(": {}; as it is written it stands at {}", cause::words(why), spelled(found))
        }
        (FoundBy::Text | FoundBy::Part { .. }, Some(_), Some(why)) => format!(": {}", cause::words(why)),
        (FoundBy::Text, Some(found), None) => format!(": it stands at {}", spelled(found)),
        (FoundBy::Part { .. }, Some(found), None) => format!(": it is a part of {}", spelled(found)),
        (FoundBy::Alike, Some(found), _) if Some(found) == asked => format!(": {}", slip()),
        (FoundBy::Alike, Some(_), _) if asked.is_none() => format!(": {}", slip()),
        (FoundBy::Alike, Some(found), _) => format!(": at {} {}", spelled(found), slip()),
        (FoundBy::Gap { left_out }, Some(found), Some(Cause::Elided)) => {
            format!(": a line of `...` stands for {} of {}", spelled(left_out), spelled(found))
        }
        (FoundBy::Gap { left_out }, Some(found), _) => {
            format!(": of {} it leaves {} out", spelled(found), spelled(left_out))
        }
        (_, _, Some(why)) => {
            match evidence.nearest.first().map(|near| near.of).filter(|at| Some(*at) != asked) {
                Some(near) if asked.is_some() => format!(": at {} {}", spelled(near), cause::words(why)),
                _ => format!(": {}", cause::words(why)),
            }
        }
        _ => differs(evidence, asked),
    };
    why + &made
}

/// Says where the place that is most similar differs first, if it has several lines.
fn differs(evidence: &Evidence, asked: Option<LineRange>) -> String {
    let best = evidence.nearest.first().map(|near| near.of);
    match (best, evidence.differs_at) {
        (Some(best), Some(line)) if Some(best) != asked && best.count() > 1 => {
            format!(": {}, which are similar, differ first at line {line}", spelled(best))
        }
        (_, Some(line))
            if asked.is_some_and(|asked| asked.count() > 1 && best.is_none_or(|best| best == asked)) =>
        {
            format!(": it differs first at line {line}")
        }
        _ => String::new(),
    }
}

fn content_hint(suggested: &Correction<'_>, lines: LineRange, evidence: &Evidence) -> Hint {
    if let Some(hint) = common_hint(suggested, evidence) {
        return hint;
    }
    let hint = match (evidence.found_at.as_slice(), evidence.found_by) {
        ([], _) => return nearest_hint(suggested, lines, evidence),
        (places, FoundBy::Part { of_new }) => {
            let apart = suggested.apart();
            match (places, of_new) {
                ([_], Some(LineRole::Part)) => {
                    format!("{apart}send the patch without ranges, or the whole lines as old_string")
                }
                _ => format!(
                    "{apart}send the whole lines of the place that is meant, in old_string and in new_string"
                ),
            }
        }
        (places, _) => stands_at(suggested, places),
    };
    Hint::new(otherwise(evidence) + &hint, None)
}

/// Words the hint where nothing is certain: from which of the similar places to copy. The range of the call
/// is not among them unless it is similar.
fn nearest_hint(suggested: &Correction<'_>, asked: LineRange, evidence: &Evidence) -> Hint {
    let mut places = evidence.nearest.iter().map(|near| near.of);
    // If the failure was not examined, so that no difference is known, the hint goes by the range of the
    // call.
    let first = places.next().or_else(|| evidence.differs_at.is_none().then_some(asked));
    let otherwise = otherwise(evidence);
    let Some(first) = first.filter(|_| evidence.is_tied || !evidence.is_vague) else {
        let end = asked.end().saturating_add(AROUND).min(suggested.total_lines);
        let around = (asked.start().get().saturating_sub(AROUND).max(1), end);
        let read = reading(suggested.call, suggested.named, Some(around));
        let read = read.map_or_else(String::new, |read| format!(": {read}"));
        return Hint::to_read(format!("{otherwise}{}; read it again{read}", nothing(evidence)));
    };
    if evidence.is_tied {
        return Hint::new(format!("{otherwise}{TIED}"), None);
    }
    if let Some(hint) = unsendable_hint(suggested, first, evidence) {
        return Hint::new(otherwise + &hint, Some(suggested.unnamed(first)));
    }
    let otherwise = otherwise + &suggested.apart();
    let named = |place: LineRange| {
        if place == asked { spelled(place) } else { format!("the similar {}", spelled(place)) }
    };
    let mut if_cut = suggested.unnamed(first);
    let copy = match places.next() {
        Some(second) => {
            if_cut.hint = format!("{}; or do so with {}", if_cut.hint, named(second));
            let (first, second) = (named(first), named(second));
            format!("copy old_string from the text of the lines you mean: {first}, or {second}")
        }
        None if first == asked => format!("copy old_string from the text of {} shown above", spelled(asked)),
        None => format!(
            "if you mean {}, copy old_string from their text and name them in \"ranges\"",
            named(first)
        ),
    };
    Hint::new(otherwise + &copy, Some(if_cut))
}

fn no_match_hint(suggested: &Correction<'_>, evidence: &Evidence) -> Hint {
    if let Some(hint) = common_hint(suggested, evidence) {
        return hint;
    }
    let otherwise = otherwise(evidence);
    match (evidence.nearest.first(), &evidence.actual) {
        (Some(_), _) if evidence.is_tied => Hint::new(format!("{otherwise}{TIED}"), None),
        (Some(_), _) if evidence.is_vague => {
            let read = reading(suggested.call, suggested.named, None);
            let read = read.map_or_else(String::new, |read| format!(": {read}"));
            Hint::to_read(format!("{otherwise}{}; read it again{read}", nothing(evidence)))
        }
        (Some(near), _) if let Some(hint) = unsendable_hint(suggested, near.of, evidence) => {
            Hint::new(otherwise + &hint, Some(suggested.unnamed(near.of)))
        }
        (Some(near), _) => Hint::new(
            format!(
                "{otherwise}if you mean {}, copy old_string from the text shown above, without line numbers",
                spelled(near.of)
            ),
            Some(suggested.uncopied(near.of)),
        ),
        (None, Some(there)) => Hint::new(
            format!("{otherwise}copy old_string from the text shown above, with the blanks at line ends"),
            Some(suggested.uncopied(there.of)),
        ),
        (None, None) => {
            let read = reading(suggested.call, suggested.named, None);
            let read = read.map_or_else(String::new, |read| format!(": {read}"));
            Hint::to_read(format!("read the file{read}"))
        }
    }
}

/// Says that no place can be named.
fn nothing(evidence: &Evidence) -> &'static str {
    if evidence.nearest.is_empty() {
        "nothing in the file is like old_string"
    } else {
        "nothing in the file is so like old_string that it must be meant"
    }
}

/// Words the hint where a similar place has text that no client can send, so that a copy of it would be
/// refused.
fn unsendable_hint(suggested: &Correction<'_>, near: LineRange, evidence: &Evidence) -> Option<String> {
    let digest = evidence
        .unsendable
        .as_ref()
        .filter(|_| evidence.nearest.first().is_some_and(|first| first.of == near))?;
    let call = suggested.by_digest(near, &digest.short());
    Some(format!(
        "a line there has a CR or U+0000 inside, which no text may have; if you mean {}, {call}",
        spelled(near)
    ))
}

/// Words the hint where it is clear what to do: merge two patches, do nothing because the edit was made
/// before, or name the place that was meant by its digest.
fn common_hint(suggested: &Correction<'_>, evidence: &Evidence) -> Option<Hint> {
    if let Some(Dependency { at, merged }) = &evidence.dependency {
        let patch = |at| {
            part(suggested.call, suggested.named, at).split(".ranges").next().unwrap_or_default().to_owned()
        };
        let [earlier, later] = [*at, suggested.at].map(patch);
        let hint = match merged {
            Some(merged) => format!(
                "merge them: send {earlier} with \"new_string\": {}, and leave {later} out",
                serde_json::Value::from(merged.as_str())
            ),
            None => {
                format!("merge them: give {earlier} the new_string that both make, and leave {later} out")
            }
        };
        return Some(Hint::new(hint, None));
    }
    if evidence.made.is_some_and(|made| made.is_sure) {
        return Some(Hint::to_read(MADE.to_owned()));
    }
    let place = evidence.intended.as_ref()?;
    // The other ranges of the patch need its old text, so the patch cannot do without it.
    if evidence.found_by == FoundBy::Text && suggested.has_others() {
        return None;
    }
    let text = match evidence.found_by {
        FoundBy::Text if evidence.cause.is_some_and(Cause::is_slip) => "adapt new_string likewise, and ",
        FoundBy::Part { of_new: None } => "with the whole lines as new_string, ",
        FoundBy::Text | FoundBy::Part { .. } => "",
        FoundBy::Gap { .. } => "put what is to stay of the lines left out into new_string, and ",
        FoundBy::Alike => "adapt new_string likewise, and ",
    };
    let call = suggested.by_digest(place.lines, &place.digest.short());
    let is_shown = evidence.found_by == FoundBy::Text && !evidence.cause.is_some_and(Cause::is_slip);
    let mut if_cut = (!is_shown).then(|| suggested.unnamed(place.lines));
    if let (Some(cut), FoundBy::Part { of_new: None }) = (&mut if_cut, evidence.found_by) {
        cut.hint.push_str("; new_string is for the whole lines then");
    }
    Some(Hint::new(format!("{}{text}{call}", otherwise(evidence)), if_cut))
}

/// Says what to do if the edit was made before, where that is possible and not certain; empty otherwise.
fn otherwise(evidence: &Evidence) -> String {
    let unsure = evidence.made.filter(|made| !made.is_sure);
    unsure.map_or_else(String::new, |made| {
        let are = if made.lines.count() == 1 { "is" } else { "are" };
        format!("if {} {are} what you want, nothing is left to do; else ", spelled(made.lines))
    })
}

/// Says which call replaces the old text where it stands as whole lines. There is at least one place.
fn stands_at(suggested: &Correction<'_>, places: &[LineRange]) -> String {
    if let (Some(part), [first, ..]) = (&suggested.part, places) {
        return match (suggested.all_at(places), places.iter().find(|place| !suggested.is_taken(**place))) {
            (Some(all), _) => {
                let places: Vec<String> = places.iter().map(|place| spelled(*place)).collect();
                format!(
                    "old_string stands at {}: send the patch with \"ranges\": [{all}]",
                    places.join(" and ")
                )
            }
            (None, Some(free)) => {
                format!(
                    "old_string stands at {}: {}",
                    spelled(*free),
                    suggested.with_range(&range(*free, None))
                )
            }
            (None, None) => format!(
                "old_string stands at {}, which another of the ranges names: leave {part} out, or make it a patch of its own, \
                 with its text as old_string",
                spelled(*first)
            ),
        };
    }
    format!(
        "old_string stands at {}{} places: send the patch with the lines of the one that is meant as \"ranges\"",
        // No more places are kept than this.
        if places.len() < CLOSEST { "" } else { "at least " },
        places.len(),
    )
}

/// Names some places.
fn all(places: &[LineRange]) -> String {
    let places: Vec<String> = places.iter().map(|place| spelled(*place)).collect();
    places.join(", ")
}
