//! Why a search or a list is refused.

use mcp_text_editor_store::{BadSearchPattern, SearchError, SearchProblem};

use super::{Call, Named, problem};
use crate::problem::{Code, Problem};
use crate::render::escape::on_one_line;

/// Lists the problems of a search or a list of these paths.
pub(crate) fn problems(
    call: Call<'_>,
    paths: &[&str],
    encoding: Option<&str>,
    error: &SearchError,
) -> Vec<Problem> {
    error
        .problems
        .iter()
        .map(|found| match found {
            SearchProblem::Pattern(BadSearchPattern::LineEnd) => Problem::new(
                Code::InvalidArguments,
                "`pattern` holds a line end, and a match is within one line",
                "search for a part that stands on one line, with `context` to see the lines around it",
            ),
            SearchProblem::Pattern(BadSearchPattern::Regex(why)) => Problem::new(
                Code::InvalidArguments,
                format!("`pattern` is no regular expression: {}", of_regex(why)),
                "send \"literal\": true for plain text; in an expression put a backslash before ( ) [ ] { } . * + ? | ^ $ where the \
                 character itself is meant; there are neither look-around nor back-references",
            ),
            SearchProblem::Glob(bad) => Problem::new(
                Code::InvalidArguments,
                format!("`glob` cannot be read: {}", on_one_line(&bad.to_string())),
                "such as *.rs, *.{ts,tsx}, src/**/*.py, or !*.md for all others",
            ),
            SearchProblem::Refused { entry, reason } => {
                let file_path = paths.get(*entry).copied().unwrap_or_default();
                let mut problem = problem(call, Named { file_path, encoding, patches: &[] }, reason);
                problem.file_path = problem.file_path.filter(|path| !path.is_empty());
                problem
            }
        })
        .collect()
}

/// Returns the last line of a message about a regular expression, which says what is wrong; what stands before it draws
/// the place.
fn of_regex(message: &str) -> String {
    let last = message.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    on_one_line(last.trim().trim_start_matches("error: "))
}
