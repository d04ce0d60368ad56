//! Blocks of `<<<<<<< SEARCH`, `=======` and `>>>>>>> REPLACE`, as Aider, Cline and Roo describe them to
//! their models. The line before a block, or before the fence around it, may name the file.

use super::hunks::{Fate, FileDiff, Hunk, bare};

/// Reads such a text. Returns `None` for any other text.
pub(super) fn read(text: &str) -> Option<Vec<FileDiff<'_>>> {
    let mut files: Vec<FileDiff<'_>> = Vec::new();
    let mut name = None;
    let mut part = Part::Between;
    let (mut old, mut new) = (String::new(), String::new());
    let mut number = None;
    for line in text.split('\n') {
        let said = bare(line);
        match part {
            Part::Between if begins(said) => part = Part::Old { is_head: true },
            Part::Between => name = file_name(said).or(name.filter(|_| is_frame(said))),
            Part::Old { is_head: true } if is_hint(said) => {
                let start = said.strip_prefix(":start_line:").and_then(|number| number.trim().parse().ok());
                number = start.or(number);
            }
            Part::Old { .. } if said == "=======" => part = Part::New,
            Part::Old { .. } => {
                part = Part::Old { is_head: false };
                add(&mut old, line);
            }
            Part::New if ends(said) => {
                let hunk = Hunk::new(std::mem::take(&mut old), std::mem::take(&mut new));
                let hunk = Hunk { line: number.take(), ..hunk };
                match (name.take(), files.last_mut()) {
                    (None, Some(file)) => file.hunks.push(hunk),
                    (path, _) => {
                        files.push(FileDiff { hunks: vec![hunk], ..FileDiff::new(path, Fate::Changed) });
                    }
                }
                part = Part::Between;
            }
            Part::New => add(&mut new, line),
        }
    }
    (!files.is_empty() && part == Part::Between).then_some(files)
}

/// The part in which a line stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Between,
    Old { is_head: bool },
    New,
}

fn add(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn begins(line: &str) -> bool {
    line.starts_with("<<<<<<<") || line.starts_with("------- SEARCH")
}

fn ends(line: &str) -> bool {
    line.starts_with(">>>>>>>") || line.starts_with("+++++++ REPLACE")
}

/// Tells whether a line at the head of a block is one of Roo's, which say where to look.
fn is_hint(line: &str) -> bool {
    line.starts_with(":start_line:") || line.starts_with(":end_line:") || line == "-------"
}

/// Tells whether a line may stand between the name and the block.
fn is_frame(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with("```")
}

/// Returns the path that a line holds, without the marks around it; `None` for prose.
fn file_name(line: &str) -> Option<&str> {
    let name = line.trim().trim_start_matches(['#', '*', '`', ' ']).trim_end_matches(['`', '*', ':']);
    (!is_frame(line) && !name.is_empty() && !name.contains(char::is_whitespace)).then_some(name)
}
