//! Words what a search or a list left out, for replies.

use std::fmt::Write as _;

use mcp_text_editor_store::{SkipCause as Cause, Skipped};
use serde_json::{Value, json};

use super::escape::path_among_others;

/// The maximum bytes, in all, of the paths in a reply that were left out.
const ROOM_FOR_PATHS: usize = 300;

/// Tells whether a list still shows a file with this cause, because only its lines were not counted.
pub(crate) fn is_listed(cause: Cause) -> bool {
    matches!(cause, Cause::Binary | Cause::Undecodable | Cause::LineTooLong)
}

/// Writes a line about what was left out for causes that `told` accepts; writes nothing if nothing was left
/// out. If the reply `is_empty`, the line names paths for all these causes, and says how to request them.
pub(crate) fn tell(skipped: &Skipped, told: impl Fn(Cause) -> bool, is_empty: bool, out: &mut String) {
    let mut capacity = ROOM_FOR_PATHS;
    let causes = skipped.iter().filter(|(cause, _)| told(*cause));
    let mut told = Vec::new();
    for (cause, files) in causes {
        let (one, many) = words(cause);
        let mut text = if files.count == 1 { format!("1 {one}") } else { format!("{} {many}", files.count) };
        if is_empty && let Some(remedy) = remedy(cause) {
            let _ = write!(text, " ({remedy})");
        }
        if is_named(cause) || is_empty {
            let names = paths(&files.names, &mut capacity);
            let rest = files.count.saturating_sub(names.len() as u64);
            if !names.is_empty() {
                let _ = write!(text, ": {}", names.join(", "));
                if rest > 0 {
                    let _ = write!(text, " and {rest} more");
                }
            }
        }
        told.push(text);
    }
    if !told.is_empty() {
        let _ = writeln!(out, "[left out: {}]", told.join("; "));
    }
}

/// Lists what was left out for causes that `told` accepts; `None` if nothing was left out.
pub(crate) fn json(skipped: &Skipped, told: impl Fn(Cause) -> bool) -> Option<Value> {
    let mut capacity = ROOM_FOR_PATHS;
    let causes = skipped.iter().filter(|(cause, _)| told(*cause)).map(|(cause, files)| {
        let paths: Vec<&String> = files.names.iter().take_while(|name| take(name, &mut capacity)).collect();
        json!({"cause": name(cause), "count": files.count, "paths": paths})
    });
    let causes: Vec<Value> = causes.collect();
    (!causes.is_empty()).then_some(Value::Array(causes))
}

fn paths(names: &[String], capacity: &mut usize) -> Vec<String> {
    names
        .iter()
        .map(|name| path_among_others(name).into_owned())
        .take_while(|name| take(name, capacity))
        .collect()
}

fn take(name: &str, capacity: &mut usize) -> bool {
    let left = capacity.checked_sub(name.len());
    *capacity = left.unwrap_or(0);
    left.is_some()
}

/// Tells whether the paths are listed, which is so only if a reader may want to act on them.
fn is_named(cause: Cause) -> bool {
    !matches!(cause, Cause::Binary | Cause::Link | Cause::Special)
}

fn name(cause: Cause) -> &'static str {
    match cause {
        Cause::Binary => "binary_file",
        Cause::BinaryHit => "binary_file_with_hit",
        Cause::Undecodable => "decode_failed",
        Cause::NotDecoded => "not_decoded",
        Cause::LineTooLong => "line_too_long",
        Cause::TooLarge => "too_large",
        Cause::Protected => "protected_path",
        Cause::Elsewhere => "content_elsewhere",
        Cause::Changed => "changed",
        Cause::Unreadable => "permission_denied",
        Cause::Link => "link",
        Cause::Outside => "outside_allowed_directories",
        Cause::Special => "not_a_regular_file",
        Cause::NotUnicode => "name_not_unicode",
        Cause::TooDeep => "too_deep",
        Cause::IgnoreFile => "ignore_file",
        Cause::Ignored => "ignored",
        Cause::Glob => "glob",
        Cause::GlobReading => "glob_read_otherwise",
        Cause::Depth => "depth",
        Cause::AlternativesReading => "hit_with_alternatives",
        Cause::LiteralReading => "hit_as_literal",
        Cause::ExpressionReading => "hit_as_expression",
        Cause::CompositionReading => "hit_with_other_accents",
    }
}

/// Says how to request what was left out. Used in a reply without findings.
fn remedy(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::Binary => "name it to learn whether it has a hit; if it is UTF-16, give that encoding",
        Cause::Link | Cause::Ignored => "looked at only if the call names it",
        Cause::GlobReading => {
            "`\\[`, `\\]`, `\\{`, `\\}` for the characters, `*` for an accent that is composed otherwise, no `./` before"
        }
        Cause::AlternativesReading => "`\\|` is the character; alternatives are `a|b`",
        Cause::LiteralReading => "as plain text: send \"literal\": true",
        Cause::ExpressionReading => "as an expression: leave `literal` out",
        Cause::CompositionReading => {
            "accents are composed otherwise there: write `.{1,3}` for each letter with one"
        }
        _ => return None,
    })
}

/// Returns the words for one file or directory, and for several.
fn words(cause: Cause) -> (&'static str, &'static str) {
    match cause {
        Cause::Binary => ("binary file", "binary files"),
        Cause::BinaryHit => (
            "binary file with a hit, whose text no tool shows",
            "binary files with hits, whose text no tool shows",
        ),
        Cause::Undecodable => (
            "file with a hit that does not decode: give its encoding",
            "files with hits that do not decode: give their encoding",
        ),
        Cause::NotDecoded => (
            "file that does not decode, so was not searched, or for ASCII alone: give its encoding",
            "files that do not decode, so were not searched, or for ASCII alone: give their encoding",
        ),
        Cause::LineTooLong => ("file with a line too long to search", "files with lines too long to search"),
        Cause::TooLarge => (
            "file too large to match as a whole (8 MiB, less for a complex pattern)",
            "files too large to match as a whole (8 MiB, less for a complex pattern)",
        ),
        Cause::Protected => ("protected file with a hit", "protected files with hits"),
        Cause::Elsewhere => (
            "file whose content is in a cloud, and would be fetched: name it to have that",
            "files whose content is in a cloud, and would be fetched: name those that are wanted",
        ),
        Cause::Changed => ("file that kept changing", "files that kept changing"),
        Cause::Unreadable => ("that cannot be read", "that cannot be read"),
        Cause::Link => ("symbolic link", "symbolic links"),
        Cause::Outside => ("link that leads outside", "links that lead outside"),
        Cause::Special => ("FIFO, socket or device", "FIFOs, sockets or devices"),
        Cause::NotUnicode => ("name that is not Unicode", "names that are not Unicode"),
        Cause::TooDeep => ("directory nested too deep", "directories nested too deep"),
        Cause::IgnoreFile => (
            "ignore file that cannot be read or is too large, so not heeded",
            "ignore files that cannot be read or are too large, so not heeded",
        ),
        Cause::Ignored => ("ignored file or directory", "ignored files and directories"),
        Cause::Glob => ("name that does not fit `glob`", "names that do not fit `glob`"),
        Cause::GlobReading => {
            ("file that fits if `glob` is read otherwise", "files that fit if `glob` is read otherwise")
        }
        Cause::Depth => ("directory below `depth`", "directories below `depth`"),
        Cause::AlternativesReading
        | Cause::LiteralReading
        | Cause::ExpressionReading
        | Cause::CompositionReading => (
            "file with a hit if `pattern` is read otherwise",
            "files with hits if `pattern` is read otherwise",
        ),
    }
}
