//! The parts of the help that are not about options: the exit codes and the limits.

use super::limits;

/// The end of `--help`.
pub(super) const MORE: &str = "Exit codes: 0 done, 1 failed, 2 wrong command line, and nothing was begun.
--help-all has more options, and the variable MCP_TEXT_EDITOR_… of each.";

/// The meaning of the exit codes.
const EXIT_CODES: &str = "Exit codes:
  0  It did what it was to do; a server: its input ended.
  1  It could not, and says why on standard error. `call`: the tool's answer is
     an error, which is on standard output.
  2  What was typed, or is set in the environment, is wrong. Nothing was begun.
  A signal that ended it is told by a shell as 128 and its number; no edit is
  left half made.";

/// Ends `--help-all`.
pub(super) fn all() -> String {
    format!("{EXIT_CODES}\n\n{}", limits::help())
}
