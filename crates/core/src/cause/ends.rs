//! Lines around a text that are none of its own: blank ones, a Markdown fence, the name of the file, marks of
//! patches.

use super::kind::Cause;

/// The most bytes of a line that may be none of the text; a longer one is text.
const LONGEST: usize = 200;

/// Extensions by which a word without a directory is the name of a file.
const EXTENSIONS: [&str; 48] = [
    "bash", "c", "cc", "cfg", "cjs", "conf", "cpp", "cs", "css", "dart", "ex", "exs", "go", "gradle", "h",
    "hpp", "html", "ini", "java", "js", "json", "jsx", "kt", "less", "lua", "md", "mdx", "mjs", "php", "pl",
    "proto", "py", "pyi", "rb", "rs", "rst", "scala", "scss", "sh", "sql", "svelte", "swift", "toml", "ts",
    "tsx", "txt", "vue", "yaml",
];

/// Returns the kind of a line that can stand at an end of a text without belonging to it; `None` for any
/// other line.
pub(crate) fn end(line: &str) -> Option<Cause> {
    let line = line.trim();
    if line.is_empty() {
        Some(Cause::BlankLines)
    } else if line.len() > LONGEST {
        None
    } else if fence(line).is_some() {
        Some(Cause::Fence)
    } else if is_mark(line) {
        Some(Cause::PatchMark)
    } else {
        is_file_name(line).then_some(Cause::FileName)
    }
}

/// Tells whether `there`, a line of the file, may be what `own`, a line at an end of the text, was meant to
/// be: both are of the same kind, which is not a blank line.
pub(crate) fn is_another_end(own: &str, there: &str) -> bool {
    let kind = end(own).filter(|kind| *kind != Cause::BlankLines);
    kind.is_some() && kind == end(there)
}

/// Tells whether a line that begins or ends a fence has no words behind its signs; `None` for any other line.
pub(crate) fn is_bare_fence(line: &str) -> Option<bool> {
    fence(line.trim()).map(str::is_empty)
}

/// Undoes a blank first line.
pub(super) fn without_blank_head(text: &str) -> Option<&str> {
    without_head(text, Cause::BlankLines)
}

/// Undoes a blank last line.
pub(super) fn without_blank_tail(text: &str) -> Option<&str> {
    without_tail(text, Cause::BlankLines)
}

/// Undoes a fence around the text, or what is left of one at either end.
pub(super) fn without_fence(text: &str) -> Option<&str> {
    let (head, tail) = (without_head(text, Cause::Fence), without_tail(text, Cause::Fence));
    head.and_then(|text| without_tail(text, Cause::Fence)).or(head).or(tail)
}

/// Undoes the name of a file above the text, with the blank lines between.
pub(super) fn without_file_name(text: &str) -> Option<&str> {
    let mut rest = without_head(text, Cause::FileName)?;
    while let Some(below) = without_blank_head(rest) {
        rest = below;
    }
    Some(rest)
}

/// Undoes a mark of a patch above the text.
pub(super) fn without_mark_above(text: &str) -> Option<&str> {
    without_head(text, Cause::PatchMark)
}

/// Undoes a mark of a patch below the text, with the new text that the patch has there.
pub(super) fn without_mark_below(text: &str) -> Option<&str> {
    let rest = without_tail(text, Cause::PatchMark)?;
    let last = text.get(rest.len()..).unwrap_or_default().trim();
    let mut above = rest;
    while last.ends_with("REPLACE")
        && let Some((text, line)) = above.rsplit_once('\n')
    {
        if is_run(line.trim(), '=').is_some_and(str::is_empty) {
            return is_text(text);
        }
        above = text;
    }
    Some(rest)
}

fn without_head(text: &str, cause: Cause) -> Option<&str> {
    let (line, rest) = text.split_once('\n')?;
    is_text(rest).filter(|_| end(line) == Some(cause))
}

fn without_tail(text: &str, cause: Cause) -> Option<&str> {
    let (rest, line) = text.rsplit_once('\n')?;
    // A fence line with words opens a fence, and never ends one.
    let ends =
        end(line) == Some(cause) && (cause != Cause::Fence || fence(line.trim()).is_some_and(str::is_empty));
    is_text(rest).filter(|_| ends)
}

fn is_text(text: &str) -> Option<&str> {
    (!text.trim().is_empty()).then_some(text)
}

/// Returns the words behind the signs that begin or end a fence.
fn fence(line: &str) -> Option<&str> {
    ['`', '~'].into_iter().find_map(|sign| {
        let words = line.trim_start_matches(sign);
        (line.len() - words.len() >= 3 && !words.contains('`')).then(|| words.trim())
    })
}

/// Returns the text behind a run of at least five of a sign at the beginning of a line; `None` if there is no
/// such run.
fn is_run(line: &str, sign: char) -> Option<&str> {
    let rest = line.trim_start_matches(sign);
    (line.len() - rest.len() >= 5 && (rest.is_empty() || rest.starts_with(' '))).then(|| rest.trim_start())
}

/// Tells whether a line is a mark of a patch: of a conflict, of SEARCH and REPLACE, of a diff, or of
/// `apply_patch`.
fn is_mark(line: &str) -> bool {
    const FILES: [&str; 7] =
        ["Begin Patch", "End Patch", "End of File", "Update File:", "Add File:", "Delete File:", "Move to:"];
    line == "@@"
        || line.starts_with("@@ ")
        || line.starts_with("diff --git ")
        || ['<', '>', '|'].into_iter().any(|sign| is_run(line, sign).is_some())
        || is_run(line, '=').is_some_and(str::is_empty)
        || ['-', '+'].into_iter().any(|sign| matches!(is_run(line, sign), Some("SEARCH" | "REPLACE")))
        || ["--- ", "+++ "].into_iter().any(|sign| line.strip_prefix(sign).is_some_and(is_path))
        || line.strip_prefix("*** ").is_some_and(|words| FILES.iter().any(|file| words.starts_with(file)))
}

/// Tells whether a line names a file and says nothing else: as it is, as a comment, or in the signs that
/// Markdown has for names.
fn is_file_name(line: &str) -> bool {
    const AROUND: [(&str, &str); 13] = [
        ("//", ""),
        ("#", ""),
        ("--", ""),
        ("<!--", "-->"),
        ("/*", "*/"),
        ("**", "**"),
        ("`", "`"),
        ("\"", "\""),
        ("[", "]"),
        ("File:", ""),
        ("file:", ""),
        ("Filename:", ""),
        ("", ":"),
    ];
    let mut name = line;
    while let Some(inner) = AROUND
        .iter()
        .find_map(|(before, after)| name.strip_prefix(before)?.strip_suffix(after).map(str::trim))
    {
        name = inner;
    }
    is_path(name)
}

fn is_path(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./\\@+~".contains(c);
    let (folder, last) = name.rsplit_once(['/', '\\']).map_or((false, name), |(_, last)| (true, last));
    name.chars().all(is_plain)
        && last.rsplit_once('.').is_some_and(|(stem, extension)| {
            let is_extension =
                extension.starts_with(|c: char| c.is_ascii_alphabetic()) && extension.len() <= 8;
            !stem.is_empty() && if folder { is_extension } else { EXTENSIONS.contains(&extension) }
        })
}
