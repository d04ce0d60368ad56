//! The common part of the problems of one call: told once, it leaves room for more of them.

use crate::problem::Problem;

/// Some problems of a failure that concern one file, or none, by their indices.
pub(super) struct OfFile<'a> {
    /// The path, as the call named it.
    pub(super) file_path: Option<&'a str>,
    /// The problems, in call order; at least one.
    pub(super) problems: Vec<usize>,
}

/// Groups problems by file, in the order in which the call comes to the files.
pub(super) fn by_file(problems: &[Problem]) -> Vec<OfFile<'_>> {
    let mut groups: Vec<OfFile<'_>> = Vec::new();
    for (index, problem) in problems.iter().enumerate() {
        let file_path = problem.file_path.as_deref();
        match groups.iter_mut().find(|group| group.file_path == file_path) {
            Some(group) => group.problems.push(index),
            None => groups.push(OfFile { file_path, problems: vec![index] }),
        }
    }
    groups
}

/// Returns a fact of a file that its problems tell, if all that tell it agree.
pub(super) fn of_all<T: PartialEq>(facts: impl Iterator<Item = Option<T>>) -> Option<T> {
    let mut facts = facts.flatten();
    let first = facts.next()?;
    facts.all(|fact| fact == first).then_some(first)
}

/// Groups the indices of hints that are alike, in the order of the first of each.
pub(super) fn alike<'a>(hints: impl Iterator<Item = &'a str>) -> Vec<(&'a str, Vec<usize>)> {
    let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
    for (index, hint) in hints.enumerate() {
        match groups.iter_mut().find(|(other, _)| *other == hint) {
            Some((_, indices)) => indices.push(index),
            None => groups.push((hint, vec![index])),
        }
    }
    groups
}

/// Spells the numbers, from 1, of problems by their rising indices: `1, 3-5`.
pub(super) fn numbers(indices: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for number in indices.iter().map(|index| index + 1) {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let spelled = runs
        .into_iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") });
    spelled.collect::<Vec<_>>().join(", ")
}
