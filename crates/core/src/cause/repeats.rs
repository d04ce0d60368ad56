//! Lines that were copied twice.

/// Returns the lines without those that are the same as the line above; `None` where there is none. Blank
/// lines may be there twice.
pub(super) fn without_repeats(text: &str) -> Option<String> {
    let mut once: Vec<&str> = Vec::new();
    let mut is_repeated = false;
    for line in text.split('\n') {
        if !line.trim().is_empty() && once.last() == Some(&line) {
            is_repeated = true;
        } else {
            once.push(line);
        }
    }
    is_repeated.then(|| once.join("\n"))
}
