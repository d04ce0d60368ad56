//! Parses the arguments of a request of the page, from the query of the URL or the JSON object in the body.

use std::time::SystemTime;

use jiff::Timestamp;
use mcp_text_editor_store::EditId;
use serde_json::Value;

use crate::history::{BoxedProblem, EditQuery, TakeBack, Which};
use crate::json::weigh;
use crate::render::past::invalid;

/// The default maximum number of edits in a list, and the highest maximum that a request can set.
const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 500;
/// The maximum number of values in a body, and the maximum depth to which they are nested.
const MAX_VALUES: u64 = 10_000;
const MAX_DEPTH: u64 = 8;

/// Decoded names and values. An empty value counts as missing.
#[derive(Default, Debug)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Parses a query in the encoding of HTML forms (the URL Standard, `application/x-www-form-urlencoded`).
    pub(super) fn parse(text: Option<&str>) -> Result<Self, BoxedProblem> {
        let pairs = text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(name)?, decoded(value)?))
        });
        let pairs = pairs.collect::<Option<Vec<_>>>();
        Ok(Self(pairs.ok_or_else(|| invalid("The query is not encoded as a form is, in UTF-8."))?))
    }

    /// Returns the names and values of an object; `None` if any value is not a string.
    fn of(object: &Value) -> Option<Self> {
        let pairs = object.as_object()?.iter();
        pairs
            .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect::<Option<_>>()
            .map(Self)
    }

    fn get(&self, name: &str) -> Option<String> {
        let pair = self.0.iter().find(|(key, value)| key == name && !value.is_empty());
        pair.map(|(_, value)| value.clone())
    }

    /// Returns a required value.
    pub(super) fn need(&self, name: &str) -> Result<String, BoxedProblem> {
        self.get(name).ok_or_else(|| invalid(format!("`{name}` is missing.")))
    }

    /// Returns a required number.
    pub(super) fn number(&self, name: &str) -> Result<u64, BoxedProblem> {
        self.need(name)?.parse().map_err(|_| invalid(format!("`{name}` is a number.")))
    }

    /// Returns the selection of the edits to list.
    pub(super) fn edit_query(&self) -> Result<EditQuery, BoxedProblem> {
        let limit = self
            .get("limit")
            .map(|limit| limit.parse::<usize>().map_err(|_| invalid("`limit` is a number of edits.")));
        let before = self.get("before").map(|id| edit_id(&id)).transpose()?;
        let moment = |name: &str| self.get(name).map(|text| moment(name, &text)).transpose();
        Ok(EditQuery {
            limit: limit.transpose()?.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT),
            before,
            root: self.get("root"),
            path: self.get("path"),
            tool: self.get("tool"),
            client: self.get("client"),
            since: moment("since")?,
            until: moment("until")?,
            text: self.get("q"),
        })
    }
}

/// Parses a request to undo edits.
pub(super) fn take_back(body: &[u8]) -> Result<TakeBack, BoxedProblem> {
    let wrong =
        || invalid("The body is an object with `dryRun` and either `edits` or `since` (with `filters`).");
    let weight = weigh(body);
    if weight.values > MAX_VALUES || weight.depth > MAX_DEPTH {
        return Err(invalid("The body holds too much."));
    }
    let body: Value = serde_json::from_slice(body).map_err(|_| wrong())?;
    let is_dry_run = body.get("dryRun").and_then(Value::as_bool).ok_or_else(wrong)?;
    let which = match (body.get("edits"), body.get("since")) {
        (Some(edits), None) => {
            let ids = edits.as_array().ok_or_else(wrong)?.iter();
            let ids = ids.map(|id| id.as_str().ok_or_else(wrong).and_then(edit_id));
            Which::These(ids.collect::<Result<_, _>>()?)
        }
        (None, Some(since)) => {
            let since = edit_id(since.as_str().ok_or_else(wrong)?)?;
            let filters = body.get("filters").map(|filters| Query::of(filters).ok_or_else(wrong));
            Which::Since(since, filters.transpose()?.unwrap_or_default().edit_query()?)
        }
        _ => return Err(wrong()),
    };
    Ok(TakeBack { which, is_dry_run })
}

fn edit_id(text: &str) -> Result<EditId, BoxedProblem> {
    EditId::parse(text).ok_or_else(|| invalid("The id of an edit is 12 hexadecimal digits."))
}

fn moment(name: &str, text: &str) -> Result<SystemTime, BoxedProblem> {
    let stamp: Result<Timestamp, _> = text.parse();
    stamp.map(SystemTime::from).map_err(|_| invalid(format!("`{name}` is a time as RFC 3339 has it.")))
}

fn decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_as_forms_spell_them() {
        let query = Query::parse(Some("path=%2Fa%20b%2Bc+d&q=&q=%E2%80%AE&x")).unwrap();
        assert_eq!(query.get("path").as_deref(), Some("/a b+c d"));
        assert_eq!(query.get("q").as_deref(), Some("\u{202e}"));
        assert_eq!((query.get("x"), query.get("y")), (None, None));
        for wrong in ["%", "%2", "a=%zz", "%ff", "a=%+1"] {
            assert!(Query::parse(Some(wrong)).is_err(), "{wrong}");
        }
        let wanted = |text: &str| Query::parse(Some(text)).unwrap().edit_query();
        assert_eq!(wanted("").unwrap(), EditQuery { limit: DEFAULT_LIMIT, ..EditQuery::default() });
        assert_eq!((wanted("limit=0").unwrap().limit, wanted("limit=99999").unwrap().limit), (1, MAX_LIMIT));
        for wrong in ["limit=-1", "limit=x", "before=1", "since=yesterday", "until=2026"] {
            assert!(wanted(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bodies_are_read_and_bounded() {
        let read = |text: &str| take_back(text.as_bytes());
        let id = || EditId::parse("0123456789ab").unwrap();
        let these = TakeBack { which: Which::These(vec![id()]), is_dry_run: true };
        assert_eq!(read(r#"{"edits": ["0123456789AB"], "dryRun": true}"#).unwrap(), these);
        let since = |root| TakeBack {
            which: Which::Since(id(), EditQuery { root, limit: DEFAULT_LIMIT, ..EditQuery::default() }),
            is_dry_run: false,
        };
        assert_eq!(read(r#"{"since": "0123456789ab", "dryRun": false}"#).unwrap(), since(None));
        let filtered = r#"{"since": "0123456789ab", "filters": {"root": "/r", "q": ""}, "dryRun": false}"#;
        assert_eq!(read(filtered).unwrap(), since(Some("/r".to_owned())));
        let many = format!(r#"{{"dryRun": true, "edits": [{}1]}}"#, "1,".repeat(20_000));
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for wrong in [
            "",
            "[]",
            "{}",
            "null",
            "\u{0}",
            r#"{"dryRun": true}"#,
            r#"{"edits": []}"#,
            r#"{"edits": [1], "dryRun": true}"#,
            r#"{"edits": ["x"], "dryRun": true}"#,
            r#"{"edits": [], "since": "0123456789ab", "dryRun": true}"#,
            r#"{"since": "soon", "dryRun": true}"#,
            r#"{"since": "0123456789ab", "filters": {"root": 1}, "dryRun": true}"#,
            r#"{"since": "0123456789ab", "filters": "", "dryRun": true}"#,
            r#"{"since": "0123456789ab", "filters": {"until": "soon"}, "dryRun": true}"#,
            r#"{"edits": [], "dryRun": "yes"}"#,
            many.as_str(),
            deep.as_str(),
        ] {
            assert!(read(wrong).is_err(), "{}", wrong.get(..60).unwrap_or(wrong));
        }
    }
}
