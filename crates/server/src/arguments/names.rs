//! Finds the argument, or anything else with a name, that a wrong name was meant for: a name of other tools,
//! or a misspelling.

use super::values::MAX_SHOWN;
use super::vocabulary::ALL;

/// Returns the argument that a key was meant for, which is misspelled or a name that other tools use.
pub(super) fn suggested<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    if name.len() > MAX_SHOWN {
        return None;
    }
    let folded = fold(name);
    // No name of an argument of any tool is taken for a misspelling of another, however similar.
    let is_own = ALL.iter().any(|own| own.name == folded);
    let near = known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(&folded, known), *known))
        .filter(|(distance, known)| *distance <= (known.len() / 3).max(1))
        .filter(|(distance, _)| *distance == 0 || !is_own)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known);
    near.or_else(|| renamed(&folded, known))
}

/// Returns the known name that is most similar to an unknown one, if any is similar enough.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|known| (strsim::jaro_winkler(known, name), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, known)| known)
}

fn renamed<'a>(folded: &str, known: &[&'a str]) -> Option<&'a str> {
    let mut suggested =
        ALL.iter().filter(|argument| argument.others.split_whitespace().any(|other| other == folded));
    suggested.find_map(|argument| known.iter().find(|known| **known == argument.name).copied())
}

/// Spells `filePath`, `file-path` and `File_Path` as `file_path`.
pub(super) fn fold(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut lower = false;
    for character in name.chars() {
        if character.is_ascii_uppercase() && lower {
            out.push('_');
        }
        lower = character.is_ascii_lowercase();
        out.push(if matches!(character, '-' | ' ') { '_' } else { character.to_ascii_lowercase() });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_suggested() {
        let check = |name: &str, known: &[&'static str], expected: Option<&str>| {
            assert_eq!(suggested(name, known), expected, "{name}");
        };
        check("filePath", &["file_path"], Some("file_path"));
        check("old_sting", &["old_string", "new_string"], Some("old_string"));
        check("new_string", &["old_string"], None);
        check("old_string", &["new_string"], None);
        check("line_start", &["start", "end"], Some("start"));
        check("edits", &["patches"], Some("patches"));
        check("command", &["contents"], None);
    }
}
