//! The reasons why a call failed, as facts: [`Failure`], its [`Problem`]s and their [`Code`]s.
//! `render::layout` lays them out, and decides what is left out of an error that would be too long.

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::line::LineRange;
use mcp_text_editor_core::rejection::{Excerpt, MatchPlace};

use crate::tool_id::{ToolId, named};

named! {
    /// The kind of a problem, for programs that handle problems.
    Code as_str {
        InvalidArguments "invalid_arguments" "The arguments are not what the tool takes.",
        PathNotAbsolute "path_not_absolute" "A path does not begin at the file system's root.",
        PathTraversal "path_traversal" "A path has a component `..`.",
        OutsideAllowedDirectories "outside_allowed_directories" "A path leads outside the roots.",
        ProtectedPath "protected_path" "A file that may be read, but not written.",
        ToolDisabled "tool_disabled" "The tool exists, but this process was started without it.",
        NotFound "not_found" "There is no such file.",
        AlreadyExists "already_exists" "The name of the file to create is taken.",
        IsADirectory "is_a_directory" "A directory where a file is needed.",
        NotADirectory "not_a_directory" "A component of the path is a file.",
        NotARegularFile "not_a_regular_file" "A FIFO, socket or device.",
        PermissionDenied "permission_denied" "The operating system refuses.",
        NotDownloaded "not_downloaded" "The file's content is in a cloud, and not on this machine.",
        BinaryFile "binary_file" "The file holds NUL bytes.",
        UnknownEncoding "unknown_encoding" "No encoding has this label.",
        DecodeFailed "decode_failed" "The file's bytes are not valid in the encoding.",
        EncodeFailed "encode_failed" "The encoding has no bytes for a character.",
        HashMismatch "hash_mismatch" "The file is not the one that the hash was taken of.",
        RangeHashMismatch "range_hash_mismatch" "The lines are not those that the hash was taken of.",
        ContentMismatch "content_mismatch" "The lines do not hold `old_string`.",
        CountMismatch "count_mismatch" "The pattern has another number of matches than the call expects.",
        NoMatch "no_match" "`old_string` occurs nowhere in the file.",
        AmbiguousMatch "ambiguous_match" "`old_string` occurs more than once.",
        TextSlip "text_slip" "New text has a slip that can hardly be meant.",
        OverlappingRanges "overlapping_ranges" "Two edits of one call touch the same bytes.",
        InvalidRange "invalid_range" "A range that ends before it starts.",
        LineOutOfRange "line_out_of_range" "A line that the file does not have.",
        TooLarge "too_large" "More than a limit of this process allows.",
        Conflict "conflict" "Another program keeps changing the file, or has changed it since the edit that is to be undone.",
        Busy "busy" "Another call, or another process, holds the file's lock, or another program keeps others from the file.",
        NoSpace "no_space" "The file system is full.",
        IoError "io_error" "The operating system failed otherwise.",
        Cancelled "cancelled" "The client withdrew the call.",
        InternalError "internal_error" "A defect of this server.",
    }
}

/// One reason why a call failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The kind of the problem.
    pub code: Code,
    /// The file that the problem concerns, named as in the call.
    pub file_path: Option<String>,
    /// The part of the call that the problem concerns, with a colon, to precede the reason; empty if the call
    /// has only one part.
    pub part: String,
    /// The reason: a clause without a full stop.
    pub reason: String,
    /// The next step: a call that would work, if one is known.
    pub hint: String,
    /// The lines that the problem concerns.
    pub lines: Option<LineRange>,
    /// The text of the lines that the call names.
    pub actual: Option<Excerpt>,
    /// The places where the wanted text stands, or that are like it, the closest first.
    pub places: Vec<MatchPlace>,
    /// The text that the call expects there. No reply repeats it; views show it beside the actual text.
    pub asked: Option<String>,
    /// The digest of the file as it is now.
    pub file_hash: Option<Digest>,
    /// The number of lines of the file, if it helps to correct the call.
    pub total_lines: Option<u64>,
    /// For an undo that fails, the past edit, and what is in its way.
    pub conflict: Option<Box<UndoConflict>>,
    /// The tool to call next; `None` for the tool that was called.
    pub suggestion: Option<ToolId>,
    /// Whether files may have changed although the call failed, because they could not be restored.
    pub may_have_written: bool,
}

/// A past edit that cannot be undone because its file has changed since.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UndoConflict {
    /// The change of that edit, as a unified diff.
    pub diff: String,
    /// The later edit that is in the way, if one is known.
    pub later: Option<Later>,
    /// The smallest set of edits that can be undone together, the newest first, with this edit as the last;
    /// empty if the set is not known.
    pub together: Vec<String>,
}

/// A later edit that must be undone before an earlier one can be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Later {
    /// Its id.
    pub edit_id: String,
    /// The time when it was made.
    pub time: String,
    /// The tool that made it.
    pub tool: String,
    /// The change, as a unified diff.
    pub diff: String,
}

impl Problem {
    /// Makes a problem with only these facts.
    pub fn new(code: Code, reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            code,
            file_path: None,
            part: String::new(),
            reason: reason.into(),
            hint: hint.into(),
            lines: None,
            actual: None,
            places: Vec::new(),
            asked: None,
            file_hash: None,
            total_lines: None,
            conflict: None,
            suggestion: None,
            may_have_written: false,
        }
    }

    /// Iterates over the texts of the file that the error has.
    pub fn texts(&self) -> impl Iterator<Item = &Excerpt> {
        self.actual.iter().chain(self.places.iter().filter_map(|place| place.text.as_ref()))
    }

    /// Names the tool that is to be called next.
    #[must_use]
    pub fn suggest(mut self, tool: ToolId) -> Self {
        self.suggestion = Some(tool);
        self
    }

    /// Sets the file that the problem concerns.
    #[must_use]
    pub fn of_file(mut self, file_path: impl Into<String>) -> Self {
        self.file_path = Some(file_path.into());
        self
    }
}

/// The reasons why a call failed: every problem that was found, in call order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The problems; at least one.
    pub problems: Vec<Problem>,
    /// The name of the tool to call next; empty if there is none.
    pub suggestion: String,
    /// Whether the call was meant to edit, and changed nothing. If so, the error says that nothing was
    /// written.
    pub editing: bool,
}

impl Failure {
    /// Makes a failure of a tool. The tool to call next is the one that the first problem suggests, if it
    /// `is_offered`, or else `tool` itself, with corrected arguments.
    pub fn of_tool(tool: ToolId, problems: Vec<Problem>, is_offered: impl Fn(ToolId) -> bool) -> Self {
        let suggested = problems.first().and_then(|problem| problem.suggestion);
        let suggestion = suggested.filter(|tool| is_offered(*tool)).unwrap_or(tool).name().to_owned();
        let editing = !tool.is_read_only() && !problems.iter().any(|problem| problem.may_have_written);
        Self { problems, suggestion, editing }
    }

    /// Makes a failure for one reason.
    pub fn of(problem: Problem, suggestion: impl Into<String>, editing: bool) -> Self {
        Self { problems: vec![problem], suggestion: suggestion.into(), editing }
    }

    /// Tells whether the call failed only because the client has withdrawn it, and has left nothing changed.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.problems.iter().all(|problem| problem.code == Code::Cancelled && !problem.may_have_written)
    }
}
