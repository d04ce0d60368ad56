//! Recognises a line that stands for lines left out, such as `// ... existing code ...`.

/// Tells whether a line stands for lines left out: `Some(true)` if it can hardly be anything else, because it
/// has words or brackets around the dots; `Some(false)` for bare dots, which are a statement in some
/// languages; `None` for any other line.
pub(crate) fn is_elision(line: &str) -> Option<bool> {
    const OPENERS: [&str; 9] = ["{/*", "<!--", "//", "/*", "--", "#", ";", "%", "*"];
    const CLOSERS: [&str; 3] = ["*/}", "-->", "*/"];
    const LONGEST: usize = 80;
    let line = line.trim();
    if line.len() > LONGEST {
        return None;
    }
    let mut core = line;
    if let Some(rest) = OPENERS.iter().find_map(|opener| line.strip_prefix(opener)) {
        core = rest.trim_start_matches(['/', '#', ';', '%', '*']).trim();
        core = CLOSERS.iter().find_map(|closer| core.strip_suffix(closer)).unwrap_or(core).trim();
    }
    for (open, close) in [('[', ']'), ('(', ')'), ('<', '>'), ('{', '}')] {
        core = core.strip_prefix(open).and_then(|core| core.strip_suffix(close)).unwrap_or(core).trim();
    }
    let words = core.strip_prefix("...").or_else(|| core.strip_prefix('…'))?;
    match words.trim_matches(['.', '…', ' ']) {
        "" => Some(core != line),
        // `...args` is a piece of a program; `// ... the rest` and `... the rest ...` are not.
        _ if core != line || words.ends_with("...") || words.ends_with('…') => Some(true),
        _ => None,
    }
}
