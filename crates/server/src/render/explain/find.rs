//! Words the reasons why a search or a listing is refused.

use mcp_text_editor_store::{
    BadGlobs, BadSearchPattern, MAX_GLOB_BYTES, MAX_GLOBS, SearchError, SearchProblem,
};

use super::{Call, CalledFile, problem};
use crate::problem::{Code, Problem};
use crate::render::escape::on_one_line;
use crate::render::limits::size;

/// The maximum number of characters that are shown of a glob that cannot be parsed.
const SHOWN: usize = 200;

/// Makes the problems of a search, or a listing, of these paths with these globs.
pub(crate) fn problems(
    call: Call<'_>,
    paths: &[&str],
    globs: &[String],
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
                "send \"multiline\": true to match over lines",
            ),
            SearchProblem::Pattern(BadSearchPattern::Empty) => Problem::new(
                Code::InvalidArguments,
                "`pattern` matches the empty text",
                "write it so that it matches at least one character, such as a+ for a*, or the text beside ^, $ or \\b",
            ),
            SearchProblem::Pattern(BadSearchPattern::Group(group)) => Problem::new(
                Code::InvalidArguments,
                format!("`replacement` names the group `{}`, and `pattern` has no such group", on_one_line(group)),
                "put ( ) around what the group is to hold; write $$ for $, and ${1}a where a letter or a digit follows a group",
            ),
            SearchProblem::Pattern(BadSearchPattern::Regex(why)) => Problem::new(
                Code::InvalidArguments,
                format!("`pattern` is no regular expression: {}", of_regex(why)),
                "send \"literal\": true for plain text; in an expression put a backslash before ( ) [ ] { } . * + ? | ^ $ where the \
                 character itself is meant; there are neither look-around nor back-references",
            ),
            SearchProblem::Pattern(BadSearchPattern::TooLong { bytes, most }) => Problem::new(
                Code::TooLarge,
                format!("`pattern` has {bytes} bytes, and the limit is {}", size(*most as u64)),
                "search for a part that is enough to find the lines, or for fewer things in one call",
            ),
            SearchProblem::Pattern(BadSearchPattern::TooLarge) => Problem::new(
                Code::TooLarge,
                "`pattern` takes more memory than the limit of 10 MiB once it is compiled",
                "count less often, as in \\w{1000}, write [a-z] for \\w where that is enough, and (?:…) for (…)",
            ),
            SearchProblem::Globs(bad) => of_globs(globs, bad),
            SearchProblem::Refused { entry, reason } => {
                let file_path = paths.get(*entry).copied().unwrap_or_default();
                let mut problem = problem(call, CalledFile { encoding, ..CalledFile::by_path(file_path) }, reason);
                problem.file_path = problem.file_path.filter(|path| !path.is_empty());
                problem
            }
        })
        .collect()
}

fn of_globs(globs: &[String], bad: &BadGlobs) -> Problem {
    let too_large =
        |reason| Problem::new(Code::TooLarge, reason, "give fewer or shorter globs, or name directories");
    match bad {
        BadGlobs::Unreadable(index, why) => {
            let glob: String =
                globs.get(*index).map(|glob| glob.chars().take(SHOWN).collect()).unwrap_or_default();
            Problem::new(
                Code::InvalidArguments,
                format!("`glob` cannot be read: `{}` is no pattern: {why}", on_one_line(&glob)),
                "such as *.rs, *.{ts,tsx}, src/**/*.py, or !*.md for all others",
            )
        }
        BadGlobs::Many(asked) => too_large(format!("`glob` has {asked} globs, and the limit is {MAX_GLOBS}")),
        BadGlobs::Long(asked) => {
            let most = size(MAX_GLOB_BYTES as u64);
            too_large(format!("`glob` has {asked} bytes, and the limit is {most}"))
        }
        BadGlobs::Large => too_large("`glob` takes too much memory once it is compiled".to_owned()),
    }
}

/// Returns the last line of a parser's message about a regular expression, which says what is wrong. The
/// lines before it only show the position.
fn of_regex(message: &str) -> String {
    let last = message.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    on_one_line(last.trim().trim_start_matches("error: "))
}
