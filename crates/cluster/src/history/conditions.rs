//! Turns a filter into a condition of SQL, [`Conditions`], and a path of this machine into its shared names,
//! [`KeyRanges`].

use std::path::Path;
use std::time::UNIX_EPOCH;

use mcp_text_editor_store::EditFilter as Filter;
use mcp_text_editor_store::EditId;
use mcp_text_editor_store::backend as os;
use tokio_postgres::types::Type;

use crate::postgres::database::Value;
use crate::root_names::RootNames;

/// Files, or all files below directories, by their shared names. The fields are columns: the values of one
/// entry have the same index in all of them.
#[derive(Clone, Default)]
pub(super) struct KeyRanges {
    pub(super) roots: Vec<String>,
    /// The file's path in the root; `None` for the whole root.
    pub(super) exact: Vec<Option<Vec<u8>>>,
    /// The lower bound of the paths below the directory.
    pub(super) from: Vec<Vec<u8>>,
    /// The exclusive upper bound of these paths.
    pub(super) to: Vec<Vec<u8>>,
}

/// The SQL condition that an edit `e` has a file in [`KeyRanges`]. The arguments are the parameters for its
/// four columns.
macro_rules! in_places {
    ($roots:literal, $exact:literal, $from:literal, $to:literal) => {
        concat!(
            "e.number in (select f.edit from edit_files f, unnest(",
            $roots, "::text[], ", $exact, "::bytea[], ", $from, "::bytea[], ", $to,
            "::bytea[]) as w (root, exact, low, high)
            where f.root = w.root and (w.exact is null or f.path = w.exact or f.path >= w.low and f.path < w.high))"
        )
    };
}

/// Deletes the edits of files in [`KeyRanges`].
pub(super) const FORGET: &str = concat!("delete from edits e where ", in_places!("$1", "$2", "$3", "$4"));

/// Returns the shared names of a file, or of all files below a directory, including those in mounts below it.
pub(super) fn places(names: &RootNames, path: &Path) -> KeyRanges {
    let asks_for_directory = os::bytes_of(path)
        .is_some_and(|bytes| bytes.last().is_some_and(|&last| std::path::is_separator(last.into())));
    let mut places = KeyRanges::default();
    for shared in names.shared_below(path) {
        let Some(relative) = os::bytes_of(&shared.relative).map(<[u8]>::to_vec) else { continue };
        let separator = std::path::MAIN_SEPARATOR as u8;
        let (from, to) = ([&relative[..], &[separator]].concat(), [&relative[..], &[separator + 1]].concat());
        let exact = if asks_for_directory { from.clone() } else { relative.clone() };
        places.roots.push(shared.root.as_str().to_owned());
        places.exact.push((!relative.is_empty()).then_some(exact));
        places.from.push(from);
        places.to.push(to);
    }
    places
}

/// The conditions on edits. A condition that is `None` is bound as null, so that the same statement serves
/// all filters.
#[derive(Clone, Default)]
pub(super) struct Conditions {
    places: Option<KeyRanges>,
    since: Option<i64>,
    until: Option<i64>,
    tool: Option<String>,
    client: Option<String>,
    session: Option<String>,
    text: Option<Vec<u8>>,
    before: Option<String>,
    before_number: Option<i64>,
    id: Option<String>,
}

/// The condition in SQL; [`Conditions::values`] returns its values.
pub(super) const WHERE: &str = concat!(
    "where ($1::text[] is null or ", in_places!("$1", "$2", "$3", "$4"), ")
    and ($5::bigint is null or e.time >= $5) and ($6::bigint is null or e.time < $6)
    and ($7::text is null or e.tool = $7) and ($8::text is null or e.client = $8) and ($9::text is null or e.session = $9)
    and ($10::bytea is null or exists (select from edit_files f where f.edit = e.number and position($10 in f.diff) > 0))
    and ($11::text is null or e.number < (select b.number from edits b where b.id = $11))
    and ($12::bigint is null or e.number < $12)
    and ($13::text is null or e.id = $13)"
);

impl Conditions {
    pub(super) fn of_id(id: &EditId) -> Self {
        Self { id: Some(id.to_string()), ..Self::default() }
    }

    pub(super) fn of(filter: &Filter, names: &RootNames) -> Self {
        let milliseconds = |time: std::time::SystemTime| {
            i64::try_from(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
        };
        let text_of = |name: &Option<String>| name.as_deref().map(storable);
        Self {
            places: filter.path.as_deref().map(|path| places(names, path)),
            since: filter.since.map(milliseconds),
            until: filter.until.map(milliseconds),
            tool: text_of(&filter.tool),
            client: text_of(&filter.client),
            session: text_of(&filter.session),
            text: filter.text.as_ref().map(|text| text.clone().into_bytes()),
            before: filter.before.as_ref().map(ToString::to_string),
            ..Self::default()
        }
    }

    pub(super) fn before_number(&mut self, number: i64) {
        self.before_number = Some(number);
    }

    /// Returns the values of [`WHERE`], in their order.
    pub(super) fn values(self) -> Vec<Value> {
        let Self { places, since, until, tool, client, session, text, before, before_number, id } = self;
        let [roots, exact, from, to] = KeyRanges::values(places);
        vec![
            roots,
            exact,
            from,
            to,
            (Box::new(since), Type::INT8),
            (Box::new(until), Type::INT8),
            (Box::new(tool), Type::TEXT),
            (Box::new(client), Type::TEXT),
            (Box::new(session), Type::TEXT),
            (Box::new(text), Type::BYTEA),
            (Box::new(before), Type::TEXT),
            (Box::new(before_number), Type::INT8),
            (Box::new(id), Type::TEXT),
        ]
    }
}

impl KeyRanges {
    /// Returns the four values of [`FORGET`], which are also the first four of [`WHERE`].
    pub(super) fn values(ranges: Option<Self>) -> [Value; 4] {
        let (roots, exact, from, to) = match ranges {
            Some(all) => (Some(all.roots), Some(all.exact), Some(all.from), Some(all.to)),
            None => Default::default(),
        };
        [
            (Box::new(roots), Type::TEXT_ARRAY),
            (Box::new(exact), Type::BYTEA_ARRAY),
            (Box::new(from), Type::BYTEA_ARRAY),
            (Box::new(to), Type::BYTEA_ARRAY),
        ]
    }
}

/// Returns a text that the database can store: it rejects NUL characters.
pub(super) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
