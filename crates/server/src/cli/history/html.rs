//! `history --html`.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

use jiff::Timestamp;
use mcp_text_editor_core::digest::{Digest, DigestPrefix};
use mcp_text_editor_store::{Change, Control, FileEdit, Workspace};

use super::action::Selection;
use super::error::{HistoryError, HistoryResult};
use super::find::select;
use crate::cli::terminal::tell;
use crate::history;
use crate::page::of_file;
use crate::render::paths::shown;

/// Writes the edits of a selection as one page that needs no other file, to a file or to standard output.
/// Replaces an existing file only if `is_forced`.
pub(super) fn html(
    workspace: &mut Workspace,
    selection: &Selection,
    file: Option<&Path>,
    is_forced: bool,
) -> HistoryResult {
    let mut entries = Vec::new();
    let (_, has_more) = select(workspace, selection, &mut |entry| {
        entries.push(entry.clone());
        Ok(())
    })?;
    let title = match &selection.path {
        Some(path) => format!("Edits of {}", shown(path)),
        None => "Edits".to_owned(),
    };
    let created = format!("{:.0}", Timestamp::now());
    let (data, without) = history::page(workspace, &entries, &title, &created);
    let page = of_file(&data);
    match file {
        Some(file) => write(file, &page, is_forced)?,
        None => io::stdout().write_all(page.as_bytes())?,
    }
    let mut message = match entries.len() {
        1 => "1 edit is in the page".to_owned(),
        many => format!("{many} edits are in the page"),
    };
    if has_more {
        message.push_str("; there are more: -n asks for them");
    }
    if without > 0 {
        let _ =
            write!(message, "; the oldest {without} have no diff, since a page has at most 16 MiB of diffs");
    }
    tell(&message, "");
    Ok(())
}

/// Writes the file through the store: atomically, and without recording the edit in the history.
fn write(file: &Path, page: &str, is_forced: bool) -> HistoryResult {
    let failed = |why: String| HistoryError::Failed(format!("{} is not written: {why}", shown(file)));
    let above = file.parent().ok_or_else(|| failed("it is no file".to_owned()))?;
    let workspace = Workspace::builder().unprotect_all().root(above).build();
    let workspace = workspace.map_err(|error| failed(error.to_string()))?;
    let path = file.to_str().ok_or_else(|| failed("its name is not Unicode".to_owned()))?;
    let is_there = file.symlink_metadata().is_ok();
    if is_there && !is_forced {
        return Err(failed("there is a file of that name; --force replaces it".to_owned()));
    }
    let old = if is_there { workspace.bytes_of(&mcp_text_editor_store::real_path(file)) } else { None };
    let hash = old.and_then(|old| DigestPrefix::parse(&Digest::of(&old).to_string()));
    let create = FileEdit::new(path, Change::Create(page));
    let remove = FileEdit { file_hash: hash.as_ref(), ..FileEdit::new(path, Change::Remove) };
    let edits = if is_there { vec![remove, create] } else { vec![create] };
    workspace.apply(&edits, Control::of("history")).map_err(|error| failed(error.to_string()))?;
    Ok(())
}
