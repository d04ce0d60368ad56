//! Words the reasons why a file is not text, or not in the encoding that the call names.

use mcp_text_editor_core::encoding::Label;
use mcp_text_editor_core::encoding::Strays;
use mcp_text_editor_store::NotText;

use super::call::CalledFile;
use crate::problem::{Code, Problem};

/// Makes the problem of an encoding that does not exist.
pub(crate) fn unknown_encoding(named: CalledFile<'_>) -> Problem {
    let label = named.encoding.unwrap_or_default();
    let hint = match Label::suggestion(label) {
        Some(known) => format!("did you mean \"{known}\"? Without encoding, the file's BOM decides, else utf-8"),
        None => "use a WHATWG label or a Python codec name, such as utf-8, utf-16, shift_jis, gbk, big5, euc_kr, latin1 or \
                 cp1252; latin1 keeps every byte that is not edited; without encoding, the file's BOM decides, else utf-8"
            .to_owned(),
    };
    Problem::new(Code::UnknownEncoding, format!("there is no encoding named \"{label}\""), hint)
        .of_file(named.file_path)
}

/// Makes the problem of a file that is not text.
pub(crate) fn not_text(named: CalledFile<'_>, fault: &NotText) -> Problem {
    let file_path = named.file_path;
    let problem = match fault {
        NotText::Binary { offset, looks_like: Some(encoding), bom: true } => Problem::new(
            Code::BinaryFile,
            format!(
                "{file_path} holds a NUL byte at offset {offset}, but it begins with the byte order mark of {}",
                encoding.name()
            ),
            "send the same call without \"encoding\"",
        ),
        NotText::Binary { offset, looks_like: None, .. } => Problem::new(
            Code::BinaryFile,
            format!("{file_path} is binary: it holds a NUL byte at offset {offset}"),
            "this server works on text files only",
        ),
        NotText::Binary { offset, looks_like: Some(encoding), .. } => {
            let name = encoding.name();
            Problem::new(
                Code::BinaryFile,
                format!(
                    "{file_path} holds a NUL byte at offset {offset}; it looks like {name} without a BOM"
                ),
                format!("send the same call with \"encoding\": \"{name}\""),
            )
        }
        NotText::Undecodable { offset, line, encoding, bom, looks_like, strays } => {
            let label = named.encoding.filter(|_| !bom).unwrap_or(encoding.name());
            let reason = format!(
                "Failed to decode file with {label} encoding: {file_path} has invalid bytes at offset {offset}, in line {line}"
            );
            let keeps = "\"encoding\": \"latin1\" keeps every byte, for an edit in ASCII alone";
            let hint = match (looks_like, strays) {
                _ if *bom => "its byte order mark says so; the file seems to be damaged, and a person has to look at it".to_owned(),
                (Some(encoding), _) => {
                    let name = encoding.name();
                    format!("the bytes look like {name}: send the same call with \"encoding\": \"{name}\"")
                }
                (None, Some(Strays { is_cut: true, .. })) => {
                    format!("the file is UTF-8, and is cut off in the middle of a character, in line {line}; {keeps}")
                }
                (None, Some(Strays { count, .. })) => format!(
                    "all else is UTF-8, and {} not, the first in line {line}: have it mended; {keeps}",
                    if *count == 1 { "1 byte is".to_owned() } else { format!("{count} bytes are") }
                ),
                (None, None) => "name the file's encoding with \"encoding\"; \"latin1\" reads any bytes, one character each".to_owned(),
            };
            Problem::new(Code::DecodeFailed, reason, hint)
        }
    };
    problem.of_file(file_path)
}
